import { once } from 'node:events';
import { connect } from 'node:net';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import Fastify from 'fastify';
import { describe, expect, it, onTestFinished } from 'vitest';
import { errorHandler } from '../errors.ts';
import { limitHeavyWork } from './heavy-work.ts';

/** Creates an application with heavy routes; a header sets the namespace of a request. */
function createHeavyApp() {
  const app = Fastify({ forceCloseConnections: true });
  onTestFinished(() => app.close());
  app.setErrorHandler(errorHandler({ report: () => {} }));
  app.decorateRequest('caller');
  app.addHook('onRequest', async (request) => {
    request.caller = { namespace: String(request.headers['x-namespace'] ?? 'default'), scope: 'write' };
  });
  limitHeavyWork(app, 30_000);
  return app;
}

/** Begins requests whose bodies never end, so that they stay pending. */
async function beginSlowly(address: string, path: string, namespace: string, times: number): Promise<void> {
  for (let n = 0; n < times; n++) {
    const socket = connect(Number(new URL(address).port), new URL(address).hostname);
    onTestFinished(() => void socket.destroy());
    const head = `POST ${path} HTTP/1.1\r\nHost: x\r\nX-Namespace: ${namespace}\r\nContent-Type: text/plain\r\n`;
    socket.write(`${head}Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n`);
    // Once the server requests the body or refuses it, the request has arrived.
    await once(socket, 'data');
    socket.write('1\r\nx\r\n');
  }
}

describe('heavy work', () => {
  it('takes a slot for a request with the parameter that makes it heavy, and for no other', async () => {
    const app = createHeavyApp();
    const config = { heavyWith: { parameter: 'similar', kind: 'recall' } } as const;
    app.post('/', { config }, async () => ({ running: app.heavyWork.recall.running }));
    const getRunning = async (url: string) => (await app.inject({ method: 'POST', url })).json().running;
    expect([await getRunning('/'), await getRunning('/?similar=3'), await getRunning('/?other=3')]).toEqual([0, 1, 0]);
    expect(app.heavyWork.recall.running).toBe(0);
  });

  it.each(['sent by the framework', 'sent without hooks'])('releases its slot when its response is %s', async (how) => {
    const app = createHeavyApp();
    app.get('/', { config: { heavy: 'copy' } }, async (_request, reply) => {
      if (how === 'sent by the framework') return 'whole';
      reply.hijack();
      reply.raw.end('whole');
      return reply;
    });
    const address = await app.listen({ host: '127.0.0.1', port: 0 });
    // More than the number of slots.
    for (let i = 0; i < 10; i++) expect(await (await fetch(address)).text()).toBe('whole');
    await expect.poll(() => app.heavyWork.copy.running).toBe(0);
  });

  it('acquires the slot of a batch after the body has arrived, so that slow bodies block no slots', async () => {
    const app = createHeavyApp();
    app.post('/', { config: { heavy: 'batch' } }, async () => ({ taken: app.heavyWork.batch.running }));
    const address = await app.listen({ host: '127.0.0.1', port: 0 });
    await beginSlowly(address, '/', 'slow', 10);
    expect(await (await fetch(address, { method: 'POST', body: 'x' })).json()).toEqual({ taken: 1 });
    await expect.poll(() => app.heavyWork.batch.running).toBe(0);
  });

  it.each(['import', 'upload'] as const)('%s work of one user leaves slots for other users', async (kind) => {
    const app = createHeavyApp();
    app.removeAllContentTypeParsers();
    app.addContentTypeParser('*', (_request, payload, done) => done(null, payload));
    const config = { heavy: 'import', heavyWith: { parameter: 'from', kind: 'upload' } } as const;
    app.post('/', { config }, async ({ body }) => ({ read: await text(body as Readable) }));
    const address = await app.listen({ host: '127.0.0.1', port: 0 });
    const toPath = (user: string) => `/?user_id=${user}${kind === 'upload' ? '&from=auto' : ''}`;
    const send = (user: string) => fetch(address + toPath(user), { method: 'POST', body: 'x' });
    await beginSlowly(address, toPath('ada'), 'default', 2);
    await expect.poll(() => app.heavyWork[kind].running).toBe(1);
    expect((await send('ada')).status).toBe(503);
    expect((await send('ben')).status).toBe(200);
    expect((await send('')).status).toBe(200);
  });

  it('heavy work of one namespace leaves an import slot for other namespaces', async () => {
    const app = createHeavyApp();
    app.removeAllContentTypeParsers();
    app.addContentTypeParser('*', (_request, payload, done) => done(null, payload));
    app.post('/', { config: { heavy: 'import' } }, async ({ body }) => ({ read: await text(body as Readable) }));
    const address = await app.listen({ host: '127.0.0.1', port: 0 });
    const send = (namespace: string) =>
      fetch(address, { method: 'POST', body: 'x', headers: { 'x-namespace': namespace } });
    await beginSlowly(address, '/', 'slow', 2);
    await expect.poll(() => app.heavyWork.import.running).toBe(1);
    expect((await send('slow')).status).toBe(503);
    expect((await send('quick')).status).toBe(200);
  });

  it('heavy work of one namespace leaves copy slots for other namespaces and for operators', async () => {
    const app = createHeavyApp();
    const serve = (url: string, access: 'read' | 'operate') =>
      app.get(url, { config: { heavy: 'copy', access } }, async ({ headers }, reply) => {
        if (headers['x-slow'] === undefined) return 'whole';
        reply.hijack();
        reply.raw.write('the beginning');
        return reply;
      });
    serve('/export', 'read');
    serve('/backup', 'operate');
    const address = await app.listen({ host: '127.0.0.1', port: 0 });
    const get = (path: string, namespace: string, headers = {}) =>
      fetch(address + path, { headers: { 'x-namespace': namespace, ...headers } });
    const slow = [await get('/export', 'slow', { 'x-slow': '1' }), await get('/export', 'slow', { 'x-slow': '1' })];
    expect((await get('/export', 'slow')).status).toBe(503);
    expect((await get('/export', 'quick')).status).toBe(200);
    expect((await get('/backup', 'slow')).status).toBe(200);
    for (const { body } of slow) await body?.cancel();
    await expect.poll(() => app.heavyWork.copy.running).toBe(0);
    expect((await get('/export', 'slow')).status).toBe(200);
  });
});
