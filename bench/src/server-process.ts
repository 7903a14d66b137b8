import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { connect, type HttpClient } from './http-client.ts';
import { getSchemaUrl } from './server-database.ts';

const OWN_CHECKOUT = fileURLToPath(new URL('../..', import.meta.url));
const HOST = '127.0.0.1';
/** Database file in the folder `database/`. */
export const DATABASE_FILE = 'bench.db';
const START_TIMEOUT_MS = 120_000;
const STOP_TIMEOUT_MS = 60_000;
const POLL_INTERVAL_MS = 5;
const MAX_LOG_CHARS = 4000;

export interface ServerOptions {
  /** Folder for the database, in `database/`, and the server's log. */
  folder: string;
  /** The built checkout whose server is started. Defaults to the checkout of this file. */
  checkout?: string | undefined;
  /** Environment variables of the server, in addition to those of this process. */
  environment: Record<string, string>;
  /** URL of a PostgreSQL server, on which the folder gets its own schema. If omitted, the database is a file. */
  databaseUrl?: string | undefined;
  /** Maximum number of client connections. */
  connections: number;
  signal: AbortSignal;
  /** Request that is retried until it succeeds. The server has started when the request succeeds. */
  probe: (client: HttpClient) => Promise<unknown>;
}

/** A memoryd server in a child process, with a client. */
export interface RunningServer {
  client: HttpClient;
  /** Such as `http://127.0.0.1:8090`. */
  origin: string;
  pid: number;
  /** Time from the start of the process until the probe succeeds. */
  firstResponseMs: number;
  /** Folder of the database file and the server's files next to it. */
  databaseFolder: string;
}

/** A server that the caller must stop. */
interface ServerHandle extends RunningServer {
  /** Returns the error. If the server has exited, returns an error with the end of the server's log instead. */
  explainError(error: unknown): unknown;
  stop(): Promise<void>;
}

/** Rejects unless the server reports that it is healthy. */
export async function assertHealthy(client: HttpClient): Promise<void> {
  const { status, reason } = await client.health();
  if (status !== 'healthy') throw new Error(`the server must be healthy, but is ${status} (${reason})`);
}

/** Runs `use` with a new server, and stops the server afterwards, even if `use` fails or this process exits. */
export async function withServer<T>(options: ServerOptions, use: (server: RunningServer) => Promise<T>): Promise<T> {
  const server = await startServer(options);
  try {
    return await use(server);
  } catch (error) {
    throw server.explainError(error);
  } finally {
    await server.stop();
  }
}

/** Starts a server, which is killed when this process exits. */
export async function startServer(options: ServerOptions): Promise<ServerHandle> {
  const databaseFolder = join(options.folder, 'database');
  const logPath = join(options.folder, 'server.log');
  mkdirSync(databaseFolder, { recursive: true });
  const port = await findFreePort();
  const startedAtMs = performance.now();
  const database = await getDatabaseVariables(options, databaseFolder);
  const child = spawnServer(options.checkout ?? OWN_CHECKOUT, port, logPath, { ...options.environment, ...database });
  const kill = (): void => void child.kill('SIGKILL');
  process.prependOnceListener('exit', kill);
  const origin = `http://${HOST}:${port}`;
  const client = connect(origin, options.connections, options.signal);
  const explainError = (error: unknown): unknown => (hasExited(child) ? createExitError(child, logPath, error) : error);
  const stop = async (): Promise<void> => {
    await client.close();
    await stopProcess(child);
    process.off('exit', kill);
  };
  try {
    await waitForProbe(child, client, options);
  } catch (error) {
    const explained = explainError(error);
    await stop();
    throw explained;
  }
  const firstResponseMs = performance.now() - startedAtMs;
  return { client, origin, pid: child.pid ?? 0, firstResponseMs, databaseFolder, explainError, stop };
}

function createExitError(child: ChildProcess, logPath: string, cause: unknown): Error {
  const log = readFileSync(logPath, 'utf8').slice(-MAX_LOG_CHARS);
  return new Error(`the server exited (${child.exitCode ?? child.signalCode}); its log ends with\n${log}`, { cause });
}

// The URL is passed in the environment and not as an argument, because the URL may contain a password.
async function getDatabaseVariables({ databaseUrl }: ServerOptions, folder: string): Promise<Record<string, string>> {
  if (databaseUrl === undefined) return { SERVICE_DB_PATH: join(folder, DATABASE_FILE) };
  return { SERVICE_DATABASE_URL: await getSchemaUrl(folder, databaseUrl) };
}

function spawnServer(
  checkout: string,
  port: number,
  logPath: string,
  environment: Record<string, string>,
): ChildProcess {
  // The log goes to a file, as in production. Reading the log in this process would slow the measured requests down.
  const log = openSync(logPath, 'a');
  const parameters = ['--host', HOST, '--port', String(port)];
  const child = spawn(process.execPath, [join(checkout, 'packages/server'), ...parameters], {
    stdio: ['ignore', log, log],
    env: { ...process.env, ...environment },
  });
  closeSync(log);
  child.on('error', (error) => process.stderr.write(`cannot start the server: ${error.message}\n`));
  return child;
}

async function waitForProbe(child: ChildProcess, client: HttpClient, options: ServerOptions): Promise<void> {
  const deadlineMs = performance.now() + START_TIMEOUT_MS;
  while (true) {
    try {
      await options.probe(client);
      return;
    } catch (error) {
      options.signal.throwIfAborted();
      if (hasExited(child) || performance.now() > deadlineMs) {
        const reason = error instanceof Error ? error.message : String(error);
        throw new Error(`the server did not start within ${START_TIMEOUT_MS / 1000} s: ${reason}`, { cause: error });
      }
    }
    await sleep(POLL_INTERVAL_MS, undefined, { signal: options.signal });
  }
}

async function stopProcess(child: ChildProcess): Promise<void> {
  if (hasExited(child)) return;
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

function hasExited(child: ChildProcess): boolean {
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
        else reject(new Error('no free port was found; retry'));
      });
    });
  });
}
