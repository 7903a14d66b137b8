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
const never = await getAdministration('never.db');
const made = await getAdministration('made.db');
const closed = await getAdministration('closed.db');
await closed.close();
afterAll(async () => {
  await never.close();
  await made.close();
  rmSync(folder, { recursive: true });
});

const make = (namespace: string, scope: Scope) => made.keys.add({ namespace, scope });
const reader = await make('kitchen', 'read');
const writer = await make('kitchen', 'write');
const operator = await make('garden', 'operate');
const revoked = await make('kitchen', 'operate');
await made.keys.revoke(revoked.id);

/** Routes of every kind of access behind a gate; each answers who calls. */
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

const withoutKeys = serve(never);
const withKeys = serve(made);
const ELSEWHERE = '10.0.0.7';

interface Asked {
  remoteAddress?: string;
  headers?: Record<string, string | string[]>;
}

async function getStatus(url: string, asked: Asked, app = withoutKeys) {
  return (await app.inject({ url, ...asked })).statusCode;
}

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

describe('while there are no keys, a caller', () => {
  it.each(['127.0.0.1', '127.8.9.10', '::1', '::ffff:127.0.0.1'])('at %s operates default', async (remoteAddress) => {
    const answer = await withoutKeys.inject({ url: '/operate', remoteAddress });
    expect(answer.json()).toEqual({ namespace: 'default', scope: 'operate' });
  });

  it.each(['10.0.0.7', '128.0.0.1', '::2', '::ffff:10.0.0.7', 'fe80::1'])(
    'at %s needs a key',
    async (remoteAddress) => {
      for (const [url, scope] of Object.entries({ '/read': 'read', '/undeclared': 'operate', '/nowhere': 'read' })) {
        const answer = await withoutKeys.inject({ url, remoteAddress });
        expect(answer.statusCode).toBe(401);
        expect(answer.headers['www-authenticate']).toBe('Bearer');
        expect(answer.json().error.message).toContain(`memoryd keys add --namespace default --scope ${scope}, on `);
      }
    },
  );

  it('from elsewhere may ask what anyone may, by whatever name it knows this machine', async () => {
    const answer = await withoutKeys.inject({
      url: '/anyone',
      remoteAddress: ELSEWHERE,
      headers: { host: 'anything.example' },
    });
    expect(answer.json()).toEqual({ namespace: 'default', scope: 'read' });
  });

  it.each([
    ...['Forwarded', 'Forwarded-For', 'X-Forwarded', 'X-Forwarded-For', 'X-Forwarded-Anything', 'X-Original-Host'],
    ...['X-Real-IP', 'X-Envoy-External-Address', 'Via', 'CF-Connecting-IP'],
  ])('behind a proxy that says so with %s is from elsewhere', async (header) => {
    expect(await getStatus('/read', { headers: { [header]: '127.0.0.1' } })).toBe(401);
    expect(await getStatus('/anyone', { headers: { [header]: '127.0.0.1' } })).toBe(200);
  });

  it('that shows a key all the same is refused, wherever it is', async () => {
    for (const remoteAddress of ['127.0.0.1', ELSEWHERE]) {
      expect(await getStatus('/read', { remoteAddress, headers: bearer('made-up') })).toBe(401);
    }
  });

  it.each(['localhost', 'LOCALHOST:8090', '127.0.0.1:1', '127.1.2.3', '[::1]:8090', 'memory.internal:8090'])(
    'that names this machine %s is served',
    async (host) => {
      expect(await getStatus('/read', { headers: { host } })).toBe(200);
    },
  );

  it.each(['evil.example', '127.0.0.1.evil.example', '127.evil.example:8090', '10.0.0.7', '[::2]', ''])(
    'that names it "%s" is refused',
    async (host) => {
      expect(await getStatus('/read', { headers: { host: [host] } })).toBe(403);
      expect(await getStatus('/read', { headers: { host: [host], ...bearer(reader.key) } }, withKeys)).toBe(403);
    },
  );

  it('that gives two names is refused', async () => {
    expect(await getStatus('/read', { headers: { host: ['localhost', 'evil.example'] } })).toBe(400);
  });
});

