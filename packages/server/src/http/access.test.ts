import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Scope } from '@memoryd/contract';
import { type Administration, openAdministration } from '@memoryd/engine';
import Fastify from 'fastify';
import { afterAll, describe, expect, it } from 'vitest';
import { createGate } from './access.ts';
import { errorHandler } from './errors.ts';

const SETTING_KEY = 'a-key-of-a-setting-of-forty-characters!!';

const folder = mkdtempSync(join(tmpdir(), 'memoryd-access-'));
const getAdministration = (name: string) => openAdministration({ dbPath: join(folder, name) });
const empty = await getAdministration('empty.db');
const withKeysDatabase = await getAdministration('keys.db');
const closed = await getAdministration('closed.db');
await closed.close();
afterAll(async () => {
  await empty.close();
  await withKeysDatabase.close();
  rmSync(folder, { recursive: true });
});

const addKey = (namespace: string, scope: Scope) => withKeysDatabase.keys.add({ namespace, scope });
const reader = await addKey('kitchen', 'read');
const writer = await addKey('kitchen', 'write');
const operator = await addKey('garden', 'operate');
const revoked = await addKey('kitchen', 'operate');
await withKeysDatabase.keys.revoke(revoked.id);

/** An application with a route for each kind of access behind a gate; each returns the caller. */
function serve({ keys }: Administration, apiKey?: string) {
  const app = Fastify();
  app.setErrorHandler(errorHandler({ report: () => {} }));
  const gate = createGate({ keys }, { host: 'Memory.internal', ...(apiKey !== undefined && { apiKey }) });
  app.decorateRequest('caller');
  app.addHook('onRequest', async (request) => {
    request.caller = await gate.admit(request);
  });
  for (const access of ['read', 'write', 'operate', 'anyone'] as const) {
    app.get(`/${access}`, { config: { access } }, (request) => request.caller);
  }
  app.get('/undeclared', (request) => request.caller);
  return app;
}

const withoutKeys = serve(empty);
const withKeys = serve(withKeysDatabase);
const REMOTE_ADDRESS = '10.0.0.7';

interface RequestOptions {
  remoteAddress?: string;
  headers?: Record<string, string | string[]>;
}

async function getStatus(url: string, options: RequestOptions, app = withoutKeys) {
  return (await app.inject({ url, ...options })).statusCode;
}

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

