import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { MemoryEvent } from '@memoryd/contract';

/** The content type of server-sent events (HTML Living Standard, section 9.2). */
export const EVENT_STREAM = 'text/event-stream';

/** Interval between comments that keep the connection alive for proxies and readers. */
const HEARTBEAT_INTERVAL_MS = 15_000;
const HEARTBEAT = ':\n\n';

/** Maximum time to drain the write buffer. */
const DEFAULT_SLOW_READER_MS = 15_000;

/** The beginning of a stream: the reconnection time of readers, in milliseconds. */
const RETRY_FIELD = 'retry: 1000\n\n';

/**
 * Writes events until they end or the reader disconnects. At most one event and the socket's buffer are pending for a
 * slow reader; a reader that does not drain the buffer within `slowReaderMs` is disconnected.
 */
export async function writeEvents(
  response: ServerResponse,
  events: AsyncIterable<MemoryEvent>,
  slowReaderMs = DEFAULT_SLOW_READER_MS,
): Promise<void> {
  response.write(RETRY_FIELD);
  const heartbeat = setInterval(() => {
    if (!response.writableNeedDrain) response.write(HEARTBEAT);
  }, HEARTBEAT_INTERVAL_MS);
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
