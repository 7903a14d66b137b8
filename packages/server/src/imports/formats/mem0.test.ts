import { describe, expect, it } from 'vitest';
import { mem0 } from './mem0.ts';
import { readFile } from './read-format.fixture.ts';

const MEMORY = {
  id: '0b6f5f2a-5d0f-4f0e-9a6b-1f2e3d4c5b6a',
  memory: 'Ben is allergic to walnuts',
  hash: '1f0e',
  metadata: { trip: 'Lisbon' },
  categories: ['health', 'food'],
  created_at: '2026-01-31T01:30:00.123456-08:00',
  updated_at: '2026-02-01T00:00:00Z',
  user_id: 'ben',
  agent_id: 'cook',
  app_id: 'kitchen',
  run_id: 'dinner',
  expiration_date: '2027-01-31',
};
const TEXT = {
  content: 'Ben is allergic to walnuts',
  tags: ['health', 'food'],
  source: 'mem0',
  session_id: 'dinner',
  user_id: 'ben',
  external_id: 'mem0:0b6f5f2a-5d0f-4f0e-9a6b-1f2e3d4c5b6a',
  created_at: '2026-01-31T09:30:00.123Z',
  expires_at: '2027-01-31T00:00:00.000Z',
  metadata: { agent_id: 'cook', app_id: 'kitchen', updated_at: '2026-02-01T00:00:00Z', trip: 'Lisbon' },
};
const toCamelCase = (memory: Record<string, unknown>) =>
  Object.fromEntries(
    Object.entries(memory).map(([name, value]) => [
      name.replace(/_(.)/g, (_all, letter) => letter.toUpperCase()),
      value,
    ]),
  );
const { id, memory, ...PAYLOAD } = MEMORY;

const read = (value: unknown, options = {}) =>
  readFile(mem0, typeof value === 'string' ? value : JSON.stringify(value), { path: 'mem0.json', ...options });

describe('mem0', () => {
  it.each([
    ['the answer with results', { results: [MEMORY], count: 1 }],
    ['the list of the former interface', [MEMORY]],
    ['an export with a schema', { memories: [MEMORY] }],
    ['indented JSON with a byte order mark', `\uFEFF${JSON.stringify({ count: 1, results: [MEMORY] }, null, 2)}`],
    ['JSON lines', `${JSON.stringify(MEMORY)}\n`],
    ['names of the TypeScript library', { results: [toCamelCase(MEMORY)] }],
    ['the text in content', [{ ...MEMORY, memory: undefined, content: memory }]],
    ['a dump of the vector database', [{ id, payload: { ...PAYLOAD, data: memory } }]],
  ])('reads the memory of %s, and recognizes it', async (_case, value) => {
    const { texts, refused } = await read(value);

    expect({ texts, refused }).toEqual({ texts: [TEXT], refused: [] });
    const text = typeof value === 'string' ? value.replace('\uFEFF', '') : JSON.stringify(value);
    expect(mem0.recognizes({ path: 'a', text, isWhole: true })).toBe(true);
  });

  it('reads a memory of which all optional fields are null', async () => {
    const nulls = Object.fromEntries(Object.keys(MEMORY).map((name) => [name, null]));
    const { texts } = await read([{ ...nulls, id: 7, memory: 'Ada likes trams' }]);

    expect(texts).toEqual([{ content: 'Ada likes trams', source: 'mem0', external_id: 'mem0:7' }]);
  });

  it('creates the same external id for a memory without an id each time, and a different one for another user', async () => {
    const { ids } = await read([
      { memory: 'a', user_id: 'ada' },
      { memory: 'a', user_id: 'ben' },
    ]);

    expect((await read([{ memory: 'a', user_id: 'ada', updated_at: '2026-01-01' }])).ids).toEqual(ids.slice(0, 1));
    expect(new Set(ids).size).toBe(2);
  });

  it('keeps times that it cannot read in metadata', async () => {
    const { texts } = await read([{ id: '1', memory: 'a', created_at: 'May', expiration_date: 'never' }]);

    expect(texts[0]).toEqual({
      content: 'a',
      source: 'mem0',
      external_id: 'mem0:1',
      metadata: { created_at: 'May', expiration_date: 'never' },
    });
  });

  it('reads the relations of the graph as texts', async () => {
    const { contents, leftOut } = await read({
      results: [],
      relations: [{ source: 'ben', relationship: 'works_at', target: 'garden_ltd' }, { source: 'ben' }],
    });

    expect(contents).toEqual(['ben works at garden ltd']);
    expect(leftOut).toEqual({ empty: 1 });
  });

  it('leaves out deleted and empty memories, and counts them', async () => {
    const { texts, leftOut } = await read({
      results: [
        { ...MEMORY, deleted_at: '2026-01-01' },
        { ...MEMORY, is_deleted: true },
        { ...MEMORY, memory: ' ' },
        { ...MEMORY, memory: null },
      ],
    });

    expect(texts).toEqual([]);
    expect(leftOut).toEqual({ deleted: 2, empty: 2 });
  });

  it('leaves out metadata that is too large or too deep, and keeps the rest', async () => {
    const deep = JSON.parse(`${'['.repeat(100)}${']'.repeat(100)}`);
    const { texts } = await read([{ id: '1', memory: 'a', metadata: { big: 'x'.repeat(20_000), deep, room: 'a\0' } }]);

    expect(texts[0]?.metadata).toEqual({ room: 'a' });
  });

  it('refuses a broken memory, and reads the others', async () => {
    const { texts, refused } = await read(`{"results":[{"id":"1","memory":nul},7,${JSON.stringify(MEMORY)}]}`);

    expect(texts).toHaveLength(1);
    expect(refused.map(({ place }) => place)).toEqual(['results 1', 'results 2']);
  });

  it('reads the memories before the end of a truncated file', async () => {
    const { texts, refused } = await read(JSON.stringify({ results: [MEMORY, MEMORY] }).slice(0, -30), {
      isTruncated: true,
    });

    expect(texts).toEqual([TEXT]);
    expect(refused).toHaveLength(1);
  });
});
