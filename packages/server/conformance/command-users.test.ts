import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type {
  ApiKey,
  ApiKeyWithSecret,
  ExportedMemory,
  ImportResponse,
  MemoriesResponse,
  Memory,
  MemoryText,
  RecallResponse,
  SessionMemory,
  SessionSummary,
  StatsResponse,
  StoreResponse,
  UserSummary,
} from '@memoryd/contract';
import { beforeAll, describe, expect, it } from 'vitest';
import { getJsonInProcess, getJsonLinesInProcess, runInProcess } from './command-in-process.ts';
import { createTemporaryFolder } from './folders.ts';
import { startServer } from './server.ts';
import { WORDS_ONLY } from './under-test.ts';

const env = { SERVICE_EMBEDDER: 'none' };
const newPath = () => join(createTemporaryFolder(), 'memory.db');

const places = [
  { where: 'a file', newPlace: async () => ['--db-path', newPath()] },
  {
    where: 'a service',
    newPlace: async () => ['--url', `http://127.0.0.1:${(await startServer({ env: WORDS_ONLY })).port}`],
  },
];

describe.each(places)('commands for two users of $where', ({ newPlace }) => {
  let place: string[];
  const ids = { ada: '', ben: '', shared: '' };
  const ask = <T>(...args: string[]) => getJsonInProcess<T>([...args, ...place], { env });
  const list = <T>(...args: string[]) => getJsonLinesInProcess<T>([...args, ...place], { env });
  const run = (...args: string[]) => runInProcess([...args, ...place], { env });
  const store = async (...args: string[]) =>
    (await ask<StoreResponse>('store', 'the bittern booms', '--session-id', 'marsh', ...args)).id;

  beforeAll(async () => {
    place = await newPlace();
    ids.ada = await store('--user', 'ada', '--agent', 'cook');
    ids.ben = await store('--user', 'ben');
    ids.shared = await store();
  });

  it('recall, list, show, count and export the memories of one user', async () => {
    const getIds = (memories: readonly { id: string }[]) => memories.map(({ id }) => id).sort();
    const reads: [args: string[], read: (args: string[]) => Promise<string[]>][] = [
      [['recall', 'bittern'], async (args) => getIds((await ask<RecallResponse>(...args)).results)],
      [['list'], async (args) => getIds((await ask<MemoriesResponse>(...args)).memories)],
      [['session', 'marsh'], async (args) => getIds(await list<SessionMemory>(...args))],
      [['export'], async (args) => getIds(exportedIn((await run(...args)).stdout))],
    ];
    for (const [args, read] of reads) {
      expect(await read([...args, '--user', 'ada']), args[0]).toEqual([ids.ada]);
      expect(await read([...args, '--agent', 'cook']), args[0]).toEqual([ids.ada]);
      expect(await read([...args, '--user', 'ben', '--shared']), args[0]).toEqual([ids.ben, ids.shared].sort());
      expect(await read(args), args[0]).toEqual([ids.ada, ids.ben, ids.shared].sort());
    }
    expect(await ask<StatsResponse>('stats', '--user', 'ada')).toMatchObject({ working_count: 1 });
    const sessions = await list<SessionSummary>('session', '--user', 'ada');
    expect(sessions).toMatchObject([{ session_id: 'marsh', user_id: 'ada', total: 1 }]);
    const [text] = await list<MemoryText>('history', ids.ada, '--user', 'ada');
    expect(text).toMatchObject({ content: 'the bittern booms' });
  });

  it('commands for two users print the user and the agent of a memory', async () => {
    expect((await run('show', ids.ada)).stdout).toMatch(/^user_id +ada\nagent_id +cook$/m);
    expect((await run('list', '--user', 'ada')).stdout).toMatch(/ {2}user ada {2}agent cook {2}/);
    expect(await ask<Memory>('show', ids.ben, '--user', 'ben')).toMatchObject({ id: ids.ben, user_id: 'ben' });
  });

  it.each([['show'], ['history'], ['update', '--importance', '1'], ['forget']])(
    '%s reports that a memory of another user does not exist',
    async (name, ...options) => {
      const ended = await run(name, ids.ben, '--user', 'ada', ...options);
      expect(ended).toMatchObject({ code: 3, stdout: '' });
      expect(await ask<Memory>('show', ids.ben)).toMatchObject({ importance: 0.5 });
    },
  );

  it('store lines for a user, and reject a line that names another user', async () => {
    const storeLines = (input: string) =>
      runInProcess(['store', '--ndjson', '--user', 'ada', '--session-id', 'lines', ...place], { env, input });
    expect(await storeLines('{"content":"one"}\n')).toMatchObject({ code: 0 });
    expect(await storeLines('{"content":"two","user_id":"ben"}\n')).toMatchObject({ code: 5 });
    const [line, ...more] = await list<SessionMemory>('session', 'lines');
    expect([line, more]).toMatchObject([{ content: 'one', user_id: 'ada' }, []]);
  });

  it('commands for two users list the users', async () => {
    const users = await list<UserSummary>('users', 'list');
    expect(users.map(({ user_id }) => user_id)).toEqual(['ada', 'ben']);
    expect((await run('users', 'list')).stdout).toMatch(/^USER +WORKING .*\nada +2 .*\nben +1 .*\n$/);
  });

  it('forget only the memories of one user with --yes', async () => {
    expect(await ask<StoreResponse>('store', 'to be forgotten', '--user', 'cleo')).toHaveProperty('id');
    const without = await run('forget', '--user', 'cleo');
    expect(without).toMatchObject({ code: 2, stderr: expect.stringContaining('permanently forgets 1 memory') });
    expect((await run('forget', '--user', 'cleo', '--yes')).stdout).toBe('forgotten 1 memory\n');
    expect((await ask<MemoriesResponse>('list', '--user', 'cleo')).total).toBe(0);
    expect((await ask<MemoriesResponse>('list', '--tag', 'none', '--user', 'ben')).total).toBe(0);
    for (const id of Object.values(ids)) expect(await ask<Memory>('show', id)).toMatchObject({ id });
  });

  it.each([
    [['recall', 'bittern', '--shared'], /--shared needs --user or --agent/],
    [['list', '--user', ''], /1 to 256 characters/],
    [['store', 'x', '--user', 'ada', '--shared'], /unknown option '--shared'/],
    [['forget', '--user', 'ada', '--shared'], /unknown option '--shared'/],
    [['consolidate', '--user', 'ada'], /unknown option '--user'/],
    [['users', 'list', '--user', 'ada'], /unknown option '--user'/],
  ])('commands for two users reject %j', async (args, says) => {
    const { code, stderr } = await run(...args);
    expect([code, stderr]).toEqual([2, expect.stringMatching(says)]);
  });
});

