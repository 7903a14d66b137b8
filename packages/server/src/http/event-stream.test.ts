import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import type { MemoryEvent } from '@memoryd/contract';
import { afterEach, describe, expect, it } from 'vitest';
import { writeEvents } from './event-stream.ts';

let server: Server;
afterEach(() => server.close());

/** Starts a server that writes events to the first client. Returns its port and a promise for the end of writing. */
async function serve(events: AsyncIterable<MemoryEvent>, slowReaderMs: number) {
  const written = new Promise<void>((resolve) => {
    server = createServer((_request, response) => resolve(writeEvents(response, events, slowReaderMs)));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return { port: (server.address() as AddressInfo).port, written };
}

/** Returns endless events of ten kilobytes; `taken` counts them. */
function createEndless() {
  const state = { taken: 0, ended: false };
  async function* events(): AsyncGenerator<MemoryEvent> {
    try {
      for (;;) {
        state.taken++;
        const memory_ids = Array.from({ length: 256 }, () => '0'.repeat(36));
        yield { id: `name.${state.taken}`, at: '2026-01-01T00:00:00.000Z', type: 'recalled', memory_ids, count: 256 };
      }
    } finally {
      state.ended = true;
    }
  }
  return { state, events: events() };
}

describe('writing events', () => {
  it('applies backpressure to a client that reads nothing, and then disconnects it', async () => {
    const { state, events } = createEndless();
    const { port, written } = await serve(events, 200);
    const socket = connect(port, '127.0.0.1', () => socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')).pause();
    await written;
    expect(state.ended).toBe(true);
    // The system's buffers on both sides hold a few megabytes; one more event is pending.
    expect(state.taken).toBeLessThan(5000);
    socket.destroy();
  });

  it('waits for a client that reads slowly', async () => {
    async function* firstEvents(): AsyncGenerator<MemoryEvent> {
      for await (const event of createEndless().events) {
        yield event;
        if (event.id === 'name.2000') return;
      }
    }
    const { port, written } = await serve(firstEvents(), 10_000);
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
