import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import Fastify, { type FastifyInstance } from 'fastify';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { getBodyChunks, limitBodyDuration } from './body-deadline.ts';
import { errorHandler } from './errors.ts';
import { MalformedHttp } from './malformed-http.ts';

/** Longer than a busy machine may delay timers of this process. */
const BODY_MS = 1000;

let app: FastifyInstance;
let port: number;
const sockets: Socket[] = [];

beforeEach(async () => {
  app = Fastify({ forceCloseConnections: true });
  app.setErrorHandler(errorHandler({ report: () => {} }));
  limitBodyDuration(app, new MalformedHttp(), BODY_MS);
  app.post('/short', async ({ body }) => body);
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, payload, done) => done(null, payload));
    scope.post('/long', { config: { longBody: true } }, async (request, reply) => {
      let bytes = 0;
      for await (const chunk of getBodyChunks(request, reply, BODY_MS)) bytes += chunk.length;
      return { bytes };
    });
    scope.post('/partial', { config: { longBody: true } }, async (request, reply) => {
      for await (const _chunk of getBodyChunks(request, reply, BODY_MS)) return { read: 'something' };
      return { read: 'nothing' };
    });
    scope.post('/unread', { config: { longBody: true } }, async () => ({ read: 'nothing' }));
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  port = (app.server.address() as AddressInfo).port;
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await app.close();
});

/** Sends the head of a request with a body of `length` bytes, and the first `bytes` of the body. Returns the response. */
async function send(path: string, bytes: number, length = 1000) {
  const socket = connect(port, '127.0.0.1');
  sockets.push(socket);
  const response = { text: '', closed: false };
  socket.on('data', (data) => {
    response.text += data;
  });
  socket.on('close', () => {
    response.closed = true;
  });
  await once(socket, 'connect');
  socket.write(`POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\nContent-Length: ${length}\r\n\r\n`);
  socket.write('x'.repeat(bytes));
  return { socket, response };
}

describe('the deadline of a request body', () => {
  it.each(['/short', '/unknown'])('rejects a body of %s that does not arrive in time', async (path) => {
    const { response } = await send(path, 10);
    await expect.poll(() => response.closed).toBe(true);
    if (path === '/short') expect(response.text).toMatch(/^HTTP\/1\.1 400 [\s\S]*took too long to arrive/);
  });

  it('the deadline of a request body does not affect a body that arrived in time', async () => {
    const { response } = await send('/short', 1000);
    await expect.poll(() => response.text).toContain('HTTP/1.1 200');
    await delay(BODY_MS * 2);
    expect(response.closed).toBe(false);
  });

  it('the deadline of a request body does not limit a long body that keeps arriving', async () => {
    const { socket, response } = await send('/long', 0, 50_000);
    for (let sent = 0; sent < 50_000; sent += 5000) {
      await delay(BODY_MS / 4);
      socket.write('x'.repeat(5000));
    }
    await expect.poll(() => response.text).toContain('{"bytes":50000}');
  });

  it('rejects a long body that arrives a few bytes at a time', async () => {
    const { socket, response } = await send('/long', 0, 50_000);
    for (let sent = 0; !response.closed && sent < 100; sent++) {
      await delay(BODY_MS / 10);
      socket.write('x');
    }
    expect(response.closed).toBe(true);
    expect(response.text).toMatch(/^HTTP\/1\.1 400 [\s\S]*body must arrive whole/);
  });

  it('rejects a long body that stops arriving, and closes the connection', async () => {
    const { response } = await send('/long', 10);
    await expect.poll(() => response.closed).toBe(true);
    expect(response.text).toMatch(/^HTTP\/1\.1 400 [\s\S]*\r\nconnection: close\r\n[\s\S]*body must arrive whole/i);
  });

  it('allows a long body to be drained after an early response, so that the connection can be reused', async () => {
    const { socket, response } = await send('/partial', 10);
    await expect.poll(() => response.text).toContain('{"read":"something"}');
    socket.write('x'.repeat(990));
    response.text = '';
    socket.write('POST /short HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok');
    await expect.poll(() => response.text).toContain('HTTP/1.1 200');
    await delay(BODY_MS * 2);
    expect(response.closed).toBe(false);
  });

  it('causes no late error for an injected long body that is not read', async () => {
    const thrown: Error[] = [];
    const record = (error: Error) => thrown.push(error);
    process.prependListener('uncaughtException', record);
    const payload = 'x'.repeat(1000);
    const { statusCode } = await app.inject({
      method: 'POST',
      url: '/unread',
      payload,
      headers: { 'content-type': 'text/plain' },
    });
    expect(statusCode).toBe(200);
    await delay(BODY_MS * 2);
    process.off('uncaughtException', record);
    expect(thrown).toEqual([]);
  });

  it('closes the connection if a long body does not end after an early response', async () => {
    const { response } = await send('/unread', 10);
    await expect.poll(() => response.text).toContain('{"read":"nothing"}');
    await expect.poll(() => response.closed).toBe(true);
  });
});
