import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { StatsResponse } from '@memoryd/contract';
import { beforeAll, describe, expect, it } from 'vitest';
import { databaseFlags, ON_FILE } from './databases.ts';
import { readEvents } from './event-reader.ts';
import { parseRaw, type Request, sendRaw } from './http.ts';
import { type Exit, eventually, freePort, launch, runServer, temporaryFolder, untilHealthy } from './process.ts';
import { expectRefusal } from './refusal.ts';
import { type Client, expectCleanEnd, startClient, useServer, WORDS_ONLY } from './under-test.ts';

/** For tests that start many processes. */
const PATIENCE_MS = 120_000;

/** Runs a command on a database and expects it to succeed. */
async function command(database: string, ...args: string[]): Promise<Exit> {
  const ended = await runServer([...args, ...databaseFlags(database)]);
  expect(ended.code, ended.stderr).toBe(0);
  return ended;
}

async function addKey(database: string, namespace: string, scope: string): Promise<string> {
  const { stdout } = await command(database, 'keys', 'add', '--namespace', namespace, '--scope', scope);
  return stdout.trim();
}

const idOf = (key: string) => key.split('_')[1] as string;
const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

/** Asks until the answer has a status: a server learns of another process's keys within a second. */
async function untilStatus(client: Client, request: Request, status: number): Promise<void> {
  await eventually(`status ${status}`, 20_000, async () =>
    (await client.send(request)).status === status ? true : undefined,
  );
}

describe('making keys', () => {
  it('can be done before the first start, and prints the key alone', async () => {
    const dbPath = join(temporaryFolder(), 'deep', 'memory.db');
    const { stdout, stderr } = await command(dbPath, 'keys', 'add', '--namespace', 'kitchen', '--scope', 'read');
    expect(stdout).toMatch(/^mmd_[0-9a-f]{16}_[0-9a-f]{64}\n$/);
    expect(stderr).toMatch(/read.*kitchen/);
    expect(stderr).not.toContain(stdout.trim());
    expect(existsSync(dbPath)).toBe(true);
    expect(statSync(dbPath).mode & 0o777).toBe(0o600);
    expect((await command(dbPath, 'keys', 'list')).stdout).toContain('kitchen');
  });

  it('answers JSON where that is asked for', async () => {
    const dbPath = join(temporaryFolder(), 'memory.db');
    const made = JSON.parse((await command(dbPath, 'keys', 'add', '--json')).stdout);
    expect(made).toEqual({
      id: idOf(made.key),
      namespace: 'default',
      scope: 'write',
      created_at: expect.stringMatching(/Z$/),
      revoked_at: null,
      key: expect.stringMatching(/^mmd_/),
    });
    await command(dbPath, 'keys', 'add', '--namespace', 'other', '--json');
    await command(dbPath, 'keys', 'revoke', made.id);
    const listed = JSON.parse((await command(dbPath, 'keys', 'list', '--namespace', 'default', '--json')).stdout);
    const { key: _key, ...known } = made;
    expect(listed).toEqual([{ ...known, revoked_at: expect.stringMatching(/Z$/) }]);
  });

  const refused: [string[], RegExp][] = [
    [['keys'], /needs one of add, list, revoke/],
    [['keys', 'make'], /needs one of/],
    [['keys', 'add', '--scope', 'all'], /read, write, operate/],
    [['keys', 'add', '--namespace', 'a b'], /namespace must be/],
    [['keys', 'revoke', 'nobody'], /no key with this id/],
    [['keys', 'revoke'], /missing/],
    [['namespaces'], /needs one of list, delete, quota/],
    [['namespaces', 'delete', 'nobody', '--yes'], /no such namespace/],
    [['namespaces', 'quota', 'a', '--memories', '-1'], /whole number/],
    [['namespaces', 'quota', 'a', '--bytes', '1.5'], /whole number/],
  ];
  it.concurrent.each(refused)('refuses %j in one line', { timeout: PATIENCE_MS }, async (args, says) => {
    const dbPath = join(temporaryFolder(), 'memory.db');
    await command(dbPath, 'keys', 'add');
    const { code, stdout, stderr } = await runServer([...args, '--db-path', dbPath]);
    expect(code).toBeGreaterThan(0);
    expect(stdout).toBe('');
    expect(stderr).toMatch(says);
    expect(stderr.trim()).not.toContain('\n');
  });

  it('makes no database where one should be', async () => {
    const dbPath = join(temporaryFolder(), 'nothing.db');
    for (const args of [
      ['keys', 'list'],
      ['keys', 'revoke', 'x'],
      ['namespaces', 'list'],
    ]) {
      const { code, stderr } = await runServer([...args, '--db-path', dbPath]);
      expect(code).toBe(2);
      expect(stderr).toContain(dbPath);
      expect(existsSync(dbPath)).toBe(false);
    }
  });

  it.each(['short', 'x'.repeat(31), 'with a blank'.repeat(4), ''])(
    'takes no SERVICE_API_KEY like "%s"',
    async (key) => {
      const { code, stdout, stderr } = await runServer(['--port', '0'], { ...WORDS_ONLY, SERVICE_API_KEY: key });
      expect(code).toBe(2);
      expect(stderr).toMatch(/SERVICE_API_KEY must be 32 to 512 .*guesses/);
      if (key !== '') expect(stdout + stderr).not.toContain(key);
    },
  );
});

