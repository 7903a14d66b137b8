import type {
  ApiKeyWithSecret,
  ExportedMemory,
  FacetsResponse,
  GrowthResponse,
  ImportResponse,
  MapResponse,
  MemoriesResponse,
  Memory,
  MemoryEvent,
  NewKey,
  RecallResponse,
  RecallsResponse,
  SessionResponse,
  SessionsResponse,
  StatsResponse,
  StoreRequest,
  UpdateManyResponse,
} from '@memoryd/contract';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { readEvents } from './event-reader.ts';
import type { Request } from './http.ts';
import { expectError, expectRefused } from './refusal.ts';
import { type Client, expectCleanEnd, startClient, useServer, WORDS_ONLY } from './under-test.ts';

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
const NOT_FOUND = { code: 'NOT_FOUND' } as const;
const FORBIDDEN = { code: 'FORBIDDEN' } as const;

/** Stored by two users, and once without a user. */
const MEMORY = { content: 'the bittern booms', session_id: 'marsh', tags: ['bird'] };

/** Memory ids by owner. */
interface StoredIds {
  ada: string;
  ben: string;
  shared: string;
}

async function storeForEachOwner(client: Client, headers: Record<string, string> = {}): Promise<StoredIds> {
  const store = (memory: StoreRequest) => client.store(memory, headers);
  return {
    ada: await store({ ...MEMORY, user_id: 'ada', agent_id: 'cook' }),
    ben: await store({ ...MEMORY, user_id: 'ben', agent_id: 'cook' }),
    shared: await store(MEMORY),
  };
}

function parseExport(text: string): ExportedMemory[] {
  return text
    .split('\n')
    .slice(1, -1)
    .map((line) => JSON.parse(line) as ExportedMemory);
}

/** Paths of read requests, to which parameters can be appended, and functions that get the ids from their response. */
const READS: [path: string, getIds: (body: never, text: string) => string[]][] = [
  ['/recall?query=bittern&', ({ results }: RecallResponse) => results.map(({ id }) => id)],
  ['/memories?tag=bird&', ({ memories }: MemoriesResponse) => memories.map(({ id }) => id)],
  ['/memories?q=bittern&order=importance&', ({ memories }: MemoriesResponse) => memories.map(({ id }) => id)],
  ['/session/marsh?', ({ memories }: SessionResponse) => memories.map(({ id }) => id)],
  ['/export?', (_body, text) => parseExport(text).map(({ id }) => id)],
];

/** Paths of requests that count memories, and functions that get the number from their response. */
const COUNTS: [path: string, getCount: (body: never) => number][] = [
  ['/facets?field=tag&', ({ values }: FacetsResponse) => values[0]?.count ?? 0],
  ['/facets?field=session_id&prefix=mar&', ({ values }: FacetsResponse) => values[0]?.count ?? 0],
  ['/growth?step=day&', ({ steps }: GrowthResponse) => steps[0]?.count ?? 0],
  ['/map?', ({ total }: MapResponse) => total],
];

/** Expects that changes and forgets by id ignore a memory outside of the scope, like an unknown id. */
async function expectUntouched(client: Client, id: string, parameters = '', headers: Record<string, string> = {}) {
  for (const ids of [[id], [id, 'nobody']]) {
    const change = { method: 'PATCH', path: `/memories?${parameters}`, json: { ids, importance: 1 }, headers };
    expect(await client.ok(change)).toMatchObject({ updated_count: 0, unchanged_count: 0, refused_count: 0 });
    const named = ids.map((each) => `id=${each}`).join('&');
    const forget = { method: 'DELETE', path: `/memories?${named}&${parameters}`, headers };
    expect(await client.ok(forget)).toEqual({ status: 'forgotten', forgotten_count: 0 });
  }
}

/** Returns all requests for a memory by its id. */
const createMemoryRequests = (id: string, parameters: string): Request[] => [
  { path: `/memories/${id}?${parameters}` },
  { path: `/memories/${id}/history?${parameters}` },
  { path: `/memories/${id}/related?${parameters}` },
  { method: 'PUT', path: `/update/${id}?${parameters}`, json: { importance: 1 } },
  { method: 'PUT', path: `/update/${id}?${parameters}`, json: { importance: 1 }, headers: { 'If-Match': '"9"' } },
  { method: 'DELETE', path: `/forget/${id}?${parameters}` },
  { method: 'DELETE', path: `/forget/${id}?${parameters}`, headers: { 'If-Match': '"9"' } },
];

