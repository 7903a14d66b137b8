import { type ChildProcess, fork } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { open, readdir, rm, stat, statfs } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { MemoryError } from '@memoryd/contract/errors';
import pLimit from 'p-limit';
import type { KeptRecords, StorageCopy } from '../../ports/storage-kept.ts';
import type { OwnerFilter } from '../../ports/storage-owner.ts';
import { getPieces, getRecords, type OpenFile } from '../kept-lines.ts';
import type { CopiedFacts, CopyTask } from './copy-task.ts';
import { type Attempt, unwrap } from './file-failure.ts';

/** Copies that are made or read at a time. */
const COPIES_LIMIT = 4;

/** How often it is looked how far a copy is. */
const PROGRESS_EVERY_MS = 200;

const resolve = createRequire(import.meta.url).resolve;

/** Told now and then how much of a copy there is, of about how much. */
export type OnCopied = (bytes: number, ofBytes: number) => void;

/** The part of a database: all of it, or the records of one namespace. */
type What = Pick<CopyTask, 'kept'>;

/** A copy on disk, open to be read; its room is free again when it is closed, or the process ends. */
type OpenCopy = CopiedFacts & OpenFile;

/**
 * Makes copies of a database file, one at a time. While a copy is made it is a file beside the database; a copy that is
 * read has no name any more, so that no crash leaves it behind.
 */
export class Copies {
  readonly #path: string;
  readonly #inTurn = pLimit(1);
  readonly #closing = new AbortController();
  #count = 0;

  constructor(path: string) {
    this.#path = path;
  }

  /** The whole database. UNAVAILABLE where the disk has no room, too many copies are read, or it was given up. */
  async backup(signal?: AbortSignal): Promise<StorageCopy> {
    const copy = await this.#open({}, signal);
    return {
      sizeBytes: copy.sizeBytes,
      sha256: copy.sha256,
      read: () => getPieces(copy),
      discard: () => copy.close(),
    };
  }

  /** See `Storage.kept`. */
  async kept(namespace: string, of: OwnerFilter = {}, signal?: AbortSignal): Promise<KeptRecords> {
    const copy = await this.#open({ kept: { namespace, of } }, signal);
    return { count: copy.lines, records: getRecords(copy), discard: copy.close };
  }

