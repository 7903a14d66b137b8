import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { type DownloadLimits, writeDownload } from './download.ts';

let server: Server;
afterEach(() => server.close());

/** Starts a server that sends chunks to the first client. Returns its port and a promise for the end of the download. */
async function serve(chunks: AsyncIterable<Uint8Array>, limits: DownloadLimits) {
  const written = new Promise<void>((resolve) => {
    server = createServer((_request, response) => resolve(writeDownload(response, chunks, limits)));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return { port: (server.address() as AddressInfo).port, written };
}

/** Returns endless chunks of 64 KiB; `taken` counts them, and `finished` tells whether iteration ended. */
function createEndless() {
  const state = { taken: 0, finished: false };
  async function* chunks(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        state.taken++;
        yield new Uint8Array(64 * 1024);
        await new Promise(setImmediate);
      }
    } finally {
      state.finished = true;
    }
  }
  return { state, chunks: chunks() };
}

const LONG_LIMITS = { slowReaderMs: 20_000, maxDurationMs: 20_000 };
const request = (port: number) =>
  connect(port, '127.0.0.1', function (this: { write(text: string): void }) {
    this.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  });

describe('a download', () => {
  it('applies backpressure to a client that reads nothing, and then disconnects it', async () => {
    const { state, chunks } = createEndless();
    const { port, written } = await serve(chunks, { ...LONG_LIMITS, slowReaderMs: 200 });
    const socket = request(port).pause();
    await written;
    expect(state.finished).toBe(true);
    // The system's buffers on both sides hold a few megabytes.
    expect(state.taken).toBeLessThan(1000);
    socket.destroy();
  });

  it('ends when the client exceeds the maximum duration', async () => {
    const { state, chunks } = createEndless();
    const { port, written } = await serve(chunks, { ...LONG_LIMITS, maxDurationMs: 300 });
    const socket = request(port).resume();
    await Promise.all([written, once(socket, 'close')]);
    expect(state.finished).toBe(true);
  });

  it('ends when the client disconnects', async () => {
    const { state, chunks } = createEndless();
    const { port, written } = await serve(chunks, LONG_LIMITS);
    const socket = request(port);
    await once(socket, 'data');
    socket.destroy();
    await written;
    expect(state.finished).toBe(true);
  });

  it('aborts the connection if it fails, so that the client detects the incomplete download', async () => {
    async function* failing(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('the first part');
      await delay(100);
      throw new Error('the disk fails');
    }
    const { port, written } = await serve(failing(), LONG_LIMITS);
    let text = '';
    const socket = request(port).on('data', (bytes) => {
      text += bytes;
    });
    await Promise.all([written, once(socket, 'close')]);
    expect(text).toContain('the first part');
    expect(text).not.toMatch(/\r\n0\r\n\r\n$/);
  });
});
