import { MemoryError } from '@memoryd/contract';
import type { Clock } from '../../ports/clock.ts';
import type { Storage, StoredMemory } from '../../ports/storage.ts';
import { type FindParts, find } from '../find.ts';
import type { Due } from './step.ts';

/** Memories that are looked at: of those that are to settle, of those to merge, and of those that recall had before. */
const SETTLING = 6;
const MERGING = 3;
const EPISODIC = 3;

/** Planned memories that a sample is drawn from. */
const DRAWN_FROM = 200;

/** Characters of a text that it is asked for by. */
const ASKED_CHARS = 1000;

const MAX_BYTES = 16 * 1024 * 1024;

/** Results of a recall among which a memory must be to be found. */
const RESULTS = 10;

/** What a check asks: the ordinals of the memories that answer a text best. */
export type Recalled = (namespace: string, text: string) => Promise<number[]>;

/** Recall as callers have it, but that it notes no use. */
export function recalledBy(parts: FindParts): Recalled {
  return async (namespace, query) => {
    const found = await find(parts, { namespace, query, filter: {}, limit: RESULTS, isUpToDate: true });
    return [...found.keys()];
  };
}

/** What a check works with. */
export interface SelfCheckParts {
  storage: Storage;
  clock: Clock;
  recalled: Recalled;
}

/**
 * Looks, before and after a run, whether texts that it touches are recalled by their own words: consolidation must not
 * hide what it was given.
 */
export class SelfCheck {
  readonly #storage: Storage;
  readonly #clock: Clock;
  readonly #recalled: Recalled;
  readonly #due: Due;
  #foundBefore: StoredMemory[] = [];

  constructor({ storage, clock, recalled }: SelfCheckParts, due: Due) {
    this.#storage = storage;
    this.#clock = clock;
    this.#recalled = recalled;
    this.#due = due;
  }

  /** To be called before the run has changed anything. */
  async begin(): Promise<void> {
    for (const memory of await this.#sample()) if ((await this.#finds(memory)) === true) this.#foundBefore.push(memory);
  }

  /** The ids of memories that were found before and no longer are, though no client has written them since. */
  async lost(): Promise<string[]> {
    const lost: string[] = [];
    for (const before of this.#foundBefore) if (await this.#isLost(before)) lost.push(before.id);
    return lost;
  }

  async #isLost({ id, version }: StoredMemory): Promise<boolean> {
    const memory = await this.#read(id);
    if (memory?.version !== version || (await this.#finds(memory)) !== false) return false;
    // While it was asked for, it may have expired or been written or forgotten.
    return (await this.#read(id))?.version === version;
  }

  async #sample(): Promise<StoredMemory[]> {
    const { namespace, now, settledUntil } = this.#due;
    const settling = await this.#storage.planSettle(namespace, { settledUntil, now }, DRAWN_FROM);
    const merging = await this.#storage.planMerge(namespace, now, DRAWN_FROM);
    const page = { limit: EPISODIC, maxBytes: MAX_BYTES };
    const episodic = await this.#storage.memories(namespace, { tier: 'episodic' }, page, now);
    const ids = new Set([
      ...spread(settling.items, SETTLING).map(({ id }) => id),
      ...spread(merging.items, MERGING).map(({ id }) => id),
      ...episodic.items.map(({ id }) => id),
    ]);
    const memories: StoredMemory[] = [];
    for (const id of ids) {
      const memory = await this.#read(id);
      if (memory) memories.push(memory);
    }
    return memories;
  }

  /**
   * Whether a memory is found, a merged one through the twin that stands for it; undefined when that says nothing of the
   * run: recall cannot answer now, or among what it found instead is what clients have written since.
   */
  async #finds(memory: StoredMemory): Promise<boolean | undefined> {
    const { namespace } = this.#due;
    const standing = memory.mergedInto === null ? memory : await this.#read(memory.mergedInto);
    const text = memory.content.trim().slice(0, ASKED_CHARS);
    if (!standing) return false;
    try {
      const found = await this.#recalled(namespace, text);
      if (found.includes(standing.ordinal)) return true;
      return (await this.#isAnyNewer(found)) ? undefined : false;
    } catch (error) {
      if (error instanceof MemoryError && error.code === 'UNAVAILABLE') return undefined;
      throw error;
    }
  }

  async #isAnyNewer(ordinals: number[]): Promise<boolean> {
    const { namespace, now } = this.#due;
    const { memories } = await this.#storage.read(namespace, ordinals, this.#clock.now(), MAX_BYTES);
    return memories.some((memory) => memory.updatedAt >= now);
  }

  #read(id: string): Promise<StoredMemory | undefined> {
    return this.#storage.memory(this.#due.namespace, id, this.#clock.now());
  }
}

/** At most so many of the items, the first and the last among them, evenly apart. */
function spread<Item>(items: readonly Item[], count: number): Item[] {
  if (items.length <= count) return [...items];
  const step = (items.length - 1) / (count - 1);
  return Array.from({ length: count }, (_, i) => items[Math.round(i * step)] as Item);
}
