import { MemoryError } from '@memoryd/contract';
import type { Owner, OwnerFilter } from '@memoryd/search';
import { type FindParts, find } from '../find.ts';
import type { Clock } from '../ports/runtime.ts';
import type { Storage } from '../ports/storage.ts';
import type { StoredMemory } from '../ports/storage-memories.ts';
import type { Due } from './steps.ts';

/** Maximum memories of the sample that the run will promote. */
const PROMOTION_SAMPLE = 6;

/** Maximum memories of the sample that the run will merge. */
const MERGE_SAMPLE = 3;

/** Maximum episodic memories of the sample. */
const EPISODIC_SAMPLE = 3;

/** Maximum number of planned memories that a sample is drawn from. */
const SAMPLE_POOL = 200;

/** Maximum characters of a memory's text that are used as a query. Recall takes longer with each word of the query. */
const MAX_QUERY_CHARS = 300;

const MAX_BYTES = 16 * 1024 * 1024;

/** A memory is considered found if it is among this number of first results. */
const FOUND_WITHIN = 10;

/** Maximum results of a search; equal to `POOL_SIZE` in core/find. */
const SEARCH_LIMIT = 50;

/**
 * A memory that is no longer among the first results is considered lost only if its score has decreased by more than
 * this value. Uses during the run change a score by up to .026 (`WEIGHTS.evidence.retention`).
 */
const MAX_SCORE_LOSS = 0.05;

/** Returns the best memories of an owner for a text, best first. */
export type RecallForCheck = (
  namespace: string,
  text: string,
  of: OwnerFilter,
) => Promise<{ ordinal: number; score: number }[]>;

/** Creates a recall function that ranks as `recall` does, but does not increase use counts. */
export function createRecallForCheck(parts: FindParts): RecallForCheck {
  return async (namespace, query, filter) => {
    const request = { namespace, query, filter, limit: SEARCH_LIMIT, isPoolOnly: true, isUpToDate: true };
    const found = await find(parts, request);
    return [...found].map(([ordinal, { score }]) => ({ ordinal, score }));
  };
}

interface FoundBefore {
  memory: StoredMemory;
  score: number;
}

export interface SelfCheckParts {
  storage: Storage;
  clock: Clock;
  recalled: RecallForCheck;
}

/** Checks before and after a run that a sample of memories can be recalled by their own words. */
export class SelfCheck {
  readonly #parts: SelfCheckParts;
  readonly #due: Due;
  readonly #foundBefore: FoundBefore[] = [];

  constructor(parts: SelfCheckParts, due: Due) {
    this.#parts = parts;
    this.#due = due;
  }

  /**
   * Records the memories of the sample that recall finds. Must be called before the run promotes, evicts or merges
   * memories.
   */
  async begin(): Promise<void> {
    for (const memory of await this.#sample()) {
      const result = await this.#recallOwnText(memory);
      if (result && result.rank < FOUND_WITHIN) this.#foundBefore.push({ memory, score: result.score });
    }
  }

