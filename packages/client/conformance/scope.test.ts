import { expect, it } from 'vitest';
import { useServer, WORDS_ONLY } from '../../server/conformance/under-test.ts';
import {
  type CallOptions,
  eachImport,
  eachMemory,
  eachRecall,
  eachSession,
  eachUser,
  type ImportedFile,
  type ImportedText,
  MemoryClient,
  MemoryError,
} from '../src/index.ts';

const memoryd = useServer({ env: WORDS_ONLY });
const createUnscopedClient = () => new MemoryClient({ url: `http://127.0.0.1:${memoryd.server.port}` });

type ScopedClient = ReturnType<MemoryClient['scope']>;

async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}

async function* getBytes(lines: string[]): AsyncGenerator<Uint8Array> {
  for (const line of lines) yield new TextEncoder().encode(`${line}\n`);
}

async function* getTexts(): AsyncGenerator<ImportedText> {
  yield { content: 'not stored', external_id: 'one' };
}

/** A call of every method of a scope, with call options as its last argument. */
const CALLS: Record<string, (memory: ScopedClient, call: CallOptions) => Promise<unknown>> = {
  store: (memory, call) => memory.store({ content: 'not stored' }, call),
  storeBatch: (memory, call) => memory.storeBatch([{ content: 'not stored' }], call),
  recall: (memory, call) => memory.recall({ query: 'anything' }, call),
  session: (memory, call) => memory.session({ session_id: 'one' }, call),
  sessions: (memory, call) => memory.sessions({}, call),
  memory: (memory, call) => memory.memory('nobody', call),
  history: (memory, call) => memory.history('nobody', {}, call),
  memories: (memory, call) => memory.memories({}, call),
  facets: (memory, call) => memory.facets({ field: 'tag' }, call),
  growth: (memory, call) => memory.growth({ step: 'day' }, call),
  map: (memory, call) => memory.map({}, call),
  related: (memory, call) => memory.related('nobody', {}, call),
  recalls: (memory, call) => memory.recalls({}, call),
  update: (memory, call) => memory.update('nobody', { importance: 1 }, call),
  updateMany: (memory, call) => memory.updateMany({ tag: ['none'] }, { importance: 1 }, call),
  undoChange: (memory, call) => memory.undoChange('nobody', call),
  forget: (memory, call) => memory.forget('nobody', call),
  forgetMany: (memory, call) => memory.forgetMany({ tag: 'none' }, call),
  exportMemories: (memory, { signal }) => collect(memory.exportMemories({}, signal)),
  importMemories: (memory, call) => memory.importMemories(getBytes([]), call),
  importTexts: (memory, call) => memory.importTexts(getTexts(), { from: 'jsonl' }, call),
  imports: (memory, call) => memory.imports({}, call),
  undoImport: (memory, call) => memory.undoImport('nobody', call),
  stats: (memory, call) => memory.stats(call),
};

