import { closeSync, openSync } from 'node:fs';
import { workerData } from 'node:worker_threads';
import { MemoryError } from '@memoryd/contract/errors';
import pLimit from 'p-limit';
import type { Connection } from './connection.ts';
import { fileIdentity, logBytes } from './file.ts';
import { type Attempt, attempt, attemptAll, toFailure } from './file-failure.ts';
import { type FileTransaction, savepoint, transaction } from './file-queries.ts';
import { migrate, renewEntries } from './migrate-file.ts';
import { INCREMENTAL, openForWriting } from './open-connection.ts';
import { askedPurge, closePurge, notePurged, type PageRange, zeroGaps } from './residue.ts';
import type { ThreadData } from './storage-thread.ts';
import type { StoreArguments } from './write-verbs.ts';
import { type WriteVerbs, writeVerbs } from './write-verbs.ts';
import { WrittenPages } from './written-pages.ts';

/*
 * The thread that owns the one connection which writes. It commits a batch of calls in one transaction, so that many
 * writers share one sync of the disk.
 */
const { path } = workerData as ThreadData;
// The connection is in one transaction at a time, and the pool may begin a call before the last has ended.
const inTurn = pLimit(1);
let opened: Connection | undefined;
let openedFile = '';
let writtenPages: WrittenPages | undefined;

// Opened at the first call rather than with the thread, so that a file that is refused is an answer and no crash.
function connect(): Connection {
  if (!opened) {
    opened = openForWriting(path);
    openedFile = fileIdentity(path);
    writtenPages = new WrittenPages(opened);
  }
  return opened;
}

// SQLite goes on writing to a file that was deleted or moved, and all of it would be lost with the process; and a purge
// would change whatever file has taken its place.
function assertInPlace(): void {
  if (fileIdentity(path) === openedFile) return;
  throw new MemoryError('UNAVAILABLE', 'the database file has been moved or deleted; start the service again');
}

/** One call of a write verb: its name and its arguments after the connection. */
export interface WriteCall {
  verb: keyof WriteVerbs;
  args: readonly unknown[];
}

/** Takes the file to the present schema and analysis. Nothing else may be asked before. */
export function open(): Promise<Attempt<void>> {
  return inTurn(() =>
    attempt(() => {
      migrate(connect());
      renewEntries(connect());
    }),
  );
}

/**
 * Commits calls in one transaction, in their order. A call that throws is undone and leaves the others as they are;
 * when the commit fails, all have failed.
 */
export function commit(calls: WriteCall[]): Promise<Attempt<Attempt<unknown>[]>> {
  return inTurn(() =>
    attemptAll(async () => {
      const connection = connect();
      assertInPlace();
      const attempts = await transaction(connection, (writes) => performAll(writes, calls));
      writtenPages?.noteCommit();
      return attempts;
    }),
  );
}

async function performAll(writes: FileTransaction, calls: readonly WriteCall[]): Promise<Attempt<unknown>[]> {
  // A call that is alone needs no savepoint: when it fails, the transaction is undone.
  if (calls.length === 1) return [{ value: await perform(writes, calls[0] as WriteCall) }];
  const attempts: Attempt<unknown>[] = [];
  for (let at = 0; at < calls.length; at = attempts.length) {
    const stores = storesFrom(calls, at);
    const stored = stores.length > 1 ? await performTogether(writes, stores) : undefined;
    if (stored) attempts.push(...stored);
    else attempts.push(await performInSavepoint(writes, calls[at] as WriteCall));
  }
  return attempts;
}

/** Returns the calls from a place on that store memories, up to one that does something else. */
function storesFrom(calls: readonly WriteCall[], from: number): WriteCall[] {
  const end = calls.findIndex(({ verb }, i) => i >= from && verb !== 'storeMany');
  return calls.slice(from, end < 0 ? undefined : end);
}

/** Does stores with the statements of one; undefined where that fails, so that one that cannot be done fails alone. */
async function performTogether(
  writes: FileTransaction,
  stores: readonly WriteCall[],
): Promise<Attempt<unknown>[] | undefined> {
  const all = stores.map(({ args }) => args as StoreArguments);
  const attempt = await performInSavepoint(writes, { verb: 'storeAll', args: [all] });
  return 'failure' in attempt ? undefined : (attempt.value as unknown[]).map((value) => ({ value }));
}

function perform(writes: FileTransaction, { verb, args }: WriteCall): Promise<unknown> {
  return (writeVerbs[verb] as (writes: FileTransaction, ...rest: unknown[]) => Promise<unknown>)(writes, ...args);
}

async function performInSavepoint(writes: FileTransaction, call: WriteCall): Promise<Attempt<unknown>> {
  try {
    return { value: await savepoint(writes, () => perform(writes, call)) };
  } catch (error) {
    // SQLite gives up the whole transaction on some errors, such as a full disk; then there is nothing to go on with.
    if (!writes.connection.inTransaction) throw error;
    return { failure: toFailure(error) };
  }
}

/** How long a checkpoint waits for readers of old content. */
const CHECKPOINT_TIMEOUT_MS = 50;

/** Pages that one step of a purge goes through: 64 MiB, a tenth of a second or so. */
const PURGED_PAGES = 8192;

/** Where a purge stands: done, held up by a reader or another writer, or to be gone on with from a page. */
export type PurgeStep = 'done' | 'held-up' | { fromPage: number; asked: string };

