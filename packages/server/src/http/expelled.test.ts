import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Engine, openEngine } from '@memoryd/engine';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createMetrics } from '../metrics/metrics.ts';
import { engineSettings } from '../settings/engine-settings.ts';
import { readSettings } from '../settings/read.ts';
import { buildApp } from './app.ts';
import type { App } from './routes/route.ts';

const folder = mkdtempSync(join(tmpdir(), 'memoryd-expelled-'));
/** Blanks between two signs, which are quick to index. */
const LONG = `.${' '.repeat(1_000_000)}.`;
let engine: Engine;
let app: App;

beforeAll(async () => {
  const telemetry = { report: () => {} };
  const settings = readSettings({ embedder: 'none', consolidationIntervalSeconds: '0' }, {});
  engine = await openEngine({ ...engineSettings(settings), dbPath: join(folder, 'memory.db'), telemetry });
  app = await buildApp({ settings, engine, metrics: createMetrics(), telemetry });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const api = engine.namespace('kitchen');
  for (let n = 0; n < 16; n++) await api.store({ content: `${n} ${LONG}` });
});
afterAll(async () => {
  await app.close();
  await engine.close();
  rmSync(folder, { recursive: true });
});

/** A request on a connection of its own, of which nothing is read until that is asked for. */
function begin(head: string, key: string) {
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1').pause();
  socket.on('error', () => undefined);
  socket.write(`${head} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\n`);
  return socket;
}

const copies = () => app.heavyWork.copy.taken;

describe('a client whose key is revoked', () => {
  it.each(['/export', '/backup'])('downloads nothing more of what GET %s has begun to send', async (path) => {
    const { id, key } = await engine.keys.add({ namespace: 'kitchen', scope: 'operate' });
    const socket = begin(`GET ${path}`, key);
    socket.write('\r\n');
    await new Promise((resolve) => socket.once('readable', resolve).read(0));
    expect(copies()).toBe(1);
    await engine.keys.revoke(id);
    await expect.poll(copies, { timeout: 10_000 }).toBe(0);
    socket.destroy();
  });

  it('stores nothing more by an import that has begun, and is told why', async () => {
    const { id, key } = await engine.keys.add({ namespace: 'kitchen', scope: 'write' });
    const socket = begin('POST /import', key);
    const send = (line: string) => socket.write(`${(line.length + 1).toString(16)}\r\n${line}\n\r\n`);
    socket.write('Transfer-Encoding: chunked\r\n\r\n');
    send('{"format":"memoryd","version":1}');
    await expect.poll(() => app.heavyWork.import.taken).toBe(1);
    await engine.keys.revoke(id);
    let answer = '';
    socket
      .resume()
      .setEncoding('utf8')
      .on('data', (text: string) => {
        answer += text;
      });
    // It goes on sending, until it is answered.
    for (let n = 0; answer === '' && n < 200; n++) {
      send('{}');
      await delay(50);
    }
    expect(answer).toMatch(/^HTTP\/1\.1 401 /);
    expect(answer).toContain('the API key is unknown or revoked');
    socket.destroy();
  });
});
