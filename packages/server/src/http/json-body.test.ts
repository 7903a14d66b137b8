import Fastify from 'fastify';
import { describe, expect, it } from 'vitest';
import { errorHandler } from './errors.ts';
import { readJsonBodies, refuseBody } from './json-body.ts';

const app = Fastify();
app.setErrorHandler(errorHandler({ report: () => {} }));
readJsonBodies(app);
app.post('/echo', (request) => ({ body: request.body ?? 'nothing' }));
app.post('/bodiless', { preValidation: refuseBody }, () => ({}));

async function echo(payload: string | Buffer, headers: Record<string, string> = {}) {
  const answer = await app.inject({ method: 'POST', url: '/echo', payload, headers });
  return { status: answer.statusCode, body: answer.body };
}

describe('a request body', () => {
  it.each(['application/json', 'text/plain', 'application/x-www-form-urlencoded', ';;', ''])(
    'is JSON where its content type is "%s"',
    async (type) => {
      expect(await echo('{"a":"ü"}', { 'content-type': type })).toEqual({ status: 200, body: '{"body":{"a":"ü"}}' });
    },
  );

  it('may begin with a byte order mark', async () => {
    expect((await echo('\ufeff{}')).status).toBe(200);
  });

  it('is nothing where it is empty, whatever the content type', async () => {
    expect((await echo('', { 'content-type': 'application/json' })).body).toBe('{"body":"nothing"}');
  });

  it('keeps a field called __proto__ as a field', async () => {
    expect((await echo('{"__proto__":1}')).body).toBe('{"body":{"__proto__":1}}');
  });

  it.each([['not json'], ['{"a":1'], ['['.repeat(100_000)], [Buffer.from([0x22, 0xff, 0x22])]])(
    'is refused where it is no JSON in UTF-8',
    async (payload) => {
      const { status, body } = await echo(payload);
      expect(status).toBe(400);
      expect(JSON.parse(body).error).toMatchObject({ code: 'INVALID_REQUEST', message: 'body must be JSON in UTF-8' });
    },
  );

  it('says nothing, or an empty object, on a route that takes none', async () => {
    const send = (payload: string) => app.inject({ method: 'POST', url: '/bodiless', payload });
    expect((await send('')).statusCode).toBe(200);
    expect((await send('{}')).statusCode).toBe(200);
    const refused = await send('{"min_age_seconds":5}');
    expect(refused.statusCode).toBe(400);
    expect(refused.json().error.message).toContain('min_age_seconds');
  });
});
