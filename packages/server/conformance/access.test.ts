import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { StatsResponse } from '@memoryd/contract';
import { type Engine, openEngine, type TelemetryEvent } from '@memoryd/engine';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { reportStart, type Service } from '../src/serve.ts';
import { engineSettings } from '../src/settings/engine-settings.ts';
import { readSettings } from '../src/settings/read.ts';
import { UsageError } from '../src/usage-error.ts';
import { runInProcess } from './command-in-process.ts';
import { readEvents } from './event-reader.ts';
import { createTemporaryFolder } from './folders.ts';
import { type Answer, parseRaw, type Request, sendRaw } from './http.ts';
import { addKey, getAdministration } from './keys.ts';
import { eventually, runServer } from './process.ts';
import { expectError } from './refusal.ts';
import type { Exit } from './server.ts';
import { type Client, expectCleanEnd, startClient, useServer, WORDS_ONLY } from './under-test.ts';

/** Runs a command on a database file and expects it to succeed. */
async function command(dbPath: string, ...args: string[]): Promise<Exit> {
  const ended = await runInProcess([...args, '--db-path', dbPath]);
  expect(ended.code, ended.stderr).toBe(0);
  return ended;
}

/** Returns the error that a function throws. */
function getError(work: () => unknown): Error {
  try {
    work();
  } catch (error) {
    return error as Error;
  }
  throw new Error('the function threw no error');
}

const getId = (key: string) => key.split('_')[1] as string;
const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

/** Returns the response, or undefined if its status is 401. */
async function unlessUnauthorized(pending: Promise<Answer>): Promise<Answer | undefined> {
  const response = await pending;
  return response.status === 401 ? undefined : response;
}

/** Repeats a request until it returns this status. A server notices the keys of other processes within a second. */
async function untilStatus(client: Client, request: Request, status: number): Promise<void> {
  await eventually(`status ${status}`, 20_000, async () =>
    (await client.send(request)).status === status ? true : undefined,
  );
}

describe('memoryd', () => {
  const dbPath = join(createTemporaryFolder(), 'deep', 'memory.db');

  it('adds a key before the first start of the server, and prints only the key to stdout', async () => {
    const args = ['keys', 'add', '--namespace', 'kitchen', '--scope', 'read', '--db-path', dbPath];
    const { code, stdout, stderr } = await runServer(args);
    expect(code, stderr).toBe(0);
    expect(stdout).toMatch(/^mmd_[0-9a-f]{16}_[0-9a-f]{64}\n$/);
    expect(stderr).toMatch(/read.*kitchen/);
    expect(stderr).not.toContain(stdout.trim());
    expect(existsSync(dbPath)).toBe(true);
    expect(statSync(dbPath).mode & 0o777).toBe(0o600);
    expect((await command(dbPath, 'keys', 'list')).stdout).toContain('kitchen');
  });

  it('prints added and listed keys as JSON with --json', async () => {
    const made = JSON.parse((await command(dbPath, 'keys', 'add', '--json')).stdout);
    expect(made).toEqual({
      id: getId(made.key),
      namespace: 'default',
      scope: 'write',
      name: '',
      created_at: expect.stringMatching(/Z$/),
      expires_at: null,
      last_used_at: null,
      revoked_at: null,
      key: expect.stringMatching(/^mmd_/),
    });
    expect((await command(dbPath, 'keys', 'revoke', made.id)).stdout).toContain(made.id);
    const listed = JSON.parse((await command(dbPath, 'keys', 'list', '--namespace', 'default', '--json')).stdout);
    const { key: _key, ...summary } = made;
    expect(listed).toEqual([{ ...summary, revoked_at: expect.stringMatching(/Z$/) }]);
  });

  const refused: [string[], RegExp][] = [
    [['keys'], /needs one of add, list, revoke, open/],
    [['keys', 'make'], /needs one of/],
    [['keys', 'add', '--scope', 'all'], /metrics, read, write, operate/],
    [['keys', 'add', '--expires-at', 'soon'], /expires_at must be an ISO 8601/],
    [['keys', 'open'], /without a key; add --yes to confirm/],
    [['keys', 'add', '--namespace', 'a b'], /namespace must be/],
    [['keys', 'revoke', 'nobody'], /no key with this id/],
    [['keys', 'revoke'], /missing/],
    [['namespaces'], /needs one of list, delete, quota/],
    [['namespaces', 'delete', 'nobody', '--yes'], /namespace not found/],
    [['namespaces', 'quota', 'a', '--memories', '-1'], /whole number/],
    [['namespaces', 'quota', 'a', '--bytes', '1.5'], /whole number/],
  ];
  it('rejects invalid arguments of memoryd keys and memoryd namespaces with a one-line error', async () => {
    for (const [args, message] of refused) {
      const { code, stdout, stderr } = await runInProcess([...args, '--db-path', dbPath]);
      expect(code, args.join(' ')).toBeGreaterThan(0);
      expect(stdout).toBe('');
      expect(stderr).toMatch(message);
      expect(stderr.trim()).not.toContain('\n');
    }
  });

  it('fails and creates no file for the commands keys and namespaces if the database does not exist', async () => {
    const missing = join(createTemporaryFolder(), 'nothing.db');
    for (const args of [
      ['keys', 'list'],
      ['keys', 'revoke', 'x'],
      ['namespaces', 'list'],
    ]) {
      const { code, stderr } = await runInProcess([...args, '--db-path', missing]);
      expect(code).toBe(2);
      expect(stderr).toContain(missing);
      expect(existsSync(missing)).toBe(false);
    }
  });

  it.each(['short', 'x'.repeat(31), 'with a blank'.repeat(4), ''])(
    'rejects the value "%s" of SERVICE_API_KEY',
    (key) => {
      const refusal = getError(() => readSettings({}, { SERVICE_API_KEY: key }));
      expect(refusal).toBeInstanceOf(UsageError);
      expect(refusal.message).toMatch(/SERVICE_API_KEY must be 32 to 512 .*openssl rand/);
      if (key !== '') expect(refusal.message).not.toContain(key);
    },
  );

  it('memoryd does not start with a SERVICE_API_KEY that is too short, and does not print the key', async () => {
    const { code, stdout, stderr } = await runServer(['--port', '0'], { ...WORDS_ONLY, SERVICE_API_KEY: 'short' });
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/^SERVICE_API_KEY must be 32 to 512 .*openssl rand.*\n$/);
    expect(stderr).not.toContain('"short"');
  });
});

