import { type ChildProcess, spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll } from 'vitest';
import { databaseEnvironment, databaseFlags, newDatabase } from './databases.ts';
import { createTemporaryFolder } from './folders.ts';
import { send } from './http.ts';
import { type Exit, type RunningServer, type ServerOptions, ServerUnderTest, splitLines } from './server.ts';

export { createTemporaryFolder } from './folders.ts';

const START_TIMEOUT_MS = 30_000;
const STOP_TIMEOUT_MS = 15_000;
const serverPackage = fileURLToPath(new URL('..', import.meta.url));

export interface ProcessOptions extends ServerOptions, ProcessEnvironment {
  /** Further arguments of `memoryd`. */
  flags?: readonly string[];
}

/** Environment of a server process. */
export interface ProcessEnvironment {
  /** A wrapper command that executes or traces the server process, such as `['prlimit', '--fsize=0']`. */
  under?: readonly string[];
  /** User id; that of the test process if absent. */
  uid?: number;
  /** Working directory; that of the test process if absent. */
  cwd?: string;
}

/** A server process whose `/health` has returned 200. */
export interface ServerProcess extends RunningServer {
  pid: number;
  /** Stops reading standard output until the process has exited. */
  leaveUnread(): void;
  /** Closes standard input. */
  endInput(): void;
  /** Shuts the process down gracefully. Further calls return the same exit. */
  stop(signal?: 'SIGTERM' | 'SIGINT'): Promise<Exit>;
  /** Kills the process with SIGKILL. */
  kill(): Promise<Exit>;
}

const children = new Set<ChildProcess>();

afterAll(() => {
  for (const child of children) child.kill('SIGKILL');
});

/**
 * Returns a free port. It lies below the range of ephemeral ports, so no outgoing connection takes it before the server
 * does.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 50; attempt += 1) {
    const port = 10_000 + Math.floor(Math.random() * 20_000);
    if (await isFree(port)) return port;
  }
  throw new Error('no free port found in 50 attempts');
}

/**
 * Starts a server process and resolves once `/health` returns 200. Rejects with the output of the process if it exits or
 * does not respond in time. The system chooses the port, which is read from the log. With a port chosen by the test,
 * another server could already listen on it and respond in place of this one.
 */
export async function startProcess(options: ProcessOptions = {}): Promise<ServerProcess> {
  const database = options.dbPath ?? options.database ?? (await newDatabase());
  const args = ['--host', '127.0.0.1', '--port', '0', ...databaseFlags(database), ...(options.flags ?? [])];
  const process = launch(args, { ...databaseEnvironment(database), ...options.env }, options);
  const port = await getPort(process);
  await untilHealthy(port, process);
  const stop = (signal: 'SIGTERM' | 'SIGINT' = 'SIGTERM') => process.end(signal);
  return Object.assign(new ServerUnderTest(port, database, process.output, stop), {
    pid: process.pid,
    leaveUnread: process.leaveUnread,
    endInput: process.endInput,
    stop,
    kill: () => process.end('SIGKILL'),
  });
}

/** Runs `memoryd` with these arguments until it exits. */
export async function runServer(
  args: string[],
  env?: Record<string, string>,
  environment?: ProcessEnvironment,
): Promise<Exit> {
  return withTimeout(launch(args, env, environment).exited, START_TIMEOUT_MS, 'the server to exit');
}

export interface Launched {
  pid: number;
  exited: Promise<Exit>;
  hasExited(): boolean;
  /** Everything written to standard output so far. */
  output(): string;
  lines(): string[];
  /** Writes to standard input. */
  write(input: string | Uint8Array): void;
  /** Closes standard input. */
  endInput(): void;
  /** Stops reading standard output until the process has exited. */
  leaveUnread(): void;
  /** Closes the test's ends of all three standard streams, as the death of the parent process would. */
  hangUp(): void;
  end(signal: NodeJS.Signals): Promise<Exit>;
}

