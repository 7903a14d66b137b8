import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { ApiKey, ApiKeyWithSecret, NamespaceSummary, UserSummary } from '@memoryd/contract';
import { beforeEach, describe, expect, it } from 'vitest';
import { getJsonInProcess, getJsonLinesInProcess, runInProcess } from './command-in-process.ts';
import { createTemporaryFolder } from './folders.ts';
import { addKey } from './keys.ts';
import { runServer } from './process.ts';
import { type RunningServer, startServer } from './server.ts';
import { WORDS_ONLY } from './under-test.ts';

const newPath = () => join(createTemporaryFolder(), 'memory.db');

const NO_SERVICE = 'http://127.0.0.1:1234';

describe('administration of a service', () => {
  let server: RunningServer;
  let url: string;
  let env: Record<string, string>;

  beforeEach(async () => {
    const dbPath = newPath();
    const key = await addKey(dbPath, 'default', 'operate');
    server = await startServer({ dbPath, env: WORDS_ONLY });
    url = `http://127.0.0.1:${server.port}`;
    env = { SERVICE_URL: url, SERVICE_API_KEY: key };
    return () => server.stop();
  });

  it('creates, lists and revokes API keys over HTTP, and names the service', async () => {
    const made = await runInProcess(['keys', 'add', '--namespace', 'kitchen', '--user', 'ada', '--name', 'cook'], {
      env,
    });
    expect(made).toMatchObject({ code: 0, stdout: expect.stringMatching(/^mmd_\w+\n$/) });
    expect(made.stderr).toMatch(`of ${url} allows write in the namespace kitchen as user ada. Save the key now`);
    expect(made.stderr).not.toContain('From now on');
    const response = await fetch(`${url}/stats`, { headers: { authorization: `Bearer ${made.stdout.trim()}` } });
    expect(response.status).toBe(200);
    const [listed] = await getJsonInProcess<ApiKey[]>(['keys', 'list', '--namespace', 'kitchen'], { env });
    expect(listed).toMatchObject({ namespace: 'kitchen', user_id: 'ada', name: 'cook', revoked_at: null });
    const id = listed?.id ?? '';
    expect(await runInProcess(['keys', 'revoke', id], { env })).toMatchObject({
      code: 0,
      stdout: `The key ${id} of ${url} is revoked.\n`,
    });
    const unknown = await runInProcess(['keys', 'revoke', 'nothing'], { env });
    expect([unknown.code, unknown.stderr]).toEqual([3, expect.stringMatching(`^${url}: there is no key with this id`)]);
  });

  it('lists and deletes namespaces, and sets quotas of namespaces and users over HTTP', async () => {
    await getJsonInProcess(['store', 'soup', '--user', 'ada'], { env });
    const setting = await runInProcess(['namespaces', 'quota', 'default', '--memories', '5'], { env });
    expect(setting).toMatchObject({ code: 0, stderr: `The quota of the namespace default of ${url} is set.\n` });
    await getJsonInProcess(['namespaces', 'quota', 'default', '--bytes', '900'], { env });
    const [summary] = await getJsonInProcess<NamespaceSummary[]>(['namespaces', 'list'], { env });
    expect(summary).toMatchObject({ name: 'default', memories: 1, quota: { memories: 5, bytes: 900 } });

    const partial = await runInProcess(['users', 'quota', 'ada', '--bytes', '7'], { env });
    expect([partial.code, partial.stderr]).toEqual([2, expect.stringContaining('give both --memories and --bytes')]);
    await getJsonInProcess(['users', 'quota', 'ada', '--memories', '3', '--bytes', 'default'], { env });
    const [user] = await getJsonLinesInProcess<UserSummary>(['users', 'list'], { env });
    expect(user?.quota).toEqual({ memories: 3, bytes: null });
    const elsewhere = await runInProcess(['users', 'quota', 'ada', '--namespace', 'kitchen'], { env });
    expect([elsewhere.code, elsewhere.stderr]).toEqual([2, expect.stringContaining('--namespace is for a database')]);

    const unconfirmed = await runInProcess(['namespaces', 'delete', 'default'], { env });
    expect(unconfirmed).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`default of ${url}, which has 1 memory`),
    });
    const kitchen = await getJsonInProcess<ApiKeyWithSecret>(['keys', 'add', '--namespace', 'kitchen'], { env });
    expect(kitchen.namespace).toBe('kitchen');
    expect(await getJsonInProcess(['namespaces', 'delete', 'kitchen', '--yes'], { env })).toEqual({
      ...{ name: 'kitchen', status: 'deleted', deleted_count: 0 },
    });
  });

  it('names the service if it refuses the API key, and exits with 5', async () => {
    const other = { SERVICE_URL: url };
    for (const command of ['keys add', 'keys list', 'namespaces list', 'users quota x --memories 1 --bytes 1']) {
      const { code, stdout, stderr } = await runInProcess(command.split(' '), { env: other });
      expect({ code, stdout }, command).toEqual({ code: 5, stdout: '' });
      expect(stderr, command).toMatch(`${url}: an API key is required`);
    }
  });

  it('names the service or the database of a backup', async () => {
    const [copy, second] = [newPath(), newPath()];
    const downloaded = await runInProcess(['backup', copy], { env });
    expect(downloaded.stdout).toMatch(new RegExp(`^${copy}: \\d+ bytes of ${url}\n$`));
    const copied = await runInProcess(['backup', second, '--db-path', copy], { env });
    expect(copied.stdout).toMatch(new RegExp(`^${second}: \\d+ bytes of ${copy}\n$`));
  });

  it('administration of a service does not include keys open, which needs the database of the service', async () => {
    const { code, stderr } = await runInProcess(['keys', 'open', '--yes'], { env });
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining(`on the machine of the service ${url}, with --db-path`),
    ]);
    expect((await fetch(`${url}/stats`)).status).toBe(401);
  });

  it('uses a database that a flag names instead', async () => {
    const dbPath = newPath();
    const { code, stderr } = await runInProcess(['keys', 'add', '--db-path', dbPath], { env: { SERVICE_URL: url } });
    expect([code, stderr]).toEqual([0, expect.stringContaining(`of ${dbPath} allows`)]);
    const both = await runInProcess(['keys', 'list', '--db-path', dbPath, '--url', url]);
    expect([both.code, both.stderr]).toEqual([2, expect.stringContaining('--db-path and --url exclude each other')]);
    const keyForFile = await runInProcess(['keys', 'list', '--db-path', dbPath, '--api-key', 'x'.repeat(32)]);
    expect([keyForFile.code, keyForFile.stderr]).toEqual([2, expect.stringContaining('--api-key needs --url')]);
  });
});

