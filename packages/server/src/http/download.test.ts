import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { type DownloadLimits, writeDownload } from './download.ts';

let server: Server;
afterEach(() => server.close());

/** Listens, sends these pieces to the first reader, and answers the port and when that is over. */
async function serve(pieces: AsyncIterable<Uint8Array>, limits: DownloadLimits) {
  const written = new Promise<void>((resolve) => {
    server = createServer((_request, response) => resolve(writeDownload(response, pieces, limits)));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return { port: (server.address() as AddressInfo).port, written };
}

/** Endless pieces of 64 KiB; `taken` is how many. */
function endless() {
  const state = { taken: 0, left: false };
  async function* pieces(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        state.taken++;
        yield new Uint8Array(64 * 1024);
        await new Promise(setImmediate);
      }
    } finally {
      state.left = true;
    }
  }
  return { state, pieces: pieces() };
}

const PATIENT = { slowReaderMs: 20_000, longestMs: 20_000 };
const request = (port: number) =>
  connect(port, '127.0.0.1', function (this: { write(text: string): void }) {
    this.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  });

describe('a download', () => {
  it('takes no more than a reader who reads nothing has room for, and cuts that reader off', async () => {
    const { state, pieces } = endless();
    const { port, written } = await serve(pieces, { ...PATIENT, slowReaderMs: 200 });
    const socket = request(port).pause();
    await written;
    expect(state.left).toBe(true);
    // What the system's buffers of both sides take, some megabytes.
    expect(state.taken).toBeLessThan(1000);
    socket.destroy();
  });

  it('ends for a reader who takes too long in all', async () => {
    const { state, pieces } = endless();
    const { port, written } = await serve(pieces, { ...PATIENT, longestMs: 300 });
    const socket = request(port).resume();
    await Promise.all([written, once(socket, 'close')]);
    expect(state.left).toBe(true);
  });

  it('ends when the reader has gone', async () => {
    const { state, pieces } = endless();
    const { port, written } = await serve(pieces, PATIENT);
    const socket = request(port);
    await once(socket, 'data');
    socket.destroy();
    await written;
    expect(state.left).toBe(true);
  });

  it('that fails is cut off, so that nobody takes a part for the whole', async () => {
    async function* failing(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('the first part');
      await delay(100);
      throw new Error('the disk fails');
    }
    const { port, written } = await serve(failing(), PATIENT);
    let text = '';
    const socket = request(port).on('data', (bytes) => {
      text += bytes;
    });
    await Promise.all([written, once(socket, 'close')]);
    expect(text).toContain('the first part');
    expect(text).not.toMatch(/\r\n0\r\n\r\n$/);
  });
});
