import { type MemoryApi, MemoryError, ScopeRequest } from '@memoryd/contract';
import { type Caller, getBinding } from '../../caller.ts';
import { type McpCaller, scopedCaller } from '../../mcp/caller.ts';
import type { McpOptions } from '../../mcp/server.ts';
import type { HeavyKind } from '../../mcp/tools.ts';
import { maxMessageBytes, mcpOptions } from '../../mcp-options.ts';
import { refuseForeignOrigin } from '../cross-origin.ts';
import { goneSignal } from '../gone-signal.ts';
import { getValues } from '../request-headers.ts';
import type { App, Route } from './route.ts';

/** What the transport looks at; readJsonBodies has taken the content type from the parsed ones. */
const TRANSPORT_HEADERS = ['accept', 'content-type', 'mcp-protocol-version'];

/** Most messages of a batch, which version 2025-03-26 of the protocol has; the transport refuses more. */
const MAX_BATCH_MS = 100;

/**
 * The Model Context Protocol over Streamable HTTP. Each POST stands for itself and is answered for whoever made it, so
 * there is no stream to GET and no session to DELETE, which the specification answers with 405. Whoever may read is let in,
 * and finds the tools that the key allows.
 */
export const mcp: Route = (app, { getApi, countAnother, settings, telemetry }) => {
  const route = {
    schema: { hide: true, querystring: ScopeRequest },
    config: { access: 'read' },
    bodyLimit: maxMessageBytes(settings),
    onRequest: refuseForeignOrigin(settings),
  } as const;
  app.post('/mcp', route, async (request, reply) => {
    const messages = Array.isArray(request.body) ? Math.min(request.body.length, MAX_BATCH_MS) : 1;
    for (let counted = 1; counted < messages; counted++) await countAnother(request, reply);
    const headers = new Headers();
    for (const name of TRANSPORT_HEADERS) for (const value of getValues(request, name)) headers.append(name, value);
    const gone = goneSignal(reply.raw);
    const { namespace } = request.caller;
    app.answerRoom.assert(namespace);
    // The library of the protocol is large, and a start waits for nothing that may not be needed.
    const { answerPost } = await import('../../mcp/http.ts');
    const options: McpOptions = {
      ...mcpOptions(settings, telemetry, { request_id: request.id }),
      // Of each call, for one POST may hold many.
      takeTurn: (kind, signal) => takeTurnWithRoom(app, kind, namespace, signal),
    };
    const answer = await answerPost(toMcpCaller(request.caller, getApi(request), request.query), options, {
      request: new Request('http://memoryd/mcp', { method: 'POST', headers }),
      body: request.body,
      gone,
      idleMs: settings.slowClientSeconds * 1000,
      onMessage: (bytes) => app.answerRoom.hold(namespace, reply.raw, bytes),
    });
    return reply.send(answer);
  });
  app.route({
    method: ['GET', 'DELETE'],
    url: '/mcp',
    ...route,
    handler: (_request, reply) => {
      const error = {
        code: -32000,
        message: 'this address takes POST alone: it has no sessions, and no stream to GET',
      };
      return reply.code(405).header('Allow', 'POST').send({ jsonrpc: '2.0', error, id: null });
    },
  });
};

/** The caller as the address of its connection says: the user and agent there are those that the key is bound to, if any. */
function toMcpCaller(caller: Caller, api: MemoryApi, { user_id, agent_id, shared }: ScopeRequest): McpCaller {
  const asked = getBinding({
    ...(user_id !== undefined && { userId: user_id }),
    ...(agent_id !== undefined && { agentId: agent_id }),
  });
  const binding = getBinding(caller);
  if (shared && !asked && !binding) {
    throw new MemoryError('INVALID_REQUEST', 'shared must come with user_id or agent_id');
  }
  const scope = { ...binding, ...asked };
  if ((binding?.userId ?? scope.userId) !== scope.userId || (binding?.agentId ?? scope.agentId) !== scope.agentId) {
    throw new MemoryError('FORBIDDEN', 'user_id and agent_id must be those that the key is bound to');
  }
  return scopedCaller(
    { api, scope: caller.scope },
    binding || asked ? { ...scope, shared: shared ?? false } : undefined,
  );
}

/** A turn, when the answers of the calls before have left room for what is made in it. */
async function takeTurnWithRoom(app: App, kind: HeavyKind, namespace: string, gone: AbortSignal): Promise<() => void> {
  const end = await app.takeTurn(kind, namespace, gone);
  try {
    app.answerRoom.assert(namespace);
    return end;
  } catch (error) {
    end();
    throw error;
  }
}