describe('a server whose database gets its first key while it runs', () => {
  it('asks everybody for one from then on, whoever makes it, and no more takes one that is revoked', async () => {
    const client = await startClient({ env: WORDS_ONLY });
    const { database } = client.server;
    await client.store({ content: 'before there were keys' });
    const reader = await readEvents(client.server.port);
    const key = await addKey(database, 'default', 'read');
    await untilStatus(client, { path: '/stats' }, 401);
    expect(await reader.ended).toBe(true);
    expect((await client.send({ path: '/stats', headers: bearer(key) })).status).toBe(200);
    expect((await client.send({ path: '/health' })).status).toBe(200);
    await command(database, 'keys', 'revoke', idOf(key));
    await untilStatus(client, { path: '/stats', headers: bearer(key) }, 401);
    // Revoking the last key opens nothing.
    expectRefusal(await client.send({ path: '/stats' }), { code: 'UNAUTHORIZED' });
    await expectCleanEnd(client.server);
  });

  it('ends the stream of a reader whose key is revoked', async () => {
    const client = await startClient({ env: WORDS_ONLY });
    const { database } = client.server;
    const key = await addKey(database, 'default', 'read');
    await untilStatus(client, { path: '/stats', headers: bearer(key) }, 200);
    const reader = await readEvents(client.server.port, '', undefined, bearer(key));
    expect(reader.status).toBe(200);
    await command(database, 'keys', 'revoke', idOf(key));
    expect(await reader.ended).toBe(true);
    await expectCleanEnd(client.server);
  });
});

