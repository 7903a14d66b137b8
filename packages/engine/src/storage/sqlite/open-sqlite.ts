import { resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { BackgroundTask } from '../../concurrency/background-task.ts';
import type { KeySnapshot } from '../../ports/administration.ts';
import type { Telemetry } from '../../ports/runtime.ts';
import type { OpenDatabase } from '../../ports/storage.ts';
import type { StoreOutcome } from '../../ports/storage-memories.ts';
import type { Quotas } from '../../ports/storage-namespaces.ts';
import { MAX_DIMENSIONS } from '../../recall-index/recall-index.ts';
import { type NamespaceLimits, NO_QUOTAS } from '../sql/quotas.ts';
import { sqlStorage } from '../sql/sql-storage.ts';
import { Copies, removeLeftCopies } from './copies.ts';
import { EntryMaker } from './entry-maker.ts';
import { assertRoom, diskSpace, prepareFile, sizeOnDisk } from './file.ts';
import type { Attempt } from './file-failure.ts';
import { GroupCommit } from './group-commit.ts';
import { indexTask, purgeTask, shrinkTask } from './purging.ts';
import { startThread, type Thread } from './storage-thread.ts';
import type { PurgeStep, ShrinkStep } from './write-thread.ts';

interface SqliteOptions {
  /** Path of the database file; it and its folders are made where missing. */
  path: string;
  /** Most working memories of a namespace. */
  workingMax: number;
  /** Quotas of the namespaces and users that have none of their own; any number where absent. */
  quota?: Quotas;
  /** Whether recall will be asked, so that its index is made at once and kept; it is where absent. */
  recalls?: boolean;
  telemetry?: Telemetry;
}

/** Most calls that wait for one thread. */
const WAITING_LIMIT = 2000;

/**
 * Storage in one SQLite file. A thread writes, one searches for recall, and one reads everything else, so that none
 * waits for another's scan or sync, and no caller's thread waits for any. UNAVAILABLE when the file cannot be used.
 */
export async function openSqlite(options: SqliteOptions): Promise<OpenDatabase> {
  const path = resolve(options.path);
  prepareFile(path);
  // All at once, since a thread takes longer to start than a file to open; two of them read it when they are first asked.
  const writer = startThread('write-thread', { path }, WAITING_LIMIT);
  const reader = startThread('read-thread', { path }, WAITING_LIMIT);
  const searcher = startThread('search-thread', { path }, WAITING_LIMIT);
  const threads: Threads = { writer, reader, searcher };
  try {
    await writer.call('open');
    await removeLeftCopies(path);
  } catch (error) {
    await Promise.all(Object.values(threads).map((thread) => thread.stop()));
    throw error;
  }
  const index = indexTask(searcher);
  if (options.recalls !== false) void index.request();
  const writes = new GroupCommit(async (calls) => {
    const attempts = await writer.call<Attempt<unknown>[]>('commit', calls);
    if (options.recalls !== false) void index.request();
    return attempts;
  });
  const limits = { workingMax: options.workingMax, quota: options.quota ?? NO_QUOTAS };
  return sqliteStorage({ path, limits, threads, writes, index, telemetry: options.telemetry });
}

/** Candidates whose neighbours are looked for in one call: recall, which shares the thread, waits for few. */
const CANDIDATES_AT_ONCE = 2;

/** How often a purge is tried again before a deletion is answered: whoever deletes may close the file right after. */
const PURGE_RETRIES = 10;
const PURGE_RETRY_MS = 300;

/** The threads of a file: each has a connection of its own. */
export interface Threads {
  writer: Thread;
  reader: Thread;
  searcher: Thread;
}

/** What the storage of a file works with. */
interface StorageParts {
  path: string;
  limits: NamespaceLimits;
  threads: Threads;
  writes: GroupCommit;
  /** See `indexTask`. */
  index: BackgroundTask;
  telemetry: Telemetry | undefined;
}

/** Storage over the threads of a file, which it stops when it closes. */
export function sqliteStorage(parts: StorageParts): OpenDatabase {
  const { path, limits, threads, writes, index, telemetry } = parts;
  const { writer, reader, searcher } = threads;
  const shrink = shrinkTask((begun) => writer.call<ShrinkStep>('shrink', begun));
  const purge = purgeTask({
    step: (step) => writer.call<PurgeStep>('purge', step),
    onDone: () => void shrink.request(),
    telemetry,
  });
  const copies = new Copies(path);
  const entries = new EntryMaker(reader);
  const { storage, lease, keys } = sqlStorage({
    quota: limits.quota,
    read: (verb, args) => reader.call('read', { verb, args }),
    write: (_held, verb, args, load) => writes.run(verb, args, load),
    purge: (removed, of) =>
      of === 'namespace' ? purgeAtLast(purge) : Promise.resolve(removed === 0 || purge.request('now')),
    sizeBytes: () => sizeOnDisk(path),
  });
  // A purge that a process before this one left open.
  void purge.request();
  return {
    lease,
    keys: { ...keys, read: (seen) => readKeys(threads, seen) },
    storage: {
      ...storage,
      async store(memory) {
        const [stored] = await writes.run<StoreOutcome[]>('storeMany', [[memory], limits], {
          chars: memory.content.length,
        });
        return stored as StoreOutcome;
      },
      storeMany(memories) {
        const chars = memories.reduce((sum, memory) => sum + memory.content.length, 0);
        return writes.run('storeMany', [memories, limits, entries.begin(memories)], {
          memories: memories.length,
          chars,
        });
      },
      recordAccess: (accesses) => writes.run('recordAccess', [accesses]),
      useModel: (modelId) => writes.run('useModel', [modelId]),
      pendingEmbeddings: (...args) => reader.call('read', { verb: 'pendingEmbeddings', args }),
      putVectors: (modelId, vectors) => writes.run('putVectors', [modelId, vectors]),
      mostDimensions: MAX_DIMENSIONS,
      candidatesAtOnce: CANDIDATES_AT_ONCE,
      search: (request) => searcher.call('search', request),
      answer: (request) => searcher.call('answer', request),
      read: (namespace, ordinals, now, maxBytes) => searcher.call('read', { namespace, ordinals, now, maxBytes }),
      distilCandidates: (request) => searcher.call('distilCandidates', request),
      backgroundCosine: (namespace) => searcher.call('backgroundCosine', namespace),
      async probe(now, chars) {
        await assertRoom(path);
        await storage.probe(now, chars);
      },
      async condition() {
        const backedUpAt = reader.call<number | null>('read', { verb: 'lastBackup', args: [] });
        return { ...(await diskSpace(path)), backedUpAt: await backedUpAt };
      },
      backup: (signal) => copies.backup(signal),
      kept: (namespace, signal) => copies.kept(namespace, signal),
      async integrity() {
        const looks = [reader.call<string[]>('checkFile'), searcher.call<string[]>('checkIndex')];
        return (await Promise.all(looks)).flat();
      },
      async close() {
        await copies.close();
        await writes.idle();
        for (const task of [purge, shrink, index]) await task.stop();
        // The writer last: closing the last connection is what takes the log away.
        const failures: unknown[] = [];
        for (const thread of [searcher, reader, writer]) {
          await thread.close().catch((error: unknown) => failures.push(error));
        }
        if (failures.length > 0) throw failures[0];
      },
    },
  };
}

async function purgeAtLast(purge: BackgroundTask): Promise<boolean> {
  let purged = await purge.request('now');
  for (let i = 0; i < PURGE_RETRIES && !purged; i++) {
    await delay(PURGE_RETRY_MS);
    purged = await purge.request('now');
  }
  return purged;
}

// Every request waits for it, so whichever thread is free first answers: a scan may hold up the one, and the making of an
// index the other.
async function readKeys(
  { reader, searcher }: Omit<Threads, 'writer'>,
  seen?: number,
): Promise<KeySnapshot | undefined> {
  try {
    return await Promise.any([
      reader.call<KeySnapshot | undefined>('read', { verb: 'readKeys', args: [seen] }),
      searcher.call<KeySnapshot | undefined>('keys', seen),
    ]);
  } catch (error) {
    throw (error as AggregateError).errors[0];
  }
}
