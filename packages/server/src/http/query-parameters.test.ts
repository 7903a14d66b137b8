import { ForgetManyRequest, HistoryRequest, MemoriesRequest, RecallRequest } from '@memoryd/contract';
import { describe, expect, it } from 'vitest';
import { decodeQuery } from './query-parameters.ts';

const decode = (raw: string) => decodeQuery(RecallRequest, raw);

describe('a query string', () => {
  it('is decoded by the types of its schema', () => {
    expect(decode('query=a+b%26c&top_k=5&min_score=0.25')).toEqual({ query: 'a b&c', top_k: 5, min_score: 0.25 });
  });

  it.each(['5.0', '1e1', '+5', '%205', '05', '', 'five', '0x5', 'Infinity'])(
    'leaves top_k=%s for the check to refuse',
    (text) => {
      expect(decode(`top_k=${text}`).top_k).toBeTypeOf('string');
    },
  );

  it('gathers tags into a list, even one', () => {
    expect(decode('tag=a&query=q&tag=b')).toEqual({ query: 'q', tag: ['a', 'b'] });
    expect(decode('tag=a')).toEqual({ tag: ['a'] });
  });

  it('gathers times into a list, with the plus of an offset that stands as a space', () => {
    const times = 'growth_at=2026-01-31T10:00+01:00&growth_at=2026-01-31';
    expect(decodeQuery(MemoriesRequest, times)).toEqual({ growth_at: ['2026-01-31T10:00+01:00', '2026-01-31'] });
  });

  it('gathers metadata fields into one object, whatever they are called', () => {
    expect(decode('metadata.user=ann&metadata.a.b=1')).toEqual({ metadata: { user: 'ann', 'a.b': '1' } });
    const { metadata } = decode('metadata.__proto__=x');
    expect(Object.entries(metadata as object)).toEqual([['__proto__', 'x']]);
  });

  it('keeps unknown names for the check to name', () => {
    expect(decode('foo=1&metadata.=1&__proto__=2&constructor=3')).toEqual(
      Object.fromEntries([
        ['foo', '1'],
        ['metadata.', '1'],
        ['__proto__', '2'],
        ['constructor', '3'],
      ]),
    );
    expect(decodeQuery(HistoryRequest, 'metadata.a=1')).toEqual({ 'metadata.a': '1' });
  });

  it('has no parameters where it is empty', () => {
    expect(decode('')).toEqual({});
    expect(decode('&&')).toEqual({});
  });

  it.each([
    ['query=a&query=b', 'query must be given once'],
    ['top_k=1&top_k=1', 'top_k must be given once'],
    ['metadata.a=1&metadata.a=1', 'metadata.a must be given once'],
  ])('%s is refused', (raw, message) => {
    expect(() => decode(raw)).toThrow(message);
  });

  it('refuses a repeated tag where only one is asked for', () => {
    expect(() => decodeQuery(ForgetManyRequest, 'tag=a&tag=b')).toThrow('tag must be given once');
  });

  it.each(['query=100%', 'query=%zz', 'query=%ff', 'query=%ed%a0%80', '%=a'])('%s is not UTF-8', (raw) => {
    expect(() => decode(raw)).toThrow('query string must be percent-encoded UTF-8');
  });
});