describe('a server with keys', () => {
  const memoryd = useServer({ env: WORDS_ONLY });
  const keys = { read: '', write: '', operate: '', kitchen: '' };

  beforeAll(async () => {
    const { database } = memoryd.server;
    for (const scope of ['read', 'write', 'operate'] as const) keys[scope] = await addKey(database, 'default', scope);
    keys.kitchen = await addKey(database, 'kitchen', 'write');
    await untilStatus(memoryd, { path: '/stats' }, 401);
    await untilStatus(memoryd, { path: '/stats', headers: bearer(keys.kitchen) }, 200);
  });

  const store = { method: 'POST', path: '/store', json: { content: 'who may' } };
  const asked: { request: Request; needs: 'read' | 'write' | 'operate' }[] = [
    { request: { path: '/' }, needs: 'read' },
    { request: { path: '/recall?query=a' }, needs: 'read' },
    { request: { path: '/session/a' }, needs: 'read' },
    { request: { path: '/sessions' }, needs: 'read' },
    { request: { path: '/memories' }, needs: 'read' },
    { request: { path: '/memories/a' }, needs: 'read' },
    { request: { path: '/memories/a/history' }, needs: 'read' },
    { request: { path: '/consolidations' }, needs: 'read' },
    { request: { path: '/consolidations/a' }, needs: 'read' },
    { request: { path: '/stats' }, needs: 'read' },
    { request: { path: '/nowhere' }, needs: 'read' },
    { request: store, needs: 'write' },
    { request: { method: 'POST', path: '/store/batch', json: [{ content: 'many' }] }, needs: 'write' },
    { request: { method: 'PUT', path: '/update/a', json: { importance: 1 } }, needs: 'write' },
    { request: { method: 'DELETE', path: '/forget/a' }, needs: 'write' },
    { request: { method: 'DELETE', path: '/memories?tag=none' }, needs: 'write' },
    { request: { method: 'POST', path: '/consolidate' }, needs: 'operate' },
    { request: { method: 'POST', path: '/consolidate?dry_run=true' }, needs: 'operate' },
    { request: { method: 'POST', path: '/consolidations/a/undo' }, needs: 'operate' },
    { request: { path: '/metrics' }, needs: 'operate' },
  ];
  const scopes = ['read', 'write', 'operate'] as const;
  it.each(asked.map(({ request, needs }) => ({ row: `${request.method ?? 'GET'} ${request.path}`, request, needs })))(
    '$row needs a key that may $needs',
    async ({ request, needs }) => {
      const before = await memoryd.get<StatsResponse>('/health');
      const none = await memoryd.send(request);
      expectRefusal(none, { code: 'UNAUTHORIZED' });
      expect(none.headers['www-authenticate']).toBe('Bearer');
      for (const scope of scopes.slice(0, scopes.indexOf(needs))) {
        expectRefusal(await memoryd.send({ ...request, headers: bearer(keys[scope]) }), { code: 'FORBIDDEN' });
      }
      expect((await memoryd.get<StatsResponse>('/health')).working_count).toBe(before.working_count);
      for (const scope of scopes.slice(scopes.indexOf(needs))) {
        expect([200, 404]).toContain((await memoryd.send({ ...request, headers: bearer(keys[scope]) })).status);
      }
    },
  );

  it('takes a key from elsewhere as well', async () => {
    const headers = { 'x-forwarded-for': '203.0.113.7', host: 'memory.example', 'x-api-key': keys.read };
    expect((await memoryd.send({ path: '/stats', headers })).status).toBe(200);
  });

  it('refuses two keys that differ, and one header twice', async () => {
    const both = { ...bearer(keys.read), 'x-api-key': keys.write };
    expectRefusal(await memoryd.send({ path: '/stats', headers: both }));
    const bytes = `GET /stats HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${keys.read}\r\nX-API-Key: ${keys.read}\r\nConnection: close\r\n\r\n`;
    expect(parseRaw(await sendRaw(memoryd.server.port, bytes)).status).toBe(400);
  });

  it('tells the size of the file to who operates, and that of their own texts to others', async () => {
    const content = 'äöü'.repeat(1000);
    await memoryd.ok({ ...store, json: { content }, headers: bearer(keys.kitchen) });
    const sizeFor = async (path: string, headers = {}) =>
      (await memoryd.ok<StatsResponse>({ path, headers })).db_size_mb;
    expect(await sizeFor('/stats', bearer(keys.kitchen))).toBe(0.006);
    expect(await sizeFor('/health', bearer(keys.kitchen))).toBe(0.006);
    expect(await sizeFor('/stats', bearer(keys.operate))).toBeGreaterThan(0.02);
    expect(await sizeFor('/health', bearer(keys.operate))).toBeGreaterThan(0.02);
    expect(await sizeFor('/health')).toBe(await sizeFor('/stats', bearer(keys.read)));
    expect(await sizeFor('/health')).toBeLessThan(0.006);
  });

  it('shows in /health the counts of the key, and of default without one', async () => {
    const counts = async (headers = {}) =>
      (await memoryd.ok<StatsResponse>({ path: '/health', headers })).working_count;
    expect(await counts(bearer(keys.kitchen))).toBe(1);
    expect(await counts()).toBe(await counts(bearer(keys.read)));
    expectRefusal(await memoryd.send({ path: '/health', headers: bearer('mmd_none') }), { code: 'UNAUTHORIZED' });
  });

  it('counts all namespaces together in /metrics', async () => {
    const { text } = await memoryd.send({ path: '/metrics', headers: bearer(keys.operate) });
    const own = await memoryd.ok<StatsResponse>({ path: '/stats', headers: bearer(keys.operate) });
    const working = Number(/^service_working_memory_entries (\d+)$/m.exec(text)?.[1]);
    const episodic = Number(/^service_episodic_memory_entries (\d+)$/m.exec(text)?.[1]);
    expect(working + episodic).toBe(own.working_count + own.episodic_count + 1);
    expect(text.trim().split('\n')).toHaveLength(7);
  });

  it.each(['/docs', '/docs/static/swagger-ui.css', '/redoc', '/redoc/redoc.standalone.js', '/openapi.json'])(
    'shows %s to anyone',
    async (path) => {
      expect([200, 302]).toContain((await memoryd.send({ path })).status);
    },
  );

  it('answers the preflight of a page without a key', async () => {
    const headers = { origin: 'https://app.example', 'access-control-request-method': 'POST' };
    const answer = await memoryd.send({ method: 'OPTIONS', path: '/store', headers });
    expect(answer.status).toBe(204);
  });

  it('describes in OpenAPI what each operation needs', async () => {
    interface Operation {
      security: object[];
      description?: string;
      responses: object;
    }
    const { paths, components } = await memoryd.get<{
      paths: Record<string, Record<string, Operation>>;
      components: { securitySchemes: object };
    }>('/openapi.json');
    expect(components.securitySchemes).toMatchObject({
      bearer: { type: 'http', scheme: 'bearer' },
      apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
    });
    for (const [path, operations] of Object.entries(paths)) {
      for (const { security, responses, description } of Object.values(operations)) {
        expect(Object.keys(responses)).toEqual(expect.arrayContaining(['401', '403', '429']));
        expect(security).toEqual(expect.arrayContaining([{ bearer: [] }, { apiKey: [] }]));
        if (path === '/health') expect(security).toContainEqual({});
        else expect(description).toMatch(/Needs a key of the scope `(read|write|operate)`/);
      }
    }
  });

  it('never logs a key', async () => {
    const wrong = `mmd_0123456789abcdef_${'5'.repeat(64)}`;
    expectRefusal(await memoryd.send({ path: '/stats', headers: bearer(wrong) }), { code: 'UNAUTHORIZED' });
    const logged = memoryd.server.lines().join('\n');
    for (const key of [...Object.values(keys), wrong]) expect(logged).not.toContain(key.split('_')[2]);
  });
});

