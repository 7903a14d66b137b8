import { readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type {
  ApiKeyWithSecret,
  ErrorResponse,
  FileImportResponse,
  ImportResponse,
  ImportsResponse,
  Memory,
  NewKey,
  UndoImportResponse,
} from '@memoryd/contract';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildZip } from '../src/imports/source/zip.fixture.ts';
import { ON_FILE } from './databases.ts';
import type { Answer } from './http.ts';
import { eventually } from './process.ts';
import { type ExpectedError, expectError, expectRefused } from './refusal.ts';
import { type Client, expectCleanEnd, startClient, useServer, WORDS_ONLY } from './under-test.ts';
import { beginRequest } from './unfinished-request.ts';

const memoryd = useServer({ env: { ...WORDS_ONLY, SERVICE_IMPORT_MAX_MB: '80', SERVICE_TIMEZONE: 'Europe/Berlin' } });

let users = 0;
/** Returns a user without memories. */
const createUser = () => `uploader-${users++}`;

interface Upload {
  /** Query parameters besides `from`. */
  query?: string;
  from?: string;
  headers?: Record<string, string>;
  client?: Client;
}

const toRequest = (body: string | Uint8Array, { query = '', from = 'auto', headers = {} }: Upload = {}) => ({
  ...{ method: 'POST', path: `/import?from=${from}${query && `&${query}`}`, body, headers },
});

const upload = (body: string | Uint8Array, options: Upload = {}) =>
  (options.client ?? memoryd).ok<FileImportResponse>(toRequest(body, options));

/** Returns the memories of a user, in the order of their times. */
async function getMemories(user: string, client = memoryd): Promise<Memory[]> {
  const { memories } = await client.memories(`user_id=${user}`);
  return memories.sort((a, b) => a.created_at.localeCompare(b.created_at));
}

const getContents = async (user: string) => (await getMemories(user)).map(({ content }) => content).sort();

/** Names of the uploads that a service has now. */
function getUploads({ server }: Client): string[] {
  const folder = ON_FILE ? dirname(server.dbPath) : tmpdir();
  return readdirSync(folder).filter((name) => name.startsWith(`memoryd-import-${process.pid}-`));
}

afterAll(() => {
  expect(getUploads(memoryd)).toEqual([]);
});

const at = (day: number) => Date.UTC(2024, 2, day, 9, 30) / 1000;

/**
 * A conversation as ChatGPT exports it, with a question of the person, an answer, and another answer that was dropped.
 */
const createConversation = (id: string, question: string, answer: string) => ({
  ...{ conversation_id: id, title: 'The move', create_time: at(1), current_node: 'answer' },
  mapping: {
    root: { id: 'root', parent: null, children: ['question'], message: null },
    question: {
      ...{ id: 'question', parent: 'root', children: ['dropped', 'answer'] },
      message: createMessage('question', 'user', question, at(2)),
    },
    dropped: {
      ...{ id: 'dropped', parent: 'question', children: [] },
      message: createMessage('dropped', 'assistant', 'a dropped answer', at(3)),
    },
    answer: {
      ...{ id: 'answer', parent: 'question', children: [] },
      message: createMessage('answer', 'assistant', answer, at(3)),
    },
  },
});

const createMessage = (id: string, role: string, text: string, create_time: number) => ({
  ...{ id, author: { role }, create_time, status: 'finished_successfully', recipient: 'all', weight: 1 },
  ...{ content: { content_type: 'text', parts: [text] }, metadata: {} },
});

const CHATGPT = JSON.stringify([createConversation('c1', 'I moved to Porto', 'Porto is windy in March')]);
const MOVE = ['I moved to Porto', 'Porto is windy in March'];

const CLAUDE = JSON.stringify([
  {
    ...{ uuid: 'c-1', name: 'The move', created_at: '2024-03-02T09:30:00Z', updated_at: '2024-03-03T09:30:00Z' },
    account: { uuid: 'a-1' },
    chat_messages: [
      ['m-1', 'human', MOVE[0], '2024-03-02T09:30:00Z'],
      ['m-2', 'assistant', MOVE[1], '2024-03-03T09:30:00Z'],
    ].map(([uuid, sender, text, created_at]) => ({
      ...{ uuid, sender, text, created_at, updated_at: created_at, attachments: [], files: [] },
      content: [{ type: 'text', text }],
    })),
  },
]);

