import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import type { MemoryEvent } from '@memoryd/contract';
import { afterEach, describe, expect, it } from 'vitest';
import { writeEvents } from './event-stream.ts';

let server: Server;
afterEach(() => server.close());

/** Listens, writes these events to the first reader, and answers the port and when the writing is over. */
async function serve(events: AsyncIterable<MemoryEvent>, slowReaderMs: number) {
  const written = new Promise<void>((resolve) => {
    server = createServer((_request, response) => resolve(writeEvents(response, events, slowReaderMs)));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return { port: (server.address() as AddressInfo).port, written };
}

/** Endless events of ten kilobytes; `told` is how many were taken. */
function endless() {
  const state = { told: 0, ended: false };
  async function* events(): AsyncGenerator<MemoryEvent> {
    try {
      for (;;) {
        state.told++;
        const memory_ids = Array.from({ length: 256 }, () => '0'.repeat(36));
        yield { id: `name.${state.told}`, at: '2026-01-01T00:00:00.000Z', type: 'recalled', memory_ids, count: 256 };
      }
    } finally {
      state.ended = true;
    }
  }
  return { state, events: events() };
}

describe('writing events', () => {
  it('takes no more than a reader who reads nothing has room for, and cuts that reader off', async () => {
    const { state, events } = endless();
    const { port, written } = await serve(events, 200);
    const socket = connect(port, '127.0.0.1', () => socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')).pause();
    await written;
    expect(state.ended).toBe(true);
    // What the system's buffers of both sides take, some megabytes, and one event more.
    expect(state.told).toBeLessThan(5000);
    socket.destroy();
  });

  it('waits for a reader who reads slowly', async () => {
    async function* some(): AsyncGenerator<MemoryEvent> {
      for await (const event of endless().events) {
        yield event;
        if (event.id === 'name.2000') return;
      }
    }
    const { port, written } = await serve(some(), 10_000);
    let text = '';
    const socket = connect(port, '127.0.0.1', () => {
      socket.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    });
    socket.setEncoding('latin1').on('data', (part: string) => {
      text = (text + part).slice(-20_000);
      socket.pause();
      setImmediate(() => socket.resume());
    });
    await Promise.all([written, once(socket, 'close')]);
    expect(text).toContain('id: name.2000\nevent: recalled\ndata: {');
  });
});
