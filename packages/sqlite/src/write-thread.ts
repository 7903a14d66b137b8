import { workerData } from 'node:worker_threads';
import { MemoryError } from '@memoryd/contract/errors';
import pLimit from 'p-limit';
import type { Connection } from './connection.ts';
import { getFileIdentity, getOpenFileIdentity } from './descriptors.ts';
import { type FileTransaction, savepoint, transaction } from './dialect.ts';
import { type Attempt, attempt, attemptAsync, toFailure } from './failure.ts';
import { logBytes } from './file.ts';
import { migrate, renewEntries } from './migrate.ts';
import { INCREMENTAL, openForWriting } from './open-connection.ts';
import { closePurgeRequest, getPurgeRequest, notePurgeProgress, type PageRange, zeroGaps } from './page-gaps.ts';
import type { ThreadData } from './storage-thread.ts';
import { clearSeparators, followGoneWords } from './word-separators.ts';
import type { StoreArguments } from './write-verbs.ts';
import { type WriteVerbs, writeVerbs } from './write-verbs.ts';
import { WrittenPages } from './written-pages.ts';

/*
 * The thread with the only writing connection of this process. The thread commits batches of calls in one transaction,
 * so that many writers share one disk sync.
 */
const { path } = workerData as ThreadData;
// Runs calls one after the other. A connection runs one transaction at a time, but the pool may start a call before the
// previous call has ended.
const inTurn = pLimit(1);
let opened: Connection | undefined;
let openedFile = '';
let writtenPages: WrittenPages | undefined;

// Opens the connection at the first call, so that an unusable file makes that call fail instead of crashing the thread.
function connect(): Connection {
  if (!opened) {
    opened = openForWriting(path);
    openedFile = getFileIdentity(path);
    writtenPages = new WrittenPages(opened);
  }
  return opened;
}

// SQLite continues to write to a file that was deleted or moved. The writes to a deleted file are lost when the process
// ends. A purge, which opens the file by its path, would modify another file at that path.
function assertInPlace(): void {
  assertIsOpened(getFileIdentity(path));
}

function assertIsOpened(file: string): void {
  if (file === openedFile) return;
  throw new MemoryError(
    'UNAVAILABLE',
    'the database file has been moved, deleted or replaced; move the file back, or restore a backup and restart memoryd',
  );
}

/** A call of a function of `WriteVerbs`: the function's name, and its arguments after the transaction. */
export interface WriteCall {
  verb: keyof WriteVerbs;
  args: readonly unknown[];
}

/** Opens the file, migrates its schema and rebuilds outdated index entries. Must be the first call. */
export function open(): Promise<Attempt<void>> {
  return inTurn(() =>
    attempt(() => {
      migrate(connect());
      followGoneWords(connect());
      renewEntries(connect());
    }),
  );
}

/**
 * Commits calls in order in one transaction. A call that throws is rolled back without affecting the other calls. If
 * the commit fails, all calls fail.
 */
export function commit(calls: WriteCall[]): Promise<Attempt<Attempt<unknown>[]>> {
  return inTurn(() =>
    attemptAsync(async () => {
      const connection = connect();
      assertInPlace();
      const attempts = await transaction(connection, async (writes) => {
        const performed = await performAll(writes, calls);
        clearSeparators(connection);
        return performed;
      });
      writtenPages?.noteCommit();
      return attempts;
    }),
  );
}

async function performAll(writes: FileTransaction, calls: readonly WriteCall[]): Promise<Attempt<unknown>[]> {
  // A single call needs no savepoint: if it fails, the transaction is rolled back.
  if (calls.length === 1) return [{ value: await perform(writes, calls[0] as WriteCall) }];
  const attempts: Attempt<unknown>[] = [];
  for (let at = 0; at < calls.length; at = attempts.length) {
    const stores = getStoresFrom(calls, at);
    const stored = stores.length > 1 ? await performTogether(writes, stores) : undefined;
    if (stored) attempts.push(...stored);
    else attempts.push(await performInSavepoint(writes, calls[at] as WriteCall));
  }
  return attempts;
}

/** Returns the consecutive `storeMany` calls from the index `from`. */
function getStoresFrom(calls: readonly WriteCall[], from: number): WriteCall[] {
  const end = calls.findIndex(({ verb }, i) => i >= from && verb !== 'storeMany');
  return calls.slice(from, end < 0 ? undefined : end);
}

/**
 * Runs several stores with shared statements. Returns undefined on failure, so that the caller runs each store
 * separately.
 */
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
    // On some errors, such as a full disk, SQLite rolls back the whole transaction, so no further call can run.
    if (!writes.connection.inTransaction) throw error;
    return { failure: toFailure(error) };
  }
}

/** Maximum wait of a checkpoint for readers that still need the log, in ms. */
const CHECKPOINT_TIMEOUT_MS = 50;

/** Pages per purge step: 64 MiB, which takes about 0.1 s. */
const PAGES_PER_PURGE_STEP = 8192;

/** Returns the id of the newest purge request, or undefined if no request is open. */
export function purgeRequest(): Promise<Attempt<string | undefined>> {
  return inTurn(() => attempt(() => getPurgeRequest(connect())));
}

/** A part of a purge. The first part of a purge starts at page 1. */
export interface PurgePart {
  fromPage: number;
  requestId: string;
}