const createMem0 = (...items: [id: string, user: string | undefined, text: string][]) =>
  JSON.stringify({
    results: items.map(([id, user_id, memory]) => ({
      ...{ id, memory, user_id, created_at: '2024-03-02T09:30:00Z', updated_at: null, metadata: null, categories: [] },
    })),
  });

const createItems = (count: number) =>
  Array.from({ length: count }, (_, i): [string, undefined, string] => [`m${i}`, undefined, `fact ${i}`]);

const OF_TWO = createMem0(['1', 'alice', 'Alice likes figs'], ['2', 'bob', 'Bob likes plums'], ['3', undefined, 'all']);

const CSV = 'sent;text;room\r\n"02.03.2024";x;x\r\n'.replace(
  '"02.03.2024";x;x',
  '2024-03-02 10:30;"I moved, to Porto";hall',
);

const zip = (...entries: [name: string, content: string | Uint8Array][]) =>
  buildZip(entries.map(([name, content]) => ({ name, content }))).bytes;

describe('POST /import?from=', () => {
  it.each<{ name: string; from: string; body: string | Uint8Array; left?: string }>([
    { name: 'a ChatGPT export', from: 'chatgpt', body: CHATGPT, left: 'messages of other branches of a conversation' },
    {
      name: 'a zip of a ChatGPT export in parts',
      from: 'chatgpt',
      body: zip(['conversations-000.json', CHATGPT], ['export_manifest.json', '{}'], ['chat.html', '<html></html>']),
    },
    { name: 'a Claude export', from: 'claude', body: CLAUDE },
    { name: 'a zip of a Claude export', from: 'claude', body: zip(['conversations.json', CLAUDE]) },
  ])('recognizes $name, and stores messages with their times, sessions and roles', async ({ from, body, left }) => {
    const user = createUser();
    const response = await upload(body, { query: `user_id=${user}&name=my%20export` });
    expect(response).toMatchObject({
      ...{ from, found_count: 2, session_count: 1, imported_count: 2, refused_count: 0, import_id: expect.any(String) },
      ...{ first_at: '2024-03-02T09:30:00.000Z', last_at: '2024-03-03T09:30:00.000Z' },
    });
    if (left) expect(response.left_out).toContainEqual({ reason: left, count: 1 });
    const memories = await getMemories(user);
    expect(memories).toMatchObject(
      MOVE.map((content, i) => ({
        ...{ content, source: from, user_id: user, metadata: { title: 'The move' } },
        ...{ session_id: expect.stringContaining(`${from}:`), created_at: `2024-03-0${i + 2}T09:30:00.000Z` },
        tags: expect.arrayContaining([i === 0 ? 'role:user' : 'role:assistant']),
      })),
    );
    const { imports } = await memoryd.get<ImportsResponse>(`/imports?user_id=${user}`);
    expect(imports).toMatchObject([{ id: response.import_id, from, name: 'my export', memory_count: 2 }]);
    // A repeated import stores nothing.
    const again = await upload(body, { query: `user_id=${user}`, from });
    expect(again).toMatchObject({ import_id: response.import_id, imported_count: 0, unchanged_count: 2 });
    const path = `/imports/${response.import_id}?user_id=${user}`;
    expect(await memoryd.ok<UndoImportResponse>({ method: 'DELETE', path })).toMatchObject({ forgotten_count: 2 });
    expect(await getContents(user)).toEqual([]);
  });

  it('takes the columns of a CSV file by the map, the rest as metadata, and times in the zone of the service', async () => {
    const user = createUser();
    const query = `user_id=${user}&map=${encodeURIComponent('content=text,created_at=sent')}&rest=metadata`;
    await upload(CSV, { from: 'csv', query });
    expect(await getMemories(user)).toMatchObject([
      { content: 'I moved, to Porto', created_at: '2024-03-02T09:30:00.000Z', metadata: { room: 'hall' } },
    ]);
    await upload('text,date\nspring,2024-03-02\n', { from: 'csv', query: `user_id=${user}` });
    expect((await getMemories(user))[0]).toMatchObject({ content: 'spring', created_at: '2024-03-01T23:00:00.000Z' });
  });

  it('refuses a map to a column that the file does not have, and names the columns', async () => {
    const user = createUser();
    const { import_id, refused } = await upload(CSV, { from: 'csv', query: `user_id=${user}&map=content%3Dbody` });
    expect(import_id).toBeUndefined();
    expect(refused).toMatchObject([{ error: { message: expect.stringMatching(/"text".*"body"/) } }]);
    expect(await getContents(user)).toEqual([]);
  });

  it('stores the memories of a file under the same ids, whatever the name of the temporary file is', async () => {
    const user = createUser();
    const query = `user_id=${user}&name=garden.md`;
    const first = await upload('# Garden\n\nThe fig needs water.\n', { query });
    expect(first).toMatchObject({ from: 'markdown', imported_count: 1 });
    const second = await upload('# Garden\n\nThe fig needs much water.\n', { query });
    expect(second).toMatchObject({ imported_count: 0, updated_count: 1, refused: [] });
    const [memory] = await getMemories(user);
    expect(memory).toMatchObject({ content: expect.stringContaining('much water'), external_id: expect.any(String) });
    expect(JSON.stringify([first, second, memory])).not.toContain('memoryd-import-');
  });

  it.each([
    ['rows of tables', 'csv', 'id,content\n1,apple tree\n', 'id,content\n1,pear tree\n', ['apple tree', 'pear tree']],
    ['notes', 'markdown', '# Garden\n\napples\n', '# Garden\n\npears\n', ['Garden\n\napples', 'Garden\n\npears']],
  ])(
    'keeps %s of two uploads without a name apart, and those of one name together',
    async (_, from, one, other, both) => {
      const [unnamed, named] = [createUser(), createUser()];
      for (const body of [one, other, one]) await upload(body, { from, query: `user_id=${unnamed}` });
      expect(await getContents(unnamed)).toEqual(both);
      for (const body of [one, other]) await upload(body, { from, query: `user_id=${named}&name=garden` });
      expect(await getContents(named)).toEqual([both[1]]);
    },
  );

  it('stores nothing in a dry run, and previews the same numbers', async () => {
    const user = createUser();
    const query = `user_id=${user}&dry_run=true`;
    const { import_id, ...preview } = await upload(CHATGPT, { query });
    expect(import_id).toBeUndefined();
    expect(preview).toMatchObject({
      found_count: 2,
      imported_count: 0,
      first: [{ content: MOVE[0], user_id: user }, {}],
    });
    expect(await getContents(user)).toEqual([]);
    expect((await memoryd.get<ImportsResponse>(`/imports?user_id=${user}`)).total).toBe(0);
  });

  it('imports the readable items of a truncated file, and lists the rest as refused', async () => {
    const user = createUser();
    const whole = JSON.stringify([JSON.parse(CHATGPT)[0], createConversation('c2', 'Lea visits in June', 'Noted')]);
    const response = await upload(whole.slice(0, -40), { query: `user_id=${user}` });
    expect(response).toMatchObject({
      imported_count: 2,
      refused_count: 1,
      refused: [{ error: { code: 'INVALID_REQUEST' } }],
    });
    expect(await getContents(user)).toEqual(MOVE);
  });

  it('recognizes an export of memoryd, and imports it as without `from`', async () => {
    const user = createUser();
    await memoryd.store({ content: 'the smew dives', user_id: user });
    const { text } = await memoryd.send<string>({ path: `/export?user_id=${user}` });
    await memoryd.forgetMany(`user_id=${user}`);
    const dry = toRequest(text, { query: `user_id=${user}&dry_run=true` });
    await expectRefused(memoryd, dry, { field: 'dry_run' });
    const imported = await memoryd.ok<ImportResponse>(toRequest(text, { query: `user_id=${user}` }));
    expect(imported).toMatchObject({ imported_count: 1, unlinked_count: 0 });
    expect(await getContents(user)).toEqual(['the smew dives']);
  });

  it.each<{ name: string; body?: string | Uint8Array; options: Upload; expected?: ExpectedError; message?: RegExp }>([
    { name: 'a file of no format', body: '\x00\x01\x02', options: {}, message: /chatgpt.*claude.*markdown/s },
    { name: 'an empty file', body: '', options: {} },
    { name: 'a file of another format', body: CHATGPT, options: { from: 'mem0' }, message: /chatgpt/ },
    { name: 'a wrong format', options: { from: 'word' }, expected: { field: 'from' } },
    { name: 'a map without a column', options: { query: 'map=content' }, expected: { field: 'map' } },
    { name: 'a wrong time zone', options: { query: 'timezone=Mars' }, expected: { field: 'timezone' } },
    { name: 'a wrong capture', options: { query: 'capture=all' }, expected: { field: 'capture' } },
    { name: 'an unknown parameter', options: { query: 'colour=red' }, expected: { field: 'colour' } },
    {
      name: 'several users for one',
      ...{ body: OF_TWO, options: { query: 'user_id=ada' }, expected: { field: 'source_user' } },
      message: /"alice", "bob"/,
    },
    {
      name: 'an unknown user of the file',
      ...{ body: OF_TWO, options: { query: 'source_user=carol' }, expected: { field: 'source_user' } },
    },
  ])('refuses $name, and leaves no file', async ({ body = CHATGPT, options, expected, message = /\S/ }) => {
    const { body: refusal, text } = await expectRefused<ErrorResponse>(memoryd, toRequest(body, options), expected);
    expect(refusal.error.message).toMatch(message);
    expect(text).not.toContain('memoryd-import-');
    expect(getUploads(memoryd)).toEqual([]);
  });

  it.each(['dry_run=true', 'name=x', 'source_user=x', 'map=content%3Dx', 'capture=turns', 'redact=false'])(
    'refuses %s without `from`',
    async (query) => {
      const field = query.split('=')[0] as string;
      for (const from of ['', '&from=memoryd']) {
        await expectRefused(memoryd, { method: 'POST', path: `/import?${query}${from}`, body: '' }, { field });
      }
    },
  );

  it('stores the memories of one user of several under the requested user, or of all under their own', async () => {
    const user = createUser();
    const picked = await upload(OF_TWO, { query: `user_id=${user}&source_user=bob` });
    expect(picked).toMatchObject({ imported_count: 1, left_out: [{ reason: 'memories of other users', count: 2 }] });
    expect(await getMemories(user)).toMatchObject([{ content: 'Bob likes plums', metadata: { source_user: 'bob' } }]);
    expect(await upload(OF_TWO)).toMatchObject({ imported_count: 3, users: ['alice', 'bob'] });
    expect(await getContents('alice')).toEqual(['Alice likes figs']);
    expect(await getContents('bob')).toEqual(['Bob likes plums']);
  });

  it('imports the same file for two users as separate memories', async () => {
    const [ada, ben] = [createUser(), createUser()];
    const { import_id } = await upload(CHATGPT, { query: `user_id=${ada}` });
    expect(await upload(CHATGPT, { query: `user_id=${ben}` })).toMatchObject({ imported_count: 2 });
    await memoryd.ok({ method: 'DELETE', path: `/imports/${import_id}` });
    expect([await getContents(ada), await getContents(ben)]).toEqual([[], MOVE]);
  });
});

