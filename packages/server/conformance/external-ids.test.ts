import type {
  ApiKeyWithSecret,
  ImportResponse,
  Memory,
  NewKey,
  StoreBatchResponse,
  StoreRequest,
  StoreResponse,
} from '@memoryd/contract';
import { describe, expect, it } from 'vitest';
import type { Answer } from './http.ts';
import { expectError, expectRefused } from './refusal.ts';
import { type Client, expectCleanEnd, startClient, useServer, WORDS_ONLY } from './under-test.ts';

const memoryd = useServer({ env: WORDS_ONLY });

type Headers = Record<string, string>;

function send(json: object, headers: Headers = {}, client: Client = memoryd): Promise<Answer<StoreResponse>> {
  return client.send<StoreResponse>({ method: 'POST', path: '/store', json, headers });
}

async function readHistory(id: string): Promise<string[]> {
  const { texts } = await memoryd.get<{ texts: { content: string }[] }>(`/memories/${id}/history`);
  return texts.map(({ content }) => content);
}

/** Stores a group of two duplicates, of which the second is merged into the first. */
async function storeMerged(name: string): Promise<[survivor: string, hidden: string]> {
  const fields = { content: `twice told, ${name}`, session_id: name };
  const ids = await memoryd.storeInOrder(['a', 'b'].map((end) => ({ ...fields, external_id: `${name} ${end}` })));
  await memoryd.consolidate();
  expect((await memoryd.memory(ids[1] ?? '')).merged_into).toBe(ids[0]);
  return ids as [string, string];
}

