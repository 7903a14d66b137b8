import { once } from 'node:events';
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Gate } from './access.ts';
import { whenExpelled } from './expelled.ts';
import { goneSignal } from './gone-signal.ts';

/** How long a reader may take to make room for what waits to be sent, and to take all of it. */
const SLOW_READER_MS = 30_000;
const MAX_MS = 60 * 60 * 1000;

/** Longest that a reader may take, in milliseconds. */
export interface DownloadLimits {
  slowReaderMs: number;
  longestMs: number;
}

/**
 * Answers with pieces as they come, no faster than the reader takes them. Whatever ends them early, a reader who has gone,
 * takes too long or may call no longer among it, cuts the connection, so that no part is taken for the whole.
 */
export function sendDownload(
  gate: Gate,
  request: FastifyRequest,
  reply: FastifyReply,
  pieces: AsyncIterable<string | Uint8Array>,
): FastifyReply {
  whenExpelled(gate, request, reply, () => reply.raw.destroy());
  void writeDownload(beginAnswer(reply), pieces);
  return reply;
}

/** Sends the head of an answer whose body is written past the framework, and answers where to. */
export function beginAnswer(reply: FastifyReply): ServerResponse {
  reply.hijack();
  return reply.raw.writeHead(200, reply.getHeaders() as OutgoingHttpHeaders);
}

/** Answers a HEAD of what is made anew for each GET, so that its length is not known (RFC 9110, section 8.6). */
export function sendHead(reply: FastifyReply, headers: Readonly<Record<string, string>>): FastifyReply {
  // Of a text the framework says the length, and of a stream none.
  return reply.headers(headers).send(Readable.from([]));
}

/** See `sendDownload`; the head has been written. */
export async function writeDownload(
  response: ServerResponse,
  pieces: AsyncIterable<string | Uint8Array>,
  { slowReaderMs, longestMs }: DownloadLimits = { slowReaderMs: SLOW_READER_MS, longestMs: MAX_MS },
): Promise<void> {
  const late = AbortSignal.timeout(longestMs);
  const gone = goneSignal(response);
  try {
    for await (const piece of pieces) {
      if (gone.aborted || late.aborted) throw new Error('nobody reads on');
      if (response.write(piece)) continue;
      const signal = AbortSignal.any([late, gone, AbortSignal.timeout(slowReaderMs)]);
      await once(response, 'drain', { signal });
    }
    response.end();
  } catch {
    response.destroy();
  }
}
