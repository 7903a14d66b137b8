import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import Fastify, { type FastifyInstance } from 'fastify';
import { afterEach, describe, expect, it } from 'vitest';
import { errorHandler } from '../errors.ts';
import { limitBodies, limitResponses } from './bytes-in-flight.ts';

const RESPONSE = 'x'.repeat(8_000_000);
let app: FastifyInstance;
afterEach(() => app.close());

/** Starts a server with a budget for one body of 1,000 bytes and one unread response. */
async function listen() {
  /** Promises for the end of each request to `/abandoned`. */
  const closed: Promise<unknown>[] = [];
  /** Functions that let the requests to `/delayed` respond. */
  const respond: (() => void)[] = [];
  app = Fastify({ bodyLimit: 1000, forceCloseConnections: true });
  app.setErrorHandler(errorHandler({ report: () => {} }));
  app.decorateRequest('caller');
  app.addHook('onRequest', async (request) => {
    request.caller = { namespace: String(request.headers['x-namespace'] ?? 'default'), scope: 'write' };
  });
  limitResponses(app, 60_000, RESPONSE.length - 1);
  limitBodies(app, 1000);
  app.get('/long', { config: { heavy: 'list' } }, () => RESPONSE);
  app.get('/abandoned', { config: { heavy: 'list' } }, async (_request, reply) => {
    closed.push(once(reply.raw, 'close'));
    await closed.at(-1);
    return RESPONSE;
  });
  app.get('/delayed', { config: { heavy: 'list' } }, async () => {
    await new Promise<void>((resolve) => respond.push(resolve));
    return RESPONSE;
  });
  app.post('/', () => 'taken');
  app.post('/long', () => RESPONSE);
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  const send = (path: string, init?: RequestInit) => fetch(`http://127.0.0.1:${port}${path}`, init);
  const begin = (head: string, headers = '') => {
    const socket = connect(port, '127.0.0.1').pause();
    socket.write(`${head} HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n`);
    return socket;
  };
  return { closed, respond, send, begin };
}

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 10));
}

describe('an unread response', () => {
  it('blocks only heavy requests until its client disconnects', async () => {
    const { send, begin } = await listen();
    const reader = begin('GET /long');
    await until(async () => (await send('/long')).status === 503);
    expect(
      (await send('/', { method: 'POST', body: '"a"', headers: { 'content-type': 'application/json' } })).status,
    ).toBe(200);
    reader.destroy();
    await until(async () => (await send('/long')).status === 200);
  });

  it('an unread response does not block other namespaces, regardless of its size', async () => {
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

  it('makes pending GET requests fail, but not writes', async () => {
    const { respond, send, begin } = await listen();
    const pending = [send('/delayed'), send('/delayed')];
    await until(() => respond.length === 2);
    const reader = begin('GET /long');
    await until(async () => (await send('/long')).status === 503);
    for (const continueRequest of respond) continueRequest();
    expect((await Promise.all(pending)).map(({ status }) => status)).toEqual([503, 503]);
    expect((await send('/long', { method: 'POST' })).status).toBe(200);
    reader.destroy();
  });

  it('an unread response does not count toward the byte limit if its client has already disconnected', async () => {
    const { closed, send, begin } = await listen();
    for (const count of [1, 2, 3]) {
      const reader = begin('GET /abandoned');
      await until(() => closed.length === count);
      reader.destroy();
      await closed.at(-1);
    }
    expect((await send('/long')).status).toBe(200);
  });
});

describe('a request body', () => {
  it('a request body is rejected before it arrives if it exceeds the budget together with another body', async () => {
    const { send, begin } = await listen();
    const post = () => send('/', { method: 'POST', body: '"a"', headers: { 'content-type': 'application/json' } });
    const slow = begin('POST / HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 1000\r\nX:');
    await until(async () => (await post()).status === 503);
    slow.destroy();
    await until(async () => (await post()).status === 200);
  });

  it('a request body that arrives slowly does not block other namespaces', async () => {
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
