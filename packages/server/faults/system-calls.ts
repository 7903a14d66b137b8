import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** Bytes of each write that a trace shows: enough for a database page or a response. */
const MAX_SHOWN_BYTES = 9000;

/** Returns true if strace is installed and may trace processes. Throws in CI if not, so that no test is skipped there. */
export function canTrace(): boolean {
  const attempt = spawnSync('strace', ['-o', '/dev/null', 'true']);
  if (attempt.status === 0) return true;
  const why = attempt.error?.message ?? attempt.stderr.toString().trim();
  if (process.env.CI) throw new Error(`strace cannot trace processes: ${why}`);
  // biome-ignore lint/suspicious/noConsole: prints why tests were skipped
  console.log(`skipped, because strace cannot trace processes: ${why}`);
  return false;
}

/**
 * Returns an strace command that records the syncs and writes of all threads of a server process.
 *
 * @param inject faults to inject, in strace syntax, such as `fsync:error=EIO:when=3..5`
 */
export function getTraceCommand(file: string, inject?: string): string[] {
  const calls = 'fsync,fdatasync,pwrite64,pwritev,write,writev,sendto,sendmsg';
  // -D runs strace as a grandchild, so that signals reach the server process.
  const command = [
    'strace',
    '-D',
    '-f',
    '-y',
    '-s',
    String(MAX_SHOWN_BYTES),
    '-e',
    'signal=none',
    '-e',
    `trace=${calls}`,
  ];
  return [...command, ...(inject === undefined ? [] : ['-e', `inject=${inject}`]), '-o', file];
}

/** A system call. `start` and `end` are line indexes in the trace. */
interface Call {
  name: string;
  /** The file or socket that the call uses. */
  target: string;
  /** Arguments and result as strace prints them. */
  text: string;
  start: number;
  end: number;
}

const WHOLE = /^(\d+)\s+(\w+)\(\d+<([^>]*)>(.*)$/s;
const RESUMED = /^(\d+)\s+<\.\.\. (\w+) resumed>(.*)$/s;
const UNFINISHED = ' <unfinished ...>';

/** Returns the calls of a trace in start order. Each thread has at most one unfinished call. */
function getCalls(trace: string): Call[] {
  const calls: Call[] = [];
  const unfinished = new Map<string, Call>();
  trace.split('\n').forEach((line, index) => {
    const [, resumedThread = '', , rest = ''] = RESUMED.exec(line) ?? [];
    const resumed = unfinished.get(resumedThread);
    if (resumed) {
      resumed.text += rest;
      resumed.end = index;
      return;
    }
    const [, thread, name, target, text] = WHOLE.exec(line) ?? [];
    if (thread === undefined || name === undefined || target === undefined || text === undefined) return;
    const call = { name, target, text: text.replace(UNFINISHED, ''), start: index, end: index };
    if (text.endsWith(UNFINISHED)) {
      call.end = Number.POSITIVE_INFINITY;
      unfinished.set(thread, call);
    }
    calls.push(call);
  });
  return calls;
}

/** Returns the ids of the memories that a response names. */
function getIds({ text }: Call): string[] {
  return Array.from(text.matchAll(STORED_ID), ([, id]) => id as string);
}

/** The acknowledgements of writes that a trace contains. */
export interface AcknowledgementReport {
  total: number;
  /** Responses sent before their data was synced to disk. */
  early: string[];
}

const SYNC = /^f(data)?sync$/;
const ACKNOWLEDGED = /HTTP\/1\.1 200 .*\\"status\\":\\"(stored|updated|forgotten|consolidated|undone)\\"/s;
const STORED_ID = /\\"id\\":\\"([0-9a-f-]{36})\\"/g;

/** The syncs, writes and acknowledgements in a server's trace. */
class Trace {
  readonly #calls: Call[];
  readonly #syncs: Call[];
  readonly responses: Call[];

  constructor(file: string) {
    this.#calls = getCalls(readFileSync(file, 'latin1'));
    this.#syncs = this.#calls.filter(({ name, text }) => SYNC.test(name) && / = 0$/.test(text));
    this.responses = this.#calls.filter(({ text, target }) => target.startsWith('socket:') && ACKNOWLEDGED.test(text));
  }

  writesTo(file: string): Call[] {
    return this.#calls.filter(({ name, target }) => target === file && /write/.test(name));
  }

  /** Returns true if a sync of the same file began after the write and succeeded before the response was sent. */
  isSynced(write: Call, response: Call): boolean {
    return this.#syncs.some(
      (sync) => sync.target === write.target && sync.start > write.end && sync.end < response.start,
    );
  }
}

/**
 * Checks a server that received one write at a time. A write to the log since the previous response must be synced
 * before a response; for a store, a page with the memory's id. Later writes to the log need no sync, since the health
 * check may have begun to write, as it does each second. If a forget reports that its bytes are purged, all writes to
 * the database file must be synced too.
 */
export function checkSequentialWrites(traceFile: string, dbPath: string): AcknowledgementReport {
  const trace = new Trace(traceFile);
  const [log, file] = [trace.writesTo(`${dbPath}-wal`), trace.writesTo(dbPath)];
  const early = trace.responses.filter((response, i) => {
    const previous = trace.responses[i - 1]?.start ?? -1;
    const synced = log.filter((write) => write.start > previous && trace.isSynced(write, response));
    const isPurged = response.text.includes('forgotten') && !response.text.includes('pending');
    const inFile = isPurged ? file.filter((write) => write.end < response.start) : [];
    const storedIds = response.text.includes('stored') ? getIds(response) : [];
    const isDurable =
      synced.length > 0 &&
      storedIds.every((id) => synced.some((write) => write.text.includes(id))) &&
      inFile.every((write) => trace.isSynced(write, response));
    return !isDurable;
  });
  return { total: trace.responses.length, early: early.map(({ text }) => text) };
}

/** Checks a server that received concurrent stores. Before each response, a page with the memory's id must be synced. */
export function checkConcurrentStores(traceFile: string, dbPath: string): AcknowledgementReport {
  const trace = new Trace(traceFile);
  const log = trace.writesTo(`${dbPath}-wal`);
  const early = trace.responses.filter((response) => {
    const ids = getIds(response);
    const isDurable = (id: string) => log.some((write) => write.text.includes(id) && trace.isSynced(write, response));
    return ids.length === 0 || !ids.every(isDurable);
  });
  return { total: trace.responses.length, early: early.map(({ text }) => text) };
}