/** The state of a purge: done, blocked by a reader or another writer, or to be continued. */
export type PurgeStep = 'done' | 'held-up' | PurgePart;

/**
 * Runs one step of a purge. Checkpoints and truncates the log. Then zeroes, under the write lock, the gaps of the pages
 * written since the last purge. If these pages are unknown, zeroes the gaps of a range of the file.
 *
 * @param descriptor the database file, opened by `shareRawFile`
 */
export function purge({
  fromPage,
  requestId,
  descriptor,
}: PurgePart & { descriptor: number }): Promise<Attempt<PurgeStep>> {
  return inTurn(() =>
    attempt(() => {
      const connection = connect();
      assertInPlace();
      // The file may have been replaced before the descriptor was opened.
      assertIsOpened(getOpenFileIdentity(descriptor));
      if (!truncateLog(connection)) return 'held-up';
      try {
        const next = connection.transaction(() => clearPages(connection, descriptor, fromPage, requestId)).immediate();
        writtenPages?.noteCommit();
        return next;
      } catch (error) {
        writtenPages?.giveUp();
        throw error;
      }
    }),
  );
}

function clearPages(connection: Connection, descriptor: number, fromPage: number, requestId: string): PurgeStep {
  // A log with content means that another process has committed since the truncation, and may be checkpointing its
  // pages.
  if (logBytes(path) > 0) return 'held-up';
  const written = fromPage === 1 ? writtenPages?.getRanges() : undefined;
  // Pages written during the purge are tracked for the next purge.
  if (fromPage === 1) writtenPages?.begin();
  const until = fromPage + PAGES_PER_PURGE_STEP;
  const pages = zeroPages(connection, descriptor, written ?? [{ from: fromPage, until }]);
  const isDone = written !== undefined || until > pages;
  // The page cache still has the old gaps, and would write them back.
  connection.pragma('shrink_memory');
  if (isDone) {
    // Reset only at the end, because a purge restarts at the first page after a failure.
    zerosLost = false;
    writtenPages?.finish();
    closePurgeRequest(connection, requestId);
  }
  notePurgeProgress(connection, isDone ? 0 : until);
  return isDone ? 'done' : { fromPage: until, requestId };
}

// True if zeros may be missing on the disk, although reads return zeros. See `rewrite` of `zeroGaps`.
let zerosLost = false;

function zeroPages(connection: Connection, descriptor: number, ranges: readonly PageRange[]): number {
  const rewrite = zerosLost;
  zerosLost = true;
  const pages = zeroGaps(descriptor, connection.pragma('page_size', { simple: true }) as number, ranges, rewrite);
  zerosLost = rewrite;
  return pages;
}

/**
 * Free pages are reserved for later stores. Shrinking starts when the free pages exceed both `START_FREE_SHARE` of the
 * file and `MIN_START_FREE_PAGES` (1 MiB with 8 KiB pages), and ends when the free pages are at most `END_FREE_SHARE`
 * of the file. These thresholds limit the number of moved pages in proportion to the freed pages.
 */
const START_FREE_SHARE = 1 / 4;
const MIN_START_FREE_PAGES = 128;
const END_FREE_SHARE = 1 / 16;

/** Pages per shrink step: 2 MiB. */
const PAGES_PER_SHRINK_STEP = 256;

/** The state of shrinking: done or not worthwhile, more steps needed, or blocked by a reader. */
export type ShrinkStep = 'done' | 'more' | 'held-up';

/**
 * Runs one shrink step: moves the last pages of the file into free pages. The file is truncated after the last step.
 */
export function shrink(begun: boolean): Promise<Attempt<ShrinkStep>> {
  return inTurn(() =>
    attempt(() => {
      const connection = connect();
      assertInPlace();
      const hasShrunk = connection.transaction(() => vacuumPages(connection, begun)).immediate();
      writtenPages?.noteCommit();
      if (hasShrunk) return 'more';
      return !begun || truncateLog(connection) ? 'done' : 'held-up';
    }),
  );
}

/**
 * Frees pages at the end of the file. Returns false if shrinking is done, not worthwhile, not supported by the file, or
 * must wait for a purge.
 */
function vacuumPages(connection: Connection, begun: boolean): boolean {
  // A purge in progress would miss pages that move to the part of the file that it has processed. The completed purge
  // requests shrinking again.
  if (getPurgeRequest(connection) !== undefined) return false;
  const [pages, free, mode] = ['page_count', 'freelist_count', 'auto_vacuum'].map(
    (name) => connection.pragma(name, { simple: true }) as number,
  ) as [number, number, number];
  const isWorthIt = begun
    ? free > pages * END_FREE_SHARE
    : free > Math.max(pages * START_FREE_SHARE, MIN_START_FREE_PAGES);
  if (mode !== INCREMENTAL || !isWorthIt) return false;
  // `connection.pragma` would free only one page, because each freed page is a result row.
  connection.exec(`PRAGMA incremental_vacuum(${PAGES_PER_SHRINK_STEP})`);
  return true;
}

/** Checkpoints and truncates the log. Returns false if a reader still needs the log. */
function truncateLog(connection: Connection): boolean {
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

/** Closes the connection. Closing the last connection of the file removes the log. */
export function close(): Promise<Attempt<void>> {
  return inTurn(() =>
    attempt(() => {
      writtenPages?.close();
      opened?.close();
      opened = undefined;
    }),
  );
}
