import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/sdk/types.js';
import type { McpCaller } from './caller.ts';
import { createMcpServer, type McpOptions } from './server.ts';

/** Maximum interval between keep-alive messages, because proxies close idle connections. */
const MAX_KEEP_ALIVE_MS = 15_000;

interface McpPost {
  request: Request;
  body: unknown;
  disconnected: AbortSignal;
  idleMs: number;
  onMessage(bytes: number): void;
}

/**
 * Handles one POST of the Streamable HTTP transport. The response to a request message is an event stream. Each POST is
 * independent: there are no sessions.
 *
 * @param request the headers; the body is passed as `body`
 * @param body the JSON-RPC messages; `undefined` without a body
 * @param disconnected aborted when the response is complete or the client disconnects
 * @param idleMs idle timeout of the connection, in milliseconds; keep-alive messages prevent a timeout while a tool
 *   runs
 * @param onMessage called with the size in bytes of each sent message, which stays in memory until the client reads it
 */
export async function handlePost(
  caller: McpCaller,
  options: McpOptions,
  { request, body, disconnected, idleMs, onMessage }: McpPost,
): Promise<Response> {
  const transport = new ObservedTransport(onMessage, Math.min(MAX_KEEP_ALIVE_MS, idleMs / 3));
  const server = createMcpServer(caller, options);
  await server.connect(transport);
  // The client may have disconnected already; `abort` will not fire again.
  if (disconnected.aborted) await server.close();
  disconnected.addEventListener('abort', () => void server.close(), { once: true });
  return transport.handleRequest(request, { parsedBody: withoutCancellations(body) });
}

/**
 * The SDK's transport with a callback for each sent message, because the transport has no backpressure and buffers
 * messages in memory.
 */
class ObservedTransport extends WebStandardStreamableHTTPServerTransport {
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

/**
 * Removes cancellations from a batch, unless the batch contains only cancellations. The stream of a POST ends only
 * after all its requests have responses, so a request that its own batch cancels would leave the stream open.
 */
function withoutCancellations(body: unknown): unknown {
  if (!Array.isArray(body)) return body;
  const remaining = body.filter((message) => message?.method !== 'notifications/cancelled');
  return remaining.length > 0 ? remaining : body;
}
