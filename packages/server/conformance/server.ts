import { afterAll } from 'vitest';
import { reportStart, type Service, startService } from '../src/serve.ts';
import { readSettings } from '../src/settings/read.ts';
import { stopService } from '../src/stop.ts';
import { databaseEnvironment, isAddress, newDatabase } from './databases.ts';

/** One line of a server's log. */
export interface LogRecord {
  timestamp: string;
  level: string;
  component: string;
  event: string;
  [fact: string]: unknown;
}

export interface ServerOptions {
  /** The `database` of another server; a new one if absent. */
  database?: string;
  /** Path of a database file; used instead of `database`. */
  dbPath?: string;
  /** Settings as environment variables. */
  env?: Record<string, string>;
  /** Event loop delay, in ms, at which the server counts as overloaded. */
  lateLoopMs?: number;
}

/** Exit of a server. `code` is null if a signal ended the process. */
export interface Exit {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** A started server. */
export interface RunningServer {
  port: number;
  /** The path of the database file, or the address of the database. */
  database: string;
  /** The path of the database file; throws if the database is not a file. */
  readonly dbPath: string;
  /** Log lines written so far. */
  lines(): string[];
  /** The log lines, parsed. Throws if a line is not JSON. */
  records(): LogRecord[];
  /** Shuts the server down gracefully. Further calls return the same exit. */
  stop(): Promise<Exit>;
}

/** High default, because the tests in this process delay the event loop too, especially on a loaded machine. */
const LATE_LOOP_MS = 60_000;

const running = new Set<Service>();

afterAll(async () => {
  for (const service of running) await stopService(service);
});

/** Starts a server in the process of the test, on a port that the system chooses. */
export async function startServer(options: ServerOptions = {}): Promise<RunningServer> {
  const database = options.dbPath ?? options.database ?? (await newDatabase());
  const flags = { host: '127.0.0.1', port: '0', [isAddress(database) ? 'databaseUrl' : 'dbPath']: database };
  const settings = readSettings(flags, { ...databaseEnvironment(database), ...options.env });
  let stdout = '';
  const output = {
    write(record: string) {
      stdout += record;
    },
  };
  const service = await startService(settings, output, { lateLoopMs: options.lateLoopMs ?? LATE_LOOP_MS });
  running.add(service);
  await reportStart(service);
  let exit: Promise<Exit> | undefined;
  const stop = async (): Promise<Exit> => {
    running.delete(service);
    await stopService(service);
    return { code: 0, stdout, stderr: '' };
  };
  return new ServerUnderTest(
    Number(new URL(service.url).port),
    database,
    () => stdout,
    () => (exit ??= stop()),
  );
}

/** A server in the test process or in a child process. */
export class ServerUnderTest implements RunningServer {
  readonly port: number;
  readonly database: string;
  readonly stop: () => Promise<Exit>;
  readonly #output: () => string;

  constructor(port: number, database: string, output: () => string, stop: () => Promise<Exit>) {
    this.port = port;
    this.database = database;
    this.stop = stop;
    this.#output = output;
  }

  get dbPath(): string {
    if (isAddress(this.database)) throw new Error('the database under test is not a file');
    return this.database;
  }

  lines(): string[] {
    return splitLines(this.#output());
  }

  records(): LogRecord[] {
    return this.lines().map((line) => JSON.parse(line) as LogRecord);
  }
}

/** Returns the nonempty lines of a text. */
export function splitLines(text: string): string[] {
  return text.split('\n').filter((line) => line !== '');
}
