import { expect, it } from 'vitest';
import { useServer, WORDS_ONLY } from '../../server/conformance/under-test.ts';
import { type CallOptions, eachMemory, eachSession, eachUser, MemoryClient, MemoryError } from '../src/index.ts';

const memoryd = useServer({ env: WORDS_ONLY });
const clientOfAll = () => new MemoryClient({ url: `http://127.0.0.1:${memoryd.server.port}` });

type Scoped = ReturnType<MemoryClient['scope']>;

async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}

async function* getBytes(lines: string[]): AsyncGenerator<Uint8Array> {
  for (const line of lines) yield new TextEncoder().encode(`${line}\n`);
}

/** Every method of a scope, with call options as its last argument. */
const CALLS: Record<string, (memory: Scoped, call: CallOptions) => Promise<unknown>> = {
  store: (memory, call) => memory.store({ content: 'not stored' }, call),
  storeBatch: (memory, call) => memory.storeBatch([{ content: 'not stored' }], call),
  recall: (memory, call) => memory.recall({ query: 'anything' }, call),
  session: (memory, call) => memory.session({ session_id: 'one' }, call),
  sessions: (memory, call) => memory.sessions({}, call),
  memory: (memory, call) => memory.memory('nobody', call),
  history: (memory, call) => memory.history('nobody', {}, call),
  memories: (memory, call) => memory.memories({}, call),
  update: (memory, call) => memory.update('nobody', { importance: 1 }, call),
  forget: (memory, call) => memory.forget('nobody', call),
  forgetMany: (memory, call) => memory.forgetMany({ tag: 'none' }, call),
  exportMemories: (memory, { signal }) => collect(memory.exportMemories({}, signal)),
  importMemories: (memory, call) => memory.importMemories(getBytes([]), call),
  stats: (memory, call) => memory.stats(call),
};

it.each(Object.entries(CALLS))('%s within a scope ends with the signal of its caller', async (_name, ask) => {
  const why = new Error('not needed any more');
  const memory = clientOfAll().scope({ userId: 'leaving' });
  await expect(ask(memory, { signal: AbortSignal.abort(why) })).rejects.toBe(why);
});

it('events within a scope are those of the user, and end with the signal of their caller', async () => {
  const leaving = new AbortController();
  const [ada, ben] = ['listening', 'talking'].map((userId) => clientOfAll().scope({ userId })) as [Scoped, Scoped];
  const seen: unknown[] = [];
  const following = (async () => {
    for await (const event of ada.events({ type: ['stored'] }, leaving.signal)) seen.push(event);
  })();
  await expect
    .poll(async () => {
      await ben.store({ content: 'for others' });
      await ada.store({ content: 'for me' });
      return seen.length;
    })
    .toBeGreaterThan(0);
  leaving.abort();
  await following;
  for (const event of seen) expect(event).toMatchObject({ type: 'stored', user_id: 'listening' });
});

it('pages within a scope list what is of the user alone', async () => {
  const client = clientOfAll();
  for (const userId of ['paging-a', 'paging-b']) {
    const memory = client.scope({ userId });
    for (const n of [1, 2, 3]) await memory.store({ content: `${n} of ${userId}`, session_id: `${n}` });
  }
  const memory = client.scope({ userId: 'paging-b' });
  const texts = (await collect(eachMemory(memory, { limit: 2 }))).map(({ content }) => content);
  expect(texts).toEqual(['3 of paging-b', '2 of paging-b', '1 of paging-b']);
  const sessions = await collect(eachSession(memory, { limit: 2 }));
  expect(sessions.map(({ session_id, user_id, total }) => [session_id, user_id, total])).toEqual(
    ['1', '2', '3'].map((id) => [id, 'paging-b', 1]),
  );
  const users = await collect(eachUser(client, { limit: 1 }));
  expect(users.map(({ user_id }) => user_id).filter((id) => id.startsWith('paging'))).toEqual(['paging-a', 'paging-b']);
});

it('an import within a scope stores for its user, and refuses what is of another', async () => {
  const client = clientOfAll();
  const [ada, ben] = ['moving-a', 'moving-b'].map((userId) => client.scope({ userId })) as [Scoped, Scoped];
  const { id } = await ada.store({ content: 'carried over' });
  const lines = await collect(ada.exportMemories());
  await ada.forget(id);
  expect(await ben.importMemories(getBytes(lines))).toMatchObject({ imported_count: 0, refused_count: 1 });
  const withoutUser = lines.map((line) => {
    const { user_id: _user, ...rest } = JSON.parse(line);
    return JSON.stringify(rest);
  });
  expect(await ben.importMemories(getBytes(withoutUser))).toMatchObject({ imported_count: 1 });
  expect(await ben.memory(id)).toMatchObject({ content: 'carried over', user_id: 'moving-b' });
  await expect(ada.memory(id)).rejects.toMatchObject({ code: 'NOT_FOUND' });
});

it('shares with a user what belongs to nobody, where the scope or the request says so', async () => {
  const client = clientOfAll();
  const { id } = await client.store({ content: 'for everyone' });
  const { id: bens } = await client.store({ content: 'for ben', user_id: 'ben' });
  const ada = client.scope({ userId: 'ada' });
  const sharing = client.scope({ userId: 'ada', shared: true });
  await expect(ada.memory(id)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  expect(await ada.memory(id, { shared: true })).toMatchObject({ content: 'for everyone' });
  expect(await sharing.memory(id)).toMatchObject({ content: 'for everyone' });
  await expect(sharing.memory(bens)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  await expect(sharing.forget(id)).rejects.toMatchObject({ code: 'NOT_FOUND' });
});

it.each<[string, () => unknown]>([
  ['no scope', () => clientOfAll().scope(undefined as never)],
  ['a scope of nobody', () => clientOfAll().scope({})],
  ['a scope of shared memories alone', () => clientOfAll().scope({ shared: true })],
  ['a user that was left out', () => clientOfAll().scope({ userId: undefined as never })],
  ['null as a user', () => clientOfAll().scope({ userId: null as never })],
  ['an agent that was left out', () => clientOfAll().scope({ userId: 'ada', agentId: undefined as never })],
  ['an empty user', () => clientOfAll().scope({ userId: '' })],
  ['a user of 257 characters', () => clientOfAll().scope({ userId: 'x'.repeat(257) })],
  ['a field of requests', () => clientOfAll().scope({ user_id: 'ada' } as never)],
  ['a name that every object has', () => clientOfAll().scope({ constructor: 'ada' } as never)],
])('refuses %s with its own error', (_what, scope) => {
  expect(scope).toThrow(MemoryError);
  expect(scope).toThrow(/ must /);
});

it('refuses another user with its own error, before anything is sent', async () => {
  const memory = new MemoryClient({ url: 'http://127.0.0.1:1', retries: 0 }).scope({ userId: 'ada' });
  const error = await memory.recall({ query: 'anything', user_id: 'ben' }).catch((thrown) => thrown);
  expect(error).toBeInstanceOf(MemoryError);
  expect(error).toMatchObject({ code: 'FORBIDDEN', status: undefined });
});
