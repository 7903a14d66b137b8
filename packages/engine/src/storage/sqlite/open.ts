import { resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { KeysAsOf } from '../../ports/key-store.ts';
import type { ForgetSelection, KeptRecord, NewMemory, Quota, Storage, StoreOutcome } from '../../ports/storage.ts';
import { MOST_DIMENSIONS } from '../../recall-index/recall-index.ts';
import { leastRetained } from '../least-retained.ts';
import type { OpenDatabase } from '../open-database.ts';
import { planMerge } from '../plan.ts';
import { Copies, removeLeftCopies } from './copies.ts';
import type { Attempt } from './failure.ts';
import { prepareFile, sizeOnDisk } from './file.ts';
import { GroupCommit } from './group-commit.ts';
import { IndexKeeper } from './index-keeper.ts';
import { Purger } from './purger.ts';
import type { ReadVerbs } from './read/verbs.ts';
import { Shrinker } from './shrinker.ts';
import { startThread, type Thread } from './thread.ts';
import type { NamespaceLimits } from './write/store.ts';
import type { PurgeStep, ShrinkStep } from './write-thread.ts';

export interface SqliteOptions {
  /** Path of the database file; it and its folders are made where missing. */
  path: string;
  /** Most working memories of a namespace. */
  workingMax: number;
  /** What each namespace may hold that has no quota of its own; any number where absent. */
  quota?: Quota;
  /** Whether recall will be asked, so that its index is made at once and kept; it is where absent. */
  recalls?: boolean;
}

/** Most calls that wait for one thread. */
const WAITING_LIMIT = 2000;

/** Memories that one transaction of a bulk forget removes, so that other writers get their turn. */
const FORGET_AT_ONCE = 100;

/** Candidates whose neighbours are looked for in one call: recall, which shares the thread, waits for few. */
const CANDIDATES_AT_ONCE = 2;

/** How often a purge is tried again before a deletion is answered: whoever deletes may close the file right after. */
const PURGE_RETRIES = 10;
const PURGE_RETRY_MS = 300;

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
  const keeper = new IndexKeeper(searcher);
  if (options.recalls !== false) keeper.rouse();
  const writes = new GroupCommit(async (calls) => {
    const attempts = await writer.call<Attempt<unknown>[]>('commit', calls);
    if (options.recalls !== false) keeper.rouse();
    return attempts;
  });
  const limits = { workingMax: options.workingMax, quota: options.quota ?? { memories: 0, bytes: 0 } };
  return {
    storage: sqliteStorage(path, limits, threads, writes, keeper),
    lease: {
      acquire: (...args) => writes.run('acquireLease', args),
      release: (...args) => writes.run('releaseLease', args),
    },
    keys: {
      add: (key) => writes.run('addKey', [key]),
      revoke: (...args) => writes.run('revokeKey', args),
      importAll: (other) => writes.run('importKeys', [other]),
      read: (seen) => readKeys(threads, seen),
    },
  };
}

// Every request waits for it, so whichever thread is free first answers: a scan may hold up the one, and the making of an
// index the other.
async function readKeys({ reader, searcher }: Omit<Threads, 'writer'>, seen?: number): Promise<KeysAsOf | undefined> {
  try {
    return await Promise.any([
      reader.call<KeysAsOf | undefined>('read', { verb: 'readKeys', args: [seen] }),
      searcher.call<KeysAsOf | undefined>('keys', seen),
    ]);
  } catch (error) {
    throw (error as AggregateError).errors[0];
  }
}

function charsOf(record: KeptRecord): number {
  if (!('memory' in record)) return 0;
  const { content, history } = record.memory;
  return history.reduce((sum, text) => sum + text.content.length, content.length);
}

interface Threads {
  writer: Thread;
  reader: Thread;
  searcher: Thread;
}

