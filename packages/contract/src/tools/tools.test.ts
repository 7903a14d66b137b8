import { describe, expect, it } from 'vitest';
import type { MemoryApi } from '../api.ts';
import { createTimeZone } from '../time-zone.ts';
import { failureText } from './failure.ts';
import { TOOLS } from './tools.ts';

const ALL = Object.entries(TOOLS);
const view = { zone: createTimeZone('UTC') };

/**
 * The rules of OpenAI's strict mode (https://developers.openai.com/api/docs/guides/structured-outputs, "Supported
 * schemas", as of August 2026). The guide lists no other keywords as supported; it names some that are not, such as
 * `allOf`, `not`, `dependentRequired`, `dependentSchemas`, `if`, `then` and `else`, and for fine-tuned models
 * `minLength`, `maxLength` and `patternProperties`. References and definitions are supported too, and not used here.
 */
const STRICT = {
  types: ['string', 'number', 'boolean', 'integer', 'object', 'array', 'null'],
  keywords: {
    any: ['type', 'description', 'enum', 'anyOf'],
    string: ['pattern', 'format'],
    number: ['multipleOf', 'maximum', 'exclusiveMaximum', 'minimum', 'exclusiveMinimum'],
    integer: ['multipleOf', 'maximum', 'exclusiveMaximum', 'minimum', 'exclusiveMinimum'],
    array: ['items', 'minItems', 'maxItems'],
    object: ['properties', 'required', 'additionalProperties'],
  } as Record<string, string[]>,
  formats: ['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uuid'],
  maxProperties: 5000,
  maxLevels: 10,
  maxEnumValues: 1000,
  /** Names of properties, and values of `enum` and `const`, together. */
  maxNameChars: 120_000,
};

interface Schema {
  type?: string | string[];
  format?: string;
  enum?: unknown[];
  anyOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean;
}

/** Checks a schema and those within it. Returns the schemas, each with its level of nesting. */
function readStrict(schema: Schema, level = 1): { schema: Schema; level: number }[] {
  const types = [schema.type ?? []].flat();
  expect(STRICT.types).toEqual(expect.arrayContaining(types));
  expect(types.length > 0 || schema.anyOf !== undefined).toBe(true);
  const keywords = ['any', ...types].flatMap((type) => STRICT.keywords[type] ?? []);
  expect(keywords).toEqual(expect.arrayContaining(Object.keys(schema)));
  if (schema.format !== undefined) expect(STRICT.formats).toContain(schema.format);
  if (types.includes('object')) {
    expect(schema.additionalProperties).toBe(false);
    expect(schema.required).toEqual(Object.keys(schema.properties ?? {}));
  }
  if (types.includes('array')) expect(schema.items).toBeDefined();
  const inner = [
    ...(schema.anyOf ?? []),
    ...(schema.items ? [schema.items] : []),
    ...Object.values(schema.properties ?? {}),
  ];
  return [{ schema, level }, ...inner.flatMap((each) => readStrict(each, level + 1))];
}

describe.each(ALL)('%s', (name, { name: own, input, description, check, complete }) => {
  it('lists its arguments in a schema for the strict mode of OpenAI, with a description of each', () => {
    expect(own).toBe(name);
    expect(input.type).toBe('object');
    expect(input).not.toHaveProperty('anyOf');
    const schemas = readStrict(input as Schema);
    const names = schemas.flatMap(({ schema }) => Object.keys(schema.properties ?? {}));
    const values = schemas.flatMap(({ schema }) => schema.enum ?? []);
    expect(names.length).toBeLessThanOrEqual(STRICT.maxProperties);
    expect(Math.max(...schemas.map(({ level }) => level))).toBeLessThanOrEqual(STRICT.maxLevels);
    expect(values.length).toBeLessThanOrEqual(STRICT.maxEnumValues);
    expect([...names, ...values].join('').length).toBeLessThanOrEqual(STRICT.maxNameChars);
    expect(description.length).toBeGreaterThan(100);
    for (const property of Object.values(input.properties)) expect(property).toHaveProperty('description');
  });

  const needed = { content: 'a', query: 'a', session_id: 'a', memory_id: 'a' };
  const isNullable = (field: string) => JSON.stringify(input.properties[field]).includes('"null"');
  const args = Object.fromEntries(
    Object.entries(needed).filter(([field]) => field in input.properties && !isNullable(field)),
  );
  /** An update needs one change. */
  const change = name === 'memory_update' ? { importance: 1 } : {};
  const optional = Object.keys(input.properties).filter((field) => isNullable(field) && !(field in change));

  it.each([null, '', 'null', []])('takes %j in each optional argument as not given', (empty) => {
    // An empty list removes the tags of a memory.
    const isValue = (field: string) => name === 'memory_update' && field === 'tags' && Array.isArray(empty);
    const fields = optional.filter((field) => !isValue(field)).map((field) => [field, empty]);
    const sent = { ...args, ...change, ...Object.fromEntries(fields) };
    expect(() => check(sent)).not.toThrow();
    expect(complete(sent)).toEqual(complete({ ...args, ...change }));
  });

  if (Object.keys(args).length > 0) {
    it('rejects null in a required argument', () => {
      for (const field of Object.keys(args)) expect(() => check({ ...args, [field]: null })).toThrow(`${field} must`);
    });
  }

  it.each(['user_id', 'agent_id', 'shared', 'metadata'])('rejects %s with the names of its arguments', (field) => {
    const known = Object.keys(input.properties).join(', ') || 'none';
    expect(() => check({ ...args, ...change, [field]: null })).toThrow(
      `${field} is not a known field; the arguments of ${name} are ${known}`,
    );
  });
});

