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

const folder = mkdtempSync(join(tmpdir(), 'memoryd-access-revocation-'));
/** A long text that is quick to index: spaces between two periods. */
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

/** Begins a request on a new connection, whose response is not read yet. */
function begin(head: string, key: string) {
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1').pause();
  socket.on('error', () => undefined);
  socket.write(`${head} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\n`);
  return socket;
}

const countCopies = () => app.heavyWork.copy.running;

describe('a client whose key is revoked', () => {
  it.each(['/export', '/backup'])('receives no more data from a running GET %s', async (path) => {
    const { id, key } = await engine.keys.add({ namespace: 'kitchen', scope: 'operate' });
    const socket = begin(`GET ${path}`, key);
    socket.write('\r\n');
    await new Promise((resolve) => socket.once('readable', resolve).read(0));
    expect(countCopies()).toBe(1);
    await engine.keys.revoke(id);
    await expect.poll(countCopies, { timeout: 10_000 }).toBe(0);
    socket.destroy();
  });

  it('stores nothing more with a running import, and receives the error', async () => {
    const { id, key } = await engine.keys.add({ namespace: 'kitchen', scope: 'write' });
    const socket = begin('POST /import', key);
    const send = (line: string) => socket.write(`${(line.length + 1).toString(16)}\r\n${line}\n\r\n`);
    socket.write('Transfer-Encoding: chunked\r\n\r\n');
    send('{"format":"memoryd","version":1}');
    await expect.poll(() => app.heavyWork.import.running).toBe(1);
    await engine.keys.revoke(id);
    let response = '';
    socket
      .resume()
      .setEncoding('utf8')
      .on('data', (text: string) => {
        response += text;
      });
    // The client keeps sending until it gets a response.
    for (let n = 0; response === '' && n < 200; n++) {
      send('{}');
      await delay(50);
    }
    expect(response).toMatch(/^HTTP\/1\.1 401 /);
    expect(response).toContain('the API key is unknown or revoked');
    socket.destroy();
  });
});
