import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { connect, type HttpClient } from './http-client.ts';
import { getSchema } from './server-database.ts';

const serverFolder = fileURLToPath(new URL('../../packages/server', import.meta.url));
const HOST = '127.0.0.1';
const START_TIMEOUT_MS = 120_000;
const STOP_TIMEOUT_MS = 60_000;
const POLL_INTERVAL_MS = 5;
const SHOWN_LOG_CHARS = 4000;

export interface ServerOptions {
  /** Holds the database, in `database/`, and the server's log. */
  folder: string;
  /** Variables that the server sees beside those of this process. */
  environment: Record<string, string>;
  /** Address of a PostgreSQL server, on which the folder stands for a database; a file in the folder where absent. */
  databaseUrl?: string | undefined;
  /** Most connections of the client. */
  connections: number;
  signal: AbortSignal;
  /** Asked again and again until it resolves; from then on the server counts as started. */
  firstAnswer: (client: HttpClient) => Promise<unknown>;
}

/** A memoryd server that runs as a child process, and a client of it. */
export interface RunningServer {
  client: HttpClient;
  /** Where it answers, such as `http://127.0.0.1:8090`. */
  origin: string;
  pid: number;
  /** From the start of the process to the first answer. */
  firstAnswerMs: number;
  /** Holds the database file and whatever the server keeps beside it. */
  databaseFolder: string;
}

/** A server that its starter has to stop. */
interface StartedServer extends RunningServer {
  /** An error with the end of the server's log where it comes from the server's having ended. */
  explain(error: unknown): unknown;
  stop(): Promise<void>;
}

/** A server counts as started when it says that it is healthy. */
export async function healthy(client: HttpClient): Promise<void> {
  const { status } = await client.health();
  if (status !== 'healthy') throw new Error(`the server is ${status}`);
}

/** Starts a server, gives it to `use`, and stops it afterwards, also when `use` fails or this process exits. */
export async function withServer<T>(options: ServerOptions, use: (server: RunningServer) => Promise<T>): Promise<T> {
  const server = await startServer(options);
  try {
    return await use(server);
  } catch (error) {
    throw server.explain(error);
  } finally {
    await server.stop();
  }
}

/** Starts a server, which ends with this process at the latest. */
export async function startServer(options: ServerOptions): Promise<StartedServer> {
  const databaseFolder = join(options.folder, 'database');
  const logPath = join(options.folder, 'server.log');
  mkdirSync(databaseFolder, { recursive: true });
  const port = await findFreePort();
  const startedAtMs = performance.now();
  const database = await databaseVariables(options, databaseFolder);
  const child = launch(port, logPath, { ...options.environment, ...database });
  const kill = (): void => void child.kill('SIGKILL');
  process.prependOnceListener('exit', kill);
  const origin = `http://${HOST}:${port}`;
  const client = connect(origin, options.connections, options.signal);
  const explain = (error: unknown): unknown => (hasEnded(child) ? serverEnded(child, logPath, error) : error);
  const stop = async (): Promise<void> => {
    await client.close();
    await stopProcess(child);
    process.off('exit', kill);
  };
  try {
    await untilAnswered(child, client, options);
  } catch (error) {
    const explained = explain(error);
    await stop();
    throw explained;
  }
  const firstAnswerMs = performance.now() - startedAtMs;
  return { client, origin, pid: child.pid ?? 0, firstAnswerMs, databaseFolder, explain, stop };
}

function serverEnded(child: ChildProcess, logPath: string, cause: unknown): Error {
  const log = readFileSync(logPath, 'utf8').slice(-SHOWN_LOG_CHARS);
  return new Error(`the server ended (${child.exitCode ?? child.signalCode}); its log ends with\n${log}`, { cause });
}

// In the environment, since an address holds a password.
async function databaseVariables({ databaseUrl }: ServerOptions, folder: string): Promise<Record<string, string>> {
  if (databaseUrl === undefined) return { SERVICE_DB_PATH: join(folder, 'bench.db') };
  return { SERVICE_DATABASE_URL: await getSchema(folder, databaseUrl) };
}

function launch(port: number, logPath: string, environment: Record<string, string>): ChildProcess {
  // The log goes to a file, as it would in service: reading it here would take time from the measured requests.
  const log = openSync(logPath, 'a');
  const parameters = ['--host', HOST, '--port', String(port)];
  const child = spawn(process.execPath, [serverFolder, ...parameters], {
    stdio: ['ignore', log, log],
    env: { ...process.env, ...environment },
  });
  closeSync(log);
  child.on('error', (error) => process.stderr.write(`the server did not start: ${error.message}\n`));
  return child;
}

async function untilAnswered(child: ChildProcess, client: HttpClient, options: ServerOptions): Promise<void> {
  const deadlineMs = performance.now() + START_TIMEOUT_MS;
  while (true) {
    try {
      await options.firstAnswer(client);
      return;
    } catch (error) {
      options.signal.throwIfAborted();
      if (hasEnded(child) || performance.now() > deadlineMs) {
        throw new Error('the server gave no first answer', { cause: error });
      }
    }
    await sleep(POLL_INTERVAL_MS, undefined, { signal: options.signal });
  }
}

async function stopProcess(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  const deadline = killAfterTimeout(child);
  await ended;
  clearTimeout(deadline);
}

function killAfterTimeout(child: ChildProcess): NodeJS.Timeout {
  return setTimeout(() => {
    process.stderr.write(`the server did not stop within ${STOP_TIMEOUT_MS / 1000} s and was killed\n`);
    child.kill('SIGKILL');
  }, STOP_TIMEOUT_MS);
}

function hasEnded(child: ChildProcess): boolean {
  return child.pid === undefined || child.exitCode !== null || child.signalCode !== null;
}

function findFreePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, HOST, () => {
      const address = probe.address();
      probe.close(() => {
        if (address !== null && typeof address === 'object') resolve(address.port);
        else reject(new Error('found no free port'));
      });
    });
  });
}