/** Expects the same error for a memory outside of the scope as for an unknown id. */
async function expectHidden(client: Client, id: string, parameters = '', headers: Record<string, string> = {}) {
  const unknown = createMemoryRequests('nobody', parameters);
  const sendRequest = (request: Request) => client.send({ ...request, headers: { ...request.headers, ...headers } });
  for (const [index, request] of createMemoryRequests(id, parameters).entries()) {
    const answer = await sendRequest(request);
    expectError(answer, NOT_FOUND);
    const { text } = await sendRequest(unknown[index] as Request);
    const removeRequestId = (body: string) => body.replace(/"request_id":"[^"]*"/, '');
    expect(removeRequestId(answer.text)).toBe(removeRequestId(text));
  }
}

describe('requests with user_id or agent_id', () => {
  const memoryd = useServer({ env: WORDS_ONLY });
  let ids: StoredIds;
  beforeAll(async () => {
    ids = await storeForEachOwner(memoryd);
  });

  it.each(READS)(
    'requests with user_id or agent_id to %s return the memories of this user, and with shared=true also memories without a user',
    async (path, getIds) => {
      const read = async (parameters: string) => {
        const { body, text } = await memoryd.send({ path: path + parameters });
        return getIds(body as never, text).sort();
      };
      expect(await read('user_id=ada')).toEqual([ids.ada]);
      expect(await read('user_id=ada&shared=true')).toEqual([ids.ada, ids.shared].sort());
      expect(await read('agent_id=cook')).toEqual([ids.ada, ids.ben].sort());
      expect(await read('user_id=ben&agent_id=cook')).toEqual([ids.ben]);
      expect(await read('user_id=ben&agent_id=guide')).toEqual([]);
      expect(await read('')).toEqual([ids.ada, ids.ben, ids.shared].sort());
      await expectRefused(memoryd, { path: `${path}shared=true` }, { field: 'shared' });
      await expectRefused(memoryd, { path: `${path}user_id=` }, { field: 'user_id' });
    },
  );

  it.each(COUNTS)('requests with user_id or agent_id to %s count the memories of this user', async (path, getCount) => {
    const count = async (parameters: string) => getCount(await memoryd.get<never>(path + parameters));
    expect(await count('user_id=ada')).toBe(1);
    expect(await count('user_id=ada&shared=true')).toBe(2);
    expect(await count('agent_id=cook')).toBe(2);
    expect(await count('user_id=ben&agent_id=guide')).toBe(0);
    expect(await count('')).toBe(3);
    await expectRefused(memoryd, { path: `${path}shared=true` }, { field: 'shared' });
    await expectRefused(memoryd, { path: `${path}user_id=` }, { field: 'user_id' });
  });

  it('requests with user_id or agent_id can neither change nor forget memories of other users by id', async () => {
    await expectUntouched(memoryd, ids.ben, 'user_id=ada');
    await expectUntouched(memoryd, ids.ada, 'agent_id=guide');
    await expectUntouched(memoryd, ids.shared, 'user_id=ada');
    expect(await memoryd.memory(ids.ben)).toMatchObject({ importance: 0.5, version: 1 });
    expect(await memoryd.memory(ids.shared)).toMatchObject({ importance: 0.5, version: 1 });
  });

  it('requests with user_id or agent_id count and list only the memories and sessions of this user', async () => {
    expect((await memoryd.get<StatsResponse>('/stats?user_id=ada')).working_count).toBe(1);
    expect((await memoryd.get<StatsResponse>('/stats')).working_count).toBe(3);
    const { sessions } = await memoryd.get<SessionsResponse>('/sessions?user_id=ben');
    expect(sessions).toMatchObject([{ session_id: 'marsh', user_id: 'ben', total: 1 }]);
    const all = (await memoryd.get<SessionsResponse>('/sessions')).sessions;
    expect(all.map(({ user_id, total }) => [user_id ?? null, total]).sort()).toEqual([
      [null, 1],
      ['ada', 1],
      ['ben', 1],
    ]);
  });

  it('requests with user_id or agent_id get the same NOT_FOUND for a memory of another user as for an unknown id', async () => {
    await expectHidden(memoryd, ids.ben, 'user_id=ada');
    await expectHidden(memoryd, ids.ada, 'agent_id=guide');
    await expectHidden(memoryd, ids.shared, 'user_id=ada');
    expect(await memoryd.memory(ids.ben)).toMatchObject({ user_id: 'ben', agent_id: 'cook', importance: 0.5 });
    expect(await memoryd.get(`/memories/${ids.ben}?user_id=ben`)).toMatchObject({ id: ids.ben });
    const correction = { content: 'the heron croaks', user_id: 'ada', supersedes: ids.ben };
    await expectRefused(memoryd, { method: 'POST', path: '/store', json: correction }, NOT_FOUND);
  });

  it('requests with user_id or agent_id receive only the events of this user', async () => {
    const reader = await readEvents(memoryd.server.port, 'user_id=ada');
    onTestFinished(() => reader.leave());
    await memoryd.store({ content: 'a grebe', user_id: 'ben' });
    const grebe = await memoryd.store({ content: 'a grebe', user_id: 'ada' });
    expect(await reader.until(1)).toMatchObject([{ type: 'stored', user_id: 'ada', memory_ids: [grebe] }]);
  });
});

