import Fastify from 'fastify';
import { describe, expect, it } from 'vitest';
import { accessCheck } from './access.ts';
import { errorHandler } from './errors.ts';

const app = Fastify();
app.setErrorHandler(errorHandler({ report: () => {} }));
const check = accessCheck('Memory.internal');
app.addHook('onRequest', (request, _reply, done) => {
  check(request);
  done();
});
for (const url of ['/stats', '/health', '/healthy', '/docs', '/docs/static/*', '/redoc', '/openapi.json']) {
  app.get(url, () => 'served');
}

async function statusOf(url: string, options: { remoteAddress?: string; headers?: Record<string, string | string[]> }) {
  return (await app.inject({ url, ...options })).statusCode;
}

describe('a caller', () => {
  it.each(['127.0.0.1', '127.8.9.10', '::1', '::ffff:127.0.0.1'])('at %s is served', async (remoteAddress) => {
    expect(await statusOf('/stats', { remoteAddress })).toBe(200);
  });

  it.each(['10.0.0.7', '128.0.0.1', '::2', '::ffff:10.0.0.7', 'fe80::1'])('at %s is not', async (remoteAddress) => {
    expect(await statusOf('/stats', { remoteAddress })).toBe(401);
    expect(await statusOf('/nowhere', { remoteAddress })).toBe(401);
    expect(await statusOf('/healthy', { remoteAddress })).toBe(401);
  });

  it('from elsewhere sees the open routes, by whatever name it knows this machine', async () => {
    const caller = { remoteAddress: '10.0.0.7', headers: { host: 'anything.example' } };
    for (const url of ['/health', '/docs', '/docs/static/a.css', '/redoc', '/openapi.json']) {
      expect(await statusOf(url, caller)).toBe(200);
    }
  });

  it.each(['Forwarded', 'X-Forwarded-For', 'X-Forwarded-Anything', 'X-Real-IP', 'Via', 'CF-Connecting-IP'])(
    'behind a proxy that says so with %s is from elsewhere',
    async (header) => {
      expect(await statusOf('/stats', { headers: { [header]: '127.0.0.1' } })).toBe(401);
      expect(await statusOf('/health', { headers: { [header]: '127.0.0.1' } })).toBe(200);
    },
  );

  it.each(['localhost', 'LOCALHOST:8090', '127.0.0.1:1', '127.1.2.3', '[::1]:8090', 'memory.internal:8090'])(
    'that names this machine %s is served',
    async (host) => {
      expect(await statusOf('/stats', { headers: { host } })).toBe(200);
    },
  );

  it.each(['evil.example', '127.0.0.1.evil.example', '127.evil.example:8090', '10.0.0.7', '[::2]', ''])(
    'that names it "%s" is refused',
    async (host) => {
      expect(await statusOf('/stats', { headers: { host: [host] } })).toBe(403);
    },
  );

  it('that gives two names is refused', async () => {
    expect(await statusOf('/stats', { headers: { host: ['localhost', 'evil.example'] } })).toBe(400);
  });
});
