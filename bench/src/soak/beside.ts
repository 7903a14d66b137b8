import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { request } from 'undici';
import type { Exchanges } from './exchanges.ts';

const CONSOLIDATION_PAUSE_MS = 20_000;
const STREAM_MS = 15_000;
const BURST_PAUSE_MS = 30_000;
const BURST_REQUESTS = 150;
const UNENDED_REQUESTS = 20;
const UNENDED_MS = 2000;

/** Something that goes on until the end. */
type Goings = (exchanges: Exchanges, origin: string, end: AbortSignal) => Promise<void>;

/** Resolves when the time or the soak is over. */
async function pause(durationMs: number, end: AbortSignal): Promise<void> {
  // It rejects only when the soak is over.
  await sleep(durationMs, undefined, { signal: end }).catch(() => {});
}

/** Consolidates now and then. */
export const consolidations: Goings = async (exchanges, _origin, end) => {
  while (!end.aborted) {
    await exchanges.send({ verb: 'consolidate', method: 'POST', path: '/consolidate' });
    await pause(CONSOLIDATION_PAUSE_MS, end);
  }
};

/** Reads events, leaves without a word and comes back. */
export const eventReader: Goings = async (exchanges, origin, end) => {
  while (!end.aborted) {
    const leaves = new AbortController();
    void pause(STREAM_MS, end).then(() => leaves.abort());
    try {
      const { statusCode, body } = await request(`${origin}/events`, { signal: leaves.signal, bodyTimeout: 0 });
      if (statusCode !== 200) exchanges.fail(`events ${statusCode}`);
      for await (const _chunk of body) if (leaves.signal.aborted) break;
      if (!leaves.signal.aborted) exchanges.fail('events ended');
    } catch (error) {
      if (!leaves.signal.aborted) exchanges.fail(`events ${String(error)}`);
    }
  }
};

/** Every now and then more heavy requests than the server takes at a time, beside bodies that do not come. */
export const bursts: Goings = async (exchanges, origin, end) => {
  const { hostname, port } = new URL(origin);
  await pause(BURST_PAUSE_MS / 2, end);
  while (!end.aborted) {
    const sockets = Array.from({ length: UNENDED_REQUESTS }, () => {
      const socket = connect(Number(port), hostname).on('error', () => {});
      socket.write('POST /store/batch HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n[{"con');
      return socket;
    });
    const json = Array.from({ length: 50 }, () => ({ content: '', source: 'burst' }));
    const burst = { verb: 'burst', method: 'POST', path: '/store/batch', json, intended: ['UNAVAILABLE'] } as const;
    const sent = Array.from({ length: BURST_REQUESTS }, () => exchanges.send(burst));
    await pause(UNENDED_MS, end);
    for (const socket of sockets) socket.destroy();
    await Promise.all(sent);
    await pause(BURST_PAUSE_MS, end);
  }
};
