import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { covers, createTimeZone, type MemoryApi } from '@memoryd/contract';
import { ClientRequestSchema } from '@modelcontextprotocol/core';
import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  LATEST_PROTOCOL_VERSION,
  PROTOCOL_VERSION_META_KEY,
  SUPPORTED_PROTOCOL_VERSIONS,
  type Tool,
} from '@modelcontextprotocol/server';
import { Command } from 'commander';
import { mcpCommand } from '../commands/mcp.ts';
import { type McpCaller, scopedCaller } from '../mcp/caller.ts';
import { formatUse, STATIC_METHODS, VERSIONS_WITHOUT_INITIALIZE } from '../mcp/definition.ts';
import { serveStdio } from '../mcp/stdio.ts';
import { MCP_TOOLS } from '../mcp/tools.ts';
import { VERSION } from '../version.ts';
import { MARKS, type PreparedEra, type PreparedResponses, type PreparedTool } from './prepared.ts';

/** The revision whose requests name their revision, without `initialize`. */
const [REQUEST_REVISION] = VERSIONS_WITHOUT_INITIALIZE;

/** Maximum size of a message to the real server in bytes, far larger than a request without arguments. */
const MAX_MESSAGE_BYTES = 65_536;

/** The methods of the protocol. */
const METHODS: readonly string[] = ClientRequestSchema.options.map(({ shape }) => shape.method.value);

/** The methods whose results depend on nothing but options, by kind of revision. */
const ERA_METHODS: Record<'session' | 'request', readonly string[]> = {
  session: ['ping', ...STATIC_METHODS.filter((method) => method !== 'server/discover')],
  request: STATIC_METHODS,
};

const CLIENT = { name: 'build', version: VERSION };
const META = {
  [PROTOCOL_VERSION_META_KEY]: REQUEST_REVISION,
  [CLIENT_INFO_META_KEY]: CLIENT,
  [CLIENT_CAPABILITIES_META_KEY]: {},
};

/** Records the answers of the real server that do not depend on memories. */
export async function prepareAnswers(): Promise<PreparedResponses> {
  return {
    options: getOptions(),
    methods: METHODS,
    tools: await recordTools(),
    initialize: await recordEach(SUPPORTED_PROTOCOL_VERSIONS, (version) => ask([toInitialize(version)])),
    initializeOther: toMarked(await ask([toInitialize('other')])),
    session: await recordEra('session', (method) => ask([toInitialize(LATEST_PROTOCOL_VERSION), { method }])),
    request: await recordEra('request', (method) => ask([{ method, params: { _meta: META } }])),
    requestRevision: REQUEST_REVISION,
  };
}

/** Returns the options of `memoryd mcp`, and whether each takes a value. */
function getOptions(): Record<string, boolean> {
  const program = new Command();
  mcpCommand()(program, {});
  const options = program.commands.flatMap((command) => command.options);
  return Object.fromEntries(options.map(({ long, required }) => [String(long), required]));
}

async function recordTools(): Promise<PreparedTool[]> {
  const list = async (structured: boolean) => {
    const requests = [toInitialize(LATEST_PROTOCOL_VERSION), { method: 'tools/list' }];
    const { result } = await ask(requests, structured);
    return new Map(result?.tools?.map((tool) => [tool.name, JSON.stringify(tool)]));
  };
  const [listed, structured] = [await list(false), await list(true)];
  return MCP_TOOLS.map((tool) => ({
    name: tool.name,
    isForModels: tool.isForModels,
    isScoped: covers(SCOPED_CALLER.scope, tool.scope),
    use: formatUse(tool),
    listed: listed.get(tool.name) as string,
    structured: structured.get(tool.name) as string,
  }));
}

async function recordEra(
  era: 'session' | 'request',
  record: (method: string) => Promise<Outcome>,
): Promise<PreparedEra> {
  const { error } = await record('no/such/method');
  return { unknownMethod: JSON.stringify(error), results: await recordEach(ERA_METHODS[era], record) };
}

/** Returns the recorded results by name. */
async function recordEach(
  names: readonly string[],
  record: (name: string) => Promise<Outcome>,
): Promise<Record<string, string>> {
  const recorded: Record<string, string> = {};
  for (const name of names) recorded[name] = toMarked(await record(name));
  return recorded;
}

/** Returns a result as a JSON text with marks. */
function toMarked({ result, error }: Outcome): string {
  if (result === undefined) throw new Error(`the server answers with an error: ${JSON.stringify(error)}`);
  return JSON.stringify({
    ...result,
    ...(result.instructions !== undefined && { instructions: MARKS.instructions }),
    ...(result.tools !== undefined && { tools: MARKS.tools }),
  }).replaceAll(/"(\{\{\w+\}\})"/g, '$1');
}

function toInitialize(protocolVersion: string): Request {
  return { method: 'initialize', params: { protocolVersion, capabilities: {}, clientInfo: CLIENT } };
}

interface Request {
  method: string;
  params?: object;
}

interface Outcome {
  result?: { instructions?: string; tools?: Tool[] };
  error?: object;
}

// No prepared answer uses the memories of the caller.
const CALLER: McpCaller = { api: {} as MemoryApi, scope: 'operate' };
/** The caller of a process that is limited to a user or agent. */
const SCOPED_CALLER = scopedCaller(CALLER, { userId: 'any' });

/** Sends requests to a real server with all tools on a new connection. Returns the outcome of the last request. */
async function ask(requests: readonly Request[], structured = false): Promise<Outcome> {
  const [input, output] = [new PassThrough(), new PassThrough({ encoding: 'utf8' })];
  const connection = await serveStdio(CALLER, {
    version: VERSION,
    tools: MCP_TOOLS,
    structured,
    maxArgumentBytes: 0,
    maxMessageBytes: MAX_MESSAGE_BYTES,
    zone: createTimeZone('UTC'),
    onDefect(error) {
      throw error;
    },
    input,
    output,
  });
  let outcome: Outcome = {};
  for (const [id, request] of requests.entries()) {
    input.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...request })}\n`);
    const [line] = await once(output, 'data');
    outcome = JSON.parse(line);
  }
  await connection.close();
  return outcome;
}
