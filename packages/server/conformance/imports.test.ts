import { setTimeout as delay } from 'node:timers/promises';
import type {
  ApiKeyWithSecret,
  ImportedText,
  ImportsResponse,
  ImportTextsResponse,
  MemoryEvent,
  NewKey,
  UndoImportResponse,
} from '@memoryd/contract';
import { afterEach, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { type EventReader, readEvents } from './event-reader.ts';
import { eventually } from './process.ts';
import { expectError, expectRefused } from './refusal.ts';
import { type Client, expectCleanEnd, startClient, useServer, WORDS_ONLY } from './under-test.ts';
import { beginRequest } from './unfinished-request.ts';

const memoryd = useServer({ env: WORDS_ONLY });
afterEach(() => {
  vi.useRealTimers();
});

const bearer = ({ key }: ApiKeyWithSecret) => ({ authorization: `Bearer ${key}` });

let users = 0;
/** Returns a user without memories. */
const createUser = () => `importer-${users++}`;

interface Options {
  /** Query parameters besides `from` and `user_id`. */
  query?: string;
  headers?: Record<string, string>;
  client?: Client;
}

const toLines = (texts: readonly unknown[]) => texts.map((text) => `${JSON.stringify(text)}\n`).join('');

function toRequest(user: string, body: string | Uint8Array, { query = '', headers = {} }: Options = {}) {
  const path = `/imports?from=chatgpt&user_id=${user}${query && `&${query}`}`;
  return { method: 'POST', path, body, headers: { 'content-type': 'application/x-ndjson', ...headers } };
}

/** Imports texts, or a body of lines. */
function importTexts(user: string, texts: readonly Partial<ImportedText>[] | string | Uint8Array, options?: Options) {
  const body = Array.isArray(texts) ? toLines(texts) : (texts as string | Uint8Array);
  return (options?.client ?? memoryd).ok<ImportTextsResponse>(toRequest(user, body, options));
}

const undo = (id: string, query = '') =>
  memoryd.ok<UndoImportResponse>({ method: 'DELETE', path: `/imports/${id}?${query}` });

const listImports = (query: string) => memoryd.get<ImportsResponse>(`/imports?${query}`);

/** Returns the memories of a user, in the order of their times. */
const getMemories = async (user: string) => (await memoryd.memories(`user_id=${user}`)).memories.toReversed();

const getContents = async (user: string) => (await getMemories(user)).map(({ content }) => content);

type ImportEvent = Extract<MemoryEvent, { type: 'import' }>;

/** Waits for an event of an import with this state, and returns all events of imports that have arrived. */
const untilState = (reader: EventReader, awaited: ImportEvent['state']) =>
  eventually(`the state ${awaited}`, 20_000, () => {
    const arrived = reader.events().filter((event) => event.type === 'import');
    return arrived.some(({ state }) => state === awaited) ? arrived : undefined;
  });

/** A conversation of Mara, with the fields that importers set. */
const createTalk = (id = 'c1'): ImportedText[] =>
  ['I moved to Porto', 'Porto is windy in March', 'My sister Lea visits in June'].map((content, i) => ({
    ...{ content, external_id: `chatgpt:${id}/m${i}`, session_id: `chatgpt:${id}`, source: 'chatgpt' },
    ...{ tags: [i === 1 ? 'role:assistant' : 'role:user'], metadata: { title: 'The move' } },
    created_at: `2024-03-0${i + 1}T09:30:00.000Z`,
  }));

const COUNTS = { imported_count: 0, updated_count: 0, unchanged_count: 0, refused_count: 0, refused: [] };

describe('POST /imports', () => {
  it('stores texts with their times, sessions, tags and metadata', async () => {
    const user = createUser();
    const { import_id, ...counts } = await importTexts(user, createTalk());
    expect(counts).toEqual({ ...COUNTS, imported_count: 3 });
    expect(import_id).toMatch(/^.{1,64}$/);
    const expected = createTalk().map((text) => ({ ...text, user_id: user, tier: 'working', version: 1 }));
    expect(await getMemories(user)).toMatchObject(expected);
    const { memories } = await memoryd.session('chatgpt:c1', `user_id=${user}`);
    expect(memories.map(({ content }) => content)).toEqual(createTalk().map(({ content }) => content));
  });

  it('stores nothing twice when it is repeated two days later, and stores texts that are new or changed in the source', async () => {
    const user = createUser();
    const first = await importTexts(user, createTalk());
    const before = await getMemories(user);
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 2 * 24 * 60 * 60 * 1000 });
    expect(await importTexts(user, createTalk())).toMatchObject({ ...COUNTS, unchanged_count: 3 });
    expect(await getMemories(user)).toEqual(before.map((memory) => ({ ...memory, retention: expect.any(Number) })));
    const [moved, ...rest] = createTalk();
    const later = [{ ...moved, content: 'I moved to Porto in 2024' }, ...rest, ...createTalk('c2')];
    const second = await importTexts(user, later);
    expect(second).toMatchObject({ ...COUNTS, imported_count: 3, updated_count: 1, unchanged_count: 2 });
    expect(second.import_id).not.toBe(first.import_id);
    const memories = await getMemories(user);
    expect(memories).toHaveLength(6);
    expect(memories.find(({ id }) => id === before[0]?.id)).toMatchObject({
      content: 'I moved to Porto in 2024',
      created_at: '2024-03-01T09:30:00.000Z',
    });
  });

  it('never overwrites a memory that was changed here, or that was stored in another way', async () => {
    const user = createUser();
    const [moved, windy] = createTalk() as [ImportedText, ImportedText];
    const own = await memoryd.store({ content: 'stored by a hook', external_id: moved.external_id, user_id: user });
    await importTexts(user, [windy]);
    const [imported] = (await getMemories(user)).filter(({ id }) => id !== own);
    await memoryd.update(imported?.id ?? '', { content: 'Porto is windy all year' });
    const again = [moved, { ...windy, content: 'Porto is windy in April' }];
    expect(await importTexts(user, again)).toMatchObject({ ...COUNTS, unchanged_count: 2 });
    expect((await getContents(user)).sort()).toEqual(['Porto is windy all year', 'stored by a hook']);
  });

  const GOOD: ImportedText[] = [
    { content: 'the first good text', external_id: 'first' },
    { content: 'the last good text', external_id: 'last' },
  ];
  it.each<[string, string | Uint8Array, { place: string; code?: string; path?: string }]>([
    ['is no JSON', 'no JSON', { place: 'text 2' }],
    ['is no UTF-8', Buffer.from('{"external_id":"x","content":"\xff"}', 'latin1'), { place: 'text 2' }],
    ['is a list', '[]', { place: 'text 2' }],
    ['is null', 'null', { place: 'text 2' }],
    ['has no external id', '{"content":"x"}', { place: 'text 2', path: '/external_id' }],
    ['has null as its external id', '{"content":"x","external_id":null}', { place: 'text 2', path: '/external_id' }],
    ['has no content', '{"external_id":"x"}', { place: 'x', path: '/content' }],
    ['has an unknown field', '{"external_id":"x","content":"y","role":"user"}', { place: 'x', path: '/role' }],
    [
      'has an invalid time',
      '{"external_id":"x","content":"y","created_at":1700000000}',
      { place: 'x', path: '/created_at' },
    ],
    [
      'ends before it begins',
      '{"external_id":"x","content":"y","valid_from":"2024-02-01","valid_to":"2024-01-01"}',
      { place: 'x', path: '/valid_to' },
    ],
    ['names another user', '{"external_id":"x","content":"y","user_id":"ben"}', { place: 'x', code: 'FORBIDDEN' }],
  ])(
    'refuses a line that %s, and imports the others',
    async (_row, line, { place, code = 'INVALID_REQUEST', path }) => {
      const user = createUser();
      const [first, last] = GOOD.map((text) => Buffer.from(`${JSON.stringify(text)}\r\n`)) as [Buffer, Buffer];
      const body = Buffer.concat([Buffer.from('\n\r\n'), first, Buffer.from(line), Buffer.from('\n\n'), last]);
      const { import_id: _id, refused, ...counts } = await importTexts(user, body);
      expect({ ...counts, refused: [] }).toEqual({ ...COUNTS, imported_count: 2, refused_count: 1 });
      expect(refused).toMatchObject([{ place, error: { code, ...(path && { details: [{ path }] }) } }]);
      expect((await getContents(user)).sort()).toEqual(GOOD.map(({ content }) => content));
      expect((await memoryd.memories('user_id=ben')).total).toBe(0);
    },
  );

  it('accepts a body with a byte order mark and without a last line feed', async () => {
    const user = createUser();
    expect(await importTexts(user, `\ufeff${toLines(GOOD).trim()}`)).toMatchObject({ ...COUNTS, imported_count: 2 });
    expect(await getContents(user)).toHaveLength(2);
  });

  it('stores a text that occurs twice in the body once, in its last form', async () => {
    const user = createUser();
    const [text] = GOOD as [ImportedText];
    const counts = await importTexts(user, [text, { ...text, content: 'the same text, edited' }]);
    expect(counts).toMatchObject({ ...COUNTS, imported_count: 1, updated_count: 1 });
    expect(await getContents(user)).toEqual(['the same text, edited']);
  });

  it('lists the first 100 refused texts and counts all', async () => {
    const user = createUser();
    const bad = Array.from({ length: 150 }, (_, i) => ({ external_id: `bad ${i}` }));
    const { refused, ...counts } = await importTexts(user, [...bad, ...GOOD]);
    expect(counts).toMatchObject({ imported_count: 2, refused_count: 150 });
    expect(refused.map(({ place }) => place)).toEqual(bad.slice(0, 100).map(({ external_id }) => external_id));
  });

  it.each([
    ['from', '?name=x'],
    ['from', '?from=word'],
    ['from', '?from=ChatGPT'],
    ['name', `?from=csv&name=${'x'.repeat(257)}`],
    ['content_key', `?from=csv&content_key=${'x'.repeat(129)}`],
    ['expected_count', '?from=csv&expected_count=-1'],
    ['redact', '?from=csv&redact=no'],
    ['user_id', '?from=csv&user_id='],
    ['colour', '?from=csv&colour=red'],
  ])('refuses a wrong %s before it reads a text: %s', async (field, query) => {
    const request = { method: 'POST', path: `/imports${query}`, body: toLines(GOOD) };
    await expectRefused(memoryd, request, { field });
    expect((await listImports('')).imports.filter(({ from }) => from === 'csv')).toEqual([]);
  });

  const TOKEN = `ghp_${'A1b2'.repeat(9)}`;
  it.each([
    ['removes secrets, and counts them', '', ['deploy with [redacted:github-token]']],
    ['keeps secrets with redact=false', 'redact=false', [`deploy with ${TOKEN}`]],
  ])('an import of texts %s', async (_row, query, contents) => {
    const user = createUser();
    const texts = [{ content: `deploy with ${TOKEN}`, external_id: '1' }];
    const imported = await importTexts(user, texts, { query });
    expect(imported.redacted).toEqual(query === '' ? [{ kind: 'github-token', count: 1 }] : undefined);
    expect(await getContents(user)).toEqual(contents);
  });

  it('keeps secrets with SERVICE_REDACT_IMPORTS=off, unless the request says otherwise', async () => {
    const client = await startClient({ env: { ...WORDS_ONLY, SERVICE_REDACT_IMPORTS: 'off' } });
    for (const [n, query] of ['', 'redact=true'].entries()) {
      await importTexts('ada', [{ content: `deploy with ${TOKEN}`, external_id: `${n}` }], { client, query });
    }
    const { memories } = await client.memories();
    expect(memories.map(({ content }) => content)).toEqual([
      'deploy with [redacted:github-token]',
      `deploy with ${TOKEN}`,
    ]);
    await expectCleanEnd(client.server);
  });

  it('continues under the same id after the connection broke, and cannot be undone while it runs', async () => {
    const user = createUser();
    const texts = Array.from({ length: 3000 }, (_, n) => ({ content: `message ${n}`, external_id: `m${n}` }));
    const body = toLines(texts);
    const query = 'name=chats.json&content_key=digest-of-chats';
    const { path } = toRequest(user, '', { query });
    const reader = await readEvents(memoryd.server.port, `type=import&user_id=${user}`);
    onTestFinished(() => reader.leave());
    const socket = await beginRequest(memoryd, path, Buffer.byteLength(body), body.slice(0, body.length / 2));
    const total = async () => (await memoryd.memories(`user_id=${user}&limit=1`)).total;
    await expect.poll(total).toBeGreaterThan(0);
    const [running] = (await listImports(`user_id=${user}`)).imports;
    const undoing = { method: 'DELETE', path: `/imports/${running?.id}` };
    expectError(await memoryd.send(undoing), { code: 'CONFLICT' });
    socket.destroy();
    // The texts that arrived are still stored after the end of the connection.
    await untilState(reader, 'failed');
    const { imports: interrupted } = await listImports(`user_id=${user}`);
    expect(interrupted).toMatchObject([{ from: 'chatgpt', name: 'chats.json', user_id: user, ended_at: null }]);
    const stored = await total();
    expect(stored).toBeLessThan(3000);
    const { import_id, ...counts } = await importTexts(user, body, { query });
    expect(import_id).toBe(interrupted[0]?.id);
    expect(counts).toEqual({ ...COUNTS, imported_count: 3000 - stored, unchanged_count: stored });
    expect((await listImports(`user_id=${user}`)).imports).toMatchObject([
      { id: import_id, ended_at: expect.any(String), imported_count: 3000, memory_count: 3000 },
    ]);
    expect(await undo(import_id)).toMatchObject({ forgotten_count: 3000, kept_count: 0 });
    expect(await total()).toBe(0);
  });

  it('stores texts with the same external id of two users, and without a user, as separate memories', async () => {
    const [ada, ben] = [createUser(), createUser()] as const;
    for (const user of [ada, ben]) {
      expect(await importTexts(user, createTalk())).toMatchObject({ ...COUNTS, imported_count: 3 });
    }
    const { import_id } = await importTexts(ada, createTalk());
    expect((await listImports(`user_id=${ben}`)).imports.map(({ id }) => id)).not.toContain(import_id);
    for (const { id } of (await listImports(`user_id=${ada}`)).imports) await undo(id, `user_id=${ada}`);
    expect(await getContents(ada)).toEqual([]);
    expect(await getContents(ben)).toEqual(createTalk().map(({ content }) => content));
  });
});

