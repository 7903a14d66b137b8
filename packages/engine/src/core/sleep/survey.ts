import type { Storage } from '../../ports/storage.ts';
import type { DistilCandidate, SeenMemory } from '../../ports/storage-distil.ts';
import { type GroupsBefore, groupMemories } from '../distil/group.ts';
import type { Due } from './step.ts';

/** Candidates that are grouped at once: enough for whole groups, few enough to be done in some milliseconds. */
const GROUPED_AT_ONCE = 64;

/** Memories that belong together. */
export interface FoundGroup {
  /** The semantic memory that was made of some of them before. */
  semantic?: number;
  /** Those that are not among its sources yet. */
  joining: number[];
  /** Those that waited to be looked at. */
  candidates: SeenMemory[];
}

/**
 * Looks at the memories that wait for it, some at a time, and finds the groups that they belong to. It changes nothing;
 * what it has found counts as done for what it looks at later.
 */
export class Survey {
  /** Memories that belong to no group now. */
  readonly alone: SeenMemory[] = [];
  readonly #storage: Storage;
  readonly #due: Due;
  readonly #most: number;
  /** By what stands for a group: its semantic memory, or a number below 0. */
  readonly #groups = new Map<number, FoundGroup>();
  readonly #sizes = new Map<number, number>();
  /** What stands for the group that a memory has joined. */
  readonly #joined = new Map<number, number>();
  /** Those that were read, and are not grouped yet. */
  readonly #ungrouped: DistilCandidate[] = [];
  #background: number | undefined;
  #looked = 0;
  #after = 0;

  /** @param most about how many memories it looks at in all */
  constructor(storage: Storage, due: Due, most: number) {
    this.#storage = storage;
    this.#due = due;
    this.#most = most;
  }

  /** Groups to distil, in the order in which they were found. */
  get groups(): FoundGroup[] {
    return [...this.#groups.values()];
  }

  /** Looks at the next few of those that wait; false where no more are to be looked at. */
  async lookOn(): Promise<boolean> {
    const { namespace } = this.#due;
    this.#background ??= await this.#storage.backgroundCosine(namespace);
    const limit = this.#storage.candidatesAtOnce;
    const { candidates, next } = await this.#storage.distilCandidates({ ...this.#due, after: this.#after, limit });
    this.#ungrouped.push(...candidates);
    this.#looked += candidates.length;
    this.#after = next ?? 0;
    const more = next !== undefined && this.#looked < this.#most;
    if (!more || this.#ungrouped.length >= GROUPED_AT_ONCE) this.#group(this.#ungrouped.splice(0));
    return more;
  }

  #group(candidates: readonly DistilCandidate[]): void {
    const { made, grown } = groupMemories(candidates, this.#before(candidates));
    for (const joining of made) this.#join(joining, -1 - this.#groups.size);
    for (const { semantic, joining } of grown) this.#join(joining, semantic);
    for (const { ordinal, version, group } of candidates) {
      const number = this.#joined.get(ordinal) ?? group?.semantic;
      const waited = number === undefined ? this.alone : this.#groupOf(number).candidates;
      waited.push({ ordinal, version });
    }
  }

  #join(joining: readonly number[], number: number): void {
    this.#groupOf(number).joining.push(...joining);
    this.#sizes.set(number, (this.#sizes.get(number) ?? 0) + joining.length);
    for (const ordinal of joining) this.#joined.set(ordinal, number);
  }

  #groupOf(number: number): FoundGroup {
    let group = this.#groups.get(number);
    if (!group) {
      group = { ...(number > 0 && { semantic: number }), joining: [], candidates: [] };
      this.#groups.set(number, group);
    }
    return group;
  }

  /** The groups of candidates and their neighbours, those found before included. */
  #before(candidates: readonly DistilCandidate[]): GroupsBefore {
    const semanticOf = new Map<number, number>();
    const sizeOf = new Map<number, number>();
    for (const { ordinal, group } of candidates.flatMap((candidate) => [candidate, ...candidate.neighbours])) {
      const number = this.#joined.get(ordinal) ?? group?.semantic;
      if (number === undefined) continue;
      if (group && !this.#sizes.has(number)) this.#sizes.set(number, group.sourceCount);
      semanticOf.set(ordinal, number);
      sizeOf.set(number, this.#sizes.get(number) ?? 0);
    }
    return { semanticOf, sizeOf, background: this.#background ?? 0 };
  }
}