  async #open(what: What, signal?: AbortSignal): Promise<OpenCopy> {
    if (this.#count >= COPIES_LIMIT) throw new MemoryError('UNAVAILABLE', 'too many copies are being made or read');
    this.#count++;
    try {
      const stop = AbortSignal.any([this.#closing.signal, ...(signal ? [signal] : [])]);
      return await this.#inTurn(() => this.#make(what, stop));
    } catch (error) {
      this.#count--;
      throw error;
    }
  }

  /** Gives up what is being made. Copies that are being read stay readable. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#inTurn(() => {});
  }

  async #make(what: What, signal: AbortSignal): Promise<OpenCopy> {
    const to = temporaryBeside(this.#path);
    try {
      const facts = await copyTo({ ...what, from: this.#path, to }, { signal });
      const file = await open(to);
      let closed: Promise<void> | undefined;
      const close = () => {
        closed ??= file.close().finally(() => this.#count--);
        return closed;
      };
      return { ...facts, file, close };
    } finally {
      await removeCopy(to);
    }
  }
}

/**
 * Makes a copy in a process of its own. The file that it goes to must not exist; it is for the owner alone from its
 * first byte, and on disk in the end. Where no copy comes of it, the file is removed.
 */
export async function copyTo(
  task: CopyTask,
  { signal, onCopied }: { signal?: AbortSignal; onCopied?: OnCopied } = {},
): Promise<CopiedFacts> {
  const ofBytes = await assertRoom(task);
  // Not before: a signal that has come tells nobody who listens afterwards.
  if (signal?.aborted) throw givenUp();
  closeSync(openSync(task.to, 'wx', 0o600));
  const watch = onCopied && setInterval(() => void tellSize(task.to, ofBytes, onCopied), PROGRESS_EVERY_MS);
  try {
    return unwrap(await inProcess(task, signal));
  } catch (error) {
    await removeCopy(task.to);
    throw error;
  } finally {
    clearInterval(watch);
  }
}

async function inProcess(task: CopyTask, signal: AbortSignal | undefined): Promise<Attempt<CopiedFacts>> {
  const child = fork(resolve('@memoryd/engine/storage/sqlite/copy-process'), { execArgv: [], stdio: 'ignore' });
  const ended = getEnd(child);
  const kill = () => child.kill('SIGKILL');
  signal?.addEventListener('abort', kill);
  let answer: Attempt<CopiedFacts> | undefined;
  child.on('message', (message: Attempt<CopiedFacts>) => {
    answer = message;
  });
  // Without a channel it never started; with one, a task that does not arrive is told of by the end of the process.
  if (child.connected) child.send(task, () => {});
  const cause = await ended;
  signal?.removeEventListener('abort', kill);
  if (signal?.aborted) throw givenUp();
  if (answer) return answer;
  if (cause) throw new MemoryError('UNAVAILABLE', 'the process that makes the copy could not be started', { cause });
  throw new MemoryError('UNAVAILABLE', 'the process that makes the copy has ended');
}

/** Resolves when a process has ended, with the reason where it could not be started. */
function getEnd(child: ChildProcess): Promise<Error | undefined> {
  return new Promise((resolve) => {
    // Listened to for good: a start may fail in more than one way, and what nobody listens to ends this process.
    child.on('error', resolve);
    child.on('exit', () => resolve(undefined));
  });
}

function givenUp(): MemoryError {
  return new MemoryError('UNAVAILABLE', 'the copy was given up');
}

/**
 * Answers the size of what is copied. UNAVAILABLE where the disk has no room for as much again: a copy that fills it
 * would keep memories from being stored meanwhile.
 */
async function assertRoom({ from, to }: CopyTask): Promise<number> {
  const { size } = await stat(from).catch((cause: unknown) => {
    throw new MemoryError('UNAVAILABLE', 'the database file is not where it was', { cause });
  });
  const { bavail, bsize } = await statfs(dirname(to));
  if (bavail * bsize < size) throw new MemoryError('UNAVAILABLE', 'the disk has no room for a copy');
  return size;
}

async function tellSize(path: string, ofBytes: number, onCopied: OnCopied): Promise<void> {
  const { size } = await stat(path).catch(() => ({ size: 0 }));
  onCopied(size, ofBytes);
}

let copiesNamed = 0;

/** Which run of which process: ids of processes come again. */
const STARTED = Math.floor(performance.timeOrigin);

/** A name for what is not finished yet, beside the file that it is made from or to become. */
export function temporaryBeside(path: string): string {
  copiesNamed++;
  return `${path}.copy-${process.pid}-${STARTED}-${copiesNamed}`;
}

/** What SQLite may put beside a copy while it is made or checked. */
const BESIDE = ['', '-journal', '-wal', '-shm'];

/** Removes a copy that is not, or no longer, needed under its name. */
export async function removeCopy(path: string): Promise<void> {
  for (const beside of BESIDE) await rm(`${path}${beside}`, { force: true });
}

/** Removes what processes that have ended left of copies beside a file. */
export async function removeLeftCopies(path: string): Promise<void> {
  const folder = dirname(path);
  const prefix = `${basename(path)}.copy-`;
  const names = await readdir(folder).catch(() => []);
  for (const name of names.filter((each) => each.startsWith(prefix))) {
    const [, pid, started] = /^([0-9]+)-([0-9]+)-[0-9]+(?:-journal|-wal|-shm)?$/.exec(name.slice(prefix.length)) ?? [];
    if (pid === undefined || isAtWork(Number(pid), Number(started))) continue;
    await rm(join(folder, name), { force: true });
  }
}

function isAtWork(pid: number, started: number): boolean {
  if (pid === process.pid) return started === STARTED;
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