describe('GET /imports', () => {
  it('lists the imports of a scope, newest first, page by page', async () => {
    const user = createUser();
    const ids: string[] = [];
    for (const name of ['one', 'two', 'three']) {
      ids.unshift((await importTexts(user, createTalk(name), { query: `name=${name}` })).import_id);
    }
    await importTexts(createUser(), createTalk());
    const all = await listImports(`user_id=${user}`);
    expect(all.total).toBe(3);
    expect(all.imports.map(({ id }) => id)).toEqual(ids);
    expect(all.imports[0]).toEqual({
      ...{ id: ids[0], from: 'chatgpt', name: 'three', user_id: user, imported_count: 3, memory_count: 3 },
      ...{ started_at: expect.stringMatching(/Z$/), ended_at: expect.stringMatching(/Z$/) },
    });
    const listed: string[] = [];
    for (let cursor = ''; ; ) {
      const page = await listImports(`user_id=${user}&limit=2${cursor}`);
      expect(page.total).toBe(3);
      listed.push(...page.imports.map(({ id }) => id));
      if (page.next_cursor === undefined) break;
      cursor = `&cursor=${page.next_cursor}`;
    }
    expect(listed).toEqual(ids);
    expect((await listImports('')).imports.map(({ id }) => id)).toEqual(expect.arrayContaining(ids));
    await expectRefused(memoryd, { path: '/imports?cursor=none' }, { field: 'cursor' });
  });

  it('lists the import of an export, which can be undone', async () => {
    const user = createUser();
    await memoryd.store({ content: 'the smew dives', user_id: user });
    const { text } = await memoryd.send<string>({ path: `/export?user_id=${user}` });
    await memoryd.forgetMany(`user_id=${user}`);
    await memoryd.ok({ method: 'POST', path: `/import?user_id=${user}`, body: text });
    const { imports } = await listImports(`user_id=${user}`);
    expect(imports).toMatchObject([{ from: 'memoryd', imported_count: 1, memory_count: 1 }]);
    expect(await undo(imports[0]?.id ?? '')).toMatchObject({ status: 'undone', forgotten_count: 1 });
    expect(await getContents(user)).toEqual([]);
  });
});