it.each(Object.entries(CALLS))('%s within a scope rejects with the abort reason of its signal', async (_name, call) => {
  const reason = new Error('not needed any more');
  const memory = createUnscopedClient().scope({ userId: 'leaving' });
  await expect(call(memory, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
});

it('events within a scope are only those of the user, and end when the signal is aborted', async () => {
  const controller = new AbortController();
  const [ada, ben] = ['listening', 'talking'].map((userId) => createUnscopedClient().scope({ userId })) as [
    ScopedClient,
    ScopedClient,
  ];
  const events: unknown[] = [];
  const reading = (async () => {
    for await (const event of ada.events({ type: ['stored'] }, controller.signal)) events.push(event);
  })();
  await expect
    .poll(async () => {
      await ben.store({ content: 'for others' });
      await ada.store({ content: 'for me' });
      return events.length;
    })
    .toBeGreaterThan(0);
  controller.abort();
  await reading;
  for (const event of events) expect(event).toMatchObject({ type: 'stored', user_id: 'listening' });
});

it('lists within a scope contain only memories and sessions of the user', async () => {
  const client = createUnscopedClient();
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

it('lists in an order without cursors are read by their offset, to their end', async () => {
  const memory = createUnscopedClient().scope({ userId: 'ordering' });
  for (const n of [1, 2, 3, 4, 5]) await memory.store({ content: `${n}`, importance: n / 10 });
  const read = async (request: Parameters<typeof eachMemory>[1]) =>
    (await collect(eachMemory(memory, { limit: 2, ...request }))).map(({ content }) => content).join('');
  expect(await read({ order: 'importance' })).toBe('54321');
  expect(await read({ order: 'importance', dir: 'asc', offset: 1 })).toBe('2345');
  expect(await read({ order: 'use', limit: 5 })).toBe('54321');
  expect(await read({ order: 'retention', tag: ['none'] })).toBe('');
  expect(await read({ offset: 1 })).toBe('4321');
  expect(await read({ dir: 'asc' })).toBe('12345');
});

it('recalls within a scope are only those of the user, newest first', async () => {
  const [ada, ben] = ['recalling-a', 'recalling-b'].map((userId) => createUnscopedClient().scope({ userId })) as [
    ScopedClient,
    ScopedClient,
  ];
  for (const query of ['one', 'two', 'three']) await ada.recall({ query });
  await ben.recall({ query: 'four' });
  const queries = async (memory: ScopedClient) =>
    (await collect(eachRecall(memory, { limit: 2 }))).map(({ query }) => query);
  expect(await queries(ada)).toEqual(['three', 'two', 'one']);
  expect(await queries(ben)).toEqual(['four']);
});

it('an import within a scope stores lines for its user, and rejects lines of another user', async () => {
  const client = createUnscopedClient();
  const [ada, ben] = ['moving-a', 'moving-b'].map((userId) => client.scope({ userId })) as [ScopedClient, ScopedClient];
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

it('an import of texts within a scope belongs to its user, who alone lists and undoes it', async () => {
  const client = createUnscopedClient();
  const [ada, ben] = ['importing-a', 'importing-b'].map((userId) => client.scope({ userId })) as [
    ScopedClient,
    ScopedClient,
  ];
  const importAgain = () => ada.importTexts(getTexts(), { from: 'jsonl', name: 'talks', content_key: 'k' });
  const { import_id } = await importAgain();
  expect(await importAgain()).toMatchObject({ import_id, imported_count: 0, unchanged_count: 1 });
  expect(await collect(eachImport(ada, { limit: 1 }))).toMatchObject([
    { id: import_id, user_id: 'importing-a', memory_count: 1 },
  ]);
  expect(await collect(eachImport(ben))).toEqual([]);
  await expect(ben.undoImport(import_id)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  await expect(ada.undoImport(import_id, { user_id: 'importing-b' })).rejects.toMatchObject({ code: 'FORBIDDEN' });
  expect(await ada.undoImport(import_id)).toMatchObject({ status: 'undone', forgotten_count: 1 });
  expect((await ada.memories({})).total).toBe(0);
});

it.each<[string, (bytes: Uint8Array<ArrayBuffer>) => ImportedFile]>([
  ['bytes', (bytes) => bytes],
  ['a blob', (bytes) => new Blob([bytes])],
  ['a stream', (bytes) => new Blob([bytes]).stream()],
  ['chunks of a file', (bytes) => toChunks(bytes)],
])('imports a file of another program given as %s, after a preview that stores nothing', async (row, toFile) => {
  const client = createUnscopedClient();
  const user_id = `file as ${row}`;
  const create = () => toFile(new TextEncoder().encode('{"id":"1","content":"The figs are ripe in August"}\n'));
  const preview = await client.importFile(create(), { from: 'jsonl', user_id, dry_run: true });
  expect(preview).toMatchObject({ from: 'jsonl', found_count: 1, imported_count: 0 });
  expect(preview).not.toHaveProperty('import_id');
  expect((await client.memories({ user_id })).total).toBe(0);
  expect(await client.importFile(create(), { from: 'auto', user_id })).toMatchObject({ imported_count: 1 });
  expect((await client.memories({ user_id })).memories).toMatchObject([{ content: 'The figs are ripe in August' }]);
});

async function* toChunks(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 10) yield bytes.subarray(at, at + 10);
}

it('reads within a scope include memories without a user if the scope or the request sets shared', async () => {
  const client = createUnscopedClient();
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
  ['no scope', () => createUnscopedClient().scope(undefined as never)],
  ['an empty scope', () => createUnscopedClient().scope({})],
  ['a scope with only shared', () => createUnscopedClient().scope({ shared: true })],
  ['an undefined user', () => createUnscopedClient().scope({ userId: undefined as never })],
  ['null as a user', () => createUnscopedClient().scope({ userId: null as never })],
  ['an undefined agent', () => createUnscopedClient().scope({ userId: 'ada', agentId: undefined as never })],
  ['an empty user', () => createUnscopedClient().scope({ userId: '' })],
  ['a user of 257 characters', () => createUnscopedClient().scope({ userId: 'x'.repeat(257) })],
  ['a request field instead of an option', () => createUnscopedClient().scope({ user_id: 'ada' } as never)],
  ['a property name of Object.prototype', () => createUnscopedClient().scope({ constructor: 'ada' } as never)],
])('scope throws a MemoryError for %s', (_description, scope) => {
  expect(scope).toThrow(MemoryError);
  expect(scope).toThrow(/ must /);
});

it('requests within a scope for another user reject with FORBIDDEN before they are sent', async () => {
  const memory = new MemoryClient({ url: 'http://127.0.0.1:1', retries: 0 }).scope({ userId: 'ada' });
  const error = await memory.recall({ query: 'anything', user_id: 'ben' }).catch((thrown) => thrown);
  expect(error).toBeInstanceOf(MemoryError);
  expect(error).toMatchObject({ code: 'FORBIDDEN', status: undefined });
});
