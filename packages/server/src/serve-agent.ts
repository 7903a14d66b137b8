import { Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { DEFAULTS, type MemoryScope } from '@memoryd/contract';
import { assertNamespace, ENGINE_DEFAULTS, type Telemetry, type TelemetryEvent } from '@memoryd/engine';
import { audited } from './audit.ts';
import { serviceAt } from './commands/memories.ts';
import { databaseName } from './database-name.ts';
import { logOutput, logTelemetry, toRecord } from './log.ts';
import { type McpCaller, scopedCaller } from './mcp/caller.ts';
import { type StdioConnection, serveStdio } from './mcp/stdio.ts';
import { maxMessageBytes, mcpOptions } from './mcp-options.ts';
import { getMessage } from './message-of.ts';
import { openDatabase } from './open-database.ts';
import type { Settings } from './settings/read.ts';
import { exitOnDefect, REQUESTS_GRACE_MS, STOP_LIMIT_MS } from './stop.ts';
import { VERSION } from './version.ts';

/** Whose memories the agent works with: all of a namespace, or those of a user or agent in it. */
interface AgentPlace {
  namespace: string | undefined;
  scope: MemoryScope | undefined;
}

/** Serves until standard input ends or the process is told to stop. */
export async function serveAgent(settings: Settings, agent: AgentPlace): Promise<void> {
  const output = protocolOutput();
  const logStream = logOutput('stderr');
  const log = logTelemetry(settings, logStream);
  let client: StdioConnection | undefined;
  const telemetry: Telemetry = {
    report(event) {
      log.report(event);
      if (client) tellClient(client, event, settings);
    },
  };
  const exit = (code: number): void => void logStream.end().then(() => process.exit(code));
  exitOnDefect(telemetry, exit);
  const { caller, place, close } = await openMemories(settings, agent, telemetry);
  client = await serveStdio(caller, {
    ...mcpOptions(settings, telemetry),
    input: process.stdin,
    output,
    maxMessageBytes: maxMessageBytes(settings),
  });
  const facts = { version: VERSION, ...place };
  telemetry.report({ level: 'info', component: 'mcp', event: 'agent_connected', facts });
  stopAtEnd({ client, close, output, telemetry, exit });
}

/** Whose memories an agent is given, and where they are as the log tells it. */
interface AgentMemories {
  caller: McpCaller;
  place: Record<string, string>;
  close(): Promise<void>;
}

async function openMemories(
  settings: Settings,
  { namespace = DEFAULTS.namespace, scope }: AgentPlace,
  telemetry: Telemetry,
): Promise<AgentMemories> {
  const { url, database, embedder } = settings;
  if (url !== '') {
    // What its key does not allow, the service refuses.
    const caller = scopedCaller({ api: await serviceAt(settings), scope: 'operate' }, scope);
    return { caller, place: { url }, close: async () => {} };
  }
  // An agent whose settings name no model is a guest of whoever has had the memories embedded.
  const keepModel = embedder === ENGINE_DEFAULTS.embedder;
  assertNamespace(namespace);
  const engine = await openDatabase(settings, telemetry, { keepModel });
  // Whoever may start this may read the file.
  const by = { namespace, address: 'stdio' };
  const api = audited(engine.namespace(namespace), by, telemetry);
  const caller = scopedCaller({ api, scope: 'operate' }, scope);
  return { caller, place: { database: databaseName(database), embedder }, close: () => engine.close() };
}

/**
 * Standard output for the protocol alone: what anything else in the process prints there goes to standard error, since
 * one foreign line ends the conversation with most clients.
 */
function protocolOutput(): Writable {
  const { stdout, stderr } = process;
  const write = stdout.write.bind(stdout);
  stdout.write = stderr.write.bind(stderr);
  const output = new Writable({
    decodeStrings: false,
    write: (chunk: string, _encoding, done) => void write(chunk, (error) => done(error)),
  });
  stdout.on('error', (error) => output.destroy(error));
  return output;
}

const LEVELS = { debug: 'debug', info: 'info', warn: 'warning', error: 'error' } as const;

function tellClient(client: StdioConnection, event: TelemetryEvent, { logQueries }: Settings): void {
  const { component, error, ...record } = toRecord(event, logQueries);
  const data = { ...record, ...(error !== undefined && { error: getMessage(error) }) };
  client.log(LEVELS[event.level], String(component), data);
}

interface Serving {
  client: StdioConnection;
  close: () => Promise<void>;
  output: Writable;
  telemetry: Telemetry;
  exit: (code: number) => void;
}

/**
 * Stops when the client has gone or the process is told to: what was asked is answered, and what is open is closed.
 * Exit code 0, or 1 where that fails, takes longer than nine seconds, or a message was too large. What is given up is in
 * the log.
 */
function stopAtEnd({ client, close, output, telemetry, exit }: Serving): void {
  let stopping = false;
  const stop = async (reason: string): Promise<void> => {
    if (stopping) return;
    stopping = true;
    setTimeout(() => {
      const facts = { why: 'the time for stopping is up' };
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