describe('an import of a JSON array', () => {
  const headers = { 'content-type': 'application/json; charset=utf-8' };

  it('a JSON array of the lines of an export restores the export', async () => {
    const user = createUser();
    await importTexts(user, createTalk());
    const first = (await getMemories(user))[0]?.id;
    await memoryd.update(first ?? '', { content: 'I moved to Faro' });
    const exported = (await memoryd.send<string>({ path: `/export?user_id=${user}` })).text;
    await memoryd.forgetMany(`user_id=${user}`);
    const body = `[${exported.trim().split('\n').join(',\n  ')}]`;
    const imported = await memoryd.ok({ method: 'POST', path: '/import', body, headers });
    expect(imported).toMatchObject({ imported_count: 3, refused_count: 0, unlinked_count: 0 });
    expect((await memoryd.send<string>({ path: `/export?user_id=${user}` })).text).toBe(exported);
  });

  it('a JSON array of texts has the result of the same texts as lines', async () => {
    const user = createUser();
    const texts = createTalk();
    const asArray = await importTexts(user, JSON.stringify(texts, null, 2), { headers });
    expect(asArray).toMatchObject({ ...COUNTS, imported_count: texts.length });
    expect(await getContents(user)).toEqual(texts.map(({ content }) => content));
    expect(await importTexts(user, texts)).toMatchObject({ ...COUNTS, unchanged_count: texts.length });
  });

  it('stores nothing of an empty JSON array', async () => {
    expect(await importTexts(createUser(), ' [ ] ', { headers })).toMatchObject(COUNTS);
  });

  it.each([
    ['has an item that is not JSON', (one: string, two: string) => `[${one},{"content":x},${two}]`, 2],
    ['has nothing between two commas', (one: string, two: string) => `[${one},,${two}]`, 2],
  ])('refuses only the broken item of a JSON array that %s', async (_fault, toBody, broken) => {
    const user = createUser();
    const [one, two] = createTalk().map((text) => JSON.stringify(text)) as [string, string];
    const counts = await importTexts(user, toBody(one, two), { headers });
    expect(counts).toMatchObject({ imported_count: 2, refused_count: 1, refused: [{ place: `text ${broken}` }] });
    expect(await getContents(user)).toHaveLength(2);
  });

  const BROKEN = [
    [
      'brackets that do not match',
      (one: string, two: string) => `[${one},${two}},${one}]`,
      1,
      'brackets must match; see byte',
    ],
    [
      'a missing quotation mark',
      (one: string, two: string) => `[${one},{"content":"x},${two}]`,
      1,
      'ends in the middle',
    ],
    ['no closing bracket', (one: string, two: string) => `[${one},${two}`, 2, 'ends in the middle'],
    ['a comma after the last item', (one: string, two: string) => `[${one},${two},]`, 2, 'a comma must not follow'],
    ['a value after its end', (one: string, two: string) => `[${one},${two}] []`, 2, 'nothing must follow'],
  ] as const;

  it.each(BROKEN)(
    'an import of texts ends at the break of a JSON array with %s, and keeps the texts before',
    async (...test) => {
      const [, toBody, count, reason] = test;
      const user = createUser();
      const [one, two] = createTalk().map((text) => JSON.stringify(text)) as [string, string];
      const answer = await memoryd.send(toRequest(user, toBody(one, two), { headers }));
      expectError(answer);
      expect(answer.text).toContain(`after item ${count}: `);
      expect(answer.text).toContain(reason);
      expect(answer.text).toContain(count === 1 ? '1 text is stored' : '2 texts are stored');
      expect(await getContents(user)).toHaveLength(count);
    },
  );

  it.each(BROKEN)(
    'an import of lines ends at the break of a JSON array with %s, and keeps the lines before',
    async (...test) => {
      const [, toBody, count, reason] = test;
      const user = createUser();
      await memoryd.store({ content: 'the smew dives', user_id: user });
      await memoryd.store({ content: 'the teal dabbles', user_id: user });
      const [header, one = '', two = ''] = (await memoryd.send<string>({ path: `/export?user_id=${user}` })).text.split(
        '\n',
      );
      await memoryd.forgetMany(`user_id=${user}`);
      const body = `[${header},${toBody(one, two).slice(1)}`;
      const answer = await memoryd.send({ method: 'POST', path: '/import', body, headers });
      expectError(answer);
      expect(answer.text).toContain(`after item ${count + 1}: `);
      expect(answer.text).toContain(reason);
      expect(answer.text).toContain(count === 1 ? '1 line is stored' : '2 lines are stored');
      expect(await getContents(user)).toHaveLength(count);
    },
  );

  it('refuses only the broken item of a JSON array of lines, by its number', async () => {
    const user = createUser();
    await memoryd.store({ content: 'the smew dives', user_id: user });
    const [header, memory] = (await memoryd.send<string>({ path: `/export?user_id=${user}` })).text.split('\n');
    await memoryd.forgetMany(`user_id=${user}`);
    const body = `[${header},,${memory}]`;
    expect(await memoryd.ok({ method: 'POST', path: '/import', body, headers })).toMatchObject({
      ...{ imported_count: 1, refused_count: 1 },
      refused: [{ line: 2, error: { code: 'INVALID_REQUEST' } }],
    });
  });

  it.each([
    ['an object', JSON.stringify(createTalk()[0])],
    ['lines', toLines(createTalk())],
    ['empty', ''],
  ])('refuses a JSON body that is not an array, and names the other content type: %s', async (_kind, body) => {
    const user = createUser();
    const answer = await memoryd.send({ ...toRequest(user, body, { headers }) });
    expectError(answer);
    expect(answer.text).toContain('application/x-ndjson');
    expectError(await memoryd.send({ method: 'POST', path: `/import?user_id=${user}`, body, headers }));
    expect(await getContents(user)).toEqual([]);
  });
});

