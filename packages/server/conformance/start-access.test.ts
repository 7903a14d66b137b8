import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runCommandLine } from '../src/command-line.ts';
import { serveCommand } from '../src/commands/serve.ts';
import { startService } from '../src/serve.ts';
import { readSettings } from '../src/settings/read.ts';
import { stopService } from '../src/stop.ts';
import { UsageError } from '../src/usage-error.ts';
import { runInProcess } from './command-in-process.ts';
import { createTemporaryFolder } from './folders.ts';
import { parseRaw, type Request, sendRaw } from './http.ts';
import { freePort, launch, runServer, untilHealthy } from './process.ts';
import { expectError } from './refusal.ts';
import { startServer } from './server.ts';
import { expectCleanEnd, startClient, useServer, WORDS_ONLY } from './under-test.ts';

const memoryd = useServer({ env: WORDS_ONLY });

/** Returns the permission bits of a file. */
function getMode(path: string): number {
  return statSync(path).mode & 0o777;
}

describe('memoryd', () => {
  it('creates the folders of --db-path, and files that only their owner may read', async () => {
    const dbPath = join(createTemporaryFolder(), 'some', 'deep folder', 'the memories.db');
    const client = await startClient({ env: WORDS_ONLY, dbPath });
    await client.store({ content: 'private' });
    for (const path of [dbPath, `${dbPath}-wal`, `${dbPath}-shm`]) {
      if (path === dbPath || existsSync(path)) expect(getMode(path), path).toBe(0o600);
    }
    await expectCleanEnd(client.server);
    expect(getMode(dbPath)).toBe(0o600);
  });

  it('creates memoryd/memory.db in the XDG data folder by default, and accepts --option=value', async () => {
    const data = createTemporaryFolder();
    const port = await freePort();
    const server = launch(['--host=127.0.0.1', `--port=${port}`], { ...WORDS_ONLY, XDG_DATA_HOME: data });
    await untilHealthy(port, server);
    const dbPath = join(data, 'memoryd', 'memory.db');
    expect(existsSync(dbPath)).toBe(true);
    expect(getMode(dbPath)).toBe(0o600);
    expect((await server.end('SIGTERM')).code).toBe(0);
  });

  it('listens on the loopback address only by default', async () => {
    const flags = { port: '0', dbPath: join(createTemporaryFolder(), 'memory.db') };
    const service = await startService(readSettings(flags, WORDS_ONLY), { write() {} });
    const { hostname, port } = new URL(service.url);
    expect(hostname).toBe('127.0.0.1');
    // Binding the same port on another loopback address fails if the server listens on all addresses.
    const probe = createServer();
    await new Promise<void>((resolve, reject) => {
      probe.once('error', reject);
      probe.listen(Number(port), '127.0.0.2', resolve);
    });
    await new Promise((resolve) => probe.close(resolve));
    await stopService(service);
  });

  it('memoryd with --help prints three options and their defaults, and exits with code 0', async () => {
    const { code, stdout } = await runInProcess(['--help']);
    expect(code).toBe(0);
    for (const word of ['--host', '127.0.0.1', '--port', '8090', '--db-path']) expect(stdout).toContain(word);
  });

  it('prints the same with help before a command as with --help after the command', async () => {
    for (const words of [[], ['recall'], ['keys', 'add']]) {
      expect(await runInProcess(['help', ...words]), words.join(' ')).toEqual(await runInProcess([...words, '--help']));
    }
  });

  const invalid: { row: string; args?: string[]; env?: Record<string, string>; names: RegExp }[] = [
    { row: 'an unknown option', args: ['--colour', 'red'], names: /--colour/ },
    { row: 'an argument that is not an option', args: ['8090'], names: /8090/ },
    { row: 'a port that is not a number', args: ['--port', 'high'], names: /--port/ },
    { row: 'a port out of range', args: ['--port', '70000'], names: /--port/ },
    { row: 'a negative port', args: ['--port=-1'], names: /--port/ },
    { row: 'an option without its value', args: ['--db-path'], names: /--db-path/ },
    { row: 'an unknown embedder', env: { SERVICE_EMBEDDER: 'telepathy' }, names: /SERVICE_EMBEDDER/ },
    { row: 'an embedder without a model', args: ['--embedder', 'openai:'], names: /--embedder/ },
    {
      row: 'an invalid URL of an embedding server',
      env: { SERVICE_EMBEDDING_URL: 'localhost:11434/v1' },
      names: /SERVICE_EMBEDDING_URL/,
    },
    {
      row: 'a body size that is not a number',
      env: { SERVICE_MAX_BODY_BYTES: 'big' },
      names: /SERVICE_MAX_BODY_BYTES/,
    },
    {
      row: 'a negative interval',
      env: { SERVICE_CONSOLIDATION_INTERVAL_SECONDS: '-1' },
      names: /SERVICE_CONSOLIDATION_INTERVAL_SECONDS/,
    },
    { row: 'an invalid Boolean', env: { SERVICE_LOG_QUERIES: 'maybe' }, names: /SERVICE_LOG_QUERIES/ },
    { row: 'an invalid origin', env: { SERVICE_CORS_ORIGINS: 'not an origin' }, names: /SERVICE_CORS_ORIGINS/ },
  ];
  it.each(invalid)(
    'fails for $row, with a one-line error that names the invalid part',
    async ({ args = [], env = {}, names }) => {
      const neverServes = serveCommand(() => Promise.reject(new Error('the server would start')));
      const refusal: Error = await runCommandLine(args, env, [neverServes]).then(
        () => new Error('the command did not fail'),
        (error) => error,
      );
      expect(refusal).toBeInstanceOf(UsageError);
      expect(refusal.message).toMatch(names);
      expect(refusal.message).not.toContain('\n');
    },
  );

  it('exits with code 2 and a one-line error for an invalid setting', async () => {
    const { code, stdout, stderr } = await runServer(['--port', 'high'], WORDS_ONLY);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/^--port must be .*\n$/);
  });

  it('fails if the database path is a folder', async () => {
    await expect(startServer({ env: WORDS_ONLY, dbPath: createTemporaryFolder() })).rejects.toThrow(/^cannot open .+/);
  });

  it('fails if a parent of the database path is a file', async () => {
    const file = join(createTemporaryFolder(), 'file');
    writeFileSync(file, 'x');
    await expect(startServer({ env: WORDS_ONLY, dbPath: join(file, 'memory.db') })).rejects.toThrow(
      /^cannot open .*file/,
    );
  });

  it('fails if the file is not a memoryd database, and leaves it unchanged', async () => {
    const dbPath = join(createTemporaryFolder(), 'letters.db');
    const letters = 'Dear diary, this is no database. '.repeat(500);
    writeFileSync(dbPath, letters);
    await expect(startServer({ env: WORDS_ONLY, dbPath })).rejects.toThrow(/^cannot open /);
    expect(readFileSync(dbPath, 'utf8')).toBe(letters);
  });

  it('opens an empty file as a new database, at a path with spaces, quotes and non-Latin characters', async () => {
    const dbPath = join(createTemporaryFolder(), `it's 50% "new" 記憶?#.db`);
    writeFileSync(dbPath, '');
    const client = await startClient({ env: WORDS_ONLY, dbPath });
    expect(await client.getStatus(await client.store({ content: 'begins here' }))).toBe(200);
    await expectCleanEnd(client.server);
    expect(statSync(dbPath).size).toBeGreaterThan(0);
  });
});

