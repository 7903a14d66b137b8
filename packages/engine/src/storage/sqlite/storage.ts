import { setTimeout as delay } from 'node:timers/promises';
import { keptChars } from '../../core/kept-chars.ts';
import type { Storage } from '../../ports/storage.ts';
import type { ForgetSelection, OnForgotten, StoreOutcome } from '../../ports/storage-memories.ts';
import type { Quota } from '../../ports/storage-namespaces.ts';
import type { Telemetry } from '../../ports/telemetry.ts';
import { MOST_DIMENSIONS } from '../../recall-index/recall-index.ts';
import { leastRetained } from '../least-retained.ts';
import { planMerge } from '../plan.ts';
import { Copies } from './copies.ts';
import { EntryMaker } from './entry-maker.ts';
import { sizeOnDisk } from './file.ts';
import type { GroupCommit } from './group-commit.ts';
import type { IndexKeeper } from './index-keeper.ts';
import { Purger } from './purger.ts';
import type { ReadVerbs } from './read/verbs.ts';
import { Shrinker } from './shrinker.ts';
import type { Thread } from './thread.ts';
import type { NamespaceLimits } from './write/store.ts';
import type { PurgeStep, ShrinkStep } from './write-thread.ts';

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
  keeper: IndexKeeper;
  telemetry: Telemetry | undefined;
}

/** Storage over the threads of a file, which it stops when it closes. */
export function sqliteStorage(parts: StorageParts): Storage {
  const { path, limits, threads, writes, keeper, telemetry } = parts;
  const { writer, reader, searcher } = threads;
  const shrinker = new Shrinker((begun) => writer.call<ShrinkStep>('shrink', begun));
  const purger = new Purger({
    step: (step) => writer.call<PurgeStep>('purge', step),
    onDone: () => shrinker.request(),
    telemetry,
  });
  const copies = new Copies(path);
  const read: Read = (verb, ...args) => reader.call('read', { verb, args });
  // A purge that a process before this one left open.
  void purger.request();
  return {
    ...writeVerbs(writes, new EntryMaker(reader), limits),
    ...forgetVerbs(writes, purger),
    ...readVerbs(read, path),
    ...searchVerbs(searcher),
    ...embeddingVerbs(writes, read),
    ...sleepVerbs(writes, { read, purger }),
    ...runVerbs(writes, read),
    ...copyVerbs(writes, { read, copies, quota: limits.quota }),
    async integrity() {
      const looks = [reader.call<string[]>('checkFile'), searcher.call<string[]>('checkIndex')];
      return (await Promise.all(looks)).flat();
    },
    async close() {
      await copies.close();
      await writes.idle();
      await purger.stop();
      await shrinker.stop();
      await keeper.stop();
      // The writer last: closing the last connection is what takes the log away.
      const failures: unknown[] = [];
      for (const thread of [searcher, reader, writer]) {
        await thread.close().catch((error: unknown) => failures.push(error));
      }
      if (failures.length > 0) throw failures[0];
    },
  };
}

/** Asks the thread that reads. */
type Read = <Verb extends keyof ReadVerbs>(
  verb: Verb,
  ...args: unknown[]
) => Promise<Awaited<ReturnType<ReadVerbs[Verb]>>>;

function writeVerbs(writes: GroupCommit, entries: EntryMaker, limits: NamespaceLimits) {
  return {
    async store(memory) {
      const [stored] = await writes.run('storeMany', [[memory], limits], { chars: memory.content.length });
      return stored as StoreOutcome;
    },
    storeMany(memories) {
      const chars = memories.reduce((sum, memory) => sum + memory.content.length, 0);
      return writes.run('storeMany', [memories, limits, entries.begin(memories)], { memories: memories.length, chars });
    },
    update: (change) => writes.run('update', [change, limits.quota], { chars: change.content?.length ?? 0 }),
    recordAccess: (accesses) => writes.run('recordAccess', [accesses]),
    setQuota: (...args) => writes.run('setQuota', args),
  } satisfies Partial<Storage>;
}

function forgetVerbs(writes: GroupCommit, purger: Purger) {
  return {
    async forget(namespace, id, ifVersions) {
      const forgotten = await writes.run('forget', [namespace, id, ifVersions]);
      return forgotten.outcome === 'forgotten' ? { ...forgotten, purged: await purger.request() } : forgotten;
    },
    async forgetMany(namespace: string, selection: ForgetSelection, onForgotten?: OnForgotten) {
      // What is stored from now on is not meant, however long this takes.
      const arrivedUntil = await writes.run('lastOrdinal', [namespace]);
      let embedding = false;
      const forgetSome = async () => {
        const some = await writes.run('forgetSome', [namespace, selection, arrivedUntil]);
        if (some.count > 0) onForgotten?.(some);
        embedding ||= some.embedding;
        return some.count;
      };
      const count = await purgedIfItFails(purger, () => untilNone(forgetSome));
      return { count, embedding, purged: count === 0 || (await purger.request()) };
    },
    async deleteNamespace(namespace: string) {
      const arrivedUntil = await writes.run('lastOrdinal', [namespace]);
      const eraseSome = () => writes.run('eraseSome', [namespace, arrivedUntil]);
      const count = await purgedIfItFails(purger, async () => {
        await writes.run('deleteKeys', [namespace]);
        const erased = await untilNone(eraseSome);
        await writes.run('dropNamespace', [namespace]);
        return erased;
      });
      return { count, purged: await purgedAtLast(purger) };
    },
  } satisfies Partial<Storage>;
}