describe('DELETE /imports/{id}', () => {
  it('forgets the memories that the import brought, keeps changed ones, and removes the import from the list', async () => {
    const user = createUser();
    const kept = await memoryd.store({ content: 'from before', user_id: user });
    const { import_id } = await importTexts(user, createTalk());
    const other = await importTexts(user, createTalk('c2'));
    const imported = (await getMemories(user)).filter(({ session_id }) => session_id === 'chatgpt:c1');
    const [changed] = imported.map(({ id }) => id) as [string];
    await memoryd.update(changed, { importance: 0.9 });
    const undone = await undo(import_id, `user_id=${user}`);
    expect(undone).toMatchObject({ status: 'undone', id: import_id, forgotten_count: 2, kept_count: 1 });
    const left = await getMemories(user);
    expect(left.map(({ id }) => id)).toEqual(expect.arrayContaining([kept, changed]));
    expect(left).toHaveLength(5);
    expect((await listImports(`user_id=${user}`)).imports.map(({ id }) => id)).toEqual([other.import_id]);
    await expectRefused(memoryd, { method: 'DELETE', path: `/imports/${import_id}` }, { code: 'NOT_FOUND' });
    // The memories come back under a new import, except the one that is still there.
    const again = await importTexts(user, createTalk());
    expect(again).toMatchObject({ ...COUNTS, imported_count: 2, unchanged_count: 1 });
    expect(await undo(again.import_id)).toMatchObject({ forgotten_count: 2, kept_count: 0 });
  });

  it('keeps a memory that a later import changed, as a memory of the later import', async () => {
    const user = createUser();
    const [moved, ...rest] = createTalk() as [ImportedText];
    const first = await importTexts(user, createTalk());
    const second = await importTexts(user, [{ ...moved, content: 'I moved to Porto in 2024' }, ...rest]);
    expect(await undo(first.import_id)).toMatchObject({ forgotten_count: 2, kept_count: 1 });
    expect(await getContents(user)).toEqual(['I moved to Porto in 2024']);
    expect(await undo(second.import_id)).toMatchObject({ forgotten_count: 1 });
    expect(await getContents(user)).toEqual([]);
  });

  it('keeps the memories of an earlier import that the import changed, with their newest text', async () => {
    const user = createUser();
    const [moved, ...rest] = createTalk() as [ImportedText];
    const first = await importTexts(user, createTalk());
    const second = await importTexts(user, [{ ...moved, content: 'I moved to Porto in 2024' }, ...rest]);
    expect(await undo(second.import_id)).toMatchObject({ forgotten_count: 0, kept_count: 1 });
    expect(await getContents(user)).toHaveLength(3);
    expect(await getContents(user)).toContain('I moved to Porto in 2024');
    expect(await undo(first.import_id)).toMatchObject({ forgotten_count: 3, kept_count: 0 });
  });

  it('forgets memories that were recalled and consolidated, and the memories distilled from them', async () => {
    const user = createUser();
    const { import_id } = await importTexts(user, createTalk());
    await memoryd.recall('windy Porto', `user_id=${user}`);
    await memoryd.consolidate('min_age_seconds=0');
    expect((await getMemories(user)).map(({ tier }) => tier)).toContain('episodic');
    expect(await undo(import_id)).toMatchObject({ kept_count: 0 });
    expect(await getContents(user)).toEqual([]);
  });

  it.each(['user_id=ben', 'agent_id=cook', 'user_id=importer-of-nothing&agent_id=cook'])(
    'returns 404 for an import outside %s, and nothing happens',
    async (scope) => {
      const user = createUser();
      const { import_id } = await importTexts(user, createTalk());
      const path = `/imports/${import_id}?${scope}`;
      await expectRefused(memoryd, { method: 'DELETE', path }, { code: 'NOT_FOUND' });
      expect(await getContents(user)).toHaveLength(3);
      expect((await listImports(`user_id=${user}`)).imports).toMatchObject([{ id: import_id, memory_count: 3 }]);
    },
  );
});