describe('the redaction of imported files', () => {
  const unredacted = useServer({ env: { ...WORDS_ONLY, SERVICE_REDACT_IMPORTS: 'off' } });
  const redacted = useServer({ env: { ...WORDS_ONLY, SERVICE_REDACT_IMPORTS: 'off', SERVICE_REDACT: 'on' } });
  const TOKEN = `ghp_${'A1b2'.repeat(9)}`;
  const body = createMem0(['1', undefined, `deploy with ${TOKEN}`]);

  it.each([
    { name: 'removes secrets by default', server: memoryd, query: '', isRemoved: true },
    { name: 'keeps secrets with redact=false', server: memoryd, query: '&redact=false', isRemoved: false },
    { name: 'keeps secrets with the setting off', server: unredacted, query: '', isRemoved: false },
    { name: 'removes secrets with redact=true', server: unredacted, query: '&redact=true', isRemoved: true },
    { name: 'cannot turn off redaction of the service', server: redacted, query: '&redact=false', isRemoved: true },
  ])('an import $name', async ({ server, query, isRemoved }) => {
    const user = createUser();
    const response = await upload(body, { query: `user_id=${user}${query}`, client: server });
    expect(response.redacted).toEqual(isRemoved ? [{ kind: 'github-token', count: 1 }] : undefined);
    const [memory] = await getMemories(user, server);
    expect(memory?.content.includes(TOKEN)).toBe(!isRemoved);
    expect(response.first[0]?.content).toBe(memory?.content);
  });
});