describe('POST /store with external_id', () => {
  it('returns created for a request with an external_id only', async () => {
    const { body } = await send({ content: 'x', external_id: 'first' });
    expect(body).toEqual({ id: expect.any(String), status: 'stored', created: true });
    expect((await send({ content: 'x', external_id: 'first' })).body).toEqual({ ...body, created: false });
    for (const more of [{}, { external_id: null }]) {
      expect(Object.keys((await send({ content: 'x', ...more })).body)).toEqual(['id', 'status']);
    }
  });

  const BASE = {
    content: 'the base text',
    tags: ['a', 'b'],
    importance: 0.25,
    source: 'mail',
    session_id: 'base',
    created_at: '2024-01-01T00:00:00.000Z',
    expires_at: '2999-01-01T00:00:00.000Z',
    metadata: { n: 1.5, deep: { list: [1, null] } },
    attachment: '{"image":1}',
  };
  const repeats: { row: string; repeat: Partial<StoreRequest>; changes: boolean; history?: number }[] = [
    { row: 'the same request', repeat: BASE, changes: false },
    { row: 'the content alone', repeat: { content: BASE.content }, changes: false },
    { row: 'null in every optional field', repeat: { tags: null, source: null, metadata: null }, changes: false },
    { row: 'other metadata order', repeat: { metadata: { deep: { list: [1, null] }, n: 1.5 } }, changes: false },
    { row: 'the same time in another zone', repeat: { created_at: '2024-01-01T02:00:00+02:00' }, changes: false },
    { row: 'the same tags with duplicates', repeat: { tags: ['a', 'b', 'a'] }, changes: false },
    { row: 'another text', repeat: { content: 'another text' }, changes: true, history: 2 },
    { row: 'other tags', repeat: { tags: ['b', 'a'] }, changes: true },
    { row: 'no tags', repeat: { tags: [] }, changes: true },
    { row: 'another importance', repeat: { importance: 0 }, changes: true },
    { row: 'another source', repeat: { source: 'chat' }, changes: true },
    { row: 'another session', repeat: { session_id: 'moved' }, changes: true },
    { row: 'another time', repeat: { created_at: '2023-06-01T00:00:00.000Z' }, changes: true },
    { row: 'another expiry', repeat: { expires_at: '2998-01-01T00:00:00.000Z' }, changes: true },
    { row: 'other metadata', repeat: { metadata: {} }, changes: true },
    { row: 'another attachment', repeat: { attachment: '{"image":2}' }, changes: true },
  ];
  it.each(repeats)(
    'a repeated store with $row changes only what differs',
    async ({ row, repeat, changes, history }) => {
      const external_id = `repeat ${row}`;
      const base = { ...BASE, external_id };
      const { id } = (await send(base)).body;
      const before = await memoryd.memory(id);
      const answer = await send({ content: BASE.content, ...repeat, external_id });
      expect([answer.status, answer.body]).toEqual([200, { id, status: 'stored', created: false }]);
      const { version, updated_at, retention: _, ...after } = await memoryd.memory(id);
      const { attachment, ...expected } = { ...base, ...(changes && repeat) };
      expect(after).toMatchObject(expected);
      const transcript = await memoryd.session(String(expected.session_id), 'attachments=true&limit=10000');
      expect(transcript.memories.find((memory) => memory.id === id)).toMatchObject({ attachment, external_id });
      expect(version).toBe(changes ? 2 : 1);
      if (!changes) expect(updated_at).toBe(before.updated_at);
      expect(await readHistory(id)).toHaveLength(history ?? 1);
      expect((await memoryd.memories(`external_id=${encodeURIComponent(external_id)}`)).total).toBe(1);
    },
  );

  it.each([
    ['empty', ''],
    ['of 513 characters', 'x'.repeat(513)],
    ['with U+0000', 'a\0b'],
    ['with a lone surrogate', '\ud800'],
    ['that is a number', 7],
  ])('refuses an external_id %s, and stores nothing', async (_row, external_id) => {
    const request = { method: 'POST', path: '/store', json: { content: 'x', external_id } };
    await expectRefused(memoryd, request, { field: 'external_id' });
  });

  it('refuses a repeated store with an invalid field, and changes nothing', async () => {
    await send({ content: 'valid', external_id: 'invalid later' });
    const json = { content: 'changed', importance: 2, external_id: 'invalid later' };
    await expectRefused(memoryd, { method: 'POST', path: '/store', json }, { field: 'importance' });
  });

  it('refuses a repeated store that would supersede itself or an unknown memory, and changes nothing', async () => {
    const { id } = (await send({ content: 'one', external_id: 'circle' })).body;
    const later = await memoryd.store({ content: 'two', supersedes: id });
    const repeat = (supersedes: string) => ({
      method: 'POST',
      path: '/store',
      json: { content: 'changed', external_id: 'circle', supersedes },
    });
    await expectRefused(memoryd, repeat(later), { code: 'CONFLICT', field: 'supersedes' });
    await expectRefused(memoryd, repeat(id), { code: 'CONFLICT', field: 'supersedes' });
    await expectRefused(memoryd, repeat('unknown'), { code: 'NOT_FOUND', field: 'supersedes' });
    expect(await memoryd.memory(id)).toMatchObject({ content: 'one', version: 1 });
  });

  it('a repeated store with an Idempotency-Key returns its first response, and changes nothing later', async () => {
    const request = { content: 'first', external_id: 'keyed' };
    const { body } = await send(request, { 'idempotency-key': 'create' });
    const changed = await send({ ...request, content: 'second' }, { 'idempotency-key': 'change' });
    expect((await send(request, { 'idempotency-key': 'create' })).body).toEqual(body);
    expect((await send({ ...request, content: 'second' }, { 'idempotency-key': 'change' })).body).toEqual(changed.body);
    expect([body.created, changed.body.created]).toEqual([true, false]);
    expect(await memoryd.memory(body.id)).toMatchObject({ content: 'second', version: 2 });
  });

  it('a memory is changed whose time of expiry has passed, and returns when it gets a later one', async () => {
    const at = { external_id: 'expiring', content: 'a mayfly in June' };
    const { id } = (await send({ ...at, expires_at: '2001-01-01T00:00:00Z' })).body;
    const hidden = await send({ ...at, content: 'a mayfly in July' });
    expect([hidden.body, await memoryd.getStatus(id)]).toEqual([{ id, status: 'stored', created: false }, 404]);
    await memoryd.consolidate();
    await send({ ...at, content: 'a mayfly in July', expires_at: '2999-01-01T00:00:00Z' });
    expect(await memoryd.recalled('mayfly')).toEqual([id]);
    expect(await readHistory(id)).toEqual(['a mayfly in June', 'a mayfly in July']);
  });

  it('a merged memory keeps its external id, and becomes a memory of its own with another text', async () => {
    const [survivor, hidden] = await storeMerged('wren');
    const again = await send({ content: 'twice told, wren', session_id: 'wren', external_id: 'wren b' });
    expect(again.body).toEqual({ id: hidden, status: 'stored', created: false });
    expect((await memoryd.memory(hidden)).merged_into).toBe(survivor);
    await send({ content: 'told anew, wren', external_id: 'wren b' });
    expect(await memoryd.memory(hidden)).toMatchObject({ merged_into: null, external_id: 'wren b', version: 2 });
    expect(await memoryd.memory(survivor)).toMatchObject({ content: 'twice told, wren', version: 1 });
  });

  it('a forgotten group of merged memories frees the external id of each', async () => {
    const [survivor] = await storeMerged('dunlin');
    await memoryd.forget(survivor);
    for (const end of ['a', 'b']) {
      expect((await send({ content: 'x', external_id: `dunlin ${end}` })).body.created).toBe(true);
    }
  });
});

describe('stores of one external_id at the same time', () => {
  it('one of 50 concurrent stores on two servers creates the memory, and every response names it', async () => {
    const one = await startClient({ env: WORDS_ONLY });
    const other = await startClient({ env: WORDS_ONLY, database: one.server.database });
    const clients = [one, other];
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, n) => send({ content: `text ${n}`, external_id: 'race' }, {}, clients[n % 2])),
    );
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
    expect(answers.filter(({ body }) => body.created)).toHaveLength(1);
    expect(await one.memories()).toMatchObject({ total: 1, memories: [{ version: 50 }] });
    for (const client of clients) await expectCleanEnd(client.server);
  });

  it('concurrent batches of the same documents on two servers store each document once', async () => {
    const one = await startClient({ env: WORDS_ONLY });
    const other = await startClient({ env: WORDS_ONLY, database: one.server.database });
    const json = Array.from({ length: 600 }, (_, n) => ({ content: `document ${n}`, external_id: `doc ${n}` }));
    const batch = { method: 'POST', path: '/store/batch', json };
    const answers = await Promise.all([one, other].map((client) => client.ok<StoreBatchResponse>(batch)));
    const created = answers.flatMap(({ results }) => results.filter((result) => 'id' in result && result.created));
    expect(created).toHaveLength(600);
    expect(await one.memories('limit=1')).toMatchObject({ total: 600, memories: [{ version: 1 }] });
    for (const client of [one, other]) await expectCleanEnd(client.server);
  });
});

