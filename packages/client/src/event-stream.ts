import type { MemoryEvent } from '@memoryd/contract';
import { readChunks, readLines } from './chunks.ts';
import { MemoryError } from './memory-error.ts';
import { getBackoffMs, type OpenResponse, pause } from './transport.ts';

/** Timeout without a byte. The service sends a comment every 15 seconds. */
const SILENCE_MS = 45_000;

export interface EventStreamOptions {
  /** Opens the stream after the event with this id. */
  open(lastEventId: string | undefined): Promise<OpenResponse>;
  /** Id of the last event that the caller has received. */
  lastEventId: string | undefined;
  signal: AbortSignal | undefined;
  /** Base of the reconnection backoff, in ms. */
  retryDelayMs: number;
  /** Time without a stream, in ms, after which reconnecting is given up. */
  reconnectTimeoutMs: number;
}

/** Yields events until the signal is aborted. Reopens a broken or ended stream after the last received event. */
export async function* readEvents(options: EventStreamOptions): AsyncGenerator<MemoryEvent, void, undefined> {
  let { lastEventId } = options;
  try {
    let stream = await options.open(lastEventId);
    for (let startsWithGap = false; ; startsWithGap = lastEventId === undefined) {
      try {
        for await (const event of parseEvents(stream, startsWithGap)) {
          if (event.id !== '') lastEventId = event.id;
          yield event;
          if (options.signal?.aborted) return;
        }
      } catch {
        // The stream is reopened after any error.
      }
      stream = await reopen(options, lastEventId);
    }
  } catch (error) {
    if (!options.signal?.aborted) throw error;
  }
}

async function reopen(options: EventStreamOptions, lastEventId: string | undefined): Promise<OpenResponse> {
  const { open, signal, retryDelayMs, reconnectTimeoutMs } = options;
  const deadline = Date.now() + reconnectTimeoutMs;
  for (let attempt = 2; ; attempt++) {
    signal?.throwIfAborted();
    await pause(getBackoffMs(attempt, retryDelayMs), signal);
    try {
      return await open(lastEventId);
    } catch (error) {
      if (isPermanent(error) || Date.now() >= deadline) throw error;
    }
  }
}

/** Returns true if a retry would fail with the same error. */
function isPermanent(error: unknown): boolean {
  return error instanceof MemoryError && !['UNAVAILABLE', 'RATE_LIMITED', 'INTERNAL_ERROR'].includes(error.code);
}

/**
 * Parses server-sent events (HTML Living Standard, section 9.2.6) and yields their data.
 *
 * @param startsWithGap whether to yield a `gap` first: events may be missing, and the service detects that only with an
 *   event id
 */
async function* parseEvents(
  stream: OpenResponse,
  startsWithGap: boolean,
): AsyncGenerator<MemoryEvent, void, undefined> {
  let data = '';
  try {
    if (startsWithGap) yield { type: 'gap', id: '', at: new Date().toISOString() };
    for await (const line of readLines(readChunks(stream, SILENCE_MS))) {
      if (line.startsWith('data:')) data += line.slice(5);
      if (line !== '' || data === '') continue;
      yield JSON.parse(data);
      data = '';
    }
  } finally {
    // If the caller stops at the gap, `readChunks` has not started and does not end the response.
    stream.end();
  }
}