/** Does a step that removes memories until one removes none, and answers how many went. */
async function untilNone(step: () => Promise<number>): Promise<number> {
  let count = 0;
  for (let some = await step(); some > 0; some = await step()) count += some;
  return count;
}

/** Does what removes in several commits. Where one fails, what went before it is gone: its bytes go all the same. */
async function purgedIfItFails<T>(purger: Purger, remove: () => Promise<T>): Promise<T> {
  try {
    return await remove();
  } catch (error) {
    void purger.request();
    throw error;
  }
}

async function purgedAtLast(purger: Purger): Promise<boolean> {
  let purged = await purger.request();
  for (let i = 0; i < PURGE_RETRIES && !purged; i++) {
    await delay(PURGE_RETRY_MS);
    purged = await purger.request();
  }
  return purged;
}

function readVerbs(read: Read, path: string) {
  return {
    memory: (...args) => read('memory', ...args),
    history: (...args) => read('history', ...args),
    textAt: (...args) => read('textAt', ...args),
    memories: (...args) => read('memories', ...args),
    session: (...args) => read('session', ...args),
    sessions: (...args) => read('sessions', ...args),
    async stats(namespace, now) {
      const [stats, sizeBytes] = await Promise.all([read('stats', namespace, now), sizeOnDisk(path)]);
      return { ...stats, sizeBytes };
    },
    async totals(now) {
      const [totals, sizeBytes] = await Promise.all([read('totals', now), sizeOnDisk(path)]);
      return { ...totals, sizeBytes };
    },
    secret: () => read('secret'),
    namespaces: () => read('namespaces'),
    usage: (now) => read('namespaceUsage', now),
  } satisfies Partial<Storage>;
}

function searchVerbs(searcher: Thread) {
  return {
    mostDimensions: MOST_DIMENSIONS,
    candidatesAtOnce: CANDIDATES_AT_ONCE,
    search: (request) => searcher.call('search', request),
    answer: (request) => searcher.call('answer', request),
    read: (namespace, ordinals, now, maxBytes) => searcher.call('read', { namespace, ordinals, now, maxBytes }),
    distilCandidates: (request) => searcher.call('distilCandidates', request),
    backgroundCosine: (namespace) => searcher.call('backgroundCosine', namespace),
  } satisfies Partial<Storage>;
}

function embeddingVerbs(writes: GroupCommit, read: Read) {
  return {
    useModel: (modelId) => writes.run('useModel', [modelId]),
    pendingEmbeddings: (...args) => read('pendingEmbeddings', ...args),
    putVectors: (modelId, vectors) => writes.run('putVectors', [modelId, vectors]),
  } satisfies Partial<Storage>;
}

function sleepVerbs(writes: GroupCommit, { read, purger }: { read: Read; purger: Purger }) {
  return {
    beginRun: (...args) => writes.run('beginRun', args),
    settle: (...args) => writes.run('settle', args),
    mergeTwins: (...args) => writes.run('mergeTwins', args),
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
  } satisfies Partial<Storage>;
}

function runVerbs(writes: GroupCommit, read: Read) {
  return {
    runs: (...args) => read('runs', ...args),
    run: (...args) => read('run', ...args),
    changes: (...args) => read('changes', ...args),
    beginUndo: (...args) => writes.run('beginUndo', args),
    beginRevert: (...args) => writes.run('beginRevert', args),
    undoSome: (...args) => writes.run('undoSome', args),
  } satisfies Partial<Storage>;
}

function copyVerbs(writes: GroupCommit, { read, copies, quota }: { read: Read; copies: Copies; quota: Quota }) {
  return {
    backup: (signal) => copies.backup(signal),
    kept: (namespace, signal) => copies.kept(namespace, signal),
    importKept(namespace, records, links) {
      const chars = records.reduce((sum, record) => sum + keptChars(record), 0);
      return writes.run('importKept', [namespace, records, links, quota], { memories: records.length, chars });
    },
    beginMigration: (from) => writes.run('beginMigration', [from]),
    isMigrating: () => read('isMigrating'),
    endMigration: () => writes.run('endMigration', []),
  } satisfies Partial<Storage>;
}