describe('POST /store/batch with external ids', () => {
  it('reports each refused repeat, and applies the others in order', async () => {
    const at = { external_id: 'in a batch' };
    const { results } = await memoryd.ok<StoreBatchResponse>({
      method: 'POST',
      path: '/store/batch',
      json: [
        { ...at, content: 'one', tags: ['kept'] },
        { ...at, content: 'two', supersedes: 'unknown' },
        { ...at, content: 'three', importance: 1 },
        { content: 'without an id of its own' },
      ],
    });
    const [first, refused, last, other] = results as (StoreResponse & { error: { code: string } })[];
    expect(refused?.error.code).toBe('NOT_FOUND');
    expect([first?.created, last?.created, other]).toEqual([true, false, { id: expect.any(String), status: 'stored' }]);
    expect(await memoryd.memory(first?.id ?? '')).toMatchObject({ content: 'three', tags: ['kept'], importance: 1 });
  });
});

describe('external ids of different users, agents and namespaces', () => {
  it('a bound key and a namespace see and change only their own memory with an external id', async () => {
    const client = await startClient({ env: WORDS_ONLY });
    let operator: Headers = {};
    const addKey = async (json: NewKey): Promise<Headers> => {
      const { key } = await client.ok<ApiKeyWithSecret>({ method: 'POST', path: '/keys', json, headers: operator });
      return { authorization: `Bearer ${key}` };
    };
    operator = await addKey({ namespace: 'default', scope: 'operate' });
    const callers: Headers[] = [
      operator,
      await addKey({ namespace: 'default', scope: 'write', user_id: 'ada' }),
      await addKey({ namespace: 'default', scope: 'write', user_id: 'ben' }),
      await addKey({ namespace: 'default', scope: 'write', agent_id: 'cook' }),
      { ...operator, 'x-memoryd-namespace': 'other' },
    ];
    const json = { content: 'mine', external_id: 'shared name' };
    const ids = [];
    for (const headers of callers) {
      const { body } = await send(json, headers, client);
      expect(body.created).toBe(true);
      ids.push(body.id);
    }
    for (const [n, headers] of callers.entries()) {
      await send({ ...json, content: `of ${n}` }, headers, client);
    }
    for (const [n, headers] of callers.entries()) {
      const memory = await client.ok<Memory>({ path: `/memories/${ids[n]}`, headers });
      expect(memory).toMatchObject({ content: `of ${n}`, version: 2 });
    }
    const [, ada] = callers;
    const forget = { method: 'DELETE', path: '/memories?external_id=shared%20name', headers: ada ?? {} };
    expect(await client.ok(forget)).toMatchObject({ forgotten_count: 1 });
    expect((await client.send({ path: `/memories/${ids[2]}`, headers: operator })).status).toBe(200);
    expectError(await client.send({ path: `/memories/${ids[1]}`, headers: operator }), { code: 'NOT_FOUND' });
    await expectCleanEnd(client.server);
  });
});

describe('exports and imports with external ids', () => {
  it('an import that is repeated stores nothing twice, and later stores change the imported memories', async () => {
    const one = await startClient({ env: WORDS_ONLY });
    for (const n of [1, 2, 3]) await send({ content: `document ${n}`, external_id: `doc ${n}` }, {}, one);
    const body = (await one.send<string>({ path: '/export' })).text;
    const other = await startClient({ env: WORDS_ONLY });
    const headers = { 'content-type': 'application/x-ndjson' };
    const run = () => other.ok<ImportResponse>({ method: 'POST', path: '/import', headers, body });
    expect(await run()).toMatchObject({ imported_count: 3, unchanged_count: 0, refused_count: 0 });
    expect(await run()).toMatchObject({ imported_count: 0, unchanged_count: 3, refused_count: 0 });
    expect((await send({ content: 'document 1', external_id: 'doc 1' }, {}, other)).body.created).toBe(false);
    await send({ content: 'document 2, changed', external_id: 'doc 2' }, {}, other);
    expect(await run()).toMatchObject({ imported_count: 0, unchanged_count: 2, refused_count: 1 });
    expect((await other.memories()).memories.map(({ external_id }) => external_id)).toEqual([
      'doc 3',
      'doc 2',
      'doc 1',
    ]);
    for (const client of [one, other]) await expectCleanEnd(client.server);
  });
});