describe('the first API key of a service', () => {
  it('the first API key of a service is announced as the end of access without a key, with the way back', async () => {
    const server = await startServer({ env: WORDS_ONLY });
    const url = `http://127.0.0.1:${server.port}`;
    const { code, stderr } = await runInProcess(['keys', 'add', '--url', url]);
    expect(code).toBe(0);
    expect(stderr).toMatch(`to use ${url}. To accept them without a key again, run`);
    expect((await fetch(`${url}/stats`)).status).toBe(401);
    await server.stop();
  });
});

describe('with a service URL, no database is created', () => {
  it.each([
    'keys add',
    'keys list',
    'namespaces list',
    'store x',
    'recall x',
    'serve --port 0',
    'verify',
    'restore a.db',
  ])('memoryd %s with a service URL creates no database, and names the service', async (command) => {
    const data = createTemporaryFolder();
    const { code, stdout, stderr } = await runServer(command.split(' '), {
      ...{ ...WORDS_ONLY, SERVICE_URL: NO_SERVICE, XDG_DATA_HOME: data },
    });
    expect([2, 6]).toContain(code);
    expect([stdout, stderr]).toEqual(['', expect.stringContaining(NO_SERVICE)]);
    expect(readdirSync(data)).toEqual([]);
  });

  it('unless a flag names the database, which the command then uses', async () => {
    const dbPath = newPath();
    const env = { ...WORDS_ONLY, SERVICE_URL: NO_SERVICE };
    const { code } = await runInProcess(['store', 'soup', '--db-path', dbPath], { env });
    expect([code, existsSync(dbPath)]).toEqual([0, true]);
    const verified = await runInProcess(['verify', '--db-path', dbPath], { env });
    expect([verified.code, verified.stdout]).toEqual([0, `${dbPath}: no problems\n`]);
  });
});
