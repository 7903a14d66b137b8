import { readdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { RecallResponse, StatsResponse } from '@memoryd/contract';
import { describe, expect, it } from 'vitest';
import { commandAgent } from './agent.ts';
import { runInProcess } from './command-in-process.ts';
import { databaseEnvironment, databaseFlags, nameMissingDatabase, newDatabase, ON_FILE } from './databases.ts';
import { createTemporaryFolder } from './folders.ts';
import { runServer } from './process.ts';
import { WORDS_ONLY } from './under-test.ts';

/** Commands that need an existing database. */
const COMMANDS = [
  ...['recall x', 'list', 'show x', 'history x', 'session', 'session x', 'stats', 'update x --importance 1'],
  ...[
    'forget x',
    'forget --tag x --yes',
    'consolidate',
    'consolidate --dry-run',
    'consolidate runs',
    'export',
    'verify',
  ],
  ...['consolidate undo x', 'keys list', 'keys revoke x', 'keys open --yes', 'users list', 'users quota x --bytes 1'],
  ...['namespaces list', 'namespaces delete x --yes', 'namespaces quota x --bytes 1'],
  ...(ON_FILE ? [`backup ${join(createTemporaryFolder(), 'copy.db')}`] : []),
];

describe('a missing database', () => {
  it.each(COMMANDS)('a missing database is named and not created by memoryd %s', async (command) => {
    const { database, isMissing } = await nameMissingDatabase();
    const { code, stdout, stderr } = await runInProcess([...command.split(' '), ...databaseFlags(database)], {
      env: { ...WORDS_ONLY, ...databaseEnvironment(database) },
    });
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    const name = ON_FILE ? database : /@([^?]+)/.exec(database)?.[1];
    expect(stderr).toMatch(/^there is no database at [^\n]+\n$/);
    expect(stderr).toContain(`${name}; name another one`);
    expect(await isMissing()).toBe(true);
  });

  it('a missing database that is the source of a migration is not created, and neither is the target', async () => {
    const [source, target] = [await nameMissingDatabase(), await nameMissingDatabase()];
    const { code, stderr } = await runInProcess(['migrate', '--from', source.database, '--to', target.database]);
    expect([code, stderr]).toEqual([3, expect.stringContaining('there is no database at ')]);
    expect([await source.isMissing(), await target.isMissing()]).toEqual([true, true]);
  });

  it('a missing database is not created by keys add with an invalid field, and is created with valid fields', async () => {
    const { database, isMissing } = await nameMissingDatabase();
    const add = (...flags: string[]) => runInProcess(['keys', 'add', ...databaseFlags(database), ...flags]);
    expect((await add('--expires-at', 'soon')).code).toBe(2);
    expect((await add('--user', 'ada', '--scope', 'operate')).code).toBe(2);
    expect(await isMissing()).toBe(true);
    const { code, stdout } = await add();
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^mmd_\w+\n$/)]);
  });

  it('a missing database is empty for an agent, and is created once by its first stores', async () => {
    const { database, isMissing } = await nameMissingDatabase();
    const agent = await commandAgent(databaseFlags(database), { ...WORDS_ONLY, ...databaseEnvironment(database) });
    expect(await agent.call('memory_recall', { query: 'tea' })).toEqual({ results: [], total: 0 });
    expect(await agent.call('memory_session', { session_id: 's' })).toEqual({
      session_id: 's',
      memories: [],
      total: 0,
    });
    expect(await agent.call('memory_stats')).toMatchObject({ working_count: 0, db_size_mb: 0, pending_embeddings: 0 });
    expect(await agent.call('memory_consolidate')).toEqual({
      status: 'consolidated',
      consolidated_count: 0,
      evicted_count: 0,
    });
    for (const [name, args] of [
      ['memory_update', { importance: 1 }],
      ['memory_forget', {}],
    ] as const) {
      const { error } = await agent.failure(name, { memory_id: 'x', ...args });
      expect(error.code).toBe('NOT_FOUND');
    }
    expect((await agent.failure('memory_store', { content: '' })).error.code).toBe('INVALID_REQUEST');
    await agent.client.listResources();
    await expect(agent.client.readResource({ uri: 'memory://memories/x' })).rejects.toThrow();
    const [prompt] = (await agent.client.listPrompts()).prompts;
    await agent.client.getPrompt({ name: prompt?.name ?? '', arguments: { task: 'tea' } });
    expect(await isMissing()).toBe(true);
    const ids = await Promise.all(['black tea', 'green tea'].map((content) => agent.store({ content })));
    const { results } = await agent.call<RecallResponse>('memory_recall', { query: 'tea' });
    expect(results.map(({ id }) => id).sort()).toEqual(ids.sort());
    await agent.end();
  });

  it('a missing database is used by an agent as soon as another process has created it', async () => {
    const { database } = await nameMissingDatabase();
    const env = { ...WORDS_ONLY, ...databaseEnvironment(database) };
    const agent = await commandAgent(databaseFlags(database), env);
    expect(await agent.call<StatsResponse>('memory_stats')).toMatchObject({ working_count: 0 });
    expect((await runInProcess(['store', 'black tea', ...databaseFlags(database)], { env })).code).toBe(0);
    expect(await agent.call<RecallResponse>('memory_recall', { query: 'tea' })).toMatchObject({ total: 1 });
    await agent.end();
  });
});

describe.runIf(ON_FILE)('a database file', () => {
  it('a database file that is empty does not count as a database, and stays empty', async () => {
    const dbPath = await newDatabase();
    writeFileSync(dbPath, '');
    for (const command of ['stats', 'keys list', 'verify']) {
      const { code, stderr } = await runInProcess([...command.split(' '), '--db-path', dbPath]);
      expect([code, stderr], command).toEqual([2, expect.stringContaining(`there is no database at ${dbPath}`)]);
    }
    expect([readdirSync(dirname(dbPath)), statSync(dbPath).size]).toEqual([['memory.db'], 0]);
  });

  it('a database file is not created by the restore of a missing copy, and neither is its folder', async () => {
    const { database, isMissing } = await nameMissingDatabase();
    const copy = join(createTemporaryFolder(), 'copy.db');
    expect((await runInProcess(['restore', copy, '--db-path', database])).code).toBe(6);
    expect(await isMissing()).toBe(true);
  });

  it('a database file at the default path is not created by keys add, which names the path and the fix', async () => {
    const home = createTemporaryFolder();
    const { code, stdout, stderr } = await runServer(['keys', 'add'], { XDG_DATA_HOME: home });
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(`there is no database at ${join(home, 'memoryd', 'memory.db')}, the default path; start`);
    expect(readdirSync(home)).toEqual([]);
  });

  it('a database file is created by keys add where a variable or the settings file names it', async () => {
    const cwd = createTemporaryFolder();
    expect((await runServer(['keys', 'add'], { SERVICE_DB_PATH: 'a.db' }, { cwd })).code).toBe(0);
    writeFileSync(join(cwd, 'memoryd.config.json'), '{"dbPath": "b.db"}');
    expect((await runServer(['keys', 'add'], {}, { cwd })).code).toBe(0);
    expect(readdirSync(cwd).sort()).toEqual(['a.db', 'b.db', 'memoryd.config.json']);
  });
});
