import { Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { assertNamespace, createTimeZone, DEFAULTS, MemoryError, type MemoryScope } from '@memoryd/contract';
import type { Telemetry, TelemetryEvent } from '@memoryd/engine';
import { ENGINE_DEFAULTS, getDatabaseName } from '@memoryd/engine/defaults';
import { audited } from './audit.ts';
import { isThere } from './commands/database.ts';
import { serviceAt } from './commands/memories.ts';
import { openOnDemand } from './database-on-demand.ts';
import { getMessage } from './error-text.ts';
import { logOutput, logTelemetry, toRecord } from './log.ts';
import { type McpCaller, scopedCaller } from './mcp/caller.ts';
import type { StdioConnection } from './mcp/stdio.ts';
import { chooseTools, type McpTool, TOOLS_MUST } from './mcp/tools.ts';
import type { AgentInput } from './mcp-front/agent-input.ts';
import { createRepeatFilter } from './mcp-front/repeat-filter.ts';
import { getMessageSetting, mcpOptions } from './mcp-options.ts';
import type { Settings } from './settings/read.ts';
import { exitOnDefect, REQUESTS_GRACE_MS, STOP_LIMIT_MS } from './stop.ts';
import { UsageError } from './usage-error.ts';
import { VERSION } from './version.ts';

/** Agents end a call after a minute, so a call reports a service that does not respond in `RETRIES` more attempts before. */
const SERVICE_LIMITS = { attemptTimeoutMs: 15_000 } as const;

/** The memories that the agent can access: all memories of a namespace, or the memories of a user, an agent or both. */
interface AgentScope {
  namespace: string | undefined;
  scope: MemoryScope | undefined;
}

/** The options of the connection. */
interface AgentOptions {
  /** A choice of tools. Default: the tools for models. */
  tools?: string;
  /** Whether results have structured content. */
  structured?: boolean;
  /** Standard input whose first messages were answered before. Default: standard input as it is. */
  input?: AgentInput | undefined;
}

/**
 * Starts serving one agent. The process stops when the connection ends or a signal is received. The first call that
 * needs memories opens the database.
 *
 * @throws UsageError for a choice that names an unknown tool
 * @throws MemoryError INVALID_REQUEST for an invalid namespace, user or agent
 */
export async function serveAgent(
  settings: Settings,
  agent: AgentScope,
  { tools, structured = false, input }: AgentOptions = {},
): Promise<void> {
  const chosenTools = toTools(tools);
  const logStream = logOutput('stderr');
  const log = logTelemetry(settings, logStream);
  let client: StdioConnection | undefined;
  const telemetry: Telemetry = {
    report(event) {
      log.report(event);
      if (client) notifyClient(client, event, settings);
    },
  };
  const exit = (code: number): void => void logStream.end().then(() => process.exit(code));
  exitOnDefect(telemetry, exit);
  const { caller, place, close } = await openMemories(settings, agent, telemetry);
  const zone = createTimeZone(settings.timezone);
  const stdio = input?.isOver ? undefined : await import('./mcp/stdio.ts');
  if (!stdio || input?.isOver) return exit(0);
  const output = protocolOutput(createRepeatFilter(input?.take() ?? []));
  client = await stdio.serveStdio(caller, {
    ...mcpOptions(settings, telemetry, zone),
    tools: chosenTools,
    structured,
    input: process.stdin,
    output,
    maxMessageBytes: settings[getMessageSetting(settings)],
  });
  const facts = { version: VERSION, ...place };
  telemetry.report({ level: 'info', component: 'mcp', event: 'agent_connected', facts });
  stopAtEnd({ client, close, output, telemetry, exit });
  input?.resume();
}

/** @throws UsageError for a choice that names an unknown tool */
function toTools(choice: string | undefined): readonly McpTool[] {
  const tools = chooseTools(choice);
  if (tools) return tools;
  throw new UsageError(`--tools must ${TOOLS_MUST}`);
}

/** The memories of an agent, and their location as facts for the log. */
interface AgentMemories {
  caller: McpCaller;
  place: Record<string, string>;
  close(): Promise<void>;
}

async function openMemories(
  settings: Settings,
  { namespace = DEFAULTS.namespace, scope }: AgentScope,
  telemetry: Telemetry,
): Promise<AgentMemories> {
  const { url, database, embedder } = settings;
  if (url !== '') {
    // The service limits operations to the scope of its API key.
    const caller = scopedCaller({ api: await serviceAt(settings, SERVICE_LIMITS), scope: 'operate' }, scope);
    return { caller, place: { url }, close: async () => {} };
  }
  // With the default embedder, vectors of another model in the database are not replaced; recall then uses words only.
  const keepModel = embedder === ENGINE_DEFAULTS.embedder;
  assertNamespace(namespace);
  // Created by the first store only, because some clients start the command just to list its tools.
  const { api, close } = openOnDemand({
    exists: () => isThere(database),
    async open() {
      const { openDatabase } = await import('./open-database.ts');
      const engine = await openDatabase(settings, telemetry, { keepModel }).catch((error) => {
        telemetry.report({ level: 'error', component: 'mcp', event: 'open_failed', error });
        throw toReason(error);
      });
      // No API key: a user who can start this process can also read the database.
      const by = { namespace, address: 'stdio' };
      return { api: audited(engine.namespace(namespace), by, telemetry), close: () => engine.close() };
    },
  });
  const caller = scopedCaller({ api, scope: 'operate' }, scope);
  return { caller, place: { database: getDatabaseName(database), embedder }, close };
}

/**
 * Returns the error of a call whose database cannot be opened. A user who can start this process may read the reason,
 * unlike the callers of a server.
 */
function toReason(error: unknown): MemoryError {
  return error instanceof MemoryError ? error : new MemoryError('UNAVAILABLE', getMessage(error), { cause: error });
}

/**
 * Reserves standard output for the protocol, and returns a stream to it. Redirects `process.stdout.write` to standard
 * error, because most clients disconnect at a line that is not a protocol message.
 *
 * @param isRepeat returns whether a line was sent before, and is dropped
 */
function protocolOutput(isRepeat: (line: string) => boolean): Writable {
  const { stdout, stderr } = process;
  const write = stdout.write.bind(stdout);
  stdout.write = stderr.write.bind(stderr);
  const output = new Writable({
    decodeStrings: false,
    write: (chunk: string, _encoding, done) => void (isRepeat(chunk) ? done() : write(chunk, (error) => done(error))),
  });
  stdout.on('error', (error) => output.destroy(error));
  return output;
}

const LEVELS = { debug: 'debug', info: 'info', warn: 'warning', error: 'error' } as const;

function notifyClient(client: StdioConnection, event: TelemetryEvent, { logQueries }: Settings): void {
  const { component, error, ...record } = toRecord(event, logQueries);
  const data = { ...record, ...(error !== undefined && { error: getMessage(error) }) };
  client.log(LEVELS[event.level], String(component), data);
}

interface AgentProcess {
  client: StdioConnection;
  close: () => Promise<void>;
  output: Writable;
  telemetry: Telemetry;
  exit: (code: number) => void;
}

/**
 * Stops the process when the connection ends or a signal is received: waits for pending responses up to the grace
 * period, and closes everything. The exit code is 1 if stopping fails or exceeds `STOP_LIMIT_MS`, or a message was too
 * large; otherwise 0. The log reports whether requests were cut off.
 */
function stopAtEnd({ client, close, output, telemetry, exit }: AgentProcess): void {
  let stopping = false;
  const stop = async (reason: string): Promise<void> => {
    if (stopping) return;
    stopping = true;
    setTimeout(() => {
      const facts = { why: 'the stop timeout expired' };
      telemetry.report({ level: 'error', component: 'mcp', event: 'stop_forced', facts });
      exit(1);
    }, STOP_LIMIT_MS).unref();
    const level = reason === 'message too large' ? 'error' : 'info';
    telemetry.report({ level, component: 'mcp', event: 'agent_disconnected', facts: { reason } });
    try {
      const answered = client.answered().then(() => true);
      if (!(await Promise.race([answered, delay(REQUESTS_GRACE_MS, false)]))) {
        telemetry.report({ level: 'warn', component: 'mcp', event: 'requests_cut' });
      }
      await client.close();
      await close();
      await flushed(output);
      exit(level === 'error' ? 1 : 0);
    } catch (error) {
      telemetry.report({ level: 'error', component: 'mcp', event: 'stop_failed', error });
      exit(1);
    }
  };
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
  void client.ended.then(stop);
}

function flushed(output: Writable): Promise<void> {
  if (output.destroyed) return Promise.resolve();
  return new Promise((resolve) => output.end(resolve));
}
