import { describe, expect, it } from 'vitest';
import { withNullFields, withoutNullFields } from './nulls.ts';
import { RecallRequest } from './recall.ts';
import { UpdateRequest } from './update.ts';
import { createCheck } from './validate.ts';

describe('withoutNullFields', () => {
  it('removes null that means absent, and keeps a null that clears a value or belongs to the content', () => {
    const given = { content: null, tags: null, expires_at: null, metadata: { a: null }, unknown: null };
    const kept = { expires_at: null, metadata: { a: null }, unknown: null };
    expect(withoutNullFields(UpdateRequest, given)).toEqual(kept);
  });

  it.each([null, undefined, 'text', [null], 7])('returns %j unchanged', (value) => {
    expect(withoutNullFields(UpdateRequest, value)).toBe(value);
  });
});

describe('withNullFields', () => {
  it('accepts null in every optional field, and not in a required field', () => {
    const check = createCheck(withNullFields(UpdateRequest), 'body');
    expect(check({ content: null, importance: null, tags: null, metadata: null, expires_at: null })).toEqual([]);
    expect(
      createCheck(withNullFields(RecallRequest), 'query')({ query: null, top_k: null, since: null }),
    ).toMatchObject([{ path: '/query' }]);
  });
});
