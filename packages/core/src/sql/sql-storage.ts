import type { Load } from '../concurrency/batch-queue.ts';
import type { KeyStore } from '../ports/administration.ts';
import type { Lease } from '../ports/coordination.ts';
import type { Storage } from '../ports/storage.ts';
import type { Quotas } from '../ports/storage-namespaces.ts';
import { countChars } from '../record-size.ts';
import { MAX_CHANGED_AT_ONCE } from './change-many.ts';
import { leastRetained, planMerge } from './partial-plans.ts';
import type { ReadVerbs, VerbArguments, WriteVerbs } from './verbs.ts';

/** The lock that a write acquires: one namespace, the keys, the model in use, or none. */
type Held = { exclusive: string } | 'keys' | 'model' | 'nothing';

/**
 * Runs storage operations on a database. `verb` names a function of `ReadVerbs` or `WriteVerbs`; `args` are its
 * arguments after `Queries` or `Transaction`.
 */
export interface SqlRunner {
  /** Runs a read in one snapshot of the database. */
  read(verb: keyof ReadVerbs, args: readonly unknown[]): Promise<unknown>;
  /**
   * Runs a write in a transaction, and resolves once the transaction is on disk. `load` is the size of the write;
   * omitted if the write is always small.
   */
  write(held: Held, verb: keyof WriteVerbs, args: readonly unknown[], load?: Load): Promise<unknown>;
  /**
   * Purges the bytes of deleted texts, of a whole namespace or of individual memories. Resolves with true if the bytes
   * are purged, and with false if the purge continues in the background.
   *
   * @param removed number of deleted memories
   */
  purge(removed: number, of: 'memories' | 'namespace'): Promise<boolean>;
  /** Returns the size of the whole database on disk, in bytes. */
  sizeBytes(): Promise<number>;
  /** Default quotas of namespaces and users. */
  quota: Quotas;
}

/**
 * Creates the part of a storage that is the same for all databases, and the lease and key store. An adapter adds
 * search, vectors, storing, and operations on the whole database.
 */