describe('the rate limit', () => {
  it('lets a key make so many requests a minute, and tells how many are left', async () => {
    const client = await startClient({ env: { ...WORDS_ONLY, SERVICE_RATE_LIMIT: '3' } });
    // Without keys nothing is limited.
    for (let i = 0; i < 5; i++) {
      const answer = await client.send({ path: '/stats' });
      expect(answer.status).toBe(200);
      expect(Object.keys(answer.headers).filter((name) => name.startsWith('ratelimit'))).toEqual([]);
    }
    const [one, other] = [
      await addKey(client.server.database, 'a', 'read'),
      await addKey(client.server.database, 'b', 'read'),
    ];
    await untilStatus(client, { path: '/stats' }, 401);
    for (const [left, path] of [
      [2, '/stats'],
      [1, '/memories'],
      [0, '/nowhere'],
    ] as const) {
      const { headers } = await client.send({ path, headers: bearer(one) });
      expect(headers).toMatchObject({ 'ratelimit-limit': '3', 'ratelimit-remaining': String(left) });
      expect(Number(headers['ratelimit-reset'])).toBeGreaterThan(0);
    }
    const refused = await client.send({ path: '/stats', headers: bearer(one) });
    expectRefusal(refused, { code: 'RATE_LIMITED' });
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    expect(refused.headers['retry-after']).toBe(refused.headers['ratelimit-reset']);
    expect((await client.send({ path: '/stats', headers: bearer(other) })).status).toBe(200);
    expect((await client.send({ path: '/health' })).status).toBe(200);
    await expectCleanEnd(client.server);
  });

  it('counts every message of a batch of the Model Context Protocol', async () => {
    const client = await startClient({ env: { ...WORDS_ONLY, SERVICE_RATE_LIMIT: '10' } });
    const key = await addKey(client.server.database, 'a', 'read');
    const headers = { ...bearer(key), accept: 'application/json, text/event-stream' };
    const post = (messages: number) =>
      client.send({
        ...{ method: 'POST', path: '/mcp', headers },
        json: Array.from({ length: messages }, (_, id) => ({ jsonrpc: '2.0', id, method: 'ping' })),
      });
    await untilStatus(client, { path: '/stats' }, 401);
    expect((await post(9)).status).toBe(200);
    expectRefusal(await post(2), { code: 'RATE_LIMITED' });
    await expectCleanEnd(client.server);
  });

  it('makes who shows many wrong keys wait, and nobody with a good one', async () => {
    const key = 'k'.repeat(32);
    const client = await startClient({ env: { ...WORDS_ONLY, SERVICE_API_KEY: key } });
    const wrong = { path: '/stats', headers: bearer('wrong') };
    for (let i = 0; i < 100; i++) expect((await client.send(wrong)).status).toBe(401);
    const refused = await client.send(wrong);
    expectRefusal(refused, { code: 'RATE_LIMITED' });
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    expect((await client.send({ path: '/metrics', headers: bearer(key) })).status).toBe(200);
    expect((await client.send({ path: '/stats' })).status).toBe(401);
    await expectCleanEnd(client.server);
  });
});

