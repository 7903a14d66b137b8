import { once } from 'node:events';
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Gate } from './access.ts';
import { onAccessRevoked } from './access-revocation.ts';
import { createDisconnectSignal } from './disconnect-signal.ts';

const DEFAULT_SLOW_READER_MS = 30_000;
const DEFAULT_MAX_DURATION_MS = 60 * 60 * 1000;

export interface DownloadLimits {
  /** Maximum time to drain the write buffer, in milliseconds. */
  slowReaderMs: number;
  /** Maximum time for the whole download, in milliseconds. */
  maxDurationMs: number;
}

/**
 * Streams chunks as the response, with backpressure. If the download ends early (an error, a client that disconnects or
 * reads too slowly, or revoked access), the connection is cut, so that the client does not mistake a partial download
 * for a complete one.
 */
export function sendDownload(
  gate: Gate,
  request: FastifyRequest,
  reply: FastifyReply,
  chunks: AsyncIterable<string | Uint8Array>,
): FastifyReply {
  onAccessRevoked(gate, request, reply, () => reply.raw.destroy());
  void writeDownload(beginResponse(reply), chunks);
  return reply;
}

/**
 * Begins a response with status 200 and the headers of the reply. Returns the raw response for the body, which bypasses
 * the framework.
 */
export function beginResponse(reply: FastifyReply): ServerResponse {
  reply.hijack();
  return reply.raw.writeHead(200, reply.getHeaders() as OutgoingHttpHeaders);
}

/** Responds to HEAD without Content-Length, because each GET generates its body (RFC 9110, section 8.6). */
export function sendHead(reply: FastifyReply, headers: Readonly<Record<string, string>>): FastifyReply {
  // The framework adds Content-Length for a string, but not for a stream.
  return reply.headers(headers).send(Readable.from([]));
}

/** Writes the body of a download after its head. See `sendDownload`. */
export async function writeDownload(
  response: ServerResponse,
  chunks: AsyncIterable<string | Uint8Array>,
  { slowReaderMs, maxDurationMs }: DownloadLimits = {
    slowReaderMs: DEFAULT_SLOW_READER_MS,
    maxDurationMs: DEFAULT_MAX_DURATION_MS,
  },
): Promise<void> {
  const deadline = AbortSignal.timeout(maxDurationMs);
  const disconnected = createDisconnectSignal(response);
  try {
    for await (const chunk of chunks) {
      if (disconnected.aborted || deadline.aborted) throw new Error('the client disconnected or the deadline passed');
      if (response.write(chunk)) continue;
      const signal = AbortSignal.any([deadline, disconnected, AbortSignal.timeout(slowReaderMs)]);
      await once(response, 'drain', { signal });
    }
    response.end();
  } catch {
    response.destroy();
  }
}
