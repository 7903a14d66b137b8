import { type ChildProcess, spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll } from 'vitest';
import { databaseEnvironment, databaseFlags, newDatabase } from './databases.ts';
import { temporaryFolder } from './folders.ts';
import { send } from './http.ts';
import { type Exit, type RunningServer, type ServerOptions, ServerUnderTest, splitLines } from './server.ts';

export { temporaryFolder } from './folders.ts';

const START_TIMEOUT_MS = 30_000;
const STOP_TIMEOUT_MS = 15_000;
const serverPackage = fileURLToPath(new URL('..', import.meta.url));

export interface ProcessOptions extends ServerOptions, Surroundings {}

/** What a server's process is run in. */
export interface Surroundings {
  /** A command that becomes the server's process, or watches it, such as `['prlimit', '--fsize=0']`. */
  under?: readonly string[];
  /** The user that it runs as; this process's where absent. */
  uid?: number;
  /** Its working directory; this process's where absent. */
  cwd?: string;
}

/** A server process that has answered `/health`. */
export interface ServerProcess extends RunningServer {
  pid: number;
  /** Reads no more of its standard output until it has ended. */
  leaveUnread(): void;
  /** Ends the process in order. Calling it again answers the same exit. */
  stop(signal?: 'SIGTERM' | 'SIGINT'): Promise<Exit>;
  /** Ends the process as a power failure would. */
  kill(): Promise<Exit>;
}

const children = new Set<ChildProcess>();

afterAll(() => {
  for (const child of children) child.kill('SIGKILL');
});

/**
 * A port that nobody listens on. It lies below the range from which the system gives ports to outgoing connections,
 * so that none of them takes it before the server does.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 50; attempt += 1) {
    const port = 10_000 + Math.floor(Math.random() * 20_000);
    if (await isFree(port)) return port;
  }
  throw new Error('no free port found in 50 attempts');
}

/**
 * Starts a server process and resolves when it answers `/health`. Rejects with its output when it ends or stays silent.
 * The system chooses the port, and the log tells it: of two servers that were given one, the later would end while the
 * other answers in its place.
 */
export async function startProcess(options: ProcessOptions = {}): Promise<ServerProcess> {
  const database = options.dbPath ?? options.database ?? (await newDatabase());
  const args = ['--host', '127.0.0.1', '--port', '0', ...databaseFlags(database)];
  const process = launch(args, { ...databaseEnvironment(database), ...options.env }, options);
  const port = await getPort(process);
  await untilHealthy(port, process);
  const stop = (signal: 'SIGTERM' | 'SIGINT' = 'SIGTERM') => process.end(signal);
  return Object.assign(new ServerUnderTest(port, database, process.output, stop), {
    pid: process.pid,
    leaveUnread: process.leaveUnread,
    stop,
    kill: () => process.end('SIGKILL'),
  });
}

/** Runs the server with these arguments until it ends by itself. */
export async function runServer(
  args: string[],
  env?: Record<string, string>,
  surroundings?: Surroundings,
): Promise<Exit> {
  return within(launch(args, env, surroundings).exited, START_TIMEOUT_MS, 'the server to end by itself');
}

export interface Launched {
  pid: number;
  exited: Promise<Exit>;
  hasExited(): boolean;
  /** Everything written to standard output until now. */
  output(): string;
  lines(): string[];
  /** Writes to its standard input. */
  write(input: string | Uint8Array): void;
  /** Ends its standard input. */
  endInput(): void;
  /** Reads no more of its standard output until it has ended. */
  leaveUnread(): void;
  /** Closes the test's ends of all three standard streams, as the death of whoever started the process would. */
  hangUp(): void;
  end(signal: NodeJS.Signals): Promise<Exit>;
}

/** How to start the command: what a program is given to start it by itself. */
export function getCommand(args: string[], env: Record<string, string> = {}) {
  const home = temporaryFolder();
  const { PATH = '', NODE_COMPILE_CACHE } = process.env;
  return {
    command: 'node',
    args: [serverPackage, ...args],
    // The surrounding environment stays outside: its SERVICE_* or NODE_ENV would change what is tested.
    env: {
      PATH,
      ...(NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE }),
      HOME: home,
      XDG_DATA_HOME: join(home, 'data'),
      ...env,
    },
  };
}

/** Starts the server's process with exactly these arguments, without waiting for it to answer. */
export function launch(
  args: string[],
  env: Record<string, string> = {},
  { under = [], uid, cwd }: Surroundings = {},
): Launched {
  const start = getCommand(args, env);
  const [command = start.command, ...rest] = [...under, start.command, ...start.args];
  const child = spawn(command, rest, {
    ...(uid !== undefined && { uid, gid: uid }),
    ...(cwd !== undefined && { cwd }),
    env: start.env,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  // A process that has ended takes no more, which its exit tells.
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
      return within(exited, STOP_TIMEOUT_MS, `the server to end after ${signal}`);
    },
  };
}

/** The port that a server which was told to take any listens on. */
async function getPort(launched: Launched): Promise<number> {
  const port = await eventually('the server to start', START_TIMEOUT_MS, async () => {
    if (launched.hasExited()) await throwOutput(launched);
    return /"server_started","url":"[^"]*:(\d+)"/.exec(launched.output())?.[1];
  });
  return Number(port);
}

async function throwOutput(launched: Launched): Promise<never> {
  const { code, stdout, stderr } = await launched.exited;
  throw new Error(`the server ended with ${code} instead of starting\n${stdout}\n${stderr}`);
}

/** Waits until a server answers `/health` with 200. */
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
  throw new Error(`the server did not answer /health in ${START_TIMEOUT_MS} ms\n${stdout}\n${stderr}`);
}

/** Asks again and again until the answer is not undefined; rejects after `timeoutMs`. */
export async function eventually<T>(
  what: string,
  timeoutMs: number,
  ask: () => Promise<T | undefined> | T | undefined,
): Promise<T> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    if (Date.now() >= deadline) throw new Error(`waited ${timeoutMs} ms in vain for ${what}`);
    await delay(50);
  }
}

async function within<T>(promise: Promise<T>, timeoutMs: number, what: string): Promise<T> {
  const stop = new AbortController();
  const late = delay(timeoutMs, undefined, { signal: stop.signal }).then(() => {
    throw new Error(`waited ${timeoutMs} ms in vain for ${what}`);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    late.catch(() => undefined);
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