describe('without keys, a request with a forwarding header', () => {
  const headers: Record<string, string>[] = [
    { 'x-forwarded-for': '203.0.113.7' },
    { 'x-forwarded-for': '127.0.0.1' },
    { 'x-forwarded-for': '' },
    { forwarded: 'for=203.0.113.7;proto=https' },
    { 'x-forwarded-host': 'memory.example' },
    { 'x-forwarded-proto': 'https' },
    { 'x-real-ip': '203.0.113.7' },
  ];
  it.each(headers.map((header) => ({ row: JSON.stringify(header), header })))(
    'a forwarded request without keys is UNAUTHORIZED with the header $row',
    async ({ header }) => {
      const answer = await memoryd.send({ path: '/stats', headers: header });
      expectError(answer, { code: 'UNAUTHORIZED' });
      expect((answer.body as { error: { message: string } }).error.message).toMatch(/key/i);
    },
  );

  const protectedRequests: Request[] = [
    { path: '/' },
    { path: '/store', method: 'POST', json: { content: 'forwarded' } },
    { path: '/recall?query=a' },
    { path: '/session/a' },
    { path: '/stats' },
    { path: '/forget/a', method: 'DELETE' },
    { path: '/update/a', method: 'PUT', json: { content: 'forwarded' } },
    { path: '/consolidate', method: 'POST' },
    { path: '/metrics' },
    { path: '/memories' },
    { path: '/memories?session_id=default', method: 'DELETE' },
    { path: '/memories/a' },
    { path: '/sessions' },
  ];
  it.each(protectedRequests.map((request) => ({ row: `${request.method ?? 'GET'} ${request.path}`, request })))(
    'a forwarded request without keys is UNAUTHORIZED for $row, and has no effect',
    async ({ request }) => {
      const id = await memoryd.store({ content: 'stays' });
      const before = await memoryd.stats();
      const answer = await memoryd.send({ ...request, headers: { 'x-forwarded-for': '203.0.113.7' } });
      expectError(answer, { code: 'UNAUTHORIZED' });
      const { db_size_mb, ...after } = await memoryd.stats();
      expect(before).toMatchObject(after);
      expect(await memoryd.getStatus(id)).toBe(200);
    },
  );

  it('a forwarded request without keys is UNAUTHORIZED even with an invented key', async () => {
    for (const key of [{ authorization: 'Bearer made-up' }, { 'x-api-key': 'made-up' }]) {
      const answer = await memoryd.send({ path: '/stats', headers: { 'x-forwarded-for': '203.0.113.7', ...key } });
      expectError(answer, { code: 'UNAUTHORIZED' });
    }
  });

  it.each(['/health', '/openapi.json', '/docs', '/redoc'])(
    'a forwarded request without keys is accepted for %s',
    async (path) => {
      const answer = await memoryd.send({ path, headers: { 'x-forwarded-for': '203.0.113.7' } });
      expect([200, 301, 302, 307, 308]).toContain(answer.status);
    },
  );
});