describe('arguments of weak models', () => {
  const { memory_recall: recall, memory_store: store } = TOOLS;

  it('numbers, booleans and lists may be sent as JSON text', () => {
    const sent = { query: '5', top_k: '5', current: 'false', tags: '["health"]' };
    expect(() => recall.check(sent)).not.toThrow();
    expect(recall.complete(sent)).toMatchObject({ query: '5', top_k: 5, current: false, tags: ['health'] });
  });

  it('arguments in the form of the schema have null for each argument that is not given', () => {
    expect(store.complete({ content: 'a', tags: ['health'] })).toEqual({
      ...{
        content: 'a',
        session_id: null,
        tags: ['health'],
        importance: null,
        supersedes: null,
        created_at: null,
        valid_to: null,
      },
    });
  });

  it.each([
    [{ query: 'a', top_k: 'many' }, 'top_k must be a whole number from 1 to 50'],
    [{ query: 'a', top_k: 51 }, 'top_k must be a whole number from 1 to 50'],
    [{ query: 'a', tags: 'health' }, 'tags must be an array of at most 64 strings of 1 to 128 characters'],
    [{ query: 'a', since: 'yesterday' }, 'since must be an ISO 8601 date'],
    [{ query: 'a', until: '2026-02-30' }, 'until must be an ISO 8601 date'],
    [{ query: 'a', limit: 5 }, 'limit is not a known field; the arguments of memory_recall are query, top_k, '],
    ['a', 'arguments must be a JSON object'],
  ])('the arguments %j are rejected with the rule and the fix', (args, rule) => {
    expect(getFailure(() => recall.check(args))).toMatch(/ Correct the arguments and call again\.$/);
    expect(getFailure(() => recall.check(args))).toContain(`INVALID_REQUEST: ${rule}`);
  });
});

describe('memory_update', () => {
  const { memory_update: update, memory_store: store } = TOOLS;
  const call = async (args: object, timezone?: string) => {
    const sent = { memory_id: 'a', ...args };
    update.check(sent);
    const changes: unknown[] = [];
    const api = {
      async update(_id: string, change: object) {
        changes.push(change);
        return { id: 'a', status: 'updated' };
      },
    } as unknown as MemoryApi;
    await update.call(api, sent, timezone === undefined ? {} : { timezone });
    return changes[0];
  };

  it.each([[[]], ['[]']])('removes all tags for %j, and keeps them for null', async (tags) => {
    expect(await call({ tags })).toEqual({ tags: [] });
    expect(await call({ tags, importance: 1 })).toEqual({ tags: [], importance: 1 });
    expect(await call({ tags: null, importance: 1 })).toEqual({ importance: 1 });
  });

  it('takes the date in valid_to as the last day, like memory_store', async () => {
    expect(await call({ valid_to: '2026-11-30' }, 'America/Los_Angeles')).toEqual({
      valid_to: '2026-11-30T23:59:59.999-08:00',
    });
    expect(update.input.properties.valid_to).toMatchObject({ description: 'Last date, or time, at which it is true.' });
    expect(JSON.stringify(store.input.properties.valid_to)).toContain('Last date, or time, at which it is true.');
  });
});

describe('the text of a failure', () => {
  it.each([
    'cannot open memory.db: memory.db has schema 9 of a newer memoryd, but this version supports at most 8; update memoryd',
    'the service is overloaded; retry later',
  ])('the text of a failure advises to wait only if the message names no fix: %s', (message) => {
    expect(failureText({ code: 'UNAVAILABLE', message })).toBe(
      `UNAVAILABLE: ${message}. If the message names a fix, tell the user; otherwise wait a few seconds and call again.`,
    );
  });
});

describe('texts of results', () => {
  const { memory_recall, memory_store, memory_update, memory_forget } = TOOLS;

  it('a recall without results advises to leave out the filters that were given', () => {
    const nothing = { results: [], total: 0 };
    expect(memory_recall.text(nothing, view, { query: 'a', tags: ['b'], since: '2026-01-01' })).toBe(
      'No memory was found. Call memory_recall again without tags, since, or with other words.',
    );
    expect(memory_recall.text(nothing, view, { query: 'a', tags: [] })).toMatch(/^No memory was found\. Ask once more/);
  });

  it('a stored or changed memory tells what it supersedes, and which secrets were removed', () => {
    const redacted = [{ kind: 'github-token', count: 2 }];
    expect(memory_store.text({ id: 'b', status: 'stored', redacted }, view, { content: 'x', supersedes: 'a' })).toBe(
      'Stored. Its id is b. It supersedes a, which is now outdated. Secrets were removed from the text: github-token.',
    );
    expect(memory_update.text({ id: 'b', status: 'updated' }, view, { memory_id: 'b', supersedes: 'a\n- x' })).toBe(
      'Changed b. It supersedes "a - x", which is now outdated.',
    );
  });

  it('a forgotten memory whose text remains tells the ids to forget', () => {
    const response = { id: 'a', status: 'forgotten' as const, also_forgotten: ['b'], remaining_duplicates: ['c', 'd'] };
    expect(memory_forget.text(response, view, { memory_id: 'a' })).toBe(
      'Forgot a for good, and 1 other that held its text. Its text is still in c, d: forget these too, if it must not stay.',
    );
  });
});

/** Returns the text that a model reads about a failure. */
function getFailure(call: () => void): string {
  try {
    call();
  } catch (error) {
    return failureText(error as Parameters<typeof failureText>[0]);
  }
  return '';
}