  /**
   * Returns the ids of the memories of the sample that the run has made unfindable. Such a memory was found before the
   * run, and no client has changed the memory since. The memory is no longer among the first results, its score has
   * decreased by more than `MAX_SCORE_LOSS`, and none of the better results is a valid successor.
   */
  async lost(): Promise<string[]> {
    const lost: string[] = [];
    for (const before of this.#foundBefore) if (await this.#isLost(before)) lost.push(before.memory.id);
    return lost;
  }

  async #isLost({ memory: { id, version }, score }: FoundBefore): Promise<boolean> {
    const memory = await this.#read(id);
    if (memory?.version !== version || (await this.#isRewritten(memory))) return false;
    const result = await this.#recallOwnText(memory);
    if (!result || result.rank < FOUND_WITHIN || result.score >= score - MAX_SCORE_LOSS) return false;
    // The memory is not lost if a better result was written since the run began, or has the same query text. A memory
    // that a client has written, or that has expired, during the check is not lost either.
    return !(await this.#hasValidSuccessor(memory, result.before)) && (await this.#read(id))?.version === version;
  }

  /**
   * Returns true if `memory` is a merged duplicate whose merge target is missing or now has another text, because a
   * client has changed the target.
   */
  async #isRewritten(memory: StoredMemory): Promise<boolean> {
    if (memory.mergedInto === null) return false;
    const target = await this.#read(memory.mergedInto);
    return target === undefined || toQuery(target).normalize() !== toQuery(memory).normalize();
  }

  async #sample(): Promise<StoredMemory[]> {
    const { namespace, now, promotedUntil } = this.#due;
    const { storage } = this.#parts;
    const promotion = await storage.planPromotion(namespace, { promotedUntil, now }, SAMPLE_POOL);
    const merging = await storage.planMerge(namespace, now, SAMPLE_POOL);
    const page = { limit: EPISODIC_SAMPLE, maxBytes: MAX_BYTES };
    const episodic = await storage.memories(namespace, { tier: 'episodic' }, page, now);
    const sample = [
      ...sampleEvenly(promotion.items, PROMOTION_SAMPLE),
      ...sampleEvenly(merging.items, MERGE_SAMPLE),
      ...episodic.items,
    ];
    const memories: StoredMemory[] = [];
    for (const id of new Set(sample.map(({ id }) => id))) {
      const memory = await this.#read(id);
      if (memory) memories.push(memory);
    }
    return memories;
  }

  /**
   * Recalls by the text of `memory`. Returns the position (from 0; Infinity if absent) and the score of the memory, or
   * of the memory that it was merged into, and the ordinals of up to `FOUND_WITHIN` better results. Returns undefined
   * if recall is unavailable.
   */
  async #recallOwnText(memory: StoredMemory): Promise<{ rank: number; score: number; before: number[] } | undefined> {
    const expected = memory.mergedInto === null ? memory : await this.#read(memory.mergedInto);
    try {
      const found = await this.#parts.recalled(this.#due.namespace, toQuery(memory), toOwnerFilter(memory));
      const at = found.findIndex(({ ordinal }) => ordinal === expected?.ordinal);
      const rank = at === -1 ? Number.POSITIVE_INFINITY : at;
      const before = found.slice(0, Math.min(rank, FOUND_WITHIN)).map(({ ordinal }) => ordinal);
      return { rank, score: found[at]?.score ?? 0, before };
    } catch (error) {
      if (error instanceof MemoryError && error.code === 'UNAVAILABLE') return undefined;
      throw error;
    }
  }

  /**
   * Whether any of these memories may rightly rank before `memory`: a memory that was written during the run, or that
   * has the same query text.
   */
  async #hasValidSuccessor(memory: StoredMemory, ordinals: number[]): Promise<boolean> {
    const { namespace, now } = this.#due;
    const { storage, clock } = this.#parts;
    const present = clock.now();
    const { memories } = await storage.read(namespace, ordinals, { now: present }, MAX_BYTES);
    return memories.some((before) => before.updatedAt >= now || toQuery(before) === toQuery(memory));
  }

  #read(id: string): Promise<StoredMemory | undefined> {
    const { storage, clock } = this.#parts;
    return storage.memory(this.#due.namespace, id, clock.now());
  }
}

/**
 * Limits the search to the owner of a memory, so that the check does not depend on how often other owners have its text.
 * Without a user and an agent, the search is not limited, because most namespaces with such memories have no others.
 */
function toOwnerFilter({ userId, agentId }: Owner): OwnerFilter {
  return userId === '' && agentId === '' ? {} : { userIds: [userId], agentIds: [agentId] };
}

/** Returns the text that a memory is recalled by. */
function toQuery({ content }: { content: string }): string {
  return content.trim().slice(0, MAX_QUERY_CHARS);
}

/** Returns at most `count` items at even distances, including the first and the last. */
function sampleEvenly<Item>(items: readonly Item[], count: number): Item[] {
  if (items.length <= count) return [...items];
  const step = (items.length - 1) / (count - 1);
  return Array.from({ length: count }, (_, i) => items[Math.round(i * step)] as Item);
}
