import type { MemoryEvent } from '@memoryd/contract';
import { MemoryError } from './memory-error.ts';
import { getLines, getPieces } from './pieces.ts';
import { type Arrival, backoffMs, pause } from './transport.ts';

/** The service sends a comment every 15 seconds; a stream that is silent for longer than this is dead. */
const SILENCE_MS = 45_000;

/** How a stream is opened, and opened again. */
export interface Following {
  /** Opens the stream after the event with this id. */
  open(seen: string | undefined): Promise<Arrival>;
  /** The last event that the caller has seen. */
  seen: string | undefined;
  signal: AbortSignal | undefined;
  /** Milliseconds that the wait before coming back may grow from. */
  retryDelayMs: number;
  /** Milliseconds without a stream after which it is given up. */
  reconnectTimeoutMs: number;
}

/** Events until the signal comes. A stream that breaks or ends is opened again after the last event that was seen. */
export async function* follow(following: Following): AsyncGenerator<MemoryEvent, void, undefined> {
  let { seen } = following;
  try {
    let arrival = await following.open(seen);
    for (let missed = false; ; missed = seen === undefined) {
      try {
        for await (const event of streamEvents(arrival, missed)) {
          if (event.id !== '') seen = event.id;
          yield event;
          if (following.signal?.aborted) return;
        }
      } catch {
        // It is opened again, however it ended.
      }
      arrival = await reopen(following, seen);
    }
  } catch (error) {
    if (!following.signal?.aborted) throw error;
  }
}

async function reopen(following: Following, seen: string | undefined): Promise<Arrival> {
  const { open, signal, retryDelayMs, reconnectTimeoutMs } = following;
  const deadline = Date.now() + reconnectTimeoutMs;
  for (let attempt = 2; ; attempt++) {
    signal?.throwIfAborted();
    await pause(backoffMs(attempt, retryDelayMs), signal);
    try {
      return await open(seen);
    } catch (error) {
      if (isFinal(error) || Date.now() >= deadline) throw error;
    }
  }
}

/** Whether a stream that is refused so would be refused again. */
function isFinal(error: unknown): boolean {
  return error instanceof MemoryError && !['UNAVAILABLE', 'RATE_LIMITED', 'INTERNAL_ERROR'].includes(error.code);
}

/**
 * The events of a stream of server-sent events (HTML Living Standard, section 9.2.6), each of which is its data.
 *
 * @param missed begins with a gap: events were missed, and without the id of one the service cannot know
 */
async function* streamEvents(arrival: Arrival, missed: boolean): AsyncGenerator<MemoryEvent, void, undefined> {
  let data = '';
  try {
    if (missed) yield { type: 'gap', id: '', at: new Date().toISOString() };
    for await (const line of getLines(getPieces(arrival, SILENCE_MS))) {
      if (line.startsWith('data:')) data += line.slice(5);
      if (line !== '' || data === '') continue;
      yield JSON.parse(data);
      data = '';
    }
  } finally {
    // Whoever leaves at the gap leaves before anything was read.
    arrival.end();
  }
}
