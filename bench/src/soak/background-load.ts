import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { request } from 'undici';
import type { RecordingClient } from './recording-client.ts';

const CONSOLIDATION_PAUSE_MS = 20_000;
const STREAM_MS = 15_000;
const BURST_PAUSE_MS = 30_000;
const BURST_REQUESTS = 150;
const UNFINISHED_REQUESTS = 20;
const UNFINISHED_MS = 2000;

/** Background load that runs until `end` aborts. */
type BackgroundLoad = (client: RecordingClient, origin: string, end: AbortSignal) => Promise<void>;

/** Resolves after the duration, or when the soak ends. */
async function pause(durationMs: number, end: AbortSignal): Promise<void> {
  // Ignores the rejection, because `sleep` rejects only if the signal aborts.
  await sleep(durationMs, undefined, { signal: end }).catch(() => {});
}

/** Consolidates, with a pause of 20 s after each run. */
export const consolidations: BackgroundLoad = async (client, _origin, end) => {
  while (!end.aborted) {
    await client.send({ verb: 'consolidate', method: 'POST', path: '/consolidate' });
    await pause(CONSOLIDATION_PAUSE_MS, end);
  }
};

/** Reads events, disconnects after 15 s, and reconnects. */
export const eventReader: BackgroundLoad = async (client, origin, end) => {
  while (!end.aborted) {
    const disconnect = new AbortController();
    void pause(STREAM_MS, end).then(() => disconnect.abort());
    try {
      const { statusCode, body } = await request(`${origin}/events`, { signal: disconnect.signal, bodyTimeout: 0 });
      if (statusCode !== 200) client.recordError(`events ${statusCode}`);
      for await (const _chunk of body) if (disconnect.signal.aborted) break;
      if (!disconnect.signal.aborted) client.recordError('events ended');
    } catch (error) {
      if (!disconnect.signal.aborted) client.recordError(`events ${String(error)}`);
    }
  }
};

/** Sends bursts of more batches than the server accepts at once, along with requests whose bodies never end. */
export const bursts: BackgroundLoad = async (client, origin, end) => {
  const { hostname, port } = new URL(origin);
  await pause(BURST_PAUSE_MS / 2, end);
  while (!end.aborted) {
    const sockets = Array.from({ length: UNFINISHED_REQUESTS }, () => {
      const socket = connect(Number(port), hostname).on('error', () => {});
      socket.write('POST /store/batch HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n[{"con');
      return socket;
    });
    const json = Array.from({ length: 50 }, () => ({ content: '', source: 'burst' }));
    const burst = {
      verb: 'burst',
      method: 'POST',
      path: '/store/batch',
      json,
      expectedErrors: ['UNAVAILABLE'],
    } as const;
    const sent = Array.from({ length: BURST_REQUESTS }, () => client.send(burst));
    await pause(UNFINISHED_MS, end);
    for (const socket of sockets) socket.destroy();
    await Promise.all(sent);
    await pause(BURST_PAUSE_MS, end);
  }
};
