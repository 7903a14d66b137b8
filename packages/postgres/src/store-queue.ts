import {
  BatchQueue,
  isLimit,
  type NamespaceLimits,
  type NewMemory,
  type Queries,
  type Rooms,
  readRooms,
  type StoreOutcome,
  sql,
  storeMany,
} from '@memoryd/engine/storage-kit';
import { LRUCache } from 'lru-cache';
import type { Connection } from './connection.ts';
import { CommitUnknown, isUnavailable } from './failure.ts';

/** How often a commit is looked for that nobody heard of. */
const TRIES = 3;

type Attempt = { outcomes: StoreOutcome[] } | { error: unknown };

/** Namespaces that are remembered to have a quota. */
const REMEMBERED = 10_000;

/** Nothing was stored, because namespaces have a quota and others could store in them meanwhile. */
class NotAlone extends Error {
  readonly namespaces: readonly string[];

  constructor(namespaces: readonly string[]) {
    super('a namespace has a quota');
    this.namespaces = namespaces;
  }
}

/** Lets stores of this process that arrive together share a transaction. */
export class StoreQueue {
  readonly #connection: Connection;
  readonly #limits: NamespaceLimits;
  readonly #queue = new BatchQueue<readonly NewMemory[], Attempt>((calls) => this.#commit(calls));
  /** Namespaces in which one transaction stores at a time, for they were found to have a quota. */
  readonly #limited = new LRUCache<string, true>({ max: REMEMBERED });

  constructor(connection: Connection, limits: NamespaceLimits) {
    this.#connection = connection;
    this.#limits = limits;
  }

  /** See `Storage.storeMany`. */
  async storeMany(memories: readonly NewMemory[]): Promise<StoreOutcome[]> {
    if (memories.length === 0) return [];
    const chars = memories.reduce((sum, memory) => sum + memory.content.length, 0);
    const attempt = await this.#queue.run(memories, { memories: memories.length, chars });
    if ('error' in attempt) throw attempt.error;
    return attempt.outcomes;
  }

  /** Resolves when nothing waits any more. */
  idle(): Promise<void> {
    return this.#queue.idle();
  }

  async #commit(calls: (readonly NewMemory[])[]): Promise<Attempt[]> {
    try {
      const outcomes = await this.#keep(calls.flat());
      let from = 0;
      return calls.map((call) => ({ outcomes: outcomes.slice(from, (from += call.length)) }));
    } catch (error) {
      // Where the database cannot serve, each would be refused as all are, after as many tries.
      if (calls.length === 1 || isUnavailable(error)) return calls.map(() => ({ error }));
      // One that cannot be written leaves the others as they are.
      const attempts: Attempt[] = [];
      for (const call of calls) attempts.push(...(await this.#commit([call])));
      return attempts;
    }
  }

  async #keep(memories: readonly NewMemory[]): Promise<StoreOutcome[]> {
    let unknown: CommitUnknown | undefined;
    for (let tries = 1; ; ) {
      try {
        return await this.#keepOnce(memories, unknown !== undefined);
      } catch (error) {
        if (error instanceof NotAlone) {
          for (const namespace of error.namespaces) this.#limited.set(namespace, true);
          continue;
        }
        // Where it could not be looked for, nobody knows more of it than before.
        if (!(error instanceof CommitUnknown) || tries === TRIES) throw unknown ?? error;
        unknown = error;
        tries++;
      }
    }
  }

  async #keepOnce(memories: readonly NewMemory[], isRepeated: boolean): Promise<StoreOutcome[]> {
    const shared = [...new Set(memories.map((memory) => memory.namespace))];
    // Where a commit was lost, alone, so that it has ended by then, one way or the other; then ids tell.
    const exclusiveNamespaces = isRepeated ? shared : shared.filter((namespace) => this.#isAlone(namespace, memories));
    return this.#connection.write({ exclusiveNamespaces, shared }, async (transaction) => {
      const already = isRepeated ? await storedAlready(transaction, memories) : [];
      const missing = memories.filter((_, i) => already[i] === undefined);
      const rooms = await readRooms(transaction, memories, this.#limits.quota);
      assertAlone(rooms, exclusiveNamespaces);
      const outcomes = await storeMany(transaction, missing, { workingMax: this.#limits.workingMax, rooms });
      let next = 0;
      return memories.map((_, i) => already[i] ?? (outcomes[next++] as StoreOutcome));
    });
  }

  /** Whether a namespace is not to be written by others meanwhile. */
  #isAlone(namespace: string, memories: readonly NewMemory[]): boolean {
    return (
      isLimit(this.#limits.quota.namespace) ||
      isLimit(this.#limits.quota.user) ||
      this.#limited.has(namespace) ||
      memories.some((memory) => memory.namespace === namespace && memory.supersedes !== null)
    );
  }
}

/** Throws NotAlone where two transactions could both take the last room that there is. */
function assertAlone({ limited }: Rooms, alone: readonly string[]): void {
  const others = limited.filter((namespace) => !alone.includes(namespace));
  if (others.length > 0) throw new NotAlone(others);
}

/** Which of these memories are kept already, each as its outcome: those of a commit that nobody heard of. */
async function storedAlready(queries: Queries, memories: readonly NewMemory[]): Promise<(StoreOutcome | undefined)[]> {
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
