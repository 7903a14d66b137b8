import type { RunRef } from './storage-runs.ts';
import type { Settling } from './storage-sleep.ts';

/** A memory as it was when it was read: what is then written of it is refused where a client has written it since. */
export interface SeenMemory {
  ordinal: number;
  version: number;
}

/** A semantic memory that another memory is a source of, and how many sources it has. */
interface GroupSoFar {
  semantic: number;
  sourceCount: number;
}

/** Working memories that are old enough count as settled. */
export interface DistilCandidatesRequest extends Settling {
  namespace: string;
  /** Where the call before stopped. */
  after?: number;
  limit: number;
}

/** A memory near a candidate that can be distilled. */
export interface DistilNeighbour {
  ordinal: number;
  /** Of the nearest parts of both. */
  cosine: number;
  /** Words that count, that both hold and few memories of the namespace do. */
  sharedRareWords: number;
  group?: GroupSoFar;
}

/** A memory whose group is to be looked at; one that can itself be distilled no more has no neighbours. */
export interface DistilCandidate extends SeenMemory {
  group?: GroupSoFar;
  neighbours: DistilNeighbour[];
}

/** `next` is where the following call starts; absent where no more wait. */
export interface DistilCandidates {
  candidates: DistilCandidate[];
  next?: number;
}

/** Which memories belong together: the sources of a semantic memory, others, or both. */
export interface GroupRequest extends Settling {
  namespace: string;
  semantic?: number;
  joining: number[];
}

/** A group as it is now. */
export interface ReadGroup {
  /** Those that can be distilled, oldest first; of a long text only its beginning, 65,536 characters. */
  sources: (SeenMemory & { id: string; createdAt: number; content: string })[];
  /** Whether nothing is to be distilled from them: a client forgot or wrote what was, or it has left recall. */
  isClosed: boolean;
  /** Of the semantic memory that there is. */
  semanticId?: string;
}

/** A semantic memory that is about to be made. */
export interface DistilledMemory {
  id: string;
  content: string;
  sources: SeenMemory[];
  at: number;
}

/** Another text and other sources for a semantic memory. */
export interface RefreshedMemory {
  semantic: number;
  content: string;
  sources: SeenMemory[];
  at: number;
}

/** Two memories, one of which corrects the other. */
export interface SeenCorrection {
  corrected: SeenMemory;
  by: SeenMemory;
}

/** Finds memories that say the same, and keeps what is distilled from them. */
export interface DistilStorage {
  /**
   * Memories that are new, have changed or whose semantic memory has to change, each with its nearest neighbours; those
   * that have not settled, or wait for their vectors, are passed over.
   */
  distilCandidates(request: DistilCandidatesRequest): Promise<DistilCandidates>;
  /** Candidates that one such call is best asked for: few where recall waits for it. */
  readonly candidatesAtOnce: number;
  /** About the median cosine of memories of a namespace that have nothing to do with each other. */
  backgroundCosine(namespace: string): Promise<number>;
  readGroup(request: GroupRequest): Promise<ReadGroup>;
  /**
   * Makes a semantic memory of others, which then are no candidates any more. Answers its ordinal; undefined, and
   * nothing is done, where one of them has changed or gone, or has become a source elsewhere.
   */
  distil(run: RunRef, memory: DistilledMemory): Promise<number | undefined>;
  /**
   * Gives a semantic memory other sources, which then are no candidates any more, and another text; the one that it had
   * goes into its history. False, and nothing is done, where one of them has changed or gone, or a client has written it.
   */
  refresh(run: RunRef, memory: RefreshedMemory): Promise<boolean>;
  /** Lets a memory rank below one that corrects it; false where that one corrects another, or either has changed. */
  correct(run: RunRef, correction: SeenCorrection): Promise<boolean>;
  /** Takes memories that have not changed since out of those to be looked at. */
  dropCandidates(run: RunRef, memories: SeenMemory[]): Promise<void>;
}