/** Returns the command, arguments and environment that start `memoryd`. */
export function getCommand(args: string[], env: Record<string, string> = {}) {
  const home = createTemporaryFolder();
  const { PATH = '', NODE_COMPILE_CACHE } = process.env;
  return {
    command: 'node',
    args: [serverPackage, ...args],
    // Does not inherit the environment: SERVICE_* or NODE_ENV variables would change the behavior under test.
    env: {
      PATH,
      ...(NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE }),
      HOME: home,
      XDG_DATA_HOME: join(home, 'data'),
      ...env,
    },
  };
}

/** Starts the process with exactly these arguments, without waiting until it responds. */
export function launch(
  args: string[],
  env: Record<string, string> = {},
  { under = [], uid, cwd }: ProcessEnvironment = {},
): Launched {
  const start = getCommand(args, env);
  const [command = start.command, ...rest] = [...under, start.command, ...start.args];
  const child = spawn(command, rest, {
    ...(uid !== undefined && { uid, gid: uid }),
    ...(cwd !== undefined && { cwd }),
    env: start.env,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  // Ignores write errors after the process has exited; `exited` reports the exit.
  child.stdin.on('error', () => undefined);
  children.add(child);
  let stdout = '';
  let stderr = '';
  let ended = false;
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const exited = new Promise<Exit>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      ended = true;
      children.delete(child);
      resolve({ code, stdout, stderr });
    });
  });
  return {
    pid: child.pid ?? 0,
    exited,
    hasExited: () => ended,
    output: () => stdout,
    lines: () => splitLines(stdout),
    write: (input) => void child.stdin.write(input),
    endInput: () => void child.stdin.end(),
    leaveUnread: () => {
      child.stdout.pause();
      child.once('exit', () => child.stdout.resume());
    },
    hangUp: () => {
      for (const stream of child.stdio) stream?.destroy();
    },
    end: (signal) => {
      if (!ended) child.kill(signal);
      return withTimeout(exited, STOP_TIMEOUT_MS, `the server to exit after ${signal}`);
    },
  };
}

/** Waits until the log contains the port on which the server listens, and returns it. */
async function getPort(launched: Launched): Promise<number> {
  const port = await eventually('the server to start', START_TIMEOUT_MS, async () => {
    if (launched.hasExited()) await throwOutput(launched);
    return /"server_started","url":"[^"]*:(\d+)"/.exec(launched.output())?.[1];
  });
  return Number(port);
}

async function throwOutput(launched: Launched): Promise<never> {
  const { code, stdout, stderr } = await launched.exited;
  throw new Error(`the server exited with ${code} instead of starting\n${stdout}\n${stderr}`);
}

/** Waits until `/health` returns 200. */
export async function untilHealthy(port: number, launched: Launched): Promise<void> {
  const deadline = Date.now() + START_TIMEOUT_MS;
  while (Date.now() < deadline) {
    if (launched.hasExited()) await throwOutput(launched);
    const status = await send(port, { path: '/health' }).then(
      (answer) => answer.status,
      () => 0,
    );
    if (status === 200) return;
    await delay(25);
  }
  const { stdout, stderr } = await launched.end('SIGKILL');
  throw new Error(`/health did not return 200 within ${START_TIMEOUT_MS} ms\n${stdout}\n${stderr}`);
}

/** Polls `check` every 50 ms and returns its first result that is not `undefined`. Rejects after `timeoutMs`. */
export async function eventually<T>(
  condition: string,
  timeoutMs: number,
  check: () => Promise<T | undefined> | T | undefined,
): Promise<T> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const result = await check();
    if (result !== undefined) return result;
    if (Date.now() >= deadline) throw new Error(`timed out after ${timeoutMs} ms waiting for ${condition}`);
    await delay(50);
  }
}

async function withTimeout<T>(promise: Promise<T>, timeoutMs: number, condition: string): Promise<T> {
  const stop = new AbortController();
  const timeout = delay(timeoutMs, undefined, { signal: stop.signal }).then(() => {
    throw new Error(`timed out after ${timeoutMs} ms waiting for ${condition}`);
  });
  try {
    return await Promise.race([promise, timeout]);
  } finally {
    timeout.catch(() => undefined);
    stop.abort();
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
}