function exportedIn(text: string): ExportedMemory[] {
  return text
    .split('\n')
    .slice(1, -1)
    .map((line) => JSON.parse(line) as ExportedMemory);
}

describe('commands for the users of a database file', () => {
  it('export the memories of one user, and import the export only for this user', async () => {
    const [from, to] = [newPath(), newPath()];
    const exported = join(createTemporaryFolder(), 'ada.ndjson');
    for (const user of ['ada', 'ben'])
      await runInProcess(['store', `of ${user}`, '--user', user, '--db-path', from], { env });
    expect((await runInProcess(['export', exported, '--user', 'ada', '--db-path', from], { env })).code).toBe(0);
    expect(readFileSync(exported, 'utf8')).not.toContain('of ben');
    const importAs = (user: string) =>
      runInProcess(['import', exported, '--user', user, '--db-path', to, '--json'], { env });
    const refused = await importAs('ben');
    expect([refused.code, JSON.parse(refused.stdout) as ImportResponse]).toMatchObject([1, { refused_count: 1 }]);
    expect(JSON.parse((await importAs('ada')).stdout)).toMatchObject({ imported_count: 1, refused_count: 0 });
    const [header = '', line = ''] = readFileSync(exported, 'utf8').split('\n');
    const { user_id: _user, ...memory } = JSON.parse(line) as ExportedMemory;
    writeFileSync(exported, `${header}\n${JSON.stringify(memory)}\n`);
    const renamed = await runInProcess(['import', exported, '--user', 'ben', '--db-path', to], { env });
    const [counts, newId] = renamed.stdout.split('\n');
    expect([renamed.code, counts]).toEqual([0, 'imported 1, unchanged 0, refused 0']);
    expect(newId).toMatch(new RegExp(`^${memory.id} belongs to another user or agent; stored as [0-9a-f-]{36}$`));
  });

  it('commands for the users of a database file set the quota of a user in one namespace', async () => {
    const dbPath = newPath();
    const place = ['--db-path', dbPath, '--namespace', 'app'];
    const store = (...args: string[]) => runInProcess(['store', 'x', ...place, ...args], { env });
    const quota = (...args: string[]) => getJsonInProcess(['users', 'quota', 'ada', ...place, ...args], { env });
    expect((await store('--user', 'ada')).code).toBe(0);
    expect(await quota()).toEqual({ user_id: 'ada', quota: { memories: null, bytes: null } });
    expect(await quota('--memories', '1')).toEqual({ user_id: 'ada', quota: { memories: 1, bytes: null } });
    expect(await quota('--bytes', '500')).toEqual({ user_id: 'ada', quota: { memories: 1, bytes: 500 } });
    expect(await store('--user', 'ada')).toMatchObject({
      code: 5,
      stderr: expect.stringMatching(/quota.*1 memories|user.*1 memor/),
    });
    expect((await store('--user', 'ben')).code).toBe(0);
    expect((await runInProcess(['users', 'list', ...place], { env })).stdout).toMatch(/\nada +1 +0 +0 +1 +1 +1 +500 /);
    expect(await quota('--memories', 'default')).toMatchObject({ quota: { memories: null, bytes: 500 } });
    expect((await store('--user', 'ada')).code).toBe(0);
  });

  it('commands for the users of a database file create and list a key for a user, and reject the operate scope for such a key', async () => {
    const dbPath = newPath();
    const add = ['keys', 'add', '--user', 'ada', '--agent', 'cook', '--db-path', dbPath];
    const refused = await runInProcess([...add, '--scope', 'operate'], { env });
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringMatching(/^scope must be read or write/m) });
    const made = await runInProcess([...add, '--json'], { env });
    expect(made.stderr).toContain('allows write in the namespace default as user ada as agent cook.');
    const { id } = JSON.parse(made.stdout) as ApiKeyWithSecret;
    const listed = await getJsonInProcess<ApiKey[]>(['keys', 'list', '--db-path', dbPath], { env });
    expect(listed).toMatchObject([{ id, user_id: 'ada', agent_id: 'cook' }]);
    expect((await runInProcess(['keys', 'list', '--db-path', dbPath], { env })).stdout).toMatch(
      / default +ada +cook +write /,
    );
    expect(existsSync(dbPath)).toBe(true);
  });
});
