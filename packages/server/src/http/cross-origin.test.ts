import cors from '@fastify/cors';
import Fastify from 'fastify';
import { describe, expect, it } from 'vitest';
import { allowedOrigins, corsOptions, refuseForeignWrite } from './cross-origin.ts';
import { errorHandler } from './errors.ts';

const PAGE = 'https://app.example';

async function call(settings: Parameters<typeof allowedOrigins>[0], method: 'GET' | 'POST', origin?: string) {
  const app = Fastify();
  const origins = allowedOrigins(settings);
  app.setErrorHandler(errorHandler({ report: () => {} }));
  await app.register(cors, corsOptions(origins));
  app.addHook('onRequest', (request, _reply, done) => {
    refuseForeignWrite(request, origins);
    done();
  });
  app.route({ method: ['GET', 'POST'], url: '/', handler: () => 'served' });
  const response = await app.inject({
    method,
    url: '/',
    headers: { host: 'localhost:8090', ...(origin && { origin }) },
  });
  return { status: response.statusCode, allowed: response.headers['access-control-allow-origin'] };
}

describe('access of web pages', () => {
  it('access of web pages is allowed for every origin in development without SERVICE_CORS_ORIGINS', async () => {
    expect(await call({ production: false }, 'POST', PAGE)).toEqual({ status: 200, allowed: '*' });
  });

  it('access of web pages is denied in production without SERVICE_CORS_ORIGINS', async () => {
    expect((await call({ production: true }, 'GET', PAGE)).allowed).toBeUndefined();
  });

  it('access of web pages is limited to SERVICE_CORS_ORIGINS in production and development', async () => {
    for (const production of [true, false]) {
      const settings = { production, corsOrigins: [PAGE] };
      expect(await call(settings, 'POST', PAGE)).toEqual({ status: 200, allowed: PAGE });
      expect((await call(settings, 'GET', 'https://other.example')).allowed).toBeUndefined();
    }
  });

  it.each(['https://other.example', 'null'])(
    'access of web pages is denied for writes of origin %s unless SERVICE_CORS_ORIGINS allows every origin',
    async (origin) => {
      expect((await call({ production: true, corsOrigins: [PAGE] }, 'POST', origin)).status).toBe(403);
      expect((await call({ production: true }, 'POST', origin)).status).toBe(403);
      expect((await call({ production: true, corsOrigins: ['*'] }, 'POST', origin)).status).toBe(200);
    },
  );

  it("access of web pages is allowed for writes from the service's own origin and from callers without an origin", async () => {
    expect((await call({ production: true }, 'POST', 'http://localhost:8090')).status).toBe(200);
    expect((await call({ production: true }, 'POST')).status).toBe(200);
  });
});