describe('the access to imports', () => {
  const guarded = useServer({ env: WORDS_ONLY });
  let keys: Record<'operator' | 'reader' | 'writer' | 'ada' | 'ben', Record<string, string>>;
  beforeAll(async () => {
    let headers: Record<string, string> = {};
    const add = async (fields: Omit<NewKey, 'namespace'>) => {
      const json = { namespace: 'default', ...fields };
      return bearer(await guarded.ok<ApiKeyWithSecret>({ method: 'POST', path: '/keys', json, headers }));
    };
    const operator = await add({ scope: 'operate' });
    headers = operator;
    keys = {
      ...{ operator, reader: await add({ scope: 'read' }), writer: await add({ scope: 'write' }) },
      ...{ ada: await add({ scope: 'write', user_id: 'ada' }), ben: await add({ scope: 'write', user_id: 'ben' }) },
    };
  });

  const asOperator = <Body>(path: string) => guarded.ok<Body>({ path, headers: keys.operator });
  const importAs = (headers: Record<string, string>, query = '') =>
    guarded.send<ImportTextsResponse>({
      ...{ method: 'POST', path: `/imports?from=chatgpt${query}`, headers, body: toLines(createTalk()) },
    });

  it('a key that can only read lists imports, and neither imports nor undoes', async () => {
    const { import_id } = (await importAs(keys.writer, '&user_id=una')).body;
    const listed = await guarded.ok<ImportsResponse>({ path: '/imports?user_id=una', headers: keys.reader });
    expect(listed.imports).toMatchObject([{ id: import_id }]);
    expectError(await importAs(keys.reader, '&user_id=una2'), { code: 'FORBIDDEN' });
    const undoing = { method: 'DELETE', path: `/imports/${import_id}`, headers: keys.reader };
    expectError(await guarded.send(undoing), { code: 'FORBIDDEN' });
    expect((await asOperator<ImportsResponse>('/imports?user_id=una2')).total).toBe(0);
    expect((await asOperator<ImportsResponse>('/imports?user_id=una')).imports).toMatchObject([{ memory_count: 3 }]);
  });

  it('a key that is bound to a user imports for this user, and sees and undoes only the imports of this user', async () => {
    const { import_id, ...counts } = (await importAs(keys.ada)).body;
    expect(counts).toMatchObject({ ...COUNTS, imported_count: 3 });
    const list = async (headers: Record<string, string>) =>
      (await guarded.ok<ImportsResponse>({ path: '/imports', headers })).imports;
    expect(await list(keys.ada)).toMatchObject([{ id: import_id, user_id: 'ada', memory_count: 3 }]);
    expect(await list(keys.ben)).toEqual([]);
    const undoAs = (headers: Record<string, string>, query = '') =>
      guarded.send({ method: 'DELETE', path: `/imports/${import_id}${query}`, headers });
    expectError(await undoAs(keys.ben), { code: 'NOT_FOUND' });
    expectError(await undoAs(keys.ben, '?user_id=ada'), { code: 'FORBIDDEN' });
    expectError(await importAs(keys.ben, '&user_id=ada'), { code: 'FORBIDDEN' });
    expect(await list(keys.ada)).toMatchObject([{ id: import_id, memory_count: 3 }]);
    expect((await undoAs(keys.ada)).body).toMatchObject({ status: 'undone', forgotten_count: 3 });
  });

  it('a bound key refuses texts of other users, and imports the others', async () => {
    const texts = [
      { content: 'of Ben', external_id: '1', user_id: 'ben' },
      { content: 'of Ada', external_id: '2', user_id: 'ada' },
      { content: 'of nobody', external_id: '3' },
    ];
    const request = { method: 'POST', path: '/imports?from=zep', headers: keys.ada, body: toLines(texts) };
    const imported = await guarded.ok<ImportTextsResponse>(request);
    expect(imported).toMatchObject({ imported_count: 2, refused: [{ place: '1', error: { code: 'FORBIDDEN' } }] });
    const { memories } = await guarded.ok<{ memories: { content: string }[] }>({
      path: '/memories?user_id=ada',
      headers: keys.operator,
    });
    expect(memories.map(({ content }) => content).sort()).toEqual(['of Ada', 'of nobody']);
    await guarded.ok({ method: 'DELETE', path: `/imports/${imported.import_id}`, headers: keys.ada });
  });
});

