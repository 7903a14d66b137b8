import { describe, expect, it } from 'vitest';
import { withNullFields, withoutNullFields } from './nulls.ts';
import { RecallRequest } from './recall.ts';
import { TOOLS } from './tools/tools.ts';
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

describe.each(Object.values(TOOLS))('the tool $name', ({ input, check }) => {
  const fields = Object.keys(input.properties);
  const optional = fields.filter((field) => !input.required?.includes(field));
  const required = { content: 'a', query: 'a', session_id: 'a', memory_id: 'a' };
  const args = Object.fromEntries(
    (input.required ?? []).map((field) => [field, required[field as keyof typeof required]]),
  );

  it('lists null as a value of each optional argument, and accepts it', () => {
    for (const field of optional) {
      expect(JSON.stringify(input.properties[field]), field).toContain('{"type":"null"}');
    }
    const nulls = Object.fromEntries(optional.map((field) => [field, null]));
    // An update needs one field, and null clears the time of expiry.
    expect(() => check({ ...args, ...nulls })).not.toThrow();
  });

  it.each(Object.keys(args))('rejects null as %s, which is required', (field) => {
    expect(() => check({ ...args, [field]: null })).toThrow(`${field} must`);
  });

  it.each(['user_id', 'agent_id', 'shared'])('rejects null as %s, which is not an argument', (field) => {
    expect(() => check({ ...args, [field]: null })).toThrow(`${field} is not a known field`);
  });
});
