import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** Bytes of what is written that a trace shows: a page of the database, or an answer. */
const SHOWN_BYTES = 9000;

/** Whether strace is there and may watch processes; where not, and this is no CI, tests that need it are left out. */
export function canTrace(): boolean {
  const tried = spawnSync('strace', ['-o', '/dev/null', 'true']);
  if (tried.status === 0) return true;
  const why = tried.error?.message ?? tried.stderr.toString().trim();
  if (process.env.CI) throw new Error(`strace cannot watch processes: ${why}`);
  // biome-ignore lint/suspicious/noConsole: who runs the tests learns what was left out, and why
  console.log(`left out, since strace cannot watch processes: ${why}`);
  return false;
}

/**
 * A command that writes down the syncs and writes of a server's process, all threads of it.
 *
 * @param inject what befalls system calls, as strace names it, such as `fsync:error=EIO:when=3..5`
 */
export function tracing(file: string, inject?: string): string[] {
  const calls = 'fsync,fdatasync,pwrite64,pwritev,write,writev,sendto,sendmsg';
  // As a grandchild, so that the server's process is the one that signals are sent to.
  const command = ['strace', '-D', '-f', '-y', '-s', String(SHOWN_BYTES), '-e', 'signal=none', '-e', `trace=${calls}`];
  return [...command, ...(inject === undefined ? [] : ['-e', `inject=${inject}`]), '-o', file];
}

/** A system call; `start` and `end` are its places among the lines of a trace. */
interface Call {
  name: string;
  /** The file or socket that it is about. */
  target: string;
  /** Its arguments and its result as strace writes them. */
  text: string;
  start: number;
  end: number;
}

const WHOLE = /^(\d+)\s+(\w+)\(\d+<([^>]*)>(.*)$/s;
const RESUMED = /^(\d+)\s+<\.\.\. (\w+) resumed>(.*)$/s;
const UNFINISHED = ' <unfinished ...>';

/** The calls of a trace in the order of their starts. A thread has one under way at a time. */
function getCalls(trace: string): Call[] {
  const calls: Call[] = [];
  const underWay = new Map<string, Call>();
  trace.split('\n').forEach((line, place) => {
    const [, resumedIn = '', , rest = ''] = RESUMED.exec(line) ?? [];
    const resumed = underWay.get(resumedIn);
    if (resumed) {
      resumed.text += rest;
      resumed.end = place;
      return;
    }
    const [, thread, name, target, text] = WHOLE.exec(line) ?? [];
    if (thread === undefined || name === undefined || target === undefined || text === undefined) return;
    const call = { name, target, text: text.replace(UNFINISHED, ''), start: place, end: place };
    if (text.endsWith(UNFINISHED)) {
      call.end = Number.POSITIVE_INFINITY;
      underWay.set(thread, call);
    }
    calls.push(call);
  });
  return calls;
}

/** The answers of a trace to writes that left before what they acknowledge was on disk, and how many there were in all. */
export interface Answers {
  total: number;
  early: string[];
}

const SYNC = /^f(data)?sync$/;
const ACKNOWLEDGED = /HTTP\/1\.1 200 .*\\"status\\":\\"(stored|updated|forgotten|consolidated|undone)\\"/s;
const STORED_ID = /\\"id\\":\\"([0-9a-f-]{36})\\"/g;

/** Calls of a server's trace, by what they do to a database. */
class Trace {
  readonly #calls: Call[];
  readonly #syncs: Call[];
  readonly answers: Call[];

  constructor(file: string) {
    this.#calls = getCalls(readFileSync(file, 'latin1'));
    this.#syncs = this.#calls.filter(({ name, text }) => SYNC.test(name) && / = 0$/.test(text));
    this.answers = this.#calls.filter(({ text, target }) => target.startsWith('socket:') && ACKNOWLEDGED.test(text));
  }

  writesTo(file: string): Call[] {
    return this.#calls.filter(({ name, target }) => target === file && /write/.test(name));
  }

  /** Whether a sync that began after a write of the same file had succeeded when the answer began to leave. */
  isSynced(write: Call, answer: Call): boolean {
    return this.#syncs.some(
      (sync) => sync.target === write.target && sync.start > write.end && sync.end < answer.start,
    );
  }
}

/**
 * Answers of a server that was asked for one write at a time. Everything that had been written to the log must have been
 * synced; where a forget says that its bytes are gone, to the database file too.
 */
export function answersInTurn(traceFile: string, dbPath: string): Answers {
  const trace = new Trace(traceFile);
  const [log, file] = [trace.writesTo(`${dbPath}-wal`), trace.writesTo(dbPath)];
  const early = trace.answers.filter((answer) => {
    const isPurged = answer.text.includes('forgotten') && !answer.text.includes('pending');
    const due = [...log, ...(isPurged ? file : [])].filter((write) => write.end < answer.start);
    return due.length === 0 || !due.every((write) => trace.isSynced(write, answer));
  });
  return { total: trace.answers.length, early: early.map(({ text }) => text) };
}

/** Answers of a server that was asked to store by many at once. A page with the memory's id must have been synced. */
export function answersAtOnce(traceFile: string, dbPath: string): Answers {
  const trace = new Trace(traceFile);
  const log = trace.writesTo(`${dbPath}-wal`);
  const early = trace.answers.filter((answer) => {
    const ids = Array.from(answer.text.matchAll(STORED_ID), ([, id]) => id as string);
    const isKept = (id: string) => log.some((write) => write.text.includes(id) && trace.isSynced(write, answer));
    return ids.length === 0 || !ids.every(isKept);
  });
  return { total: trace.answers.length, early: early.map(({ text }) => text) };
}
