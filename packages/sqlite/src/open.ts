import { resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { BackgroundTask, OpenDatabase, readVerbs, StoreOutcome, Telemetry } from '@memoryd/core';
import { countNewChars, type NamespaceLimits, NO_QUOTAS, sqlStorage } from '@memoryd/core';
import { isLimited, MAX_DIMENSIONS, type StatesCache } from '@memoryd/search';
import { Copies, removeAbandonedCopies } from './copies.ts';
import { shareRawFile } from './descriptors.ts';
import { EntryBuilder } from './entry-builder.ts';
import type { Attempt } from './failure.ts';
import { assertRoom, diskSpace, prepareFile, sizeOnDisk } from './file.ts';
import { GroupCommit } from './group-commit.ts';
import { purgeTask, shrinkTask } from './maintenance-tasks.ts';
import { SearchThreads } from './search-threads.ts';
import { type SearchThreadData, startThread, type Thread } from './storage-thread.ts';
import type { PurgePart, PurgeStep, ShrinkStep } from './write-thread.ts';

interface SqliteOptions {
  /** Path of the database file. The file and its folders are created if missing. */
  path: string;
  /** Maximum working memories per namespace. */
  workingMax: number;
  /** Default quotas of namespaces and users. Unlimited if omitted. */
  quota?: NamespaceLimits['quota'];
  /** Whether to build the recall index at start and update it after writes. Defaults to true. */
  recalls?: boolean;
  /** Limit of the token states that each search thread caches, in bytes. If omitted, they are read from the file. */
  tokenStatesCacheBytes?: number;
  /** Maximum threads for recall searches. Defaults to 1. */
  searchThreads?: number;
  telemetry?: Telemetry;
}

/** Maximum queued calls per thread. */
const MAX_QUEUED_CALLS = 2000;

/**
 * Opens a storage in one SQLite file, with one thread for writes, one or more for recall searches, one for reads of a
 * few rows and one for reads that may take long. Scans and syncs of one thread do not block other threads or the caller.
 * Throws UNAVAILABLE if the file is unusable.
 */
export async function openSqlite(options: SqliteOptions): Promise<OpenDatabase> {
  const path = resolve(options.path);
  prepareFile(path);
  // All threads start concurrently, because starting one takes longer than opening the file.
  const writer = startThread('write-thread', { path }, MAX_QUEUED_CALLS);
  const reader = startThread('read-thread', { path }, MAX_QUEUED_CALLS);
  const lister = startThread('read-thread', { path }, MAX_QUEUED_CALLS, 'at first call');
  const { tokenStatesCacheBytes: statesBytes, recalls = true, searchThreads = 1 } = options;
  const states = statesBytes === undefined ? undefined : createStatesCache(statesBytes);
  // The first thread tells the fill of its cache. The caches of the others hold the same states.
  const startSearchThread = (isFirst: boolean) => {
    const cache = isFirst ? states : states && { maxBytes: states.maxBytes };
    return startThread<SearchThreadData>('search-thread', { path, ...(cache && { states: cache }) }, MAX_QUEUED_CALLS);
  };
  const searcher = new SearchThreads(startSearchThread, recalls ? searchThreads : 1);
  const threads: Threads = { writer, reader, lister, searcher };
  try {
    // A restore that was killed may have left a second name of the file.
    await removeAbandonedCopies(path);
    await writer.call('open');
  } catch (error) {
    await Promise.all(Object.values(threads).map((thread) => thread.stop()));
    throw error;
  }
  if (recalls) searcher.followWrites();
  const writes = new GroupCommit(async (calls) => {
    const attempts = await writer.call<Attempt<unknown>[]>('commit', calls);
    if (recalls) searcher.followWrites();
    return attempts;
  });
  const limits = { workingMax: options.workingMax, quota: options.quota ?? NO_QUOTAS };
  return sqliteStorage({ path, limits, threads, writes, states, telemetry: options.telemetry });
}

/** Creates a cache whose fill can be read at any time, even while the search thread builds the index. */
function createStatesCache(maxBytes: number): Required<StatesCache> {
  return { maxBytes, fill: new Float64Array(new SharedArrayBuffer(2 * Float64Array.BYTES_PER_ELEMENT)) };
}

/** Candidates per call of `distilCandidates`. Calls must be short, because recall uses the same thread. */
const CANDIDATES_AT_ONCE = 2;

/**
 * Maximum retries of a blocked purge before the deletion of a namespace returns. The caller may close the file right
 * afterwards, so the purge should be complete by then.
 */
const MAX_PURGE_RETRIES = 10;
const PURGE_RETRY_DELAY_MS = 300;

/** The threads of a file. Each thread has its own connection. */
export interface Threads {
  writer: Thread;
  /** Runs the reads that `LONG_READS` does not name. */
  reader: Thread;
  /** Runs the reads that `LONG_READS` names, file checks, and the analysis of queued stores. */
  lister: Thread;
  searcher: SearchThreads;
}

type ReadKeys = OpenDatabase['keys']['read'];

/** The dependencies of the storage of a file. */
interface StorageParts {
  path: string;
  limits: NamespaceLimits;
  threads: Threads;
  writes: GroupCommit;
  /** The cache of token states in the first search thread; undefined without a cache. */
  states?: Required<StatesCache> | undefined;
  telemetry: Telemetry | undefined;
}

/** Creates a storage that uses the threads of a file. Closing the storage stops the threads. */
export function sqliteStorage(parts: StorageParts): OpenDatabase {
  const { path, limits, threads, writes, states, telemetry } = parts;
  const { writer, reader, lister, searcher } = threads;
  const shrink = shrinkTask((begun) => writer.call<ShrinkStep>('shrink', begun));
  const rawFile = shareRawFile(path);
  const purge = purgeTask({
    async step(part) {
      const next = part ?? (await getFirstPart(writer));
      return next ? writer.call<PurgeStep>('purge', { ...next, descriptor: rawFile.getDescriptor() }) : 'done';
    },
    onDone: () => void shrink.request(),
    telemetry,
  });
  const copies = new Copies(path);
  const entries = new EntryBuilder(lister);
  const { storage, lease, keys } = sqlStorage({
    quota: limits.quota,
    read: (verb, args) => (LONG_READS.has(verb) ? lister : reader).call('read', { verb, args }),
    write: (_held, verb, args, load) => writes.run(verb, args, load),
    purge: (removed, of) =>
      of === 'namespace' ? purgeWithRetries(purge) : Promise.resolve(removed === 0 || purge.request('now')),
    sizeBytes: () => sizeOnDisk(path),
  });
  const readKeys = createQuickRead<Parameters<ReadKeys>, Awaited<ReturnType<ReadKeys>>>(threads, 'readKeys');
  const readStats = createQuickRead<[namespace: string, now: number], Awaited<ReturnType<typeof readVerbs.stats>>>(
    threads,
    'stats',
  );
  // Resumes a purge that an earlier process left unfinished.
  void purge.request();
  return {
    lease,
    keys: { ...keys, read: (seen) => readKeys(seen) },
    storage: {
      ...storage,
      async store(memory) {
        const [stored] = await writes.run<StoreOutcome[]>('storeMany', [[memory], limits], {
          chars: countNewChars([memory]),
        });
        return stored as StoreOutcome;
      },
      storeMany(memories) {
        const chars = countNewChars(memories);
        return writes.run('storeMany', [memories, limits, entries.begin(memories)], {
          memories: memories.length,
          chars,
        });
      },
      recordAccess: (accesses) => writes.run('recordAccess', [accesses]),
      useModel: (modelId) => writes.run('useModel', [modelId]),
      pendingEmbeddings: (...args) => reader.call('read', { verb: 'pendingEmbeddings', args }),
      // One memory is a quick read, and the many of a map are a long one.
      firstVectors: (...args) => (args[1].length > 1 ? lister : reader).call('read', { verb: 'firstVectors', args }),
      putVectors: (modelId, vectors) => writes.run('putVectors', [modelId, vectors]),
      maxDimensions: MAX_DIMENSIONS,
      candidatesAtOnce: CANDIDATES_AT_ONCE,
      search: (request) => searcher.call('search', request),
      searchAndRank: (request) => searcher.call('searchAndRank', request),
      read: (namespace, ordinals, request, maxBytes) =>
        searcher.call('read', { namespace, ordinals, request, maxBytes }),
      distilCandidates: (request) => searcher.call('distilCandidates', request),
      backgroundCosine: (request) => searcher.call('backgroundCosine', request),
      async probe(now, chars) {
        await assertRoom(path);
        await storage.probe(now, chars);
      },
      async stats(namespace, now, of = {}) {
        if (isLimited(of)) return storage.stats(namespace, now, of);
        return { ...(await readStats(namespace, now)), sizeBytes: await sizeOnDisk(path), ...getCachedStates(states) };
      },
      async condition() {
        const backedUpAt = reader.call<number | null>('read', { verb: 'lastBackup', args: [] });
        return { ...(await diskSpace(path)), backedUpAt: await backedUpAt, ...getCachedStates(states) };
      },
      backup: (signal) => copies.backup(signal),
      exportRecords: (namespace, of, signal) => copies.exportRecords(namespace, of, signal),
      async integrity() {
        const checks = [lister.call<string[]>('checkFile'), searcher.callEach<string[]>('checkIndex')];
        return (await Promise.all(checks)).flat(2);
      },
      async close() {
        await copies.close();
        await writes.idle();
        for (const task of [purge, shrink]) await task.stop();
        // The writer closes last, because closing the last connection removes the log.
        const failures: unknown[] = [];
        for (const thread of [searcher, reader, lister, writer]) {
          await thread.close().catch((error: unknown) => failures.push(error));
        }
        rawFile.release();
        if (failures.length > 0) throw failures[0];
      },
    },
  };
}

function getCachedStates(states: Required<StatesCache> | undefined) {
  if (states === undefined) return {};
  const [memories = 0, bytes = 0] = states.fill;
  return { cachedStates: { memories, bytes, maxBytes: states.maxBytes } };
}

/** Returns the first part of the requested purge, or undefined if no purge is requested. */
async function getFirstPart(writer: Thread): Promise<PurgePart | undefined> {
  const requestId = await writer.call<string | undefined>('purgeRequest');
  return requestId === undefined ? undefined : { fromPage: 1, requestId };
}

/**
 * The reads whose time depends on the number of memories that match, or that return long texts. Such reads run in a
 * thread of their own, so that they do not delay single memories, API keys and the health check. The statistics of a
 * whole namespace are a quick read.
 */
const LONG_READS: ReadonlySet<keyof typeof readVerbs> = new Set([
  ...(['memories', 'facet', 'growth', 'growthSteps', 'session', 'sessions', 'users'] as const),
  ...(['stats', 'namespaceUsage', 'outlines', 'revisions', 'scopeState'] as const),
  ...(['imports', 'importRun', 'selectForChange'] as const),
  ...(['changes', 'planPromotion', 'planMergeAfter', 'planEvict'] as const),
  'leastRetainedAfter' as const,
]);

async function purgeWithRetries(purge: BackgroundTask): Promise<boolean> {
  let purged = await purge.request('now');
  for (let i = 0; i < MAX_PURGE_RETRIES && !purged; i++) {
    await delay(PURGE_RETRY_DELAY_MS);
    purged = await purge.request('now');
  }
  return purged;
}

/**
 * Creates a function for a short read that must not wait for a long one: every HTTP request waits for the API keys, and
 * health checks for the statistics. A scan may block the read thread, and an index build may block the search thread,
 * so both threads run the read, and the first result is used. While a thread is busy with an earlier read of the
 * function, only the other thread runs the read, so that no reads pile up behind a long scan.
 */
function createQuickRead<Args extends unknown[], T>(
  { reader, searcher }: Pick<Threads, 'reader' | 'searcher'>,
  verb: 'readKeys' | 'stats',
): (...args: Args) => Promise<T> {
  const busy = new Set<Thread>();
  return async (...args) => {
    const free = [reader, searcher].filter((thread) => !busy.has(thread));
    const attempts = (free.length > 0 ? free : [reader, searcher]).map(async (thread) => {
      busy.add(thread);
      try {
        return await thread.call<T>(thread === reader ? 'read' : 'quickRead', { verb, args });
      } finally {
        busy.delete(thread);
      }
    });
    try {
      return await Promise.any(attempts);
    } catch (error) {
      throw (error as AggregateError).errors[0];
    }
  };
}