describe('a running server whose first key is added', () => {
  it('requires a key for all further requests, and closes event streams without a valid key', async () => {
    const client = await startClient({ env: WORDS_ONLY });
    const { dbPath } = client.server;
    await client.store({ content: 'before there were keys' });
    const reader = await readEvents(client.server.port);
    const { stdout } = await runServer(['keys', 'add', '--scope', 'read', '--db-path', dbPath]);
    const key = stdout.trim();
    await untilStatus(client, { path: '/stats' }, 401);
    expect(await reader.ended).toBe(true);
    expect((await client.send({ path: '/stats', headers: bearer(key) })).status).toBe(200);
    expect((await client.send({ path: '/health' })).status).toBe(200);
    const holder = await readEvents(client.server.port, '', undefined, bearer(key));
    expect(holder.status).toBe(200);
    await (await getAdministration(dbPath)).keys.revoke(getId(key));
    await untilStatus(client, { path: '/stats', headers: bearer(key) }, 401);
    expect(await holder.ended).toBe(true);
    // Revoking the last key does not make access without a key possible again.
    expectError(await client.send({ path: '/stats' }), { code: 'UNAUTHORIZED' });
    await expectCleanEnd(client.server);
  });
});

describe('a server with keys', () => {
  const memoryd = useServer({ env: WORDS_ONLY });
  const keys = { read: '', write: '', operate: '', kitchen: '' };

  beforeAll(async () => {
    const { dbPath } = memoryd.server;
    for (const scope of ['read', 'write', 'operate'] as const) keys[scope] = await addKey(dbPath, 'default', scope);
    keys.kitchen = await addKey(dbPath, 'kitchen', 'write');
    await untilStatus(memoryd, { path: '/stats' }, 401);
    await untilStatus(memoryd, { path: '/stats', headers: bearer(keys.kitchen) }, 200);
  });

  const store = { method: 'POST', path: '/store', json: { content: 'access' } };
  const accesses: { request: Request; needs: 'read' | 'write' | 'operate' }[] = [
    { request: { path: '/' }, needs: 'read' },
    { request: { path: '/recall?query=a' }, needs: 'read' },
    { request: { path: '/session/a' }, needs: 'read' },
    { request: { path: '/sessions' }, needs: 'read' },
    { request: { path: '/memories' }, needs: 'read' },
    { request: { path: '/memories/a' }, needs: 'read' },
    { request: { path: '/memories/a/history' }, needs: 'read' },
    { request: { path: '/memories/a/related' }, needs: 'read' },
    { request: { path: '/facets?field=tag' }, needs: 'read' },
    { request: { path: '/growth?step=day' }, needs: 'read' },
    { request: { path: '/map' }, needs: 'read' },
    { request: { path: '/recalls' }, needs: 'read' },
    { request: { path: '/consolidations' }, needs: 'read' },
    { request: { path: '/consolidations/a' }, needs: 'read' },
    { request: { path: '/stats' }, needs: 'read' },
    { request: { path: '/nowhere' }, needs: 'read' },
    { request: store, needs: 'write' },
    { request: { method: 'POST', path: '/store/batch', json: [{ content: 'many' }] }, needs: 'write' },
    { request: { method: 'PUT', path: '/update/a', json: { importance: 1 } }, needs: 'write' },
    { request: { path: '/corrections' }, needs: 'write' },
    { request: { method: 'POST', path: '/corrections/a', json: { accept: true } }, needs: 'write' },
    { request: { method: 'DELETE', path: '/forget/a' }, needs: 'write' },
    { request: { method: 'DELETE', path: '/memories?tag=none' }, needs: 'write' },
    { request: { method: 'DELETE', path: '/memories?id=none' }, needs: 'write' },
    { request: { method: 'PATCH', path: '/memories?tag=none', json: { importance: 1 } }, needs: 'write' },
    { request: { method: 'POST', path: '/changes/a/undo' }, needs: 'write' },
    { request: { method: 'POST', path: '/consolidate' }, needs: 'operate' },
    { request: { method: 'POST', path: '/consolidate?dry_run=true' }, needs: 'operate' },
    { request: { method: 'POST', path: '/consolidations/a/undo' }, needs: 'operate' },
    { request: { method: 'POST', path: '/consolidations/a/undo?memory_id=a' }, needs: 'operate' },
    { request: { path: '/stats/history' }, needs: 'operate' },
    { request: { path: '/metrics' }, needs: 'operate' },
  ];
  const scopes = ['read', 'write', 'operate'] as const;
  it.each(
    accesses.map(({ request, needs }) => ({ row: `${request.method ?? 'GET'} ${request.path}`, request, needs })),
  )('requires a key with the $needs scope for $row', async ({ request, needs }) => {
    const countMemories = async () =>
      (await memoryd.ok<StatsResponse>({ path: '/stats', headers: bearer(keys.read) })).working_count;
    const before = await countMemories();
    const none = await memoryd.send(request);
    expectError(none, { code: 'UNAUTHORIZED' });
    expect(none.headers['www-authenticate']).toBe('Bearer');
    for (const scope of scopes.slice(0, scopes.indexOf(needs))) {
      expectError(await memoryd.send({ ...request, headers: bearer(keys[scope]) }), { code: 'FORBIDDEN' });
    }
    expect(await countMemories()).toBe(before);
    for (const scope of scopes.slice(scopes.indexOf(needs))) {
      expect([200, 404]).toContain((await memoryd.send({ ...request, headers: bearer(keys[scope]) })).status);
    }
  });

  it('accepts a valid key from any client address and with any Host header', async () => {
    const headers = { 'x-forwarded-for': '203.0.113.7', host: 'memory.example', 'x-api-key': keys.read };
    expect((await memoryd.send({ path: '/stats', headers })).status).toBe(200);
  });

  it('rejects requests with two different keys or a repeated key header', async () => {
    const both = { ...bearer(keys.read), 'x-api-key': keys.write };
    expectError(await memoryd.send({ path: '/stats', headers: both }));
    const bytes = `GET /stats HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${keys.read}\r\nX-API-Key: ${keys.read}\r\nConnection: close\r\n\r\n`;
    expect(parseRaw(await sendRaw(memoryd.server.port, bytes)).status).toBe(400);
  });

  it('returns the file size to keys with the operate scope, and the text size to other keys', async () => {
    const content = 'äöü'.repeat(1000);
    await memoryd.ok({ ...store, json: { content }, headers: bearer(keys.kitchen) });
    const sizeFor = async (path: string, headers = {}) =>
      (await memoryd.ok<StatsResponse>({ path, headers })).db_size_mb;
    expect(await sizeFor('/stats', bearer(keys.kitchen))).toBe(0.006);
    await expect.poll(() => sizeFor('/health', bearer(keys.kitchen))).toBe(0.006);
    expect(await sizeFor('/stats', bearer(keys.operate))).toBeGreaterThan(0.02);
    expect(await sizeFor('/health', bearer(keys.operate))).toBeGreaterThan(0.02);
    const defaultSize = await sizeFor('/stats', bearer(keys.read));
    await expect.poll(() => sizeFor('/health')).toBe(defaultSize);
    expect(await sizeFor('/health')).toBeLessThan(0.006);
  });

  it('returns in /health the counts of the key’s namespace, or of the default namespace without a valid key', async () => {
    const counts = async (headers = {}) =>
      (await memoryd.ok<StatsResponse>({ path: '/health', headers })).working_count;
    await expect.poll(() => counts(bearer(keys.kitchen))).toBe(1);
    const { working_count } = await memoryd.ok<StatsResponse>({ path: '/stats', headers: bearer(keys.read) });
    expect(working_count).not.toBe(1);
    for (const headers of [{}, bearer(keys.read), bearer('mmd_none')]) {
      await expect.poll(() => counts(headers)).toBe(working_count);
    }
  });

  it('returns the total counts of all namespaces in /metrics', async () => {
    const { text } = await memoryd.send({ path: '/metrics', headers: bearer(keys.operate) });
    const own = await memoryd.ok<StatsResponse>({ path: '/stats', headers: bearer(keys.operate) });
    const working = Number(/^service_working_memory_entries (\d+)$/m.exec(text)?.[1]);
    const episodic = Number(/^service_episodic_memory_entries (\d+)$/m.exec(text)?.[1]);
    expect(working + episodic).toBe(own.working_count + own.episodic_count + 1);
    expect(text.trim().split('\n')).toHaveLength(7);
  });

  it.each(['/docs', '/docs/static/swagger-ui.css', '/redoc', '/redoc/redoc.standalone.js', '/openapi.json'])(
    'serves %s without a key',
    async (path) => {
      expect([200, 302]).toContain((await memoryd.send({ path })).status);
    },
  );

  it('accepts a preflight request without a key', async () => {
    const headers = { origin: 'https://app.example', 'access-control-request-method': 'POST' };
    const answer = await memoryd.send({ method: 'OPTIONS', path: '/store', headers });
    expect(answer.status).toBe(204);
  });

  it('documents the required scope of each operation in OpenAPI', async () => {
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
        if (['/health', '/readyz', '/livez'].includes(path)) expect(security).toContainEqual({});
        else expect(description).toMatch(/Requires an API key with the scope `(metrics|read|write|operate)`/);
      }
    }
  });

  it('never logs a key', async () => {
    const wrong = `mmd_0123456789abcdef_${'5'.repeat(64)}`;
    expectError(await memoryd.send({ path: '/stats', headers: bearer(wrong) }), { code: 'UNAUTHORIZED' });
    const logged = memoryd.server.lines().join('\n');
    for (const key of [...Object.values(keys), wrong]) expect(logged).not.toContain(key.split('_')[2]);
  });
});

