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
  const response = await app.inject({ method: 'POST', url: '/echo', payload, headers });
  return { status: response.statusCode, body: response.body };
}

describe('a request body', () => {
  it.each(['application/json', 'text/plain', 'application/x-www-form-urlencoded', ';;', ''])(
    'a request body is parsed as JSON with the content type "%s"',
    async (type) => {
      expect(await echo('{"a":"ü"}', { 'content-type': type })).toEqual({ status: 200, body: '{"body":{"a":"ü"}}' });
    },
  );

  it('a request body may begin with a byte order mark', async () => {
    expect((await echo('\ufeff{}')).status).toBe(200);
  });

  it('a request body is treated as absent if it is empty, regardless of the content type', async () => {
    expect((await echo('', { 'content-type': 'application/json' })).body).toBe('{"body":"nothing"}');
  });

  it('a request body may have a field called __proto__', async () => {
    expect((await echo('{"__proto__":1}')).body).toBe('{"body":{"__proto__":1}}');
  });

  it.each([['not json'], ['{"a":1'], ['['.repeat(100_000)], [Buffer.from([0x22, 0xff, 0x22])]])(
    'a request body is rejected if it is not JSON in UTF-8: %j',
    async (payload) => {
      const { status, body } = await echo(payload);
      expect(status).toBe(400);
      expect(JSON.parse(body).error).toMatchObject({ code: 'INVALID_REQUEST', message: 'body must be JSON in UTF-8' });
    },
  );

  it.each([['{"a":1}\n{"b":2}\n'], ['\ufeff{"a":1}\r\n\r\n{"b":2}'], ['[1]\n[2'], ['{"a":1}\nrest']])(
    'a request body that has one JSON value per line is rejected with the content type of such bodies: %j',
    async (payload) => {
      const { status, body } = await echo(payload, { 'content-type': 'application/json' });
      expect([status, body]).toEqual([400, expect.stringContaining('Content-Type: application/x-ndjson')]);
    },
  );

  it('a request body must be absent or an empty object on a route without a body', async () => {
    const send = (payload: string) => app.inject({ method: 'POST', url: '/bodiless', payload });
    expect((await send('')).statusCode).toBe(200);
    expect((await send('{}')).statusCode).toBe(200);
    const refused = await send('{"min_age_seconds":5}');
    expect(refused.statusCode).toBe(400);
    expect(refused.json().error.message).toContain('min_age_seconds');
  });
});