/**
 * One step of driving the bytes of deleted content out of the file. The log is written into the file and cut to
 * nothing, then, while nobody can write, pages are cleared of residue: those written since the last purge, or a stretch of the
 * file where they are not known.
 */
export function purge(step?: { fromPage: number; asked: string }): Promise<Attempt<PurgeStep>> {
  return inTurn(() =>
    attempt(() => {
      const connection = connect();
      assertInPlace();
      const asked = step?.asked ?? askedPurge(connection);
      if (asked === undefined) return 'done';
      if (!cutLog(connection)) return 'held-up';
      try {
        const next = connection.transaction(() => clearPages(connection, step?.fromPage ?? 1, asked)).immediate();
        writtenPages?.noteCommit();
        return next;
      } catch (error) {
        writtenPages?.giveUp();
        throw error;
      }
    }),
  );
}

function clearPages(connection: Connection, fromPage: number, asked: string): PurgeStep {
  // Another process has committed since the log was cut: its pages may be on their way into the file.
  if (logBytes(path) > 0) return 'held-up';
  const written = fromPage === 1 ? writtenPages?.getRanges() : undefined;
  // What is written while the purge goes on is left to the next one.
  if (fromPage === 1) writtenPages?.begin();
  const until = fromPage + PURGED_PAGES;
  const pages = zeroPages(connection, written ?? [{ from: fromPage, until }]);
  const isDone = written !== undefined || until > pages;
  // The pages that this connection remembers still have what was zeroed, and would bring it back when written.
  connection.pragma('shrink_memory');
  if (isDone) {
    // Only then, since a purge begins again at the first page after a failure.
    zerosLost = false;
    writtenPages?.finish();
    closePurge(connection, asked);
  }
  notePurged(connection, isDone ? 0 : until);
  return isDone ? 'done' : { fromPage: until, asked };
}

// Whether zeros may never have reached the disk, though they can be read.
let zerosLost = false;

function zeroPages(connection: Connection, ranges: readonly PageRange[]): number {
  const anew = zerosLost;
  zerosLost = true;
  const pages = zeroGaps(rawFile(), connection.pragma('page_size', { simple: true }) as number, ranges, anew);
  zerosLost = anew;
  return pages;
}

/**
 * Free pages that are kept for what is stored next: shrinking begins when they are more than a quarter of the file and
 * a MiB or so, and ends when they are a sixteenth. So a page is moved only for each that was freed.
 */
const SHRUNK_FROM = 1 / 4;
const SHRUNK_FROM_PAGES = 128;
const SHRUNK_TO = 1 / 16;

/** Pages that one step of shrinking gives back: 2 MiB. */
const SHRUNK_PAGES = 256;

/** Where shrinking stands: done, or not worth it; to be gone on with; or held up by a reader. */
export type ShrinkStep = 'done' | 'more' | 'held-up';

/**
 * One step of giving free pages back to the disk: the last pages of the file are moved into free ones. At the end the
 * file is cut.
 */
export function shrink(begun: boolean): Promise<Attempt<ShrinkStep>> {
  return inTurn(() =>
    attempt(() => {
      const connection = connect();
      assertInPlace();
      const gaveBack = connection.transaction(() => givePagesBack(connection, begun)).immediate();
      writtenPages?.noteCommit();
      if (gaveBack) return 'more';
      return !begun || cutLog(connection) ? 'done' : 'held-up';
    }),
  );
}

/** Answers whether there were pages to be given back. */
function givePagesBack(connection: Connection, begun: boolean): boolean {
  // A purge goes through the pages in order, and would miss those that are moved to where it has been. It asks again.
  if (askedPurge(connection) !== undefined) return false;
  const [pages, free, mode] = ['page_count', 'freelist_count', 'auto_vacuum'].map(
    (name) => connection.pragma(name, { simple: true }) as number,
  ) as [number, number, number];
  const isWorthIt = begun ? free > pages * SHRUNK_TO : free > Math.max(pages * SHRUNK_FROM, SHRUNK_FROM_PAGES);
  if (mode !== INCREMENTAL || !isWorthIt) return false;
  // Not as a pragma, which would take one page alone: each is a row of the result.
  connection.exec(`PRAGMA incremental_vacuum(${SHRUNK_PAGES})`);
  return true;
}

// Kept open, because closing any descriptor of a file ends the locks that the process holds on it (POSIX).
let rawFileDescriptor: number | undefined;

function rawFile(): number {
  rawFileDescriptor ??= openSync(path, 'r+');
  return rawFileDescriptor;
}

/** Writes the log into the file and cuts it to nothing; false when a reader still needs it. */
function cutLog(connection: Connection): boolean {
  writtenPages?.noteLog();
  const timeoutMs = connection.pragma('busy_timeout', { simple: true }) as number;
  connection.pragma(`busy_timeout = ${CHECKPOINT_TIMEOUT_MS}`);
  try {
    const [result] = connection.pragma('wal_checkpoint(TRUNCATE)') as { busy: number }[];
    return result?.busy === 0;
  } finally {
    connection.pragma(`busy_timeout = ${timeoutMs}`);
  }
}

/** Closes the connection; being the last one of the file, it removes the log. */
export function close(): Promise<Attempt<void>> {
  return inTurn(() =>
    attempt(() => {
      writtenPages?.close();
      opened?.close();
      opened = undefined;
      if (rawFileDescriptor !== undefined) closeSync(rawFileDescriptor);
      rawFileDescriptor = undefined;
    }),
  );
}
