import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { MemoryEvent } from '@memoryd/contract';

/** Server-sent events (HTML Living Standard, section 9.2). */
export const EVENT_STREAM = 'text/event-stream';

/** How often a comment is sent, so that proxies and readers know that the stream is still there. */
const HEARTBEAT_MS = 15_000;
const HEARTBEAT = ':\n\n';

/** How long a reader may take to make room for what waits to be sent. */
const SLOW_READER_MS = 15_000;

/** What a stream begins with: how long a reader that lost it waits before it comes back. */
const OPENING = 'retry: 1000\n\n';

/**
 * Writes events until they end or the reader has gone; what a slow reader makes wait is no more than one event and a
 * socket's buffer, and a reader that takes nothing for too long is cut off.
 */
export async function writeEvents(
  response: ServerResponse,
  events: AsyncIterable<MemoryEvent>,
  slowReaderMs = SLOW_READER_MS,
): Promise<void> {
  response.write(OPENING);
  const heartbeat = setInterval(() => {
    if (!response.writableNeedDrain) response.write(HEARTBEAT);
  }, HEARTBEAT_MS);
  try {
    for await (const event of events) {
      if (!response.write(toFrame(event))) await once(response, 'drain', { signal: AbortSignal.timeout(slowReaderMs) });
    }
    response.end();
  } catch {
    response.destroy();
  } finally {
    clearInterval(heartbeat);
  }
}

function toFrame(event: MemoryEvent): string {
  return `id: ${event.id}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}