describe('the access gate without keys', () => {
  it.each(['127.0.0.1', '127.8.9.10', '::1', '::ffff:127.0.0.1'])(
    'allows requests from %s to operate the default namespace',
    async (remoteAddress) => {
      const response = await withoutKeys.inject({ url: '/operate', remoteAddress });
      expect(response.json()).toEqual({ namespace: 'default', scope: 'operate' });
    },
  );

  it.each(['10.0.0.7', '128.0.0.1', '::2', '::ffff:10.0.0.7', 'fe80::1'])(
    'requires a key for requests from %s',
    async (remoteAddress) => {
      for (const [url, scope] of Object.entries({ '/read': 'read', '/undeclared': 'operate', '/nowhere': 'read' })) {
        const response = await withoutKeys.inject({ url, remoteAddress });
        expect(response.statusCode).toBe(401);
        expect(response.headers['www-authenticate']).toBe('Bearer');
        expect(response.json().error.message).toContain(`memoryd keys add --namespace default --scope ${scope}, on `);
      }
    },
  );

  it('allows public routes from another machine, with any Host header', async () => {
    const response = await withoutKeys.inject({
      url: '/anyone',
      remoteAddress: REMOTE_ADDRESS,
      headers: { host: 'anything.example' },
    });
    expect(response.json()).toEqual({ namespace: 'default', scope: 'read' });
  });

  it.each([
    { row: 'an unknown key', headers: bearer('mem_unknown') },
    { row: 'two different keys', headers: { ...bearer('mem_unknown'), 'x-api-key': 'mem_other' } },
    { row: 'a blank key', headers: { 'x-api-key': ' ' } },
    { row: 'an unknown key and an invalid namespace', headers: { ...bearer('x'), 'x-memoryd-namespace': '../a' } },
  ])('ignores $row on a public route', async ({ headers }) => {
    const response = await withoutKeys.inject({ url: '/anyone', remoteAddress: REMOTE_ADDRESS, headers });
    expect([response.statusCode, response.json()]).toEqual([200, { namespace: 'default', scope: 'read' }]);
    // A local request has the access of a local request without a key.
    const local = await withoutKeys.inject({ url: '/anyone', headers });
    expect([local.statusCode, local.json()]).toEqual([200, { namespace: 'default', scope: 'operate' }]);
  });

  it.each([
    ...['Forwarded', 'Forwarded-For', 'X-Forwarded', 'X-Forwarded-For', 'X-Forwarded-Anything', 'X-Original-Host'],
    ...['X-Real-IP', 'X-Envoy-External-Address', 'Via', 'CF-Connecting-IP'],
  ])('treats a request with the proxy header %s as remote', async (header) => {
    expect(await getStatus('/read', { headers: { [header]: '127.0.0.1' } })).toBe(401);
    expect(await getStatus('/anyone', { headers: { [header]: '127.0.0.1' } })).toBe(200);
  });

  it('rejects an unknown key from any address', async () => {
    for (const remoteAddress of ['127.0.0.1', REMOTE_ADDRESS]) {
      expect(await getStatus('/read', { remoteAddress, headers: bearer('made-up') })).toBe(401);
    }
  });

  it.each(['localhost', 'LOCALHOST:8090', '127.0.0.1:1', '127.1.2.3', '[::1]:8090', 'memory.internal:8090'])(
    'accepts the Host header %s',
    async (host) => {
      expect(await getStatus('/read', { headers: { host } })).toBe(200);
    },
  );

  it.each(['evil.example', '127.0.0.1.evil.example', '127.evil.example:8090', '10.0.0.7', '[::2]', ''])(
    'rejects the Host header "%s"',
    async (host) => {
      expect(await getStatus('/read', { headers: { host: [host] } })).toBe(403);
      expect(await getStatus('/read', { headers: { host: [host], ...bearer(reader.key) } }, withKeys)).toBe(403);
    },
  );

  it('rejects two Host headers', async () => {
    expect(await getStatus('/read', { headers: { host: ['localhost', 'evil.example'] } })).toBe(400);
  });
});

