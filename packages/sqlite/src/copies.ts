import { type ChildProcess, fork } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { open, readdir, rm, stat, statfs } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { MemoryError } from '@memoryd/contract/errors';

import { type ExportFilter, getPieces, getRecords, type Storage } from '@memoryd/core';
import pLimit from 'p-limit';
import type { CopiedFacts, CopyTask } from './copy-task.ts';
import { type Attempt, unwrap } from './failure.ts';

/** Maximum copies that are queued, being created or being read at the same time. */
const MAX_COPIES = 4;

/** Interval of progress reports. */
const PROGRESS_INTERVAL_MS = 200;

const resolve = createRequire(import.meta.url).resolve;

/** Called with the number of bytes copied so far and the approximate total. */
export type OnCopied = (bytes: number, totalBytes: number) => void;

/** The part of a database to copy: the whole file, or the records of one namespace. */
type CopyScope = Pick<CopyTask, 'scope'>;

/** An open copy. Closing the copy, or the end of the process, frees its disk space. */
type OpenCopy = CopiedFacts & Parameters<typeof getPieces>[0];

/**
 * Creates copies of a database file, one at a time. A copy is created as a file in the folder of the database. The
 * complete file is unlinked before it is read, so that a crash of the reader leaves no file behind.
 */
export class Copies {
  readonly #path: string;
  readonly #inTurn = pLimit(1);
  readonly #closing = new AbortController();
  #count = 0;

  constructor(path: string) {
    this.#path = path;
  }

  /**
   * Copies the whole database. Throws UNAVAILABLE if the disk is full, too many copies are open, or the signal aborts.
   */
  async backup(signal?: AbortSignal): ReturnType<Storage['backup']> {
    const copy = await this.#open({}, signal);
    return {
      sizeBytes: copy.sizeBytes,
      sha256: copy.sha256,
      read: () => getPieces(copy),
      discard: () => copy.close(),
    };
  }

  /** See `Storage.exportRecords`. */
  async exportRecords(
    namespace: string,
    of: ExportFilter = {},
    signal?: AbortSignal,
  ): ReturnType<Storage['exportRecords']> {
    const copy = await this.#open({ scope: { namespace, of } }, signal);
    return { count: copy.lines, records: getRecords(copy), discard: copy.close };
  }

