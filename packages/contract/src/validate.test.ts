import { describe, expect, it } from 'vitest';
import { ForgetManyRequest } from './forget.ts';
import { isStorable } from './json-value.ts';
import { LIMITS } from './limits.ts';
import { RecallRequest } from './recall.ts';
import { StoreRequest } from './store.ts';
import { TIME_MUST } from './time.ts';
import Type from './typebox.ts';
import { UpdateRequest } from './update.ts';
import { assertValid, createCheck } from './validate.ts';

const checkStore = createCheck(StoreRequest, 'body');
const checkRecall = createCheck(RecallRequest, 'query');
const checkUpdate = createCheck(UpdateRequest, 'body');
const checkForgetMany = createCheck(ForgetManyRequest, 'query');

const TIME = `created_at must ${TIME_MUST}`;
const NO_JSON = 'be a JSON value: a string, a number, true, false, null, an array or an object';
const LARGE_INTEGER = 'be an integer from -9007199254740991 to 9007199254740991; use a string for other integers';

function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let i = 0; i < depth; i++) value = [value];
  return value;
}

describe('createCheck', () => {
  it('reports errors in a list of any length, and in items with any number of unknown fields', () => {
    // More items than a function call can have arguments.
    const long = new Array(200_000).fill(1);
    expect(checkStore({ content: 'a', tags: long })).toEqual([
      { path: '/tags/0', message: 'tags must be an array of at most 64 strings of 1 to 128 characters' },
    ]);
    const unknown = Object.fromEntries(Array.from({ length: 150_000 }, (_, i) => [`field ${i}`, i]));
    expect(checkStore({ ...unknown, content: 'a' })).toContainEqual({
      path: '/field 0',
      message: 'field 0 is not a known field',
    });
  });

  it.each<[string, unknown, string, string]>([
    [
      'a number as content',
      { content: 7 },
      '/content',
      'content must be a string with at least one non-blank character',
    ],
    [
      'a blank content',
      { content: ' \n\t' },
      '/content',
      'content must be a string with at least one non-blank character',
    ],
    ['no content', {}, '/content', 'content is required and must be a string with at least one non-blank character'],
    ['an unknown field', { content: 'a', colour: 1 }, '/colour', 'colour is not a known field'],
    [
      'a field named like a prototype',
      JSON.parse('{"content":"a","__proto__":1}'),
      '/__proto__',
      '__proto__ is not a known field',
    ],
    [
      'a tag of a wrong type',
      { content: 'a', tags: ['x', 7] },
      '/tags/1',
      'tags must be an array of at most 64 strings of 1 to 128 characters',
    ],
    [
      'too many tags',
      { content: 'a', tags: new Array(65).fill('x') },
      '/tags',
      'tags must be an array of at most 64 strings of 1 to 128 characters',
    ],
    [
      'an importance over 1',
      { content: 'a', importance: 1.01 },
      '/importance',
      'importance must be a number from 0 to 1',
    ],
    ['a day that does not exist', { content: 'a', created_at: '2026-02-30T00:00:00Z' }, '/created_at', TIME],
    ['a time without a zone', { content: 'a', created_at: '2026-01-31T00:00:00' }, '/created_at', TIME],
    ['U+0000', { content: 'a\0b' }, '/content', 'content must not contain U+0000 or a lone surrogate'],
    [
      'a lone surrogate in a tag',
      { content: 'a', tags: ['\ud800'] },
      '/tags',
      'tags must not contain U+0000 or a lone surrogate',
    ],
    [
      'an attachment with too many bytes',
      { content: 'a', attachment: 'é'.repeat(LIMITS.attachmentBytes / 2 + 1) },
      '/attachment',
      'attachment must be a string of 1 to 1048576 bytes in UTF-8',
    ],
    [
      'U+0000 in a metadata key',
      { content: 'a', metadata: { 'a\0': 1 } },
      '/metadata',
      'metadata must not contain U+0000 or a lone surrogate',
    ],
    [
      'an infinite number in metadata',
      JSON.parse('{"content":"a","metadata":{"n":{"m":1e400}}}'),
      '/metadata/n/m',
      'metadata.n.m must be a finite number',
    ],
    [
      'NaN in metadata',
      { content: 'a', metadata: { n: Number.NaN } },
      '/metadata/n',
      'metadata.n must be a finite number',
    ],
    [
      'a date in metadata',
      { content: 'a', metadata: { at: new Date(0) } },
      '/metadata/at',
      `metadata.at must ${NO_JSON}`,
    ],
    [
      'undefined in metadata',
      { content: 'a', metadata: { a: { b: undefined } } },
      '/metadata/a/b',
      `metadata.a.b must ${NO_JSON}`,
    ],
    [
      'a function in metadata',
      { content: 'a', metadata: { a: [() => 1] } },
      '/metadata/a/0',
      `metadata.a.0 must ${NO_JSON}`,
    ],
    ['a BigInt in metadata', { content: 'a', metadata: { a: 1n } }, '/metadata/a', `metadata.a must ${LARGE_INTEGER}`],
    [
      'an unsafe integer in metadata',
      JSON.parse('{"content":"a","metadata":{"a/b":[1187654321987654321]}}'),
      '/metadata/a~1b/0',
      `metadata.a/b.0 must ${LARGE_INTEGER}`,
    ],
    [
      'a negative unsafe integer in metadata',
      { content: 'a', metadata: { n: -(2 ** 53) } },
      '/metadata/n',
      `metadata.n must ${LARGE_INTEGER}`,
    ],
    [
      'metadata that is a list',
      { content: 'a', metadata: [] },
      '/metadata',
      'metadata must be a JSON object of at most 16384 bytes, at most 32 levels deep',
    ],
    [
      'metadata that is too large',
      { content: 'a', metadata: { a: 'é'.repeat(LIMITS.metadataBytes / 2) } },
      '/metadata',
      'metadata must be a JSON object of at most 16384 bytes, at most 32 levels deep',
    ],
    [
      'metadata that is too deep',
      { content: 'a', metadata: { a: nested(32) } },
      '/metadata',
      'metadata must be a JSON object of at most 16384 bytes, at most 32 levels deep',
    ],
    ['a list instead of an object', [], '', 'body must be a JSON object'],
    ['null instead of an object', null, '', 'body must be a JSON object'],
  ])('returns the field and the violated rule for %s', (_name, request, path, message) => {
    expect(checkStore(request)).toContainEqual({ path, message });
  });

  it('reports every invalid field with one message per field', () => {
    const details = checkStore({ content: 1, tags: [1, 2, 3], importance: 'high', colour: 'red' });
    expect(details.map((detail) => detail.path).sort()).toEqual(['/colour', '/content', '/importance', '/tags/0']);
    expect(() => assertValid(checkStore, { content: 1, importance: 2 })).toThrow(/content must .*\(and 1 more\)/);
  });

  it('truncates a long name of an unknown field', () => {
    expect(checkStore({ content: 'a', [`${'x'.repeat(99)}🐝${'y'.repeat(1_000_000)}`]: 1 })).toEqual([
      { path: `/${'x'.repeat(99)}\uFFFD…`, message: `${'x'.repeat(99)}\uFFFD… is not a known field` },
    ]);
  });

  it('rejects any number of unknown fields', () => {
    for (const count of [1, 7, 8, 9, 50]) {
      const fields = Object.fromEntries(Array.from({ length: count }, (_, i) => [`f${i}`, 1]));
      expect(checkStore({ content: 'a', ...fields })[0]?.message).toBe('f0 is not a known field');
      expect(checkStore({ ...fields, content: 7 }).length).toBeGreaterThan(0);
      expect(checkForgetMany(fields).length).toBeGreaterThan(0);
    }
  });

  it('rejects metadata with 400,000 levels without a stack overflow', () => {
    const metadata = JSON.parse(`{"a":${'['.repeat(400_000)}${']'.repeat(400_000)}}`);
    expect(checkStore({ content: 'a', metadata })).toHaveLength(1);
  });

  it('accepts a metadata filter that is larger than the maximum metadata of a memory', () => {
    const metadata = { a: 'x'.repeat(LIMITS.metadataBytes), b: 'y' };
    expect(checkRecall({ query: 'a', metadata })).toEqual([]);
    expect(checkRecall({ query: 'a', metadata: { a: '\0' } })).toHaveLength(1);
  });

  it('accepts the maximum of every field', () => {
    const request = {
      content: '\u{1F600} \ud83d\ude00 e\u0301',
      tags: new Array(64).fill('x'.repeat(128)),
      importance: 0,
      source: '',
      session_id: 's'.repeat(256),
      created_at: '2026-01-31T09:30:00+01:00',
      expires_at: '1999-12-31T23:59:59.999Z',
      metadata: { a: nested(31), b: null, c: 2 ** 53 - 1, d: -(2 ** 53 - 1), e: 1e-300, f: 0.1 },
      supersedes: 'any',
    };
    expect(checkStore(request)).toEqual([]);
    const absent = Object.keys(request).map((field) => [field, null]);
    expect(checkStore({ ...Object.fromEntries(absent), content: 'a' })).toEqual([]);
  });

  it('rejects an update without changes', () => {
    expect(checkUpdate({})).toEqual([
      {
        path: '',
        message:
          'body must contain at least one of content, importance, tags, metadata, expires_at, valid_from, valid_to, supersedes',
      },
    ]);
    expect(checkUpdate({ expires_at: null })).toEqual([]);
    expect(checkUpdate({ expires_at: 'soon' })[0]?.message).toMatch(/^expires_at must be null or an ISO 8601/);
  });

  it.each(['a\0b', '\ud800'])('accepts a string that cannot be stored only in fields for existing ids (%#)', (id) => {
    expect(isStorable(id)).toBe(false);
    const schema = Type.Object({ memory_id: Type.String(), source: Type.String() });
    const found = createCheck(schema, 'body', ['memory_id'])({ memory_id: id, source: id });
    expect(found).toEqual([{ path: '/source', message: 'source must not contain U+0000 or a lone surrogate' }]);
    expect(createCheck(schema, 'body', ['memory_id'])({ memory_id: 7, source: '' })).toHaveLength(1);
  });
});