function sqliteStorage(
  path: string,
  limits: NamespaceLimits,
  threads: Threads,
  writes: GroupCommit,
  keeper: IndexKeeper,
): Storage {
  const { writer, reader, searcher } = threads;
  const shrinker = new Shrinker((begun) => writer.call<ShrinkStep>('shrink', begun));
  const purger = new Purger(
    (step) => writer.call<PurgeStep>('purge', step),
    () => shrinker.request(),
  );
  const copies = new Copies(path);
  // One that a process before this one left open.
  void purger.request();
  const read = <Verb extends keyof ReadVerbs>(verb: Verb, ...args: unknown[]): Promise<ReturnType<ReadVerbs[Verb]>> =>
    reader.call('read', { verb, args });

  function storeMany(memories: NewMemory[]): Promise<StoreOutcome[]> {
    const chars = memories.reduce((sum, memory) => sum + memory.content.length, 0);
    return writes.run('storeMany', [memories, limits], { memories: memories.length, chars });
  }

  async function forgetMany(namespace: string, selection: ForgetSelection) {
    // What is stored from now on is not meant, however long this takes.
    const arrivedUntil = await writes.run('lastOrdinal', []);
    const all = { count: 0, embedding: false };
    for (let more = true; more; ) {
      const some = await writes.run('forgetSome', [namespace, selection, arrivedUntil, FORGET_AT_ONCE]);
      all.count += some.count;
      all.embedding ||= some.embedding;
      more = some.count > 0;
    }
    return { ...all, purged: all.count === 0 || (await purger.request()) };
  }

  async function deleteNamespace(namespace: string) {
    const arrivedUntil = await writes.run('lastOrdinal', []);
    await writes.run('deleteKeys', [namespace]);
    let count = 0;
    for (let more = true; more; ) {
      const some = await writes.run('eraseSome', [namespace, arrivedUntil, FORGET_AT_ONCE]);
      count += some;
      more = some > 0;
    }
    await writes.run('dropNamespace', [namespace]);
    let purged = await purger.request();
    for (let i = 0; i < PURGE_RETRIES && !purged; i++) {
      await delay(PURGE_RETRY_MS);
      purged = await purger.request();
    }
    return { count, purged };
  }

  return {
    async store(memory) {
      const [stored] = await storeMany([memory]);
      return stored as StoreOutcome;
    },
    storeMany,
    update: (change) => writes.run('update', [change, limits.quota], { chars: change.content?.length ?? 0 }),
    async forget(namespace, id, ifVersions) {
      const forgotten = await writes.run('forget', [namespace, id, ifVersions]);
      return forgotten.outcome === 'forgotten' ? { ...forgotten, purged: await purger.request() } : forgotten;
    },
    forgetMany,

    memory: (...args) => read('memory', ...args),
    history: (...args) => read('history', ...args),
    textAt: (...args) => read('textAt', ...args),
    memories: (...args) => read('memories', ...args),
    session: (...args) => read('session', ...args),
    sessions: (...args) => read('sessions', ...args),
    mostDimensions: MOST_DIMENSIONS,
    candidatesAtOnce: CANDIDATES_AT_ONCE,
    search: (request) => searcher.call('search', request),
    answer: (request) => searcher.call('answer', request),
    read: (namespace, ordinals, now, maxBytes) => searcher.call('read', { namespace, ordinals, now, maxBytes }),
    recordAccess: (accesses) => writes.run('recordAccess', [accesses]),

    useModel: (modelId) => writes.run('useModel', [modelId]),
    pendingEmbeddings: (...args) => read('pendingEmbeddings', ...args),
    putVectors: (modelId, vectors) => writes.run('putVectors', [modelId, vectors]),

    async stats(namespace, now) {
      const [stats, sizeBytes] = await Promise.all([read('stats', namespace, now), sizeOnDisk(path)]);
      return { ...stats, sizeBytes };
    },
    secret: () => read('secret'),
    async totals(now) {
      const [totals, sizeBytes] = await Promise.all([read('totals', now), sizeOnDisk(path)]);
      return { ...totals, sizeBytes };
    },
    namespaces: () => read('namespaces'),
    usage: (now) => read('namespaceUsage', now),
    setQuota: (...args) => writes.run('setQuota', args),
    deleteNamespace,
    async integrity() {
      const looks = [reader.call<string[]>('checkFile'), searcher.call<string[]>('checkIndex')];
      return (await Promise.all(looks)).flat();
    },

    beginRun: (...args) => writes.run('beginRun', args),
    settle: (...args) => writes.run('settle', args),
    mergeTwins: (...args) => writes.run('mergeTwins', args),
    distilCandidates: (request) => searcher.call('distilCandidates', request),
    backgroundCosine: (namespace) => searcher.call('backgroundCosine', namespace),
    readGroup: (request) => read('readGroup', request),
    distil: (...args) => writes.run('distil', args),
    refresh: (...args) => writes.run('refresh', args),
    correct: (...args) => writes.run('correct', args),
    dropCandidates: (...args) => writes.run('dropCandidates', args),
    evictExpired: (...args) => writes.run('evictExpired', args),
    leastRetained: (namespace, tier, count, now) =>
      leastRetained((after) => read('leastRetainedAfter', namespace, tier, after, count, now), count),
    evictExcess: (...args) => writes.run('evictExcess', args),
    async clearArchive(...args) {
      const cleared = await writes.run('clearArchive', args);
      if (cleared.count > 0) void purger.request();
      return cleared;
    },
    endRun: (...args) => writes.run('endRun', args),
    dropIdempotencyKeys: (...args) => writes.run('dropIdempotencyKeys', args),

    planSettle: (...args) => read('planSettle', ...args),
    planMerge: (namespace, now, most) =>
      planMerge((after, left) => read('planMergeAfter', namespace, now, after, left), most),
    planEvict: (...args) => read('planEvict', ...args),
    runs: (...args) => read('runs', ...args),
    run: (...args) => read('run', ...args),
    changes: (...args) => read('changes', ...args),
    beginUndo: (...args) => writes.run('beginUndo', args),
    beginRevert: (...args) => writes.run('beginRevert', args),
    undoSome: (...args) => writes.run('undoSome', args),

    backup: (signal) => copies.backup(signal),
    kept: (namespace, signal) => copies.kept(namespace, signal),
    importKept(namespace, records, links) {
      const chars = records.reduce((sum, record) => sum + charsOf(record), 0);
      return writes.run('importKept', [namespace, records, links, limits.quota], { memories: records.length, chars });
    },
    beginMigration: (from) => writes.run('beginMigration', [from]),
    isMigrating: () => read('isMigrating'),
    endMigration: () => writes.run('endMigration', []),

    async close() {
      await copies.close();
      await writes.idle();
      await purger.stop();
      await shrinker.stop();
      await keeper.stop();
      // The writer last: closing the last connection is what takes the log away.
      for (const thread of [searcher, reader, writer]) {
        await thread.call('close').finally(() => thread.stop());
      }
    },
  };
}
