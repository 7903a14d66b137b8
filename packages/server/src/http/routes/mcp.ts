import {
  createTimeZone,
  getCanonicalTimeZone,
  invalidRequest,
  type MemoryApi,
  MemoryError,
  RecallRequest,
  ScopeRequest,
  TIME_ZONE_MUST,
  type TimeZone,
} from '@memoryd/contract';
import { Type } from '@memoryd/contract/typebox';
import { ENGINE_DEFAULTS } from '@memoryd/engine/defaults';
import { type Caller, getBinding } from '../../caller.ts';
import { type McpCaller, scopedCaller } from '../../mcp/caller.ts';
import type { McpOptions } from '../../mcp/server.ts';
import { chooseTools, type HeavyKind, type McpTool, TOOLS_MUST } from '../../mcp/tools.ts';
import { getMessageSetting, MAX_BATCH_MESSAGES, mcpOptions } from '../../mcp-options.ts';
import { refuseForeignOrigin } from '../cross-origin.ts';
import { createDisconnectSignal } from '../disconnect-signal.ts';
import { getValues } from '../request-headers.ts';
import type { App, Route } from './route.ts';

/** Headers that the transport reads. Copied from the raw headers, because `readJsonBodies` deletes the content type. */
const TRANSPORT_HEADERS = ['accept', 'content-type', 'mcp-protocol-version', 'mcp-method', 'mcp-name'];

/** Parameters of the URL, which an operator sets for an agent. */
const McpQuery = Type.Object(
  {
    ...ScopeRequest.properties,
    timezone: RecallRequest.properties.timezone,
    tools: Type.Optional(Type.String({ 'x-must': TOOLS_MUST })),
    structured: Type.Optional(Type.Boolean({ 'x-must': 'be true or false' })),
  },
  { additionalProperties: false },
);

/**
 * The Model Context Protocol over Streamable HTTP. Each POST is independent and authorized by its own key, so there is
 * no stream to GET and no session to DELETE; for both, the specification requires status 405. The route needs the scope
 * `read`, and lists the tools that the key allows.
 */
export const mcp: Route = (app, { getApi, countExtraRequest, settings, telemetry }) => {
  const bodySetting = getMessageSetting(settings);
  const route = {
    schema: { hide: true, querystring: McpQuery },
    config: { access: 'read', bodySetting },
    bodyLimit: settings[bodySetting],
    onRequest: refuseForeignOrigin(settings),
  } as const;
  app.post('/mcp', route, async (request, reply) => {
    const messages = Array.isArray(request.body) ? Math.min(request.body.length, MAX_BATCH_MESSAGES) : 1;
    for (let counted = 1; counted < messages; counted++) await countExtraRequest(request, reply);
    const headers = new Headers();
    for (const name of TRANSPORT_HEADERS) for (const value of getValues(request, name)) headers.append(name, value);
    const disconnected = createDisconnectSignal(reply.raw);
    const { namespace } = request.caller;
    app.responseBudget.assert(namespace);
    // Loaded on demand, because the protocol library is large and would slow down the start.
    const { handlePost } = await import('../../mcp/http.ts');
    const options: McpOptions = {
      tools: toTools(request.query.tools),
      structured: request.query.structured ?? false,
      ...mcpOptions(settings, telemetry, toTimeZone(request.query.timezone ?? settings.timezone), {
        request_id: request.id,
      }),
      // Each call needs its own slot, because one POST may contain several calls.
      acquireSlot: (kind, signal) => acquireSlotWithBudget(app, kind, namespace, signal),
    };
    const response = await handlePost(toMcpCaller(request.caller, getApi(request), request.query), options, {
      request: new Request('http://memoryd/mcp', { method: 'POST', headers }),
      body: request.body,
      disconnected,
      idleMs: settings.slowClientSeconds * 1000,
      onMessage: (bytes) => app.responseBudget.hold(namespace, reply.raw, bytes),
    });
    return reply.send(response);
  });
  app.route({
    method: ['GET', 'DELETE'],
    url: '/mcp',
    ...route,
    config: { ...route.config, refusesMethod: true },
    handler: (_request, reply) => {
      const error = {
        code: -32000,
        message: 'use POST: this server has no sessions to delete and no stream to GET',
      };
      return reply.code(405).header('Allow', 'POST').send({ jsonrpc: '2.0', error, id: null });
    },
  });
};

/**
 * Returns the caller, limited to the user and agent that the API key is bound to or the URL names.
 *
 * @throws MemoryError FORBIDDEN if the key is bound to another user or agent, INVALID_REQUEST for `shared` without a
 *   user or agent
 */
function toMcpCaller(caller: Caller, api: MemoryApi, { user_id, agent_id, shared }: ScopeRequest): McpCaller {
  const requested = getBinding({
    ...(user_id !== undefined && { userId: user_id }),
    ...(agent_id !== undefined && { agentId: agent_id }),
  });
  const binding = getBinding(caller);
  if (shared && !requested && !binding) {
    throw new MemoryError('INVALID_REQUEST', 'shared must come with user_id or agent_id');
  }
  const scope = { ...binding, ...requested };
  if ((binding?.userId ?? scope.userId) !== scope.userId || (binding?.agentId ?? scope.agentId) !== scope.agentId) {
    throw new MemoryError(
      'FORBIDDEN',
      'user_id and agent_id must be the ones that the API key is bound to, or be omitted',
    );
  }
  return scopedCaller(
    { api, scope: caller.scope },
    binding || requested ? { ...scope, shared: shared ?? false } : undefined,
  );
}

/** @throws MemoryError INVALID_REQUEST for a name that is not that of a time zone */
function toTimeZone(name: string = ENGINE_DEFAULTS.timezone): TimeZone {
  if (getCanonicalTimeZone(name) !== undefined) return createTimeZone(name);
  throw invalidRequest([{ path: '/timezone', message: `timezone must ${TIME_ZONE_MUST}` }]);
}

/** @throws MemoryError INVALID_REQUEST for a choice that names an unknown tool */
function toTools(choice: string | undefined): readonly McpTool[] {
  const tools = chooseTools(choice);
  if (tools) return tools;
  throw invalidRequest([{ path: '/tools', message: `tools must ${TOOLS_MUST}` }]);
}

/** Acquires a slot, and refuses the call if unread responses of earlier calls exhaust the response budget. */
async function acquireSlotWithBudget(
  app: App,
  kind: HeavyKind,
  namespace: string,
  signal: AbortSignal,
): Promise<() => void> {
  const release = await app.acquireSlot(kind, namespace, signal);
  try {
    app.responseBudget.assert(namespace);
    return release;
  } catch (error) {
    release();
    throw error;
  }
}