  async #open(what: CopyScope, signal?: AbortSignal): Promise<OpenCopy> {
    if (this.#count >= MAX_COPIES)
      throw new MemoryError('UNAVAILABLE', 'too many backups and exports are in progress; retry later');
    this.#count++;
    try {
      const stop = AbortSignal.any([this.#closing.signal, ...(signal ? [signal] : [])]);
      return await this.#inTurn(() => this.#make(what, stop));
    } catch (error) {
      this.#count--;
      throw error;
    }
  }

  /** Aborts the copies that are being created. Finished copies stay readable. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#inTurn(() => {});
  }

  async #make(what: CopyScope, signal: AbortSignal): Promise<OpenCopy> {
    const to = getTemporaryPath(this.#path);
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
 * Creates a copy in a separate process. The target must not exist. The target is created with owner-only permissions,
 * and synced at the end. If the copy fails, the target is removed.
 */
export async function copyTo(
  task: CopyTask,
  { signal, onCopied }: { signal?: AbortSignal; onCopied?: OnCopied } = {},
): Promise<CopiedFacts> {
  const totalBytes = await assertRoom(task);
  // Checked after the await, because an abort before this point fires no event for listeners that are added later.
  if (signal?.aborted) throw abortedError();
  closeSync(openSync(task.to, 'wx', 0o600));
  const watch = onCopied && setInterval(() => void reportSize(task.to, totalBytes, onCopied), PROGRESS_INTERVAL_MS);
  try {
    return unwrap(await runCopyProcess(task, signal));
  } catch (error) {
    await removeCopy(task.to);
    throw error;
  } finally {
    clearInterval(watch);
  }
}

async function runCopyProcess(task: CopyTask, signal: AbortSignal | undefined): Promise<Attempt<CopiedFacts>> {
  const child = fork(resolve('@memoryd/sqlite/copy-process'), { execArgv: [], stdio: 'ignore' });
  const ended = waitForExit(child);
  const kill = () => child.kill('SIGKILL');
  signal?.addEventListener('abort', kill);
  let answer: Attempt<CopiedFacts> | undefined;
  child.on('message', (message: Attempt<CopiedFacts>) => {
    answer = message;
  });
  // Without an IPC channel, the process did not start. If sending fails, the process exits, and its exit is handled
  // below.
  if (child.connected) child.send(task, () => {});
  const cause = await ended;
  signal?.removeEventListener('abort', kill);
  if (signal?.aborted) throw abortedError();
  if (answer) return answer;
  if (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new MemoryError(
      'UNAVAILABLE',
      `the process of the backup or export could not be started (${code}); check the free memory and the limits on ` +
        'processes and open files, and retry',
      { cause },
    );
  }
  throw new MemoryError(
    'UNAVAILABLE',
    'the process of the backup or export ended unexpectedly; check the free memory and disk space, and retry',
  );
}

/** Resolves when the process has exited, or with the error if it could not be started. */
function waitForExit(child: ChildProcess): Promise<Error | undefined> {
  return new Promise((resolve) => {
    // `on` instead of `once`: a failed start may emit several errors, and an unhandled error would end this process.
    child.on('error', resolve);
    child.on('exit', () => resolve(undefined));
  });
}

function abortedError(): MemoryError {
  return new MemoryError('UNAVAILABLE', 'the backup or export was aborted; start a new one');
}

/**
 * Returns the size of the source file in bytes. Throws UNAVAILABLE if the disk has no room for a copy of that size,
 * because stores fail on a full disk.
 */
async function assertRoom({ from, to }: CopyTask): Promise<number> {
  const { size } = await stat(from).catch((cause: unknown) => {
    throw new MemoryError('UNAVAILABLE', 'the database file is missing; stop memoryd and restore a backup', { cause });
  });
  const { bavail, bsize } = await statfs(dirname(to));
  if (bavail * bsize < size) throw new MemoryError('UNAVAILABLE', 'the disk has no room for a copy; free some space');
  return size;
}

async function reportSize(path: string, totalBytes: number, onCopied: OnCopied): Promise<void> {
  const { size } = await stat(path).catch(() => ({ size: 0 }));
  onCopied(size, totalBytes);
}

let copiesNamed = 0;

/** Start time of this process in ms. Distinguishes this process from a later one with the same process id. */
const STARTED_AT = Math.floor(performance.timeOrigin);

/** Returns a new path for a temporary copy in the folder of `path`. */
export function getTemporaryPath(path: string): string {
  copiesNamed++;
  return `${path}.copy-${process.pid}-${STARTED_AT}-${copiesNamed}`;
}

/** Suffixes of the files that SQLite may create while a copy is written or checked. */
const SUFFIXES = ['', '-journal', '-wal', '-shm'];

/** Removes a copy and the temporary files that SQLite created for it. */
export async function removeCopy(path: string): Promise<void> {
  for (const suffix of SUFFIXES) await rm(`${path}${suffix}`, { force: true });
}

/** Removes the copies of a file that crashed processes left behind. */
export async function removeAbandonedCopies(path: string): Promise<void> {
  const folder = dirname(path);
  const prefix = `${basename(path)}.copy-`;
  const names = await readdir(folder).catch(() => []);
  for (const name of names.filter((each) => each.startsWith(prefix))) {
    const [, pid, started] = /^([0-9]+)-([0-9]+)-[0-9]+(?:-journal|-wal|-shm)?$/.exec(name.slice(prefix.length)) ?? [];
    if (pid === undefined || isAlive(Number(pid), Number(started))) continue;
    await rm(join(folder, name), { force: true });
  }
}

function isAlive(pid: number, started: number): boolean {
  if (pid === process.pid) return started === STARTED_AT;
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
