import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import type { McpCaller } from './caller.ts';
import { createMcpServer, type McpOptions } from './server.ts';

/** Proxies on the way end connections that carry nothing, too. */
const LONGEST_SILENCE_MS = 15_000;

/**
 * Answers one POST of the Streamable HTTP transport, as a stream of events where it asks for something. Every POST
 * stands for itself: there are no sessions.
 *
 * @param request its headers; the body is given apart
 * @param body the JSON-RPC messages; undefined where there was no body
 * @param gone aborted when the answer is sent or nobody takes it any more
 * @param idleMs how long the connection may carry nothing; a tool that works longer is no reason to end it
 */
export async function answerPost(
  caller: McpCaller,
  options: McpOptions,
  { request, body, gone, idleMs }: { request: Request; body: unknown; gone: AbortSignal; idleMs: number },
): Promise<Response> {
  const transport = new WebStandardStreamableHTTPServerTransport({
    keepAliveMs: Math.min(LONGEST_SILENCE_MS, idleMs / 3),
  });
  const server = createMcpServer(caller, options);
  await server.connect(transport);
  gone.addEventListener('abort', () => void server.close(), { once: true });
  return transport.handleRequest(request, { parsedBody: withoutCancellations(body) });
}

/** A batch without what would cancel its own requests: the stream of a POST ends only when all of them are answered. */
function withoutCancellations(body: unknown): unknown {
  if (!Array.isArray(body)) return body;
  const kept = body.filter((message) => message?.method !== 'notifications/cancelled');
  return kept.length > 0 ? kept : body;
}
