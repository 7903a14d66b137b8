import type { Tier } from '@memoryd/contract';
import type { DistilSource } from './distiller.ts';
import type { Page, PageRequest } from './storage-memories.ts';

/**
 * `undoing`: being taken back, which a crash may leave unfinished too. `undone`: taken back after it had ended.
 * `reverted`: taken back by itself before it had.
 */
export type RunState = 'running' | 'completed' | 'undoing' | 'undone' | 'reverted';

/**
 * What a run of consolidation may do to a memory, and what is recorded of it beside the memory's ordinal. A `version` is
 * the one that the memory had: the run cannot be undone once a client has written the memory.
 */
export interface ChangeDetails {
  /** It went from the working to the episodic tier. */
  promoted: Record<string, never>;
  /** It left recall for its duplicate `into`. */
  merged: { into: number };
  /** Merged into `from` before, it followed that memory into `into`. */
  moved: { from: number; into: number };
  /** Before duplicates were merged into it, it had these; from them it gained so many uses, the last of them `lastUse`. */
  gained: {
    version: number;
    tags: string[];
    importance: number;
    accessedAt: number | null;
    uses: number;
    lastUse: number | null;
  };
  /** It was made of these memories. */
  distilled: { version: number; sources: number[] };
  /** It was distilled anew; before, it had this text of its history and these sources. */
  refreshed: { version: number; revision: number; sources: number[] };
  /** It came to rank below the memory `by`, which corrects it. */
  corrected: { by: number };
  /** It left recall because it had expired, or because its tier held more memories than it may. */
  evicted: { reason: 'expired' | 'maximum' };
}

export type ChangeKind = keyof ChangeDetails;

/** A run that is about to begin. `fence` is the one of the lease `CONSOLIDATION_LEASE`. */
export interface NewRun {
  id: string;
  startedAt: number;
  /** Working memories stored until then promote. */
  promotedUntil: number;
  fence: number;
}

/** A run as its own writes name it; they reject with UNAVAILABLE once another process has taken the lease. */
export interface RunRef {
  namespace: string;
  no: number;
  id: string;
  fence: number;
}

/**
 * `resumed`: an earlier run had been left unfinished and goes on; it promotes what either of the two was to, unless the
 * clock has been set back since.
 * `undoing`: an undo had been left unfinished and has to be finished first.
 */
export type BegunRun =
  | { outcome: 'begun' | 'resumed'; ref: RunRef; promotedUntil: number }
  | { outcome: 'undoing'; ref: RunRef };

/** A run as it is kept. `counts` is changes by kind, as they were when it ended. */
export interface ConsolidationRun {
  no: number;
  id: string;
  state: RunState;
  startedAt: number;
  endedAt: number | null;
  counts: Partial<Record<ChangeKind, number>>;
  notes: Record<string, unknown>;
}

/** One change of a run, with the ids of the memories that it names; null where one has been forgotten. */
export interface RunChange {
  seq: number;
  kind: ChangeKind;
  id: string;
  mergedInto?: string | null;
  reason?: ChangeDetails['evicted']['reason'];
  /** What a memory had before it gained from duplicates. */
  before?: { tags: string[]; importance: number };
  /** What it was distilled from: when it was made, or before it was made anew. */
  derivedFrom?: string[];
  supersededBy?: string | null;
}

/** Why a run cannot be undone: it is not `completed`; a newer run has to be undone first; clients wrote memories since. */
export type UndoOutcome =
  | { outcome: 'begun'; ref: RunRef }
  | { outcome: 'unknown' }
  | { outcome: 'not-completed'; state: RunState }
  | { outcome: 'too-old' }
  | { outcome: 'newer'; id: string }
  | { outcome: 'written'; ids: string[] };

/** What a step of consolidation did; `more` says that the same step has more to do. */
export interface StepResult {
  count: number;
  more: boolean;
}