describe('quotas', () => {
  it('of all namespaces hold for stores, batches and updates, and one of its own for a namespace', async () => {
    const env = { ...WORDS_ONLY, SERVICE_NAMESPACE_MAX_MEMORIES: '3', SERVICE_NAMESPACE_MAX_BYTES: '100' };
    const client = await startClient({ env });
    const id = await client.store({ content: 'x'.repeat(60) });
    const store = { method: 'POST', path: '/store', json: { content: 'y'.repeat(41) } };
    const refused = await client.send<{ error: { message: string } }>(store);
    expectRefusal(refused, { code: 'FORBIDDEN' });
    expect(refused.body.error.message).toMatch(/quota.*100 bytes/);
    expectRefusal(await client.update(id, { content: 'z'.repeat(41) }), { code: 'FORBIDDEN' });
    const batch = await client.ok<{ results: object[]; stored_count: number }>({
      method: 'POST',
      path: '/store/batch',
      json: [{ content: 'two' }, { content: 'three' }, { content: 'four' }],
    });
    expect(batch).toMatchObject({ stored_count: 2, results: [{}, {}, { error: { code: 'FORBIDDEN' } }] });
    expect(JSON.stringify(batch.results[2])).toContain('3 memories');
    await command(client.server.database, 'namespaces', 'quota', 'default', '--memories', '4');
    await client.store({ content: 'four' });
    expectRefusal(await client.send({ ...store, json: { content: 'five' } }), { code: 'FORBIDDEN' });
    await client.forget(id);
    await client.store({ content: 'y'.repeat(41) });
    const { stdout } = await command(client.server.database, 'namespaces', 'quota', 'default', '--json');
    expect(JSON.parse(stdout)).toEqual({ name: 'default', quota: { memories: 4, bytes: null } });
    await expectCleanEnd(client.server);
  });

  it('hold to the last memory over several processes', async () => {
    const one = await startClient({ env: WORDS_ONLY });
    const { database } = one.server;
    await command(database, 'namespaces', 'quota', 'default', '--memories', '25');
    const other = await startClient({ env: WORDS_ONLY, database });
    const statuses = await Promise.all(
      Array.from({ length: 60 }, async (_, i) => {
        const request = { method: 'POST', path: '/store', json: { content: `memory ${i}` } };
        return (await (i % 2 ? one : other).send(request)).status;
      }),
    );
    expect(statuses.filter((status) => status === 200)).toHaveLength(25);
    expect(statuses.filter((status) => status === 403)).toHaveLength(35);
    expect((await one.stats()).working_count).toBe(25);
    await expectCleanEnd(one.server);
    await expectCleanEnd(other.server);
  });
});

