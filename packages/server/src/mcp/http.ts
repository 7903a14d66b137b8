import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/sdk/types.js';
import type { McpCaller } from './caller.ts';
import { createMcpServer, type McpOptions } from './server.ts';

/** Proxies on the way end connections that carry nothing, too. */
const MAX_SILENCE_MS = 15_000;

interface McpPost {
  request: Request;
  body: unknown;
  gone: AbortSignal;
  idleMs: number;
  onMessage(bytes: number): void;
}

/**
 * Answers one POST of the Streamable HTTP transport, as a stream of events where it asks for something. Every POST
 * stands for itself: there are no sessions.
 *
 * @param request its headers; the body is given apart
 * @param body the JSON-RPC messages; undefined where there was no body
 * @param gone aborted when the answer is sent or nobody takes it any more
 * @param idleMs how long the connection may carry nothing; a tool that works longer is no reason to end it
 * @param onMessage told of the bytes of each message of the answer, which wait in memory until they are taken
 */
export async function answerPost(
  caller: McpCaller,
  options: McpOptions,
  { request, body, gone, idleMs, onMessage }: McpPost,
): Promise<Response> {
  const transport = new ToldTransport(onMessage, Math.min(MAX_SILENCE_MS, idleMs / 3));
  const server = createMcpServer(caller, options);
  await server.connect(transport);
  // Who has gone already says so no more.
  if (gone.aborted) await server.close();
  gone.addEventListener('abort', () => void server.close(), { once: true });
  return transport.handleRequest(request, { parsedBody: withoutCancellations(body) });
}

/** The SDK's transport, which tells of what it sends: it takes everything at once, however slowly it is read. */
class ToldTransport extends WebStandardStreamableHTTPServerTransport {
  readonly #onMessage: McpPost['onMessage'];

  constructor(onMessage: McpPost['onMessage'], keepAliveMs: number) {
    super({ keepAliveMs });
    this.#onMessage = onMessage;
  }

  override async send(message: JSONRPCMessage, options?: { relatedRequestId?: RequestId }): Promise<void> {
    this.#onMessage(Buffer.byteLength(JSON.stringify(message)));
    await super.send(message, options);
  }
}

/** A batch without what would cancel its own requests: the stream of a POST ends only when all of them are answered. */
function withoutCancellations(body: unknown): unknown {
  if (!Array.isArray(body)) return body;
  const kept = body.filter((message) => message?.method !== 'notifications/cancelled');
  return kept.length > 0 ? kept : body;
}