describe('the events of imports', () => {
  it('report the start, the progress, the end and the undo of an import in order, only to readers of its user', async () => {
    const [user, other] = [createUser(), createUser()];
    const reader = await readEvents(memoryd.server.port, `type=import&user_id=${user}`);
    onTestFinished(() => reader.leave());
    await importTexts(other, createTalk());
    const texts = Array.from({ length: 2500 }, (_, n) => ({ content: `message ${n}`, external_id: `m${n}` }));
    const body = Buffer.from(toLines(texts));
    const { path } = toRequest(user, '', { query: 'expected_count=2500' });
    const socket = await beginRequest(memoryd, path, body.length, '');
    const step = Math.ceil(body.length / 10);
    // With pauses, because progress is reported every half second.
    for (let at = 0; at < body.length; at += step) {
      socket.write(body.subarray(at, at + step));
      await delay(200);
    }
    const import_id = (await untilState(reader, 'completed'))[0]?.import_id ?? '';
    socket.destroy();
    await undo(import_id);
    const arrived = await untilState(reader, 'undone');
    for (const event of arrived) expect(event).toMatchObject({ import_id, user_id: user });
    const states = arrived.map(({ state }) => state);
    expect(states[0]).toBe('started');
    expect(states.slice(-2)).toEqual(['completed', 'undone']);
    expect(new Set(states.slice(1, -2))).toEqual(new Set(['progress']));
    expect(arrived[0]).toMatchObject({ processed_count: 0, expected_count: 2500 });
    expect(arrived.at(-2)).toMatchObject({ processed_count: 2500, expected_count: 2500 });
    const counts = arrived.slice(0, -1).map(({ processed_count }) => processed_count);
    expect(counts).toEqual(counts.toSorted((a, b) => a - b));
    expect(reader.text()).not.toContain('message 7');
  });

  it('report the failure of an import whose connection broke', async () => {
    const user = createUser();
    const reader = await readEvents(memoryd.server.port, `type=import&user_id=${user}`);
    onTestFinished(() => reader.leave());
    const { path } = toRequest(user, '');
    const socket = await beginRequest(memoryd, path, 100_000, toLines(createTalk()));
    await reader.until(1);
    socket.destroy();
    const states = (await untilState(reader, 'failed')).map(({ state }) => state);
    expect([states[0], states.at(-1)]).toEqual(['started', 'failed']);
  });
});