describe('memoryd namespaces', () => {
  it('lists what each holds, and deletes one with all that is its own, down to the bytes', {
    timeout: PATIENCE_MS,
  }, async () => {
    const client = await startClient({ env: WORDS_ONLY });
    const { database } = client.server;
    const [key, other] = [await addKey(database, 'kitchen', 'write'), await addKey(database, 'garden', 'write')];
    await untilStatus(client, { path: '/stats', headers: bearer(other) }, 200);
    const content = 'Ada keeps the xylographs in the pantry';
    const store = { method: 'POST', path: '/store', json: { content } };
    await client.ok({ ...store, headers: bearer(key) });
    await client.ok({ ...store, json: { content: 'a text of the garden' }, headers: bearer(other) });
    const list = async () => JSON.parse((await command(database, 'namespaces', 'list', '--json')).stdout) as object[];
    const empty = { episodic_count: 0, semantic_count: 0, quota: { memories: null, bytes: null }, keys: 1 };
    const garden = { name: 'garden', working_count: 1, memories: 1, bytes: 20, ...empty };
    expect(await list()).toEqual([garden, { ...garden, name: 'kitchen', bytes: content.length }]);
    expect((await command(database, 'namespaces', 'list')).stdout).toMatch(/^NAMESPACE.*\ngarden +1 /);

    const unsure = await runServer(['namespaces', 'delete', 'kitchen', ...databaseFlags(database)]);
    expect(unsure.code).toBe(2);
    expect(unsure.stderr).toMatch(/1 memories and 1 API keys.*--yes/);
    expect((await client.send({ path: '/stats', headers: bearer(key) })).status).toBe(200);

    await command(database, 'namespaces', 'delete', 'kitchen', '--yes');
    expect(await list()).toEqual([garden]);
    await untilStatus(client, { path: '/stats', headers: bearer(key) }, 401);
    expect((await client.ok<StatsResponse>({ path: '/stats', headers: bearer(other) })).working_count).toBe(1);
    await expectCleanEnd(client.server);
    if (!ON_FILE) return;
    const bytes = readFileSync(client.server.dbPath);
    for (const gone of ['xylographs', 'kitchen']) expect(bytes.includes(gone), gone).toBe(false);
    expect(bytes.includes('a text of the garden')).toBe(true);
  });
});

describe('starting', () => {
  const started = async (args: string[], env: Record<string, string>) => {
    const port = await freePort();
    const server = launch(['--port', String(port), '--db-path', join(temporaryFolder(), 'm.db'), ...args], {
      ...WORDS_ONLY,
      ...env,
    });
    await untilHealthy(port, server);
    const told = () => server.lines().map((line) => JSON.parse(line) as { event: string; message?: string });
    await eventually('the end of the start', 20_000, () => (told().length > 0 ? true : undefined));
    expect((await server.end('SIGTERM')).code).toBe(0);
    return told();
  };
  const key = { SERVICE_API_KEY: 'k'.repeat(32) };

  it('warns of web pages in development only while there is no key', async () => {
    expect((await started([], {})).map(({ event }) => event)).toContain('any_origin_allowed');
    expect((await started([], key)).map(({ event }) => event)).not.toContain('any_origin_allowed');
  });

  it('says how to make a key where others than this machine are to call and there is none', async () => {
    const production = { NODE_ENV: 'production' };
    const advice = (await started(['--host', '0.0.0.0'], production)).find(({ event }) => event === 'no_api_key');
    expect(advice?.message).toContain('memoryd keys add');
    for (const records of [
      await started(['--host', '0.0.0.0'], { ...production, ...key }),
      await started([], production),
    ]) {
      expect(records.map(({ event }) => event)).not.toContain('no_api_key');
    }
  });
});