describe('the limits of uploads', () => {
  const small = useServer({ env: { ...WORDS_ONLY, SERVICE_IMPORT_MAX_MB: '1' } });
  const LARGE = createMem0(['1', undefined, 'x'.repeat(1024 * 1024)]);

  it.each([
    ['stated in Content-Length', false],
    ['sent in chunks', true],
  ])('refuses a file above the limit, %s', async (_name, chunked) => {
    const answer = await expectRefused(small, { ...toRequest(LARGE), chunked }, { code: 'PAYLOAD_TOO_LARGE' });
    expect(answer.text).toContain('SERVICE_IMPORT_MAX_MB');
    expect(getUploads(small)).toEqual([]);
  });

  it('refuses a second upload of a namespace at the same time', async () => {
    const socket = await beginRequest(memoryd, '/import?from=auto', 1000, '[');
    await eventually('the upload', 20_000, () => (getUploads(memoryd).length > 0 ? true : undefined));
    await expectRefused(memoryd, toRequest(CHATGPT), { code: 'UNAVAILABLE' });
    socket.destroy();
    await eventually('the end of the upload', 20_000, () => (getUploads(memoryd).length === 0 ? true : undefined));
    expect(await upload(CHATGPT, { query: `user_id=${createUser()}` })).toMatchObject({ imported_count: 2 });
  });

  it('stops an import when the client disconnects, and continues it when it is repeated', async () => {
    const user = createUser();
    const body = createMem0(...createItems(5000));
    const { path } = toRequest(body, { query: `user_id=${user}` });
    const socket = await beginRequest(memoryd, path, Buffer.byteLength(body), body);
    const total = async () => (await memoryd.memories(`user_id=${user}&limit=1`)).total;
    await eventually('the first memories', 20_000, async () => ((await total()) > 0 ? true : undefined));
    socket.destroy();
    await eventually('the end of the upload', 20_000, () => (getUploads(memoryd).length === 0 ? true : undefined));
    const stored = await total();
    expect(stored).toBeLessThan(5000);
    const again = await eventually('a free slot', 20_000, async () => {
      const answer = await memoryd.send<FileImportResponse>(toRequest(body, { query: `user_id=${user}` }));
      return answer.status === 200 ? answer.body : undefined;
    });
    expect(again).toMatchObject({ imported_count: 5000 - stored, unchanged_count: stored });
    expect(await total()).toBe(5000);
  });

  /** Levels of nesting: the value has 32 MiB, which is below the limit of one value. */
  const DEEP = 2 ** 24;
  it.each<{ name: string; body: string }>([
    { name: 'nested arrays', body: `${CHATGPT.slice(0, -1)},{"mapping":${'['.repeat(DEEP)}${']'.repeat(DEEP)}}]` },
    { name: 'one very long text', body: createMem0(['1', undefined, 'x'.repeat(70 * 1024 * 1024)]) },
    { name: 'very many empty objects', body: `${CHATGPT.slice(0, -1)},[${'{},'.repeat(DEEP)}{}]]` },
  ])('survives a file with $name', async ({ body }) => {
    const user = createUser();
    const answer: Answer<FileImportResponse> = await memoryd.send(toRequest(body, { query: `user_id=${user}` }));
    if (answer.status === 200) expect(answer.body.refused_count).toBeGreaterThan(0);
    else expectError(answer);
    expect(getUploads(memoryd)).toEqual([]);
    expect(await upload(CHATGPT, { query: `user_id=${createUser()}` })).toMatchObject({ imported_count: 2 });
  });

  it('ends an import when the service stops, and continues it after the next start', async () => {
    const first = await startClient({ env: WORDS_ONLY });
    const body = createMem0(...createItems(5000));
    const answer = first.send<ErrorResponse>(toRequest(body)).catch(() => undefined);
    await eventually('the first memories', 20_000, async () =>
      (await first.memories('limit=1')).total > 0 ? true : undefined,
    );
    await expectCleanEnd(first.server);
    expectError((await answer) as Answer, { code: 'UNAVAILABLE' });
    expect(getUploads(first)).toEqual([]);
    const second = await startClient({ env: WORDS_ONLY, database: first.server.database });
    const { total } = await second.memories('limit=1');
    expect(total).toBeLessThan(5000);
    const again = await upload(body, { client: second });
    expect(again).toMatchObject({ imported_count: 5000 - total, unchanged_count: total });
    expect((await second.memories('limit=1')).total).toBe(5000);
    await expectCleanEnd(second.server);
  });

  it.runIf(ON_FILE)('removes the upload of a killed process when the service starts', async () => {
    const left = 'memoryd-import-999999999-c9d4a3c2-58f1-4a3e-9d0c-3f6f0b3d5c11';
    const first = await startClient({ env: WORDS_ONLY });
    await expectCleanEnd(first.server);
    const { dbPath } = first.server;
    writeFileSync(join(dirname(dbPath), left), 'x');
    const second = await startClient({ env: WORDS_ONLY, dbPath });
    expect(readdirSync(dirname(dbPath))).not.toContain(left);
    await expectCleanEnd(second.server);
  });
});

