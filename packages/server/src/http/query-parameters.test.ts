import { ForgetManyRequest, HistoryRequest, MemoriesRequest, RecallRequest } from '@memoryd/contract';
import { describe, expect, it } from 'vitest';
import { decodeQuery } from './query-parameters.ts';

const decode = (raw: string) => decodeQuery(RecallRequest, raw);

describe('decodeQuery', () => {
  it('decodes values into the types of the schema', () => {
    expect(decode('query=a+b%26c&top_k=5&min_score=0.25')).toEqual({ query: 'a b&c', top_k: 5, min_score: 0.25 });
  });

  it.each(['5.0', '1e1', '+5', '%205', '05', 'five', '0x5', 'Infinity'])(
    'returns the invalid top_k=%s as text, so that validation can reject it',
    (text) => {
      expect(decode(`top_k=${text}`).top_k).toBeTypeOf('string');
    },
  );

  it('collects tags into a list, even a single one', () => {
    expect(decode('tag=a&query=q&tag=b')).toEqual({ query: 'q', tag: ['a', 'b'] });
    expect(decode('tag=a')).toEqual({ tag: ['a'] });
  });

  it('collects times into a list, and restores the plus sign of an offset', () => {
    const times = 'growth_at=2026-01-31T10:00+01:00&growth_at=2026-01-31';
    expect(decodeQuery(MemoriesRequest, times)).toEqual({ growth_at: ['2026-01-31T10:00+01:00', '2026-01-31'] });
  });

  it('collects metadata fields into one object, regardless of their names', () => {
    expect(decode('metadata.user=ann&metadata.a.b=1')).toEqual({ metadata: { user: 'ann', 'a.b': '1' } });
    const { metadata } = decode('metadata.__proto__=x');
    expect(Object.entries(metadata as object)).toEqual([['__proto__', 'x']]);
  });

  it('reads a metadata field in brackets like a metadata field after a dot', () => {
    expect(decode('metadata[user]=ann&metadata%5Ba.b%5D=1')).toEqual({ metadata: { user: 'ann', 'a.b': '1' } });
    expect(decode('metadata[a[0]]=1&metadata.[a]=2')).toEqual({ metadata: { 'a[0]': '1', '[a]': '2' } });
  });

  it.each(['metadata', 'metadata.', 'metadata[]', 'metadata[a', 'metadata[a]b', 'metadata[a][b]', 'metadata[][a]'])(
    'rejects %s with the right form of a metadata filter, unless the schema has no metadata',
    (name) => {
      expect(() => decode(`${name}=1`)).toThrow(/must have the form metadata\.room=1 or metadata\[room\]=1/);
      expect(decodeQuery(HistoryRequest, `${name}=1`)).toEqual({ [name]: '1' });
    },
  );

  it('returns unknown names, so that validation can report them', () => {
    expect(decode('foo=1&metadatas.a=1&__proto__=2&constructor=3')).toEqual(
      Object.fromEntries([
        ['foo', '1'],
        ['metadatas.a', '1'],
        ['__proto__', '2'],
        ['constructor', '3'],
      ]),
    );
    expect(decodeQuery(HistoryRequest, 'metadata.a=1')).toEqual({ 'metadata.a': '1' });
  });

  it('returns no parameters for an empty query string', () => {
    expect(decode('')).toEqual({});
    expect(decode('&&')).toEqual({});
  });

  it.each([
    ['query=a&query=b', 'query must be given once'],
    ['top_k=1&top_k=1', 'top_k must be given once'],
    ['metadata.a=1&metadata.a=1', 'metadata.a must be given once'],
    ['metadata[a]=1&metadata.a=2', 'metadata.a must be given once'],
  ])('rejects a repeated parameter in %s', (raw, message) => {
    expect(() => decode(raw)).toThrow(message);
  });

  it('rejects a repeated tag if the schema allows only one tag', () => {
    expect(() => decodeQuery(ForgetManyRequest, 'tag=a&tag=b')).toThrow('tag must be given once');
  });

  it.each(['query=100%', 'query=%zz', 'query=%ff', 'query=%ed%a0%80', '%=a'])(
    'rejects %s, which is not percent-encoded UTF-8',
    (raw) => {
      expect(() => decode(raw)).toThrow('query string must be percent-encoded UTF-8');
    },
  );
});
