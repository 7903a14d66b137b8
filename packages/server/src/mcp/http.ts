import { createMcpHandler } from '@modelcontextprotocol/server';
import type { McpCaller } from './caller.ts';
import { BATCH_VERSION, createInvalidRequest, findBatchProblem, getRequestId } from './messages.ts';
import { createMcpServer, type McpOptions } from './server.ts';

/** Maximum interval between keep-alive messages, because proxies close idle connections. */
const MAX_KEEP_ALIVE_MS = 15_000;

/** The status of a response that nobody receives, in access logs. */
const CLIENT_CLOSED_REQUEST = 499;

interface McpPost {
  request: Request;
  body: unknown;
  disconnected: AbortSignal;
  idleMs: number;
  onMessage(bytes: number): void;
}

/**
 * Handles one POST of the Streamable HTTP transport, in any protocol revision. The response to a request message is an
 * event stream. Each POST is independent: there are no sessions.
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
  // The client may have disconnected already; `abort` will not fire again.
  if (disconnected.aborted) return new Response(null, { status: CLIENT_CLOSED_REQUEST });
  if (Array.isArray(body)) {
    const problem = findBatchProblem(body, request.headers.get('mcp-protocol-version') ?? BATCH_VERSION);
    if (problem !== undefined) return Response.json({ id: null, ...createInvalidRequest(problem) }, { status: 400 });
  }
  let lastError: unknown;
  const handler = createMcpHandler(
    () => {
      const server = createMcpServer(caller, options);
      server.onsend = (message) => onMessage(Buffer.byteLength(JSON.stringify(message)));
      return server;
    },
    {
      // Only event streams have keep-alive messages.
      responseMode: 'sse',
      keepAliveMs: Math.min(MAX_KEEP_ALIVE_MS, idleMs / 3),
      onerror(error) {
        lastError = error;
      },
    },
  );
  const response = await handler.fetch(new Request(request, { signal: disconnected }), {
    parsedBody: withoutCancellations(body),
  });
  if (response.status === 500) options.onDefect(lastError, 'POST /mcp');
  return response.ok ? response : withRequestId(response, body);
}

/**
 * Returns an error response with the id of the request, if the id can be read. The SDK omits the id of requests that it
 * refuses for their headers.
 */
async function withRequestId(response: Response, body: unknown): Promise<Response> {
  const id = getRequestId(body);
  if (id === undefined || response.body === null) return response;
  const { status, headers } = response;
  headers.delete('content-length');
  return Response.json({ ...((await response.json()) as object), id }, { status, headers });
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