/** Keeps runs of consolidation, what each did, and takes them back. */
export interface RunStorage {
  /** Begins a run of consolidation, or takes up the namespace's unfinished one. UNAVAILABLE for a fence that has passed. */
  beginRun(namespace: string, begin: NewRun): Promise<BegunRun>;
  /** Notes that a run has done all its work, with whatever notes, and answers what it came to. */
  endRun(run: RunRef, endedAt: number, notes?: Record<string, unknown>): Promise<ConsolidationRun>;
  /** Runs, newest first; a place is a run's `no`. */
  runs(namespace: string, page: PageRequest<number>): Promise<Page<ConsolidationRun, number>>;
  run(namespace: string, id: string): Promise<ConsolidationRun | undefined>;
  /** What a run did, in order, to memories that have not been forgotten since; a place is a change's `seq`. */
  changes(namespace: string, no: number, page: PageRequest<number>): Promise<Page<RunChange, number>>;
  /**
   * Checks that a completed run can be undone and begins that, or goes on where a crash left it: the newest that changed
   * anything, if it ended after `endedAfter` and no client has since written what it would take back.
   */
  beginUndo(namespace: string, id: string, options: { fence: number; endedAfter: number }): Promise<UndoOutcome>;
  /** Begins to undo a run that has not ended, with notes that say why. */
  beginRevert(run: RunRef, notes: Record<string, unknown>): Promise<void>;
  /**
   * Takes back the last changes of a run that is being undone; where no more are left, the run is undone. What was
   * forgotten since stays forgotten, and what clients wrote since stays written.
   */
  undoSome(run: RunRef, at: number, limit: number): Promise<StepResult>;
}

/**
 * Which working memories are old enough to promote: those stored until a time. Those that lie ahead of `now` by as much
 * were stored before the clock was set back, nobody knows when, and are old enough too.
 */
export interface Promotion {
  promotedUntil: number;
  now: number;
}

/** What a run would do now: how many memories in all, and the first of them. */
export interface Planned<Item> {
  total: number;
  items: Item[];
}

/** How far a memory is retained, from 0 to 1. */
export interface RetainedMemory {
  ordinal: number;
  id: string;
  retention: number;
}

/** The steps of a run but for distilling, and what they would do. */
export interface ConsolidationStorage {
  /** Moves working memories that are old enough to the episodic tier, oldest first. */
  promote(run: RunRef, promotion: Promotion, limit: number): Promise<StepResult>;
  /** Merges memories of one session whose texts are equal after NFC and trimming; `count` is the duplicates merged. */
  mergeDuplicates(run: RunRef, limit: number): Promise<StepResult>;
  /** Takes expired memories out of the tiers; their rows stay. */
  evictExpired(run: RunRef, now: number, limit: number): Promise<StepResult>;
  /**
   * A tier's live memories that are retained least, the least first; of two that are retained alike, the older first.
   * See `getRetention` in core.
   *
   * @param count at most 10,000
   */
  leastRetained(namespace: string, tier: Tier, count: number, now: number): Promise<RetainedMemory[]>;
  /** Takes memories out of a tier that holds too many, as far as they are in it; their rows stay. Answers how many. */
  evictExcess(run: RunRef, tier: Tier, ordinals: number[], now: number): Promise<number>;
  /**
   * Erases memories that were evicted until a time, as `forget` does, and drops records of runs that ended until then,
   * but of the newest; `count` is both.
   */
  clearArchive(run: RunRef, until: number, limit: number): Promise<StepResult>;
  /** Drops idempotency keys used before a time. */
  dropIdempotencyKeys(usedBefore: number, limit: number): Promise<StepResult>;
  /** What `promote` would promote, oldest first; at most `most` items. */
  planPromotion(namespace: string, promotion: Promotion, most: number): Promise<Planned<{ id: string }>>;
  /** What `mergeDuplicates` would merge of what does not expire until `now`. */
  planMerge(namespace: string, now: number, most: number): Promise<Planned<{ id: string; mergedInto: string }>>;
  /** What `evictExpired` would evict. */
  planEvict(
    namespace: string,
    now: number,
    most: number,
  ): Promise<Planned<{ id: string; reason: ChangeDetails['evicted']['reason'] }>>;
}

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

/** Working memories that are old enough count as promoted. */
export interface DistilCandidatesRequest extends Promotion {
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
export interface GroupRequest extends Promotion {
  namespace: string;
  semantic?: number;
  joining: number[];
}

/** A group as it is now. */
export interface ReadGroup {
  /** Those that can be distilled, oldest first; of a long text only its beginning, 65,536 characters. */
  sources: (SeenMemory & DistilSource)[];
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
   * that have not promoted, or wait for their vectors, are passed over.
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