describe('the rate limit', () => {
  const limited = useServer({ env: { ...WORDS_ONLY, SERVICE_RATE_LIMIT: '4' } });

  it('limits the requests of a key per minute, and reports the remaining requests in headers', async () => {
    // The rate limit applies to keys. Without keys there is no limit.
    for (let i = 0; i < 6; i++) {
      const answer = await limited.send({ path: '/stats' });
      expect(answer.status).toBe(200);
      expect(Object.keys(answer.headers).filter((name) => name.startsWith('ratelimit'))).toEqual([]);
    }
    const { dbPath } = limited.server;
    const [one, other] = [await addKey(dbPath, 'a', 'read'), await addKey(dbPath, 'b', 'read')];
    await untilStatus(limited, { path: '/stats' }, 401);
    for (const [left, path] of [
      [3, '/stats'],
      [2, '/stats'],
      [1, '/memories'],
      [0, '/nowhere'],
    ] as const) {
      const { headers } = await limited.send({ path, headers: bearer(one) });
      expect(headers).toMatchObject({ 'ratelimit-limit': '4', 'ratelimit-remaining': String(left) });
      expect(Number(headers['ratelimit-reset'])).toBeGreaterThan(0);
    }
    const refused = await limited.send({ path: '/stats', headers: bearer(one) });
    expectError(refused, { code: 'RATE_LIMITED' });
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    expect(refused.headers['retry-after']).toBe(refused.headers['ratelimit-reset']);
    expect((await limited.send({ path: '/stats', headers: bearer(other) })).status).toBe(200);
    expect((await limited.send({ path: '/health' })).status).toBe(200);
  });

  it('counts every message of an MCP batch as a request', async () => {
    const key = await addKey(limited.server.dbPath, 'c', 'read');
    const headers = { ...bearer(key), accept: 'application/json, text/event-stream' };
    const post = (messages: number) =>
      limited.send({
        ...{ method: 'POST', path: '/mcp', headers },
        json: Array.from({ length: messages }, (_, id) => ({ jsonrpc: '2.0', id, method: 'ping' })),
      });
    expect((await eventually('the key to be accepted', 20_000, () => unlessUnauthorized(post(3)))).status).toBe(200);
    expectError(await post(2), { code: 'RATE_LIMITED' });
  });

  it('limits an address that sends many wrong keys, but not its requests with a valid key', async () => {
    const key = 'k'.repeat(32);
    const client = await startClient({ env: { ...WORDS_ONLY, SERVICE_API_KEY: key } });
    const wrong = { path: '/stats', headers: bearer('wrong') };
    for (let i = 0; i < 100; i++) expect((await client.send(wrong)).status).toBe(401);
    const refused = await client.send(wrong);
    expectError(refused, { code: 'RATE_LIMITED' });
    const seconds = Number(refused.headers['retry-after']);
    expect([seconds > 0, seconds <= 60], `${seconds} s`).toEqual([true, true]);
    expect((await client.send({ path: '/metrics', headers: bearer(key) })).status).toBe(200);
    expect((await client.send({ path: '/stats' })).status).toBe(401);
    await expectCleanEnd(client.server);
  });
});