describe('an export of one user', () => {
  it('an export of one user can be imported as the same user, and as another user without the memories of the exported user', async () => {
    const memoryd = await startClient({ env: WORDS_ONLY });
    await memoryd.store({ content: 'the smew dives', user_id: 'ada' });
    await memoryd.store({ content: 'the goosander dives' });
    const { text } = await memoryd.send({ path: '/export?user_id=ada&shared=true' });
    expect(parseExport(text)).toHaveLength(2);
    await memoryd.forgetMany('source=api');
    const importAs = (parameters: string) =>
      memoryd.ok<ImportResponse>({ method: 'POST', path: `/import?${parameters}`, body: text });
    // The memory without a user gets the importing user.
    expect(await importAs('user_id=ben')).toMatchObject({ imported_count: 1, refused_count: 1 });
    expect((await memoryd.memories('user_id=ben')).memories).toMatchObject([{ content: 'the goosander dives' }]);
    // The id of that memory now belongs to the other user.
    const { new_ids = {}, ...counts } = await importAs('user_id=ada');
    expect(counts).toMatchObject({ imported_count: 2, refused_count: 0 });
    const own = (await memoryd.memories('user_id=ada')).memories;
    expect(own.map(({ content }) => content).sort()).toEqual(['the goosander dives', 'the smew dives']);
    expect(own.filter(({ id }) => Object.values(new_ids).includes(id))).toMatchObject([
      { content: 'the goosander dives' },
    ]);
    await expectCleanEnd(memoryd.server);
  });
});

