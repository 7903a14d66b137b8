import type { MemoryEvent } from '@memoryd/contract';
import { readChunks, readLines } from './chunks.ts';
import { MemoryError } from './memory-error.ts';
import { getBackoffMs, type OpenResponse, pause } from './transport.ts';

/** Maximum time without a byte, after which the stream is reopened. The service sends a comment every 15 seconds. */
const SILENCE_MS = 45_000;

export interface EventStreamOptions {
  /**
   * Opens a stream of the events after the event with this id. If the id is undefined, the stream has new events only.
   */
  open(lastEventId: string | undefined): Promise<OpenResponse>;
  /** Id of the last event that the caller has received. */
  lastEventId: string | undefined;
  signal: AbortSignal | undefined;
  /** Base of the reconnection backoff, in ms. */
  retryDelayMs: number;
  /** Time in ms after which a failed attempt to reconnect ends the stream with an error. */
  reconnectTimeoutMs: number;
}

/**
 * Yields events until the signal is aborted. If the stream breaks or ends, opens a new stream that continues after the
 * last received event.
 */
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
 * @param startsWithGap whether to yield a `gap` event first. Needed to reconnect without an event id, because the
 *   service then cannot detect missing events.
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