describe('once there are keys, a caller', () => {
  it.each(['127.0.0.1', ELSEWHERE])('at %s needs one', async (remoteAddress) => {
    const answer = await withKeys.inject({ url: '/read', remoteAddress });
    expect(answer.statusCode).toBe(401);
    expect(answer.json().error.message).toMatch(/Authorization: Bearer .*X-API-Key.*memoryd keys add/);
    expect(await getStatus('/nowhere', { remoteAddress }, withKeys)).toBe(401);
    expect(await getStatus('/anyone', { remoteAddress }, withKeys)).toBe(200);
  });

  it.each(['127.0.0.1', ELSEWHERE])('at %s acts in the namespace of its key', async (remoteAddress) => {
    const forwarded = { 'x-forwarded-for': '203.0.113.7' };
    for (const headers of [bearer(writer.key), { 'x-api-key': writer.key }, { ...bearer(writer.key), ...forwarded }]) {
      const answer = await withKeys.inject({ url: '/write', remoteAddress, headers });
      expect(answer.json()).toEqual({ namespace: 'kitchen', scope: 'write', keyId: writer.id });
    }
  });

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
      'nothing any more',
      revoked,
      { '/read': 401, '/write': 401, '/operate': 401, '/undeclared': 401, '/anyone': 401, '/nowhere': 401 },
    ],
  ])('with a key that may %s', async (_what, { key }, statuses) => {
    for (const [url, status] of Object.entries(statuses)) {
      expect(await getStatus(url, { headers: bearer(key) }, withKeys), url).toBe(status);
    }
  });

  it.each(['read', 'write', 'operate'])('without a good one is told which may %s', async (scope) => {
    for (const headers of [{}, bearer(revoked.key)]) {
      const answer = await withKeys.inject({ url: `/${scope}`, headers });
      expect(answer.json().error).toMatchObject({
        code: 'UNAUTHORIZED',
        message: expect.stringContaining(`memoryd keys add --namespace default --scope ${scope}, on the service's own`),
      });
    }
  });

  it('is told which key would do', async () => {
    const answer = await withKeys.inject({ url: '/operate', headers: bearer(reader.key) });
    expect(answer.json().error).toMatchObject({
      code: 'FORBIDDEN',
      message: expect.stringContaining('memoryd keys add --namespace kitchen --scope operate, on '),
    });
    expect(answer.headers).not.toHaveProperty('www-authenticate');
  });

  it('is read whatever the case of the scheme and the blanks around the key', async () => {
    for (const authorization of [`bearer ${reader.key}`, `BEARER   ${reader.key}  `]) {
      expect(await getStatus('/read', { headers: { authorization } }, withKeys)).toBe(200);
    }
    expect(await getStatus('/read', { headers: { 'x-api-key': ` ${reader.key} ` } }, withKeys)).toBe(200);
  });

  it.each([
    ['two that differ', 400, { ...bearer(reader.key), 'x-api-key': writer.key }],
    ['the same twice over', 200, { ...bearer(reader.key), 'x-api-key': reader.key }],
    ['one header twice', 400, { 'x-api-key': [reader.key, reader.key] }],
    ['an empty one', 401, { 'x-api-key': '' }],
    ['a bearer of nothing', 401, { authorization: 'Bearer' }],
    ['one of another scheme', 401, { authorization: 'Basic cmVhZGVyOg==' }],
    ['one of another scheme beside a good one', 200, { authorization: 'Basic cmVhZGVyOg==', 'x-api-key': reader.key }],
    ['one without a scheme', 401, { authorization: reader.key }],
  ])('that shows %s gets %d', async (_row, status, headers) => {
    expect(await getStatus('/read', { headers }, withKeys)).toBe(status);
  });
});

describe('the key of a setting', () => {
  const app = serve(made, SETTING_KEY);

  it('operates default', async () => {
    const answer = await app.inject({ url: '/operate', remoteAddress: ELSEWHERE, headers: bearer(SETTING_KEY) });
    expect(answer.json()).toEqual({ namespace: 'default', scope: 'operate', keyId: 'SERVICE_API_KEY' });
  });

  it('is a key that exists: this machine needs one too, and those that were made are as good', async () => {
    expect(await getStatus('/read', {}, app)).toBe(401);
    expect(await getStatus('/read', { headers: bearer(`${SETTING_KEY}x`) }, app)).toBe(401);
    expect(await getStatus('/read', { headers: bearer(reader.key) }, app)).toBe(200);
  });
});

describe('while the keys cannot be read', () => {
  const app = serve(closed);

  it('nobody is let in, whether or not they show a key', async () => {
    for (const headers of [{}, bearer(operator.key)]) expect(await getStatus('/read', { headers }, app)).toBe(503);
  });

  it('anyone may still ask what anyone may', async () => {
    for (const headers of [{}, bearer(operator.key)]) {
      const answer = await app.inject({ url: '/anyone', headers });
      expect(answer.json()).toEqual({ namespace: 'default', scope: 'read' });
    }
  });
});