describe('a key that is bound to a user or an agent', () => {
  const memoryd = useServer({ env: WORDS_ONLY });
  let operator: Record<string, string> = {};
  let ada: Record<string, string>;
  let ids: StoredIds;

  const addKey = (json: NewKey) =>
    memoryd.ok<ApiKeyWithSecret>({ method: 'POST', path: '/keys', json, headers: operator });
  beforeAll(async () => {
    operator = bearer((await addKey({ namespace: 'default', scope: 'operate' })).key);
    ada = bearer((await addKey({ namespace: 'default', scope: 'write', user_id: 'ada' })).key);
    ids = await storeForEachOwner(memoryd, operator);
  });

  it.each([
    ['operate', { user_id: 'ada' }],
    ['metrics', { user_id: 'ada' }],
    ['operate', { agent_id: 'cook' }],
  ] as const)('a key that is bound to a user or an agent cannot have the scope %s with %o', async (scope, bound) => {
    const json = { namespace: 'default', scope, ...bound };
    const refused = await memoryd.send({ method: 'POST', path: '/keys', json, headers: operator });
    expectError(refused, { field: 'scope' });
    expect(refused.text).toContain('read or write');
  });

  it.each(READS)('reads only the memories of its user with %s', async (path, getIds) => {
    const read = async (parameters: string) => {
      const { body, text } = await memoryd.send({ path: path + parameters, headers: ada });
      return getIds(body as never, text).sort();
    };
    expect(await read('')).toEqual([ids.ada]);
    expect(await read('user_id=ada')).toEqual([ids.ada]);
    expect(await read('shared=true')).toEqual([ids.ada, ids.shared].sort());
    await expectRefused(memoryd, { path: `${path}user_id=ben`, headers: ada }, FORBIDDEN, operator);
  });

  it.each(COUNTS)('counts only the memories of its user with %s', async (path, getCount) => {
    const count = async (parameters: string) =>
      getCount(await memoryd.ok<never>({ path: path + parameters, headers: ada }));
    expect(await count('')).toBe(1);
    expect(await count('shared=true')).toBe(2);
    await expectRefused(memoryd, { path: `${path}user_id=ben`, headers: ada }, FORBIDDEN, operator);
  });

  it('a key that is bound to a user lists only recalls of its user, and none that returned a memory of another user', async () => {
    for (const headers of [operator, ada]) {
      await memoryd.ok({ path: '/recall?query=bittern&user_id=ada', headers });
    }
    await memoryd.ok({ path: '/recall?query=booms&user_id=ben', headers: operator });
    await memoryd.ok({ path: '/recall?query=booms', headers: operator });
    const read = (path: string) => memoryd.ok<RecallsResponse>({ path, headers: ada });
    for (const path of ['/recalls', '/recalls?shared=true']) {
      const { recalls, total } = await read(path);
      expect(recalls.map(({ query, user_id }) => [query, user_id])).toEqual(Array(total).fill(['bittern', 'ada']));
      expect(total).toBeGreaterThan(1);
    }
    expect(await read(`/recalls?memory_id=${ids.ben}`)).toMatchObject({ recalls: [], total: 0 });
  });

  it('a key that is bound to a user cannot undo a change of another user, or of all users', async () => {
    for (const query of ['user_id=ben', 'tag=bird']) {
      const change = { method: 'PATCH', path: `/memories?${query}`, json: { importance: 0.25 }, headers: operator };
      const { change_id } = await memoryd.ok<UpdateManyResponse>(change);
      const undo = { method: 'POST', path: `/changes/${change_id}/undo` };
      await expectRefused(memoryd, { ...undo, headers: ada }, NOT_FOUND, operator);
      const read = { path: `/memories/${ids.ben}`, headers: operator };
      expect(await memoryd.ok(read)).toMatchObject({ importance: 0.25 });
      await memoryd.ok({ ...undo, path: `${undo.path}${query === 'tag=bird' ? '' : `?${query}`}`, headers: operator });
      expect(await memoryd.ok(read)).toMatchObject({ importance: 0.5 });
    }
  });

  it.each(['', '?q=', '?tag='])(
    'a key that is bound to a user changes nothing with PATCH /memories%s, which has no condition',
    async (query) => {
      const request = { method: 'PATCH', path: `/memories${query}`, json: { importance: 1 }, headers: ada };
      await expectRefused(memoryd, request, { code: 'INVALID_REQUEST' }, operator);
      const own = { path: `/memories/${ids.ada}`, headers: ada };
      expect(await memoryd.ok(own)).toMatchObject({ importance: 0.5 });
    },
  );

  it('a key that is bound to a user or an agent cannot access memories of other users by id, and can read but not change shared memories', async () => {
    await expectHidden(memoryd, ids.ben, '', ada);
    await expectHidden(memoryd, ids.shared, '', ada);
    await expectUntouched(memoryd, ids.ben, '', ada);
    await expectUntouched(memoryd, ids.shared, '', ada);
    const shared = { path: `/memories/${ids.shared}?shared=true`, headers: ada };
    expect(await memoryd.ok(shared)).toMatchObject({ id: ids.shared });
    const forgetMany = { method: 'DELETE', path: '/memories?tag=bird&shared=true', headers: ada };
    await expectRefused(memoryd, forgetMany, FORBIDDEN, operator);
  });

  it.each(['', '?shared=false', '?filter=%7B%7D'])(
    'a key that is bound to a user forgets nothing with DELETE /memories%s, which has no condition',
    async (query) => {
      const request = { method: 'DELETE', path: `/memories${query}`, headers: ada };
      await expectRefused(memoryd, request, { code: 'INVALID_REQUEST' }, operator);
    },
  );

  it('imports a memory with the id of a memory of another user under a new id, and neither changes nor reads the other', async () => {
    const ben = await memoryd.ok<Memory>({ path: `/memories/${ids.ben}`, headers: operator });
    const { text } = await memoryd.send({ path: '/export?user_id=ben', headers: operator });
    const [header = '', line = ''] = text.split('\n');
    const { user_id: _user, ...exported } = JSON.parse(line) as ExportedMemory;
    const own = { ...exported, content: 'the stint trills' };
    const later = { ...own, id: 'later', content: 'the stint sings', supersedes: ids.ben };
    const body = [header, own, later].map((each) => (typeof each === 'string' ? each : JSON.stringify(each)));
    const importAsAda = () =>
      memoryd.ok<ImportResponse>({ method: 'POST', path: '/import', body: body.join('\n'), headers: ada });
    const { new_ids = {}, ...counts } = await importAsAda();
    expect(counts).toMatchObject({ imported_count: 2, refused_count: 0, unlinked_count: 0 });
    expect(Object.keys(new_ids)).toEqual([ids.ben]);
    const id = new_ids[ids.ben] ?? '';
    const read = (memoryId: string) => memoryd.ok<Memory>({ path: `/memories/${memoryId}`, headers: ada });
    expect(await read(id)).toMatchObject({ content: 'the stint trills', user_id: 'ada', superseded_by: 'later' });
    expect(await read('later')).toMatchObject({ supersedes: id });
    expect(await importAsAda()).toMatchObject({ imported_count: 0, unchanged_count: 2, new_ids });
    await expectHidden(memoryd, ids.ben, '', ada);
    expect(await memoryd.ok({ path: `/memories/${ids.ben}`, headers: operator })).toEqual(ben);
    for (const each of [id, 'later']) await memoryd.ok({ method: 'DELETE', path: `/forget/${each}`, headers: ada });
  });

  const FOREIGN: Request[] = [
    { method: 'POST', path: '/store', json: { content: 'x', user_id: 'ben' } },
    { method: 'POST', path: '/store/batch', json: [{ content: 'x' }, { content: 'y', user_id: 'ben' }] },
    { path: '/sessions?user_id=ben' },
    { path: '/memories/x/related?user_id=ben' },
    { path: '/recalls?user_id=ben' },
    { path: '/recalls?memory_id=x&user_id=ben' },
    { method: 'PATCH', path: '/memories?user_id=ben', json: { importance: 1 } },
    { method: 'PATCH', path: '/memories?tag=bird&user_id=ben', json: { ids: ['x'], importance: 1 } },
    { method: 'POST', path: '/changes/x/undo?user_id=ben' },
    { method: 'DELETE', path: '/memories?id=x&user_id=ben' },
    { method: 'DELETE', path: '/memories?id=x&shared=true' },
    { method: 'POST', path: '/consolidations/x/undo?memory_id=x' },
    { path: '/stats/history' },
    { path: '/stats?user_id=ben' },
    { path: '/events?user_id=ben' },
    { method: 'PUT', path: '/update/x?user_id=ben', json: { importance: 1 } },
    { method: 'DELETE', path: '/forget/x?user_id=ben' },
    { method: 'DELETE', path: '/memories?user_id=ben' },
    { path: '/corrections?user_id=ben' },
    { method: 'POST', path: '/corrections/x?user_id=ben', json: { accept: true } },
    { method: 'POST', path: '/import?user_id=ben', body: '' },
    { method: 'POST', path: '/imports?from=jsonl&user_id=ben', body: '' },
    { path: '/imports?user_id=ben' },
    { method: 'DELETE', path: '/imports/x?user_id=ben' },
    { path: '/users' },
    { path: '/hooks?user_id=ben' },
    { method: 'PUT', path: '/hooks?user_id=ben', json: { paused: true } },
    { method: 'POST', path: '/hooks/codex?user_id=ben', json: {} },
    { method: 'POST', path: '/consolidate' },
    { path: '/consolidations' },
    { method: 'PUT', path: '/users/ada/quota', json: { memories: 0, bytes: 0 } },
    { path: '/stats', headers: { 'x-memoryd-namespace': 'other' } },
    { path: '/backup' },
    { path: '/keys' },
  ];
  it.each(FOREIGN.map((request) => [request.method ?? 'GET', request.path, request] as const))(
    'gets FORBIDDEN for %s %s',
    async (_method, _path, request) => {
      const before = await memoryd.ok<object>({ path: '/stats', headers: operator });
      const answer = await memoryd.send({ ...request, headers: { ...request.headers, ...ada } });
      expectError(answer, FORBIDDEN);
      const after = await memoryd.ok({ path: '/stats', headers: operator });
      expect(after).toEqual({ ...before, db_size_mb: expect.any(Number) });
    },
  );

  it('receives only the events of its user', async () => {
    const reader = await readEvents(memoryd.server.port, '', undefined, ada);
    onTestFinished(() => reader.leave());
    await memoryd.store({ content: 'a scoter', user_id: 'ben' }, operator);
    await memoryd.store({ content: 'a scoter' }, operator);
    await memoryd.ok({ path: '/recall?query=bittern', headers: operator });
    const scoter = await memoryd.store({ content: 'a scoter' }, ada);
    await memoryd.ok({ method: 'DELETE', path: `/forget/${scoter}`, headers: ada });
    const summarize = (event: MemoryEvent) => ('memory_ids' in event ? [event.type, event.memory_ids] : event);
    expect((await reader.until(3)).map(summarize)).toEqual([
      ['recalled', [ids.ada]],
      ['stored', [scoter]],
      ['forgotten', [scoter]],
    ]);
    expect(reader.text()).not.toContain(ids.ben);
  });

  it('acts as its agent for any user if it is bound to an agent only', async () => {
    const cook = bearer((await addKey({ namespace: 'default', scope: 'write', agent_id: 'cook' })).key);
    const id = await memoryd.store({ content: 'a gadwall', user_id: 'ben' }, cook);
    const found = { path: `/memories/${id}`, headers: operator };
    expect(await memoryd.ok(found)).toMatchObject({ user_id: 'ben', agent_id: 'cook' });
    const other = { method: 'POST', path: '/store', json: { content: 'x', agent_id: 'guide' }, headers: cook };
    await expectRefused(memoryd, other, FORBIDDEN, operator);
    await memoryd.ok({ method: 'DELETE', path: `/forget/${id}`, headers: cook });
  });

  it('reads, counts and changes only memories of its agent if it is bound to an agent only', async () => {
    const guide = bearer((await addKey({ namespace: 'default', scope: 'write', agent_id: 'guide' })).key);
    for (const id of [ids.ada, ids.shared]) {
      await expectHidden(memoryd, id, '', guide);
      await expectUntouched(memoryd, id, '', guide);
      await expectUntouched(memoryd, id, 'user_id=ada', guide);
    }
    for (const [path, getCount] of COUNTS) {
      expect(getCount(await memoryd.ok<never>({ path, headers: guide })), path).toBe(0);
      await expectRefused(memoryd, { path: `${path}agent_id=cook`, headers: guide }, FORBIDDEN, operator);
    }
    const foreign: Request[] = [
      { path: `/memories/${ids.ada}/related?agent_id=cook` },
      { path: '/recalls?agent_id=cook' },
      { method: 'PATCH', path: '/memories?agent_id=cook', json: { importance: 1 } },
      { method: 'POST', path: '/changes/x/undo?agent_id=cook' },
      { method: 'DELETE', path: `/memories?id=${ids.ada}&agent_id=cook` },
    ];
    for (const request of foreign) await expectRefused(memoryd, { ...request, headers: guide }, FORBIDDEN, operator);
    const recalled = await memoryd.ok<RecallsResponse>({ path: '/recalls?user_id=ada', headers: guide });
    expect(recalled.total).toBe(0);
  });
});

