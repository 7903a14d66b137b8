import { Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { DEFAULTS } from '@memoryd/contract';
import type { Engine, Telemetry, TelemetryEvent } from '@memoryd/engine';
import { endOutput, logOutput, logTelemetry, recordOf } from '../log.ts';
import type { Caller } from '../mcp/caller.ts';
import type { StdioConnection } from '../mcp/stdio.ts';
import { maxMessageBytes, mcpOptions } from '../mcp-options.ts';
import { databaseName, messageOf, openDatabase } from '../open-database.ts';
import { DATABASE_SETTINGS, readSettings, type Settings, settingOptions } from '../settings.ts';
import { exitOnDefect, REQUESTS_GRACE_MS, STOP_LIMIT_MS } from '../stop.ts';
import { VERSION } from '../version.ts';
import { type AddCommand, withOptions } from './command.ts';

const DESCRIPTION =
  'Serve memories to one agent on standard input and output, by the Model Context Protocol. The log goes to standard ' +
  'error. Several may use one file at once, beside a server too.';

/** `memoryd mcp`, with every setting but those of a listener on the network. */
export function mcpCommand(): AddCommand {
  return (program, env) => {
    const command = program.command('mcp').description(DESCRIPTION);
    const options = settingOptions([
      ...DATABASE_SETTINGS,
      ...(['embedder', 'embeddingUrl', 'embeddingApiKey', 'llmUrl', 'llmModel', 'llmApiKey'] as const),
      ...(['sleepIntervalSeconds', 'workingAgeSeconds', 'archiveDays'] as const),
      ...(['workingMax', 'episodicMax', 'semanticMax', 'namespaceMaxMemories', 'namespaceMaxBytes'] as const),
      ...(['maxBodyBytes', 'maxBatchBodyBytes', 'maxAnswerBytes', 'logLevel', 'logQueries'] as const),
    ]);
    withOptions(command, options).action((flags) => serveAgent(readSettings(flags, env)));
  };
}

/** Serves until standard input ends or the process is told to stop. */
async function serveAgent(settings: Settings): Promise<void> {
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
  const exit = (code: number): void => void endOutput(logStream).then(() => process.exit(code));
  exitOnDefect(telemetry, exit);
  const engine = await openDatabase(settings, telemetry);
  // The library of the protocol is large, and no other command needs it.
  const { serveStdio } = await import('../mcp/stdio.ts');
  // Whoever may start this may read the file.
  const caller: Caller = { api: engine.namespace(DEFAULTS.namespace), scope: 'operate' };
  client = await serveStdio(caller, {
    ...mcpOptions(settings, telemetry),
    input: process.stdin,
    output,
    maxMessageBytes: maxMessageBytes(settings),
  });
  const facts = { version: VERSION, database: databaseName(settings.database), embedder: settings.embedder };
  telemetry.report({ level: 'info', component: 'mcp', event: 'agent_connected', facts });
  stopAtEnd({ client, engine, output, telemetry, exit });
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
  const { component, error, ...record } = recordOf(event, logQueries);
  const data = { ...record, ...(error !== undefined && { error: messageOf(error) }) };
  client.log(LEVELS[event.level], String(component), data);
}

interface Serving {
  client: StdioConnection;
  engine: Engine;
  output: Writable;
  telemetry: Telemetry;
  exit: (code: number) => void;
}

/**
 * Stops when the client has gone or the process is told to: what was asked is answered, the engine writes and closes.
 * Exit code 0, or 1 where that fails, takes longer than ten seconds, or a message was too large.
 */
function stopAtEnd({ client, engine, output, telemetry, exit }: Serving): void {
  let stopping = false;
  const stop = async (reason: string): Promise<void> => {
    if (stopping) return;
    stopping = true;
    setTimeout(() => process.exit(1), STOP_LIMIT_MS).unref();
    const level = reason === 'message too large' ? 'error' : 'info';
    telemetry.report({ level, component: 'mcp', event: 'agent_disconnected', facts: { reason } });
    try {
      await Promise.race([client.answered(), delay(REQUESTS_GRACE_MS)]);
      await client.close();
      await engine.close();
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
