import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import Fastify, { type FastifyInstance } from 'fastify';
import { afterEach, describe, expect, it } from 'vitest';
import { errorHandler } from '../errors.ts';
import { limitAnswers, limitBodies } from './bytes-in-flight.ts';

const ANSWER = 'x'.repeat(8_000_000);
let app: FastifyInstance;
afterEach(() => app.close());

/** A server that takes bodies of 1,000 bytes and answers of one text at a time, and tells when a caller has gone. */
async function listen() {
  const left: Promise<unknown>[] = [];
  const made: (() => void)[] = [];
  app = Fastify({ bodyLimit: 1000, forceCloseConnections: true });
  app.setErrorHandler(errorHandler({ report: () => {} }));
  app.decorateRequest('caller');
  app.addHook('onRequest', async (request) => {
    request.caller = { namespace: String(request.headers['x-namespace'] ?? 'default'), scope: 'write' };
  });
  limitAnswers(app, 60_000, ANSWER.length - 1);
  limitBodies(app, 1000);
  app.get('/long', { config: { heavy: 'list' } }, () => ANSWER);
  app.get('/left', { config: { heavy: 'list' } }, async (_request, reply) => {
    left.push(once(reply.raw, 'close'));
    await left.at(-1);
    return ANSWER;
  });
  app.get('/made', { config: { heavy: 'list' } }, async () => {
    await new Promise<void>((resolve) => made.push(resolve));
    return ANSWER;
  });
  app.post('/', () => 'taken');
  app.post('/long', () => ANSWER);
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  const send = (path: string, init?: RequestInit) => fetch(`http://127.0.0.1:${port}${path}`, init);
  const begin = (head: string, headers = '') => {
    const socket = connect(port, '127.0.0.1').pause();
    socket.write(`${head} HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n`);
    return socket;
  };
  return { left, made, send, begin };
}

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 10));
}

describe('an answer that is not taken', () => {
  it('keeps heavy requests away until its reader has gone, and no others', async () => {
    const { send, begin } = await listen();
    const reader = begin('GET /long');
    await until(async () => (await send('/long')).status === 503);
    expect(
      (await send('/', { method: 'POST', body: '"a"', headers: { 'content-type': 'application/json' } })).status,
    ).toBe(200);
    reader.destroy();
    await until(async () => (await send('/long')).status === 200);
  });

  it('keeps no other namespace away, however large it is', async () => {
    const { send, begin } = await listen();
    const getStatus = async (namespace: string) => {
      const { status, body } = await send('/long', { headers: { 'x-namespace': namespace } });
      await body?.cancel();
      return status;
    };
    const reader = begin('GET /long', 'X-Namespace: greedy\r\n');
    await until(async () => (await getStatus('greedy')) === 503);
    expect(await getStatus('other')).toBe(200);
    reader.destroy();
    await until(async () => (await getStatus('greedy')) === 200);
  });

  it('leaves no room to those that were under way before it, of what only reads', async () => {
    const { made, send, begin } = await listen();
    const asked = [send('/made'), send('/made')];
    await until(() => made.length === 2);
    const reader = begin('GET /long');
    await until(async () => (await send('/long')).status === 503);
    for (const make of made) make();
    expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([503, 503]);
    expect((await send('/long', { method: 'POST' })).status).toBe(200);
    reader.destroy();
  });

  it('counts for nothing where its reader had gone before', async () => {
    const { left, send, begin } = await listen();
    for (const asked of [1, 2, 3]) {
      const reader = begin('GET /left');
      await until(() => left.length === asked);
      reader.destroy();
      await left.at(-1);
    }
    expect((await send('/long')).status).toBe(200);
  });
});

describe('a body', () => {
  it('that would be too much beside another is refused before it has come', async () => {
    const { send, begin } = await listen();
    const post = () => send('/', { method: 'POST', body: '"a"', headers: { 'content-type': 'application/json' } });
    const slow = begin('POST / HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 1000\r\nX:');
    await until(async () => (await post()).status === 503);
    slow.destroy();
    await until(async () => (await post()).status === 200);
  });

  it('that comes slowly keeps no other namespace away', async () => {
    const { send, begin } = await listen();
    const post = (namespace: string) =>
      send('/', {
        method: 'POST',
        body: JSON.stringify('a'.repeat(398)),
        headers: { 'content-type': 'application/json', 'x-namespace': namespace },
      });
    const head =
      'POST / HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 400\r\nX-Namespace: greedy\r\nX:';
    const slow = begin(head);
    await until(async () => (await post('greedy')).status === 503);
    expect((await post('other')).status).toBe(200);
    slow.destroy();
    await until(async () => (await post('greedy')).status === 200);
  });
});