describe('a user quota', () => {
  it('a user quota can be set only by an operator, and the change is audited', async () => {
    const memoryd = await startClient({ env: WORDS_ONLY });
    const addKey = (json: NewKey, headers = {}) =>
      memoryd.ok<ApiKeyWithSecret>({ method: 'POST', path: '/keys', json, headers });
    const operator = bearer((await addKey({ namespace: 'default', scope: 'operate' })).key);
    const writer = bearer((await addKey({ namespace: 'default', scope: 'write' }, operator)).key);
    const quota = { memories: 1, bytes: null };
    const setting = { method: 'PUT', path: '/users/ada/quota', json: quota };
    await expectRefused(memoryd, { ...setting, headers: writer }, FORBIDDEN, operator);
    expect(await memoryd.ok({ ...setting, headers: operator })).toEqual({ user_id: 'ada', quota });
    const inOther = { ...setting, headers: { ...operator, 'x-memoryd-namespace': 'other' } };
    await memoryd.ok({ ...inOther, json: { memories: 0, bytes: null } });

    await memoryd.store({ content: 'one', user_id: 'ada' }, writer);
    const two = { method: 'POST', path: '/store', json: { content: 'two', user_id: 'ada' }, headers: writer };
    const refused = await memoryd.send(two);
    expectError(refused, FORBIDDEN);
    expect(refused.text).toMatch(/user.*\b1 memor/);
    await memoryd.ok({ ...two, headers: { ...operator, 'x-memoryd-namespace': 'other' } });
    const audited = memoryd.server.records().filter(({ event }) => event === 'quota_changed');
    expect(audited).toMatchObject([
      { component: 'audit', of_namespace: 'default', of_user: 'ada', memories: 1, bytes: 'default' },
      { of_namespace: 'other', of_user: 'ada', memories: 0 },
    ]);
    await expectCleanEnd(memoryd.server);
  });
});