describe('recall over an imported conversation', () => {
  it('finds texts by meaning with the dates of the conversation, as of a time, and by questions with a date', async () => {
    const client = await startClient();
    const user = 'mara';
    const say = (n: number, created_at: string, content: string): ImportedText => ({
      ...{ content, created_at, external_id: `claude:${n}`, session_id: `claude:${n}`, tags: ['role:user'] },
    });
    const texts = [
      say(1, '2024-05-06T08:00:00.000Z', 'I adopted a kitten named Miso.'),
      say(2, '2024-05-07T20:15:00.000Z', 'The bakery had no rye left.'),
      say(3, '2024-08-19T11:00:00.000Z', 'Our car broke down near Girona.'),
      {
        ...say(4, '2024-01-10T10:00:00.000Z', 'I work at the harbour office.'),
        ...{ valid_from: '2024-01-10T00:00:00.000Z', valid_to: '2024-07-01T00:00:00.000Z' },
      },
    ];
    await importTexts(user, texts, { client });
    await client.embedded();
    const recall = async (query: string, parameters = '') =>
      (await client.recall(query, `user_id=${user}&timezone=UTC${parameters && `&${parameters}`}`)).results;
    const [best] = await recall('which pet lives with me?');
    expect(best).toMatchObject({ content: texts[0]?.content, created_at: '2024-05-06T08:00:00.000Z' });
    const [ofDay] = await recall('what happened on 7 May 2024?', 'asked_at=2024-09-01T00:00:00Z');
    expect(ofDay).toMatchObject({ content: texts[1]?.content, created_at: '2024-05-07T20:15:00.000Z' });
    const ofSpring = await recall('what happened', 'until=2024-06-01T00:00:00Z&top_k=10');
    expect(ofSpring.map(({ content }) => content)).not.toContain(texts[2]?.content);
    const job = texts[3]?.content;
    const recallJob = async (time: string) =>
      (await recall('my job', `as_of=${time}&top_k=10`)).map(({ content }) => content);
    expect(await recallJob('2024-03-01T00:00:00Z')).toContain(job);
    expect(await recallJob('2024-08-01T00:00:00Z')).not.toContain(job);
    await expectCleanEnd(client.server);
  });
});
