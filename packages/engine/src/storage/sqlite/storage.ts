import { setTimeout as delay } from 'node:timers/promises';
import type { BackgroundTask } from '../../concurrency/background-task.ts';
import type { KeysAsOf } from '../../ports/key-store.ts';
import type { StoreOutcome } from '../../ports/storage-memories.ts';
import type { Telemetry } from '../../ports/telemetry.ts';
import { MOST_DIMENSIONS } from '../../recall-index/recall-index.ts';
import type { OpenDatabase } from '../open-database.ts';
import { sqlStorage } from '../sql/sql-storage.ts';
import { Copies } from './copies.ts';
import { EntryMaker } from './entry-maker.ts';
import { sizeOnDisk } from './file.ts';
import type { GroupCommit } from './group-commit.ts';
import { purgeTask, shrinkTask } from './purging.ts';
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
      mostDimensions: MOST_DIMENSIONS,
      candidatesAtOnce: CANDIDATES_AT_ONCE,
      search: (request) => searcher.call('search', request),
      answer: (request) => searcher.call('answer', request),
      read: (namespace, ordinals, now, maxBytes) => searcher.call('read', { namespace, ordinals, now, maxBytes }),
      distilCandidates: (request) => searcher.call('distilCandidates', request),
      backgroundCosine: (namespace) => searcher.call('backgroundCosine', namespace),
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
