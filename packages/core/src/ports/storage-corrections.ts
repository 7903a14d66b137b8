import type { FilterFields, Owner, OwnerFilter } from '@memoryd/search';
import type { MemoryVersion, RunRef } from './storage-consolidation.ts';
import type { Page, PageRequest } from './storage-memories.ts';

/** `pending`: nobody has decided yet. The other states are the last decision of a client. */
export type CorrectionState = 'pending' | 'accepted' | 'declined';

/** The difference of the later memory. `change`: it says that something changed. */
export type CorrectionReason = 'change' | 'number' | 'date' | 'name' | 'negation';

/** A memory of a suggested correction, with its current text. */
export interface CorrectionSide {
  id: string;
  content: string;
  createdAt: number;
}

/** A suggestion that the memory `later` corrects the memory `earlier`. Both have the same user and agent. */
export interface SuggestedCorrection extends Owner {
  id: string;
  state: CorrectionState;
  reason: CorrectionReason;
  earlier: CorrectionSide;
  later: CorrectionSide;
  suggestedAt: number;
  /** Null if pending. */
  decidedAt: number | null;
}

/** A suggestion to store. */
export interface NewCorrection {
  id: string;
  earlier: MemoryVersion;
  later: MemoryVersion;
  reason: CorrectionReason;
}

/** A memory whose text is compared with the texts of others. */
export interface ComparedMemory extends MemoryVersion {
  /** The beginning of the text. */
  content: string;
  tags: string[];
  /** The time from which the memory holds. */
  beginsAt: number;
}

/** A client's decision on a suggested correction. */
export interface CorrectionDecision {
  namespace: string;
  id: string;
  accept: boolean;
  at: number;
  of: OwnerFilter;
}

/**
 * `unknown`: no correction of these owners has the id, or it is pending and was outdated since. `outdated`: the decision
 * cannot be accepted any more, because a memory was changed, superseded, ended or forgotten, or because the later one
 * supersedes another memory. `changed`: the later memory, if the decision changed its link, with its fields before.
 */
export type DecisionOutcome =
  | { outcome: 'decided'; changed?: { id: string; owner: Owner; before: FilterFields } }
  | { outcome: 'unknown' }
  | { outcome: 'outdated' };

/** Suggests that memories correct others, and records the decisions of clients. */
export interface CorrectionStorage {
  /**
   * Returns memories to compare: those that hold, have no end, and are not superseded, without their supersede links.
   *
   * @param chars maximum characters of a text
   */
  comparedMemories(namespace: string, ordinals: readonly number[], chars: number): Promise<ComparedMemory[]>;
  /**
   * Stores pending suggestions for memories of one owner, and deletes the pending suggestions of the owner that are
   * outdated. Leaves out pairs that were suggested before, memories that have changed since they were read, and all
   * suggestions beyond `maxPending` pending ones of the owner. Returns the number of stored suggestions.
   */
  suggestCorrections(
    run: RunRef,
    owner: Owner,
    suggested: readonly NewCorrection[],
    options: { at: number; maxPending: number },
  ): Promise<number>;
  /**
   * Returns the suggestions in a state, latest first. A pending suggestion is left out once one of its memories was
   * changed in its text, superseded, evicted, merged or given an end. Page positions are ids.
   */
  corrections(
    namespace: string,
    state: CorrectionState,
    page: PageRequest<string>,
    now: number,
    of?: OwnerFilter,
  ): Promise<Page<SuggestedCorrection, string>>;
  /**
   * Records a decision. Accepting makes the later memory supersede the earlier one. Declining an accepted correction
   * removes this link.
   */
  decideCorrection(decision: CorrectionDecision): Promise<DecisionOutcome>;
}
