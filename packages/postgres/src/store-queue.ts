import {
  BatchQueue,
  countNewChars,
  isQuotaLimited,
  type NamespaceLimits,
  type NewMemory,
  type Queries,
  readRooms,
  type StoreOutcome,
  sql,
  writeVerbs,
} from '@memoryd/core';
import { LRUCache } from 'lru-cache';
import type { Connection } from './connection.ts';
import { CommitUnknown, isUnavailable } from './failure.ts';

/** Maximum attempts to store memories if the outcome of the commit is unknown. */
const MAX_ATTEMPTS = 3;

type Attempt = { outcomes: StoreOutcome[] } | { error: unknown };

/** Maximum number of cached namespaces that are known to have a quota. */
const MAX_LIMITED_NAMESPACES = 10_000;

/** Thrown before anything is stored if a namespace has a quota, but the transaction holds only its shared lock. */
class ExclusiveLockRequired extends Error {
  readonly namespaces: readonly string[];

  constructor(namespaces: readonly string[]) {
    super('a namespace has a quota');
    this.namespaces = namespaces;
  }
}

/** Groups concurrent stores of this process into shared transactions. */
export class StoreQueue {
  readonly #connection: Connection;
  readonly #limits: NamespaceLimits;
  readonly #queue = new BatchQueue<readonly NewMemory[], Attempt>((calls) => this.#commit(calls));
  /** Namespaces that are known to have a quota. Stores in these namespaces take an exclusive lock. */
  readonly #limited = new LRUCache<string, true>({ max: MAX_LIMITED_NAMESPACES });

  constructor(connection: Connection, limits: NamespaceLimits) {
    this.#connection = connection;
    this.#limits = limits;
  }

  /** See `Storage.storeMany`. */
  async storeMany(memories: readonly NewMemory[]): Promise<StoreOutcome[]> {
    if (memories.length === 0) return [];
    const chars = countNewChars(memories);
    const attempt = await this.#queue.run(memories, { memories: memories.length, chars });
    if ('error' in attempt) throw attempt.error;
    return attempt.outcomes;
  }

  /** Resolves when the queue is empty. */
  idle(): Promise<void> {
    return this.#queue.idle();
  }

  async #commit(calls: (readonly NewMemory[])[]): Promise<Attempt[]> {
    try {
      const outcomes = await this.#store(calls.flat());
      let from = 0;
      return calls.map((call) => ({ outcomes: outcomes.slice(from, (from += call.length)) }));
    } catch (error) {
      // If the database is unavailable, each call would fail in the same way after the same number of retries.
      if (calls.length === 1 || isUnavailable(error)) return calls.map(() => ({ error }));
      // Store the calls individually, so that one invalid call does not affect the others.
      const attempts: Attempt[] = [];
      for (const call of calls) attempts.push(...(await this.#commit([call])));
      return attempts;
    }
  }

  async #store(memories: readonly NewMemory[]): Promise<StoreOutcome[]> {
    let unknown: CommitUnknown | undefined;
    for (let attempt = 1; ; ) {
      try {
        return await this.#attemptStore(memories, unknown !== undefined);
      } catch (error) {
        if (error instanceof ExclusiveLockRequired) {
          for (const namespace of error.namespaces) this.#limited.set(namespace, true);
          continue;
        }
        // If the check itself failed, the outcome of the commit is still unknown.
        if (!(error instanceof CommitUnknown) || attempt === MAX_ATTEMPTS) throw unknown ?? error;
        unknown = error;
        attempt++;
      }
    }
  }

  async #attemptStore(memories: readonly NewMemory[], isRepeated: boolean): Promise<StoreOutcome[]> {
    const shared = [...new Set(memories.map((memory) => memory.namespace))];
    // The exclusive lock waits for the transaction whose commit had an unknown outcome. The stored ids then show which
    // memories that transaction has stored.
    const exclusiveNamespaces = isRepeated
      ? shared
      : shared.filter((namespace) => this.#needsExclusiveLock(namespace, memories));
    return this.#connection.write({ exclusiveNamespaces, shared }, async (transaction) => {
      const already = isRepeated ? await findStored(transaction, memories) : [];
      const missing = memories.filter((_, i) => already[i] === undefined);
      const rooms = await readRooms(transaction, memories, this.#limits.quota);
      assertExclusive(rooms, exclusiveNamespaces);
      const outcomes = await writeVerbs.storeMany(transaction, missing, { workingMax: this.#limits.workingMax, rooms });
      let next = 0;
      return memories.map((_, i) => already[i] ?? (outcomes[next++] as StoreOutcome));
    });
  }

  #needsExclusiveLock(namespace: string, memories: readonly NewMemory[]): boolean {
    return (
      isQuotaLimited(this.#limits.quota) ||
      this.#limited.has(namespace) ||
      memories.some(
        ({ supersedes, externalId, ...memory }) =>
          memory.namespace === namespace && (supersedes !== null || externalId !== null),
      )
    );
  }
}

/**
 * Throws ExclusiveLockRequired if a namespace with a quota is not locked exclusively, because concurrent transactions
 * could together exceed the quota.
 */
function assertExclusive({ limited }: { limited: readonly string[] }, exclusive: readonly string[]): void {
  const others = limited.filter((namespace) => !exclusive.includes(namespace));
  if (others.length > 0) throw new ExclusiveLockRequired(others);
}

/** Returns the outcomes of memories that a commit with an unknown outcome has stored; undefined for other memories. */
async function findStored(queries: Queries, memories: readonly NewMemory[]): Promise<(StoreOutcome | undefined)[]> {
  const found = await queries.rows<{ place: number; ordinal: number }>(sql`
    SELECT asked.place, m.ordinal
    FROM unnest(${memories.map((memory) => memory.namespace)}::text[], ${memories.map((memory) => memory.id)}::text[])
      WITH ORDINALITY AS asked(namespace, id, place)
    JOIN memory m ON m.namespace = asked.namespace AND m.id = asked.id`);
  const ordinals = new Map(found.map(({ place, ordinal }) => [place - 1, ordinal]));
  return memories.map((_, place) => {
    const ordinal = ordinals.get(place);
    return ordinal === undefined ? undefined : { outcome: 'stored', ordinal };
  });
}