describe('the access gate with keys', () => {
  it.each(['127.0.0.1', REMOTE_ADDRESS])('requires a key for requests from %s', async (remoteAddress) => {
    const response = await withKeys.inject({ url: '/read', remoteAddress });
    expect(response.statusCode).toBe(401);
    expect(response.json().error.message).toMatch(/Authorization: Bearer .*X-API-Key.*memoryd keys add/);
    expect(await getStatus('/nowhere', { remoteAddress }, withKeys)).toBe(401);
    expect(await getStatus('/anyone', { remoteAddress }, withKeys)).toBe(200);
  });

  it.each(['127.0.0.1', REMOTE_ADDRESS])(
    'allows a caller at %s to use the namespace of its key',
    async (remoteAddress) => {
      const forwarded = { 'x-forwarded-for': '203.0.113.7' };
      for (const headers of [
        bearer(writer.key),
        { 'x-api-key': writer.key },
        { ...bearer(writer.key), ...forwarded },
      ]) {
        const response = await withKeys.inject({ url: '/write', remoteAddress, headers });
        expect(response.json()).toEqual({ namespace: 'kitchen', scope: 'write', keyId: writer.id });
      }
    },
  );

  it.each([
    [
      'read',
      reader,
      { '/read': 200, '/write': 403, '/operate': 403, '/undeclared': 403, '/anyone': 200, '/nowhere': 404 },
    ],
    [
      'write',
      writer,
      { '/read': 200, '/write': 200, '/operate': 403, '/undeclared': 403, '/anyone': 200, '/nowhere': 404 },
    ],
    [
      'operate',
      operator,
      { '/read': 200, '/write': 200, '/operate': 200, '/undeclared': 200, '/anyone': 200, '/nowhere': 404 },
    ],
    [
      'no scope, since it was revoked',
      revoked,
      { '/read': 401, '/write': 401, '/operate': 401, '/undeclared': 401, '/anyone': 200, '/nowhere': 401 },
    ],
  ])('returns the right status on each route for a key with %s', async (_scope, { key }, statuses) => {
    for (const [url, status] of Object.entries(statuses)) {
      expect(await getStatus(url, { headers: bearer(key) }, withKeys), url).toBe(status);
    }
  });

  it.each(['read', 'write', 'operate'])(
    'explains to a caller without a valid key how to create a key with the scope %s',
    async (scope) => {
      for (const headers of [{}, bearer(revoked.key)]) {
        const response = await withKeys.inject({ url: `/${scope}`, headers });
        expect(response.json().error).toMatchObject({
          code: 'UNAUTHORIZED',
          message: expect.stringContaining(
            `memoryd keys add --namespace default --scope ${scope}, on the service's own`,
          ),
        });
      }
    },
  );

  it('explains to a caller without the needed scope how to create a key that has this scope', async () => {
    const response = await withKeys.inject({ url: '/operate', headers: bearer(reader.key) });
    expect(response.json().error).toMatchObject({
      code: 'FORBIDDEN',
      message: expect.stringContaining('memoryd keys add --namespace kitchen --scope operate, on '),
    });
    expect(response.headers).not.toHaveProperty('www-authenticate');
  });

  it('ignores the case of the scheme and spaces around the key', async () => {
    for (const authorization of [`bearer ${reader.key}`, `BEARER   ${reader.key}  `]) {
      expect(await getStatus('/read', { headers: { authorization } }, withKeys)).toBe(200);
    }
    expect(await getStatus('/read', { headers: { 'x-api-key': ` ${reader.key} ` } }, withKeys)).toBe(200);
  });

  it.each([
    ['two different keys', 400, { ...bearer(reader.key), 'x-api-key': writer.key }],
    ['the same key in both headers', 200, { ...bearer(reader.key), 'x-api-key': reader.key }],
    ['a repeated header', 400, { 'x-api-key': [reader.key, reader.key] }],
    ['an empty key', 401, { 'x-api-key': '' }],
    ['an empty bearer token', 401, { authorization: 'Bearer' }],
    ['another scheme', 401, { authorization: 'Basic cmVhZGVyOg==' }],
    ['another scheme and a valid X-API-Key', 200, { authorization: 'Basic cmVhZGVyOg==', 'x-api-key': reader.key }],
    ['a key without a scheme', 401, { authorization: reader.key }],
  ])('responds to %s with status %d', async (_row, status, headers) => {
    expect(await getStatus('/read', { headers }, withKeys)).toBe(status);
  });
});

describe('the key in the setting apiKey', () => {
  const app = serve(withKeysDatabase, SETTING_KEY);

  it('operates the default namespace', async () => {
    const response = await app.inject({ url: '/operate', remoteAddress: REMOTE_ADDRESS, headers: bearer(SETTING_KEY) });
    expect(response.json()).toEqual({ namespace: 'default', scope: 'operate', keyId: 'SERVICE_API_KEY' });
  });

  it('makes a key necessary for local requests, and does not invalidate created keys', async () => {
    expect(await getStatus('/read', {}, app)).toBe(401);
    expect(await getStatus('/read', { headers: bearer(`${SETTING_KEY}x`) }, app)).toBe(401);
    expect(await getStatus('/read', { headers: bearer(reader.key) }, app)).toBe(200);
  });
});

describe('the access gate with unreadable keys', () => {
  const app = serve(closed);

  it('returns 503 with and without a key', async () => {
    for (const headers of [{}, bearer(operator.key)]) expect(await getStatus('/read', { headers }, app)).toBe(503);
  });

  it('the access gate with unreadable keys still allows public routes', async () => {
    for (const headers of [{}, bearer(operator.key)]) {
      const response = await app.inject({ url: '/anyone', headers });
      expect(response.json()).toEqual({ namespace: 'default', scope: 'read' });
    }
  });
});
