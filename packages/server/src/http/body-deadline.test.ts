import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import Fastify, { type FastifyInstance } from 'fastify';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { getPieces, limitBodyTime } from './body-deadline.ts';
import { errorHandler } from './errors.ts';
import { MalformedHttp } from './malformed-http.ts';

/** Longer than a busy machine may keep this process from doing what is due. */
const BODY_MS = 1000;

let app: FastifyInstance;
let port: number;
const sockets: Socket[] = [];

beforeEach(async () => {
  app = Fastify({ forceCloseConnections: true });
  app.setErrorHandler(errorHandler({ report: () => {} }));
  limitBodyTime(app, new MalformedHttp(), BODY_MS);
  app.post('/short', async ({ body }) => body);
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, payload, done) => done(null, payload));
    scope.post('/long', { config: { longBody: true } }, async (request, reply) => {
      let bytes = 0;
      for await (const piece of getPieces(request, reply, BODY_MS)) bytes += piece.length;
      return { bytes };
    });
    scope.post('/refusing', { config: { longBody: true } }, async (request, reply) => {
      for await (const _piece of getPieces(request, reply, BODY_MS)) return { read: 'something' };
      return { read: 'nothing' };
    });
    scope.post('/careless', { config: { longBody: true } }, async () => ({ read: 'nothing' }));
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  port = (app.server.address() as AddressInfo).port;
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await app.close();
});

/** Sends the head of a request with a body of 1,000 bytes, and these many of them; answers what comes back. */
async function send(path: string, bytes: number) {
  const socket = connect(port, '127.0.0.1');
  sockets.push(socket);
  const answer = { text: '', closed: false };
  socket.on('data', (data) => {
    answer.text += data;
  });
  socket.on('close', () => {
    answer.closed = true;
  });
  await once(socket, 'connect');
  socket.write(`POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\nContent-Length: 1000\r\n\r\n`);
  socket.write('x'.repeat(bytes));
  return { socket, answer };
}

describe('a body', () => {
  it.each(['/short', '/unknown'])('of %s that does not arrive in time is refused', async (path) => {
    const { answer } = await send(path, 10);
    await expect.poll(() => answer.closed).toBe(true);
    if (path === '/short') expect(answer.text).toMatch(/^HTTP\/1\.1 400 [\s\S]*took too long to arrive/);
  });

  it('that arrives in time is not cut off later', async () => {
    const { answer } = await send('/short', 1000);
    await expect.poll(() => answer.text).toContain('HTTP/1.1 200');
    await delay(BODY_MS * 2);
    expect(answer.closed).toBe(false);
  });

  it('may take longer where the route says so, as long as it goes on arriving', async () => {
    const { socket, answer } = await send('/long', 0);
    for (let sent = 0; sent < 1000; sent += 100) {
      await delay(BODY_MS / 4);
      socket.write('x'.repeat(100));
    }
    await expect.poll(() => answer.text).toContain('{"bytes":1000}');
  });

  it('of such a route is refused when nothing more arrives, and the connection closed', async () => {
    const { answer } = await send('/long', 10);
    await expect.poll(() => answer.closed).toBe(true);
    expect(answer.text).toMatch(/^HTTP\/1\.1 400 [\s\S]*\r\nconnection: close\r\n[\s\S]*body must arrive whole/i);
  });

  it('of such a route that was answered before its end is thrown away, so that the connection is of use again', async () => {
    const { socket, answer } = await send('/refusing', 10);
    await expect.poll(() => answer.text).toContain('{"read":"something"}');
    socket.write('x'.repeat(990));
    answer.text = '';
    socket.write('POST /short HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok');
    await expect.poll(() => answer.text).toContain('HTTP/1.1 200');
    await delay(BODY_MS * 2);
    expect(answer.closed).toBe(false);
  });

  it('of such a route that was injected and not read troubles nobody later', async () => {
    const thrown: Error[] = [];
    const note = (error: Error) => thrown.push(error);
    process.prependListener('uncaughtException', note);
    const payload = 'x'.repeat(1000);
    const { statusCode } = await app.inject({
      method: 'POST',
      url: '/careless',
      payload,
      headers: { 'content-type': 'text/plain' },
    });
    expect(statusCode).toBe(200);
    await delay(BODY_MS * 2);
    process.off('uncaughtException', note);
    expect(thrown).toEqual([]);
  });

  it('of such a route that was answered before its end is not read for ever', async () => {
    const { answer } = await send('/careless', 10);
    await expect.poll(() => answer.text).toContain('{"read":"nothing"}');
    await expect.poll(() => answer.closed).toBe(true);
  });
});
