import { covers, MemoryError, type TimeZone } from '@memoryd/contract';
import type { ToolCall, View } from '@memoryd/contract/tools';
import {
  type CallToolResult,
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/server/validators/ajv';
import { callOptions } from './call-options.ts';
import type { McpCaller } from './caller.ts';
import { CheckedServer } from './checked-server.ts';
import {
  type Definition,
  type DefinitionOptions,
  getDefinition,
  STATIC_CACHE,
  STATIC_METHODS,
  VERSIONS_WITH_INITIALIZE,
} from './definition.ts';
import { failedCall, protocolError, toMemoryError } from './failures.ts';
import { CONTEXT_PROMPT, contextPrompt } from './prompts.ts';
import { listSessions, readResource } from './resources.ts';
import { DEFAULT_TOOLS, type HeavyKind, type McpTool } from './tools.ts';
import { memoryUri } from './uris.ts';

export interface McpOptions extends Omit<DefinitionOptions, 'scope'> {
  /** Maximum size of the arguments of one call as JSON, in bytes. */
  maxArgumentBytes: number;
  /** The zone of all times that the caller reads, and of dates in its queries. */
  zone: TimeZone;
  /**
   * Called with an internal error, which the caller sees only as "server error".
   *
   * @param operation the name of the tool, or the method of the request
   */
  onDefect(error: unknown, operation: string): void;
  /**
   * Acquires a slot for a kind of work, and resolves with the function that releases the slot. If omitted, concurrency
   * is not limited.
   *
   * @param signal aborted when the client disconnects or cancels the request
   * @throws MemoryError UNAVAILABLE if too many requests are queued, or no slot became free in time
   */
  acquireSlot?(kind: HeavyKind, signal: AbortSignal): Promise<() => void>;
}

/**
 * Validates users' responses to elicitation, which this server never uses. All servers share this validator, because
 * creating a validator for each server is slow.
 */
const VALIDATOR = new AjvJsonSchemaValidator();

/** Cache hints of the static methods. */
const CACHE_HINTS = Object.fromEntries(STATIC_METHODS.map((method) => [method, STATIC_CACHE]));

/**
 * Creates an MCP server for the memories of a caller. The server must be connected to exactly one transport, which sets
 * the protocol revision.
 */
export function createMcpServer(caller: McpCaller, options: McpOptions): CheckedServer {
  const definition = getDefinition({ ...options, scope: caller.scope });
  const { serverInfo, capabilities, instructions } = definition;
  const server = new CheckedServer(serverInfo, {
    capabilities,
    instructions,
    // The SDK adds the other versions where it serves them.
    supportedProtocolVersions: [...VERSIONS_WITH_INITIALIZE],
    jsonSchemaValidator: VALIDATOR,
    cacheHints: CACHE_HINTS,
  });
  serveTools(server, caller, definition, options);
  serveResources(server, caller, definition, options);
  servePrompts(server, caller, definition, options);
  return server;
}

function serveTools(server: CheckedServer, caller: McpCaller, { tools }: Definition, options: McpOptions): void {
  const chosen = options.tools ?? DEFAULT_TOOLS;
  server.setRequestHandler('tools/list', () => ({ tools }));
  server.setRequestHandler('tools/call', async ({ params }, { mcpReq }): Promise<CallToolResult> => {
    const tool = chosen.find(({ listed }) => listed.name === params.name);
    if (!tool) {
      const message = `unknown tool: ${params.name}; use a tool of tools/list`;
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, message);
    }
    try {
      if (!covers(caller.scope, tool.scope)) throw createScopeError(tool, caller);
      const { operation, structured = options.structured ?? false } = callOptions(mcpReq._meta);
      return await withSlot(tool.heavy, mcpReq, options, () =>
        tool.run(caller.api, params.arguments ?? {}, getCall(mcpReq, operation), {
          maxBytes: options.maxArgumentBytes,
          view: getView(options),
          structured,
        }),
      );
    } catch (thrown) {
      return failedCall(toCallerError(thrown, params.name, options));
    }
  });
}

function getView({ zone }: McpOptions): View {
  return { zone, wholeAt: memoryUri };
}

/** Runs work in a slot of its kind, or at once if the work is not heavy or concurrency is not limited. */
async function withSlot<T>(
  kind: HeavyKind | undefined,
  { signal }: { signal: AbortSignal },
  { acquireSlot }: McpOptions,
  work: () => Promise<T>,
): Promise<T> {
  const release = kind && (await acquireSlot?.(kind, signal));
  try {
    return await work();
  } finally {
    release?.();
  }
}

function createScopeError({ listed, scope: needed }: McpTool, { scope }: McpCaller): MemoryError {
  // A caller that is limited to a user or agent never has the scope `operate`. See `scopedCaller`.
  const condition = needed === 'operate' ? ', and name no user or agent' : '';
  return new MemoryError(
    'FORBIDDEN',
    `the tool ${listed.name} needs the scope ${needed}, but the caller has the scope ${scope}; use an API key with the ` +
      `scope ${needed}${condition}`,
  );
}

/** The request of a handler, as the SDK describes it. */
type McpRequest = ServerContext['mcpReq'];

function getCall({ signal, _meta, notify }: McpRequest, operation: ToolCall): ToolCall {
  const progressToken = _meta?.progressToken;
  if (progressToken === undefined) return { signal, ...operation };
  return {
    signal,
    ...operation,
    progress: (progress, message) =>
      notify({ method: 'notifications/progress', params: { progressToken, progress, message } }),
  };
}

function serveResources(
  server: CheckedServer,
  { api }: McpCaller,
  { resourceTemplates }: Definition,
  options: McpOptions,
): void {
  server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates }));
  server.setRequestHandler('resources/list', ({ params }, { mcpReq }) =>
    withSlot('list', mcpReq, options, () => listSessions(api, params?.cursor, options.zone)).catch((thrown) => {
      throw protocolError(toCallerError(thrown, 'resources/list', options));
    }),
  );
  server.setRequestHandler('resources/read', ({ params: { uri } }, { mcpReq }) =>
    withSlot('list', mcpReq, options, () => readResource(api, uri, options.zone)).catch((thrown) => {
      throw protocolError(toCallerError(thrown, 'resources/read', options), { uri });
    }),
  );
}

function servePrompts(server: CheckedServer, { api }: McpCaller, { prompts }: Definition, options: McpOptions): void {
  server.setRequestHandler('prompts/list', () => ({ prompts }));
  server.setRequestHandler('prompts/get', ({ params: { name, arguments: given = {} } }, { mcpReq }) => {
    if (name !== CONTEXT_PROMPT.name) {
      const message = `unknown prompt: ${name}; use a prompt of prompts/list`;
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, message);
    }
    return withSlot('recall', mcpReq, options, () => contextPrompt(api, given, getView(options))).catch((thrown) => {
      throw protocolError(toCallerError(thrown, 'prompts/get', options));
    });
  });
}

/** Converts a thrown value to an error that the caller may see, and reports internal errors. */
function toCallerError(thrown: unknown, operation: string, { onDefect }: McpOptions): MemoryError {
  const error = toMemoryError(thrown);
  if (error.code === 'INTERNAL_ERROR') onDefect(thrown, operation);
  return error;
}