describe('the Host header', () => {
  const port = () => memoryd.server.port;

  it.each(['127.0.0.1:PORT', 'localhost:PORT', 'LOCALHOST:PORT', '[::1]:PORT', '127.0.0.1', 'localhost'])(
    'the Host header %s is accepted',
    async (host) => {
      const headers = { host: host.replace('PORT', String(port())) };
      expect((await memoryd.send({ path: '/stats', headers })).status).toBe(200);
    },
  );

  const foreign = [
    ...[
      'evil.example',
      'evil.example:PORT',
      '127.0.0.1.evil.example',
      'localhost.evil.example:PORT',
      'xlocalhost:PORT',
    ],
    ...['192.168.0.7:PORT', 'memory.internal', 'localhost@evil.example', '0.0.0.0.example'],
  ];
  it.each(foreign)('%s is rejected with 403, and nothing is stored', async (host) => {
    const headers = { host: host.replace('PORT', String(port())) };
    const before = (await memoryd.memories()).total;
    expectError(await memoryd.send({ path: '/stats', headers }), { code: 'FORBIDDEN' });
    const store = { method: 'POST', path: '/store', json: { content: 'rebound' }, headers };
    expectError(await memoryd.send(store), { code: 'FORBIDDEN' });
    expect((await memoryd.memories()).total).toBe(before);
  });

  it.each(['', ' '])('the Host header "%s" is rejected', async (host) => {
    const bytes = `GET /stats HTTP/1.1\r\nHost:${host}\r\nConnection: close\r\n\r\n`;
    expect([400, 403]).toContain(parseRaw(await sendRaw(port(), bytes)).status);
  });

  it('the Host header is rejected if sent twice', async () => {
    const bytes = `GET /stats HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nConnection: close\r\n\r\n`;
    expect([400, 403]).toContain(parseRaw(await sendRaw(port(), bytes)).status);
  });

  it('the Host header is rejected with a foreign name in an absolute request URL', async () => {
    const bytes = `GET http://evil.example/stats HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n`;
    expect(parseRaw(await sendRaw(port(), bytes)).status).toBeGreaterThanOrEqual(400);
  });
});