export function sqlStorage(runner: SqlRunner) {
  const { purge, sizeBytes, quota } = runner;
  const read = <Verb extends keyof ReadVerbs>(verb: Verb, ...args: VerbArguments<ReadVerbs[Verb]>) =>
    runner.read(verb, args) as ReturnType<ReadVerbs[Verb]>;
  const write = <Verb extends keyof WriteVerbs>(
    held: Held,
    verb: Verb,
    args: VerbArguments<WriteVerbs[Verb]>,
    load?: Load,
  ) => runner.write(held, verb, args, load) as ReturnType<WriteVerbs[Verb]>;
  const writeIn = <Verb extends keyof WriteVerbs>(
    namespace: string,
    ...call: [verb: Verb, args: VerbArguments<WriteVerbs[Verb]>, load?: Load]
  ) => write({ exclusive: namespace }, ...call);
  /**
   * Repeats a deleting step until the step returns undefined instead of a number of deleted memories. If a step fails,
   * requests a purge of the texts deleted so far.
   */
  const removeAll = async (step: () => Promise<number | undefined>) => {
    let count = 0;
    try {
      for (let deleted = await step(); deleted !== undefined; deleted = await step()) count += deleted;
    } catch (error) {
      if (count > 0) void purge(count, 'memories');
      throw error;
    }
    return count;
  };
  const storage = {
    memory: (...args) => read('memory', ...args),
    history: (...args) => read('history', ...args),
    textAt: (...args) => read('textAt', ...args),
    memories: (...args) => read('memories', ...args),
    newest: (...args) => read('newest', ...args),
    turnsBefore: (...args) => read('turnsBefore', ...args),
    growth: (...args) => read('growth', ...args),
    facet: (...args) => read('facet', ...args),
    growthSteps: (...args) => read('growthSteps', ...args),
    session: (...args) => read('session', ...args),
    sessions: (...args) => read('sessions', ...args),
    users: (...args) => read('users', ...args),
    outlines: (...args) => read('outlines', ...args),
    revisions: (...args) => read('revisions', ...args),
    scopeState: (...args) => read('scopeState', ...args),
    update: (change) => writeIn(change.namespace, 'update', [change, quota], { chars: change.content?.length ?? 0 }),
    async forget(namespace, id, condition) {
      const forgotten = await writeIn(namespace, 'forget', [namespace, id, condition]);
      return forgotten.outcome === 'forgotten' ? { ...forgotten, purged: await purge(1, 'memories') } : forgotten;
    },
    async forgetMany(namespace, selection, onForgotten) {
      // Memories stored from now on are not forgotten, regardless of how long the operation takes.
      const arrivedUntil = await write('nothing', 'lastOrdinal', [namespace]);
      const count = await removeAll(async () => {
        const deleted = await writeIn(namespace, 'forgetBatch', [namespace, selection, arrivedUntil]);
        if (deleted.length > 0) onForgotten?.(deleted);
        return deleted.length || undefined;
      });
      return { count, purged: await purge(count, 'memories') };
    },
    dropIdempotencyKeys: (...args) => write('nothing', 'dropIdempotencyKeys', args),

    async stats(...args) {
      return { ...(await read('stats', ...args)), sizeBytes: await sizeBytes() };
    },
    async totals(now) {
      return { ...(await read('totals', now)), sizeBytes: await sizeBytes() };
    },
    secret: () => read('secret'),
    async probe(now, chars) {
      await write('nothing', 'probe', [now, chars]);
      if (chars > 0) await write('nothing', 'probe', [now, 0]);
    },
    condition: async () => ({}),
    recordBackup: (at) => write('nothing', 'recordBackup', [at]),
    namespaces: () => read('namespaces'),
    usage: (now) => read('namespaceUsage', now),
    userQuotas: (namespace) => read('userQuotas', namespace),
    setQuota: (namespace, own) => writeIn(namespace, 'setQuota', [namespace, '', own]),
    setUserQuota: (namespace, userId, own) => writeIn(namespace, 'setQuota', [namespace, userId, own]),
    hookSettings: (...args) => read('hookSettings', ...args),
    allHookSettings: (namespace) => read('allHookSettings', namespace),
    changeHookSettings: (namespace, ...args) => writeIn(namespace, 'changeHookSettings', [namespace, ...args]),
    async deleteNamespace(namespace) {
      const arrivedUntil = await write('nothing', 'lastOrdinal', [namespace]);
      await write('keys', 'deleteKeys', [namespace]);
      const count = await removeAll(async () => {
        const deleted = await writeIn(namespace, 'eraseBatch', [namespace, arrivedUntil]);
        return deleted || undefined;
      });
      await writeIn(namespace, 'dropNamespace', [namespace]);
      return { count, purged: await purge(count, 'namespace') };
    },

    beginRun: (namespace, begin) => writeIn(namespace, 'beginRun', [namespace, begin]),
    promote: (run, ...args) => writeIn(run.namespace, 'promote', [run, ...args]),
    mergeDuplicates: (run, now, limit) => writeIn(run.namespace, 'mergeDuplicates', [run, now, limit]),
    readGroup: (request) => read('readGroup', request),
    distil: (run, memory) => writeIn(run.namespace, 'distil', [run, memory]),
    refresh: (run, memory) => writeIn(run.namespace, 'refresh', [run, memory]),
    correct: (run, correction) => writeIn(run.namespace, 'correct', [run, correction]),
    comparedMemories: (...args) => read('comparedMemories', ...args),
    suggestCorrections: (run, ...args) => writeIn(run.namespace, 'suggestCorrections', [run, ...args]),
    corrections: (...args) => read('corrections', ...args),
    decideCorrection: (decision) => writeIn(decision.namespace, 'decideCorrection', [decision]),
    requeuePassedOver: (run, limit) => writeIn(run.namespace, 'requeuePassedOver', [run, limit]),
    dropCandidates: (run, memories) => writeIn(run.namespace, 'dropCandidates', [run, memories]),
    evictExpired: (run, ...args) => writeIn(run.namespace, 'evictExpired', [run, ...args]),
    leastRetained: (namespace, tier, count, now) =>
      leastRetained((after) => read('leastRetainedAfter', namespace, tier, after, count, now), count),
    evictExcess: (run, ...args) => writeIn(run.namespace, 'evictExcess', [run, ...args]),
    async clearArchive(run, ...args) {
      const cleared = await writeIn(run.namespace, 'clearArchive', [run, ...args]);
      if (cleared.count > 0) void purge(cleared.count, 'memories');
      return cleared;
    },
    endRun: (run, ...args) => writeIn(run.namespace, 'endRun', [run, ...args]),
    planPromotion: (...args) => read('planPromotion', ...args),
    planMerge: (namespace, now, limit) =>
      planMerge((after, left) => read('planMergeAfter', namespace, now, after, left), limit),
    planEvict: (...args) => read('planEvict', ...args),

    runs: (...args) => read('runs', ...args),
    run: (...args) => read('run', ...args),
    changes: (...args) => read('changes', ...args),
    laterRuns: (...args) => read('laterRuns', ...args),
    beginUndo: (namespace, ...args) => writeIn(namespace, 'beginUndo', [namespace, ...args]),
    undoOfMemory: (namespace, ...args) => writeIn(namespace, 'undoOfMemory', [namespace, ...args]),
    beginRevert: (run, notes) => writeIn(run.namespace, 'beginRevert', [run, notes]),
    undoSome: (run, ...args) => writeIn(run.namespace, 'undoSome', [run, ...args]),

    beginImport: (namespace, begin) => writeIn(namespace, 'beginImport', [namespace, begin]),
    endImport: (namespace, ...args) => writeIn(namespace, 'endImport', [namespace, ...args]),
    unchangedTexts: (...args) => read('unchangedTexts', ...args),
    importRun: (...args) => read('importRun', ...args),
    imports: (...args) => read('imports', ...args),
    importCopies: (...args) => read('importCopies', ...args),
    importedCopies: (...args) => read('importedCopies', ...args),
    restoreImports: (namespace, ...args) => writeIn(namespace, 'restoreImports', [namespace, ...args]),
    async undoImport(namespace, id, { of, at }, onForgotten) {
      const undone = { kept: 0, after: 0, isFound: false };
      const forgotten = await removeAll(async () => {
        const batch = await writeIn(namespace, 'undoImportBatch', [namespace, id, of, { after: undone.after, at }]);
        if (!batch) return undefined;
        undone.isFound = true;
        undone.kept += batch.kept;
        if (batch.last === undefined) return undefined;
        undone.after = batch.last;
        if (batch.deleted.length > 0) onForgotten?.(batch.deleted);
        return batch.deleted.length;
      });
      if (!undone.isFound) return undefined;
      return { forgotten, kept: undone.kept, purged: await purge(forgotten, 'memories') };
    },

    async changeMany(namespace, { selection, changes, ...named }, { now, onChanged }) {
      const begun = await writeIn(namespace, 'beginChange', [namespace, named, now()]);
      if (begun.outcome !== 'begun') return begun;
      const { no } = begun;
      for (let more = true; more; ) {
        const selected = await read('selectForChange', namespace, no, selection, now());
        for (let from = 0; from < selected.ordinals.length; from += MAX_CHANGED_AT_ONCE) {
          const ordinals = selected.ordinals.slice(from, from + MAX_CHANGED_AT_ONCE);
          const batch = { ordinals, selection, changes, at: now() };
          const changed = await writeIn(namespace, 'changeBatch', [namespace, no, batch]);
          if (changed.outcome !== 'changed') return changed;
          if (changed.changed.length > 0) onChanged(changed.changed);
        }
        more = selected.more;
      }
      return writeIn(namespace, 'endChange', [namespace, no]);
    },
    async undoChange(namespace, id, of, { now, onChanged }) {
      const begun = await writeIn(namespace, 'beginChangeUndo', [namespace, id, of, now()]);
      if (begun.outcome !== 'begun') return begun;
      for (;;) {
        const batch = await writeIn(namespace, 'undoChangeBatch', [namespace, begun.no, now()]);
        if (!batch) return { outcome: 'unknown' };
        if (batch.restored.length > 0) onChanged(batch.restored);
        const { updated, restored } = batch.counts;
        if (!batch.more) return { outcome: 'undone', restored, kept: updated - restored };
      }
    },
    dropChanges: (...args) => write('nothing', 'dropChanges', args),

    importRecords(namespace, records, links, importId) {
      const chars = records.reduce((sum, record) => sum + countChars(record), 0);
      return writeIn(namespace, 'importRecords', [namespace, records, links, quota, importId], {
        memories: records.length,
        chars,
      });
    },
    cosineScales: () => read('cosineScales'),
    keepCosineScales: (...args) => write('model', 'keepCosineScales', args),
    beginMigration: (from) => write('model', 'beginMigration', [from]),
    isMigrating: () => read('isMigrating'),
    endMigration: () => write('nothing', 'endMigration', []),
  } satisfies Partial<Storage>;
  const lease: Lease = {
    acquire: (...args) => write('nothing', 'acquireLease', args),
    release: (...args) => write('nothing', 'releaseLease', args),
  };
  const keys: KeyStore = {
    add: (key) => write('keys', 'addKey', [key]),
    revoke: (...args) => write('keys', 'revokeKey', args),
    openLoopback: () => write('keys', 'openLoopback', []),
    recordUse: (...args) => write('nothing', 'noteKeyUse', args),
    importAll: (other) => write('keys', 'importKeys', [other]),
    read: (seen) => read('readKeys', seen),
  };
  return { storage, lease, keys };
}