describe('quotas', () => {
  it('quotas apply to stores, batches and updates, and a namespace’s own quota overrides the default', async () => {
    const env = { ...WORDS_ONLY, SERVICE_NAMESPACE_MAX_MEMORIES: '3', SERVICE_NAMESPACE_MAX_BYTES: '100' };
    const client = await startClient({ env });
    const id = await client.store({ content: 'x'.repeat(60) });
    const store = { method: 'POST', path: '/store', json: { content: 'y'.repeat(41) } };
    const refused = await client.send<{ error: { message: string } }>(store);
    expectError(refused, { code: 'FORBIDDEN' });
    expect(refused.body.error.message).toMatch(/quota.*100 bytes/);
    expectError(await client.update(id, { content: 'z'.repeat(41) }), { code: 'FORBIDDEN' });
    const batch = await client.ok<{ results: object[]; stored_count: number }>({
      method: 'POST',
      path: '/store/batch',
      json: [{ content: 'two' }, { content: 'three' }, { content: 'four' }],
    });
    expect(batch).toMatchObject({ stored_count: 2, results: [{}, {}, { error: { code: 'FORBIDDEN' } }] });
    expect(JSON.stringify(batch.results[2])).toContain('3 memories');
    const quota = async (...flags: string[]) =>
      JSON.parse((await command(client.server.dbPath, 'namespaces', 'quota', 'default', '--json', ...flags)).stdout);
    const changed = { name: 'default', quota: { memories: 4, bytes: null } };
    expect([await quota('--memories', '4'), await quota()]).toEqual([changed, changed]);
    await client.store({ content: 'four' });
    expectError(await client.send({ ...store, json: { content: 'five' } }), { code: 'FORBIDDEN' });
    expect(await quota('--bytes', '0', '--memories', 'default')).toEqual({
      name: 'default',
      quota: { memories: null, bytes: 0 },
    });
    expect(await quota('--bytes', 'default')).toEqual({ name: 'default', quota: { memories: null, bytes: null } });
    // The quota is three memories again and four exist, so two must be forgotten before the next store.
    for (const gone of [id, (batch.results[0] as { id: string }).id]) await client.forget(gone);
    await client.store({ content: 'y'.repeat(41) });
    await expectCleanEnd(client.server);
  });

  it('quotas are not exceeded when several processes store concurrently', async () => {
    const one = await startClient({ env: WORDS_ONLY });
    const { dbPath } = one.server;
    await (await getAdministration(dbPath)).namespaces.setQuota('default', { memories: 25, bytes: null });
    const other = await startClient({ env: WORDS_ONLY, dbPath });
    const statuses = await Promise.all(
      Array.from({ length: 60 }, async (_, i) => {
        const request = { method: 'POST', path: '/store', json: { content: `memory ${i}` } };
        const store = async () => (await (i % 2 ? one : other).send(request)).status;
        let status = await store();
        // A service on a busy machine may ask to repeat a request.
        for (; status === 503; status = await store()) await setTimeout(50);
        return status;
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
  it('lists the counts of each namespace, and deletes a namespace without a trace in the database file', async () => {
    const client = await startClient({ env: WORDS_ONLY });
    const { dbPath } = client.server;
    const [key, other] = [await addKey(dbPath, 'kitchen', 'write'), await addKey(dbPath, 'garden', 'write')];
    await untilStatus(client, { path: '/stats', headers: bearer(other) }, 200);
    const content = 'Ada keeps the xylographs in the pantry';
    const store = { method: 'POST', path: '/store', json: { content } };
    await client.ok({ ...store, headers: bearer(key) });
    await client.ok({ ...store, json: { content: 'a text of the garden' }, headers: bearer(other) });
    const { namespaces } = await getAdministration(dbPath);
    const empty = { episodic_count: 0, semantic_count: 0, quota: { memories: null, bytes: null }, keys: 1 };
    const garden = { name: 'garden', working_count: 1, memories: 1, bytes: 20, ...empty };
    const listed = JSON.parse((await command(dbPath, 'namespaces', 'list', '--json')).stdout);
    expect(listed).toEqual([garden, { ...garden, name: 'kitchen', bytes: content.length }]);
    expect((await command(dbPath, 'namespaces', 'list')).stdout).toMatch(/^NAMESPACE.*\ngarden +1 /);

    const unsure = await runInProcess(['namespaces', 'delete', 'kitchen', '--db-path', dbPath]);
    expect(unsure.code).toBe(2);
    expect(unsure.stderr).toMatch(/1 memory and 1 API key.*--yes/);
    expect((await client.send({ path: '/stats', headers: bearer(key) })).status).toBe(200);

    await command(dbPath, 'namespaces', 'delete', 'kitchen', '--yes');
    expect(await namespaces.list()).toEqual([garden]);
    await untilStatus(client, { path: '/stats', headers: bearer(key) }, 401);
    expect((await client.ok<StatsResponse>({ path: '/stats', headers: bearer(other) })).working_count).toBe(1);
    await expectCleanEnd(client.server);
    const bytes = readFileSync(client.server.dbPath);
    for (const gone of ['xylographs', 'kitchen']) expect(bytes.includes(gone), gone).toBe(false);
    expect(bytes.includes('a text of the garden')).toBe(true);
  });
});

describe('the startup log of the server', () => {
  let engine: Engine;
  beforeAll(async () => {
    const settings = engineSettings(readSettings({}, WORDS_ONLY));
    engine = await openEngine({
      ...settings,
      dbPath: join(createTemporaryFolder(), 'memory.db'),
      telemetry: { report() {} },
    });
  });
  afterAll(() => engine.close());

  /** Returns the telemetry events that a service with these settings reports at startup. */
  const getReports = async (host: string, env: Record<string, string>) => {
    const events: TelemetryEvent[] = [];
    const telemetry = { report: (event: TelemetryEvent) => void events.push(event) };
    const settings = readSettings({ host }, env);
    await reportStart({ settings, url: '', engine, telemetry } as Service);
    return events;
  };
  const getNames = async (host: string, env: Record<string, string>) =>
    (await getReports(host, env)).map(({ event }) => event);
  const key = { SERVICE_API_KEY: 'k'.repeat(32) };
  const production = { NODE_ENV: 'production' };

  it('warns in development that any origin is allowed if no key is set', async () => {
    expect(await getNames('127.0.0.1', {})).toContain('any_origin_allowed');
    expect(await getNames('127.0.0.1', key)).toEqual(['server_started']);
  });

  it('explains how to add a key if the server listens on all interfaces without a key', async () => {
    const advice = (await getReports('0.0.0.0', production)).find(({ event }) => event === 'no_api_key');
    expect(advice?.facts?.message).toContain('memoryd keys add');
    expect(await getNames('0.0.0.0', { ...production, ...key })).toEqual(['server_started']);
    expect(await getNames('127.0.0.1', production)).toEqual(['server_started']);
  });
});