describe('the access to uploads', () => {
  const guarded = useServer({ env: WORDS_ONLY });
  let keys: Record<'operator' | 'reader' | 'ada', Record<string, string>>;
  beforeAll(async () => {
    let headers: Record<string, string> = {};
    const add = async (fields: Omit<NewKey, 'namespace'>) => {
      const json = { namespace: 'default', ...fields };
      const { key } = await guarded.ok<ApiKeyWithSecret>({ method: 'POST', path: '/keys', json, headers });
      return { authorization: `Bearer ${key}` };
    };
    headers = await add({ scope: 'operate' });
    const ada = await add({ scope: 'write', user_id: 'ada' });
    keys = { operator: headers, reader: await add({ scope: 'read' }), ada };
  });

  it('refuses a key of Ada for Ben, and a key that can only read', async () => {
    for (const [headers, query] of [
      [keys.ada, 'user_id=ben'],
      [keys.ada, 'user_id=ben&dry_run=true'],
      [keys.reader, 'user_id=ben'],
    ] as const) {
      await expectRefused(guarded, toRequest(CHATGPT, { query, headers }), { code: 'FORBIDDEN' }, keys.operator);
    }
    expect(getUploads(guarded)).toEqual([]);
  });

  it('stores all memories of a file under the user of the key, and audits the import', async () => {
    const file = createMem0(['1', 'alice', 'Alice likes figs']);
    const { import_id } = await upload(file, { headers: keys.ada, client: guarded });
    const { memories } = await guarded.ok<{ memories: Memory[] }>({ path: '/memories', headers: keys.operator });
    expect(memories).toMatchObject([{ user_id: 'ada', metadata: { source_user: 'alice' } }]);
    const records = guarded.server.records().filter(({ component }) => component === 'audit');
    expect(records.at(-1)).toMatchObject({ event: 'imported', import_id, count: 1, user_id: 'ada' });
  });
});
