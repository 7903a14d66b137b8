import { MemoryError } from '@memoryd/contract';
import type { Clock } from '../../ports/runtime.ts';
import type { Storage } from '../../ports/storage.ts';
import type { StoredMemory } from '../../ports/storage-memories.ts';
import { type FindParts, find } from '../find.ts';
import type { Due } from './steps.ts';

/** Memories that are looked at: of those that are to promote, of those to merge, and of those that recall had before. */
const PROMOTING = 6;
const MERGING = 3;
const EPISODIC = 3;

/** Planned memories that a sample is drawn from. */
const DRAWN_FROM = 200;

/** Characters of a text that it is asked for by; the asking takes longer with each word. */
const ASKED_CHARS = 300;

const MAX_BYTES = 16 * 1024 * 1024;

/** Results among which a memory must be to be found, and how many, no more than any search has, it is sought in. */
const RESULTS = 10;
const LOOKED_THROUGH = 50;

/** How much less a memory may score than before the run: use, which goes on, moves .027 (`WEIGHTS.evidence.retention`). */
const SCORE_MOVES = 0.05;

/** What a check asks: the memories that answer a text best, best first. */
export type Recalled = (namespace: string, text: string) => Promise<{ ordinal: number; score: number }[]>;

/** Recall as callers have it, but that it notes no use. */
export function recalledBy(parts: FindParts): Recalled {
  return async (namespace, query) => {
    const sought = { namespace, query, filter: {}, limit: LOOKED_THROUGH, isOfPool: true, isUpToDate: true };
    const found = await find(parts, sought);
    return [...found].map(([ordinal, { score }]) => ({ ordinal, score }));
  };
}

interface FoundBefore {
  memory: StoredMemory;
  score: number;
}

/** What a check works with. */
export interface SelfCheckParts {
  storage: Storage;
  clock: Clock;
  recalled: Recalled;
}

/** Looks, before and after a run, whether texts that it touches are recalled by their own words. */
export class SelfCheck {
  readonly #parts: SelfCheckParts;
  readonly #due: Due;
  readonly #foundBefore: FoundBefore[] = [];

  constructor(parts: SelfCheckParts, due: Due) {
    this.#parts = parts;
    this.#due = due;
  }

  /** To be called before the run has changed anything. */
  async begin(): Promise<void> {
    for (const memory of await this.#sample()) {
      const asked = await this.#ask(memory);
      if (asked && asked.place < RESULTS) this.#foundBefore.push({ memory, score: asked.score });
    }
  }

  /** The ids of memories that were found before and no longer are, though no client has written them since. */
  async lost(): Promise<string[]> {
    const lost: string[] = [];
    for (const before of this.#foundBefore) if (await this.#isLost(before)) lost.push(before.memory.id);
    return lost;
  }

  async #isLost({ memory: { id, version }, score }: FoundBefore): Promise<boolean> {
    const memory = await this.#read(id);
    if (memory?.version !== version || (await this.#isRewritten(memory))) return false;
    const asked = await this.#ask(memory);
    if (!asked || asked.place < RESULTS || asked.score >= score - SCORE_MOVES) return false;
    // What clients have written since stands before it, or what says the same as far as it is asked by; or, while it was
    // asked for, it has expired or was written.
    return !(await this.#standsInPlace(memory, asked.before)) && (await this.#read(id))?.version === version;
  }

  /** Whether a client has given the memory that a hidden duplicate was merged into another text. */
  async #isRewritten(memory: StoredMemory): Promise<boolean> {
    if (memory.mergedInto === null) return false;
    const visible = await this.#read(memory.mergedInto);
    return visible === undefined || askedBy(visible).normalize() !== askedBy(memory).normalize();
  }

  async #sample(): Promise<StoredMemory[]> {
    const { namespace, now, promotedUntil } = this.#due;
    const { storage } = this.#parts;
    const promotion = await storage.planPromotion(namespace, { promotedUntil, now }, DRAWN_FROM);
    const merging = await storage.planMerge(namespace, now, DRAWN_FROM);
    const page = { limit: EPISODIC, maxBytes: MAX_BYTES };
    const episodic = await storage.memories(namespace, { tier: 'episodic' }, page, now);
    const drawn = [...spread(promotion.items, PROMOTING), ...spread(merging.items, MERGING), ...episodic.items];
    const memories: StoredMemory[] = [];
    for (const id of new Set(drawn.map(({ id }) => id))) {
      const memory = await this.#read(id);
      if (memory) memories.push(memory);
    }
    return memories;
  }

  /** Where its own text recalls a memory, or the duplicate that it was merged into; undefined when recall cannot answer now. */
  async #ask(memory: StoredMemory): Promise<{ place: number; score: number; before: number[] } | undefined> {
    const standing = memory.mergedInto === null ? memory : await this.#read(memory.mergedInto);
    try {
      const found = await this.#parts.recalled(this.#due.namespace, askedBy(memory));
      const at = found.findIndex(({ ordinal }) => ordinal === standing?.ordinal);
      const place = at === -1 ? Number.POSITIVE_INFINITY : at;
      const before = found.slice(0, Math.min(place, RESULTS)).map(({ ordinal }) => ordinal);
      return { place, score: found[at]?.score ?? 0, before };
    } catch (error) {
      if (error instanceof MemoryError && error.code === 'UNAVAILABLE') return undefined;
      throw error;
    }
  }

  /** Whether any of some memories may well stand before another. */
  async #standsInPlace(memory: StoredMemory, ordinals: number[]): Promise<boolean> {
    const { namespace, now } = this.#due;
    const { storage, clock } = this.#parts;
    const { memories } = await storage.read(namespace, ordinals, clock.now(), MAX_BYTES);
    return memories.some((before) => before.updatedAt >= now || askedBy(before) === askedBy(memory));
  }

  #read(id: string): Promise<StoredMemory | undefined> {
    const { storage, clock } = this.#parts;
    return storage.memory(this.#due.namespace, id, clock.now());
  }
}

/** What a memory is asked for by. */
function askedBy({ content }: { content: string }): string {
  return content.trim().slice(0, ASKED_CHARS);
}

/** At most so many of the items, the first and the last among them, evenly apart. */
function spread<Item>(items: readonly Item[], count: number): Item[] {
  if (items.length <= count) return [...items];
  const step = (items.length - 1) / (count - 1);
  return Array.from({ length: count }, (_, i) => items[Math.round(i * step)] as Item);
}
