import type { Tier } from '@memoryd/contract';
import type { Owner } from '@memoryd/search';
import type { DistilSource } from './distiller.ts';
import type { DeletedMemory, Page, PageRequest } from './storage-memories.ts';

/**
 * `undoing`: an undo is in progress, or was interrupted by a crash. `undone`: a client undid the run after it had
 * ended. `reverted`: the run itself undid its changes before it ended.
 */
export type RunState = 'running' | 'completed' | 'undoing' | 'undone' | 'reverted';

/**
 * The kinds of change that a consolidation run makes to a memory, with the details that are recorded in addition to the
 * memory's ordinal. `version` is the version of the memory at the change. A run cannot be undone once a client has
 * written a semantic memory that the run created or distilled again.
 */
export interface ChangeDetails {
  /** Promoted from the working to the episodic tier. */
  promoted: Record<string, never>;
  /** Merged into its duplicate `into`, so that recall no longer returns the memory. */
  merged: { into: number };
  /** Now merged into `into` instead of `from`, because the run merged `from` into `into`. */
  moved: { from: number; into: number };
  /**
   * Duplicates were merged into the memory. `uses` is the number of the duplicates' uses, which the memory gained.
   * `lastUse` is the last use of the memory or a duplicate, null if `uses` is 0. The other fields are values of the
   * memory before the merge.
   */
  gained: {
    version: number;
    tags: string[];
    importance: number;
    accessedAt: number | null;
    uses: number;
    lastUse: number | null;
  };
  /** A semantic memory, created from `sources`. */
  distilled: { version: number; sources: number[] };
  /**
   * A semantic memory, distilled again. `revision` and `sources` are its text revision and its sources before the run.
   */
  refreshed: { version: number; revision: number; sources: number[] };
  /** Superseded by the correction `by`. */
  corrected: { by: number };
  /** Evicted because it had expired, or because its tier exceeded its maximum. */
  evicted: { reason: 'expired' | 'maximum' };
}

export type ChangeKind = keyof ChangeDetails;

/** A run to begin. `fence` is the fencing token of the lease `CONSOLIDATION_LEASE`. */
export interface NewRun {
  id: string;
  startedAt: number;
  /** The run promotes working memories stored at or before this time. */
  promotedUntil: number;
  fence: number;
}

/**
 * A reference to an active run, for the writes of the run. Writes reject with UNAVAILABLE once another process has
 * acquired the lease.
 */
export interface RunRef {
  namespace: string;
  no: number;
  id: string;
  fence: number;
}

/**
 * `resumed`: an unfinished run continues. `promotedUntil` is the later value of the unfinished run and the request, or
 * the requested value if the value of the unfinished run lies in the future, because the clock was set back. `undoing`:
 * an unfinished undo has to be finished first.
 */
export type BeginRunResult =
  | { outcome: 'begun' | 'resumed'; ref: RunRef; promotedUntil: number }
  | { outcome: 'undoing'; ref: RunRef };

/** The id and start of a run that must be undone before an earlier run. */
export type LaterRun = Pick<ConsolidationRun, 'id' | 'startedAt'>;

/** A stored run. `counts` is the number of changes by kind, for an unfinished run the number so far. */
export interface ConsolidationRun {
  no: number;
  id: string;
  state: RunState;
  startedAt: number;
  endedAt: number | null;
  counts: Partial<Record<ChangeKind, number>>;
  notes: Record<string, unknown>;
}

/**
 * A change that a run made to the memory `id`. `mergedInto` and `supersededBy` are null if the other memory has been
 * forgotten. `derivedFrom` omits forgotten sources.
 */
export interface RunChange {
  seq: number;
  kind: ChangeKind;
  id: string;
  mergedInto?: string | null;
  reason?: ChangeDetails['evicted']['reason'];
  /** Values of the memory before duplicates were merged into it. */
  before?: { tags: string[]; importance: number };
  /** Sources of the semantic memory at its creation or, if the run distilled the memory again, before the run. */
  derivedFrom?: string[];
  supersededBy?: string | null;
}

/**
 * Result of `beginUndo`. A run cannot be undone if it is not `completed`, if it is too old, if a newer run has to be
 * undone first, or if clients have written the memories `ids` since (at most 100 ids).
 */
export type UndoOutcome =
  | { outcome: 'begun'; ref: RunRef }
  | { outcome: 'unknown' }
  | { outcome: 'not-completed'; state: RunState }
  | { outcome: 'too-old' }
  | { outcome: 'newer'; id: string }
  | { outcome: 'written'; ids: string[] };

/**
 * Result of the undo of the changes that a run made to one memory. `memory`: the memory before the undo. `isDeleted`:
 * whether the undo has deleted it, because the run had created it. `unchanged`: the run has no change of the memory that
 * is not undone. `newer`: the later run `id` has changed the memory too.
 */
export type MemoryUndoOutcome =
  | { outcome: 'undone'; memory: DeletedMemory; isDeleted: boolean }
  | { outcome: 'unchanged' }
  | Exclude<UndoOutcome, { outcome: 'begun' }>;

/** Result of a consolidation step: the number of changes. `more`: true if the step has to be called again. */
export interface StepResult {
  count: number;
  more: boolean;
}

/** Records consolidation runs and their changes, and undoes them. */
export interface RunStorage {
  /**
   * Begins a consolidation run, or resumes the namespace's unfinished one. Rejects with UNAVAILABLE for an outdated
   * `fence`.
   */
  beginRun(namespace: string, begin: NewRun): Promise<BeginRunResult>;
  /** Ends a run, stores optional notes in its record, and returns the record. */
  endRun(run: RunRef, endedAt: number, notes?: Record<string, unknown>): Promise<ConsolidationRun>;
  /** Returns runs, newest first. Page positions are values of `no`. */
  runs(namespace: string, page: PageRequest<number>): Promise<Page<ConsolidationRun, number>>;
  run(namespace: string, id: string): Promise<ConsolidationRun | undefined>;
  /**
   * Returns the changes of a run in order, without changes to memories that have been forgotten since. Page positions
   * are values of `seq`.
   */
  changes(namespace: string, no: number, page: PageRequest<number>): Promise<Page<RunChange, number>>;
  /**
   * Returns the runs after the run with the number `no` that must be undone before that run: unfinished runs, and
   * completed runs with changes. Newest first, at most `limit`.
   */
  laterRuns(namespace: string, no: number, limit: number): Promise<Preview<LaterRun>>;
  /**
   * Checks that a completed run can be undone, and begins the undo, or continues an undo that a crash interrupted. The
   * run must have ended after `endedAfter`. No client may have written a semantic memory that the run created or
   * distilled again. `laterRuns` must be undone first; this is checked last.
   */
  beginUndo(namespace: string, id: string, options: { fence: number; endedAfter: number }): Promise<UndoOutcome>;
  /**
   * Undoes the changes that a completed run made to one memory, and deletes their records, so that the rest of the run
   * can be undone later. Refused as for `beginUndo`, and if a later run has changed the memory. The next runs do not
   * merge the memory again until it or a duplicate changes.
   */
  undoOfMemory(
    namespace: string,
    id: string,
    memoryId: string,
    options: { fence: number; endedAfter: number; at: number },
  ): Promise<MemoryUndoOutcome>;
  /** Begins to undo a run that has not ended. `notes` state the reason and are stored in the record of the run. */
  beginRevert(run: RunRef, notes: Record<string, unknown>): Promise<void>;
  /**
   * Undoes at most `limit` changes of a run, newest first. The run must be in the state `undoing`. Once all changes are
   * undone, the state is `undone`, or `reverted` for a run that had not ended. Memories that were forgotten since the
   * run stay forgotten, and later writes by clients stay.
   */
  undoSome(run: RunRef, at: number, limit: number): Promise<StepResult>;
}

/**
 * Selects the working memories to promote: memories that were stored at or before `promotedUntil`. Also selects
 * memories with a storage time of at least `now + (now - promotedUntil)`, since such memories were stored before the
 * clock was set back.
 */
export interface Promotion {
  promotedUntil: number;
  now: number;
}

/** Preview of a step: the total number of affected memories, and the first of these memories. */
export interface Preview<Item> {
  total: number;
  items: Item[];
}

/** Retention of a memory, from 0 to 1. */
export interface RetainedMemory {
  ordinal: number;
  id: string;
  /** Memories of a lower rank are evicted first: 0 if the memory no longer holds, 2 for the correction of a memory. */
  evictionRank: number;
  retention: number;
}

/** The steps of a run except distillation, and their previews. */
export interface ConsolidationStorage {
  /** Promotes working memories that are old enough to the episodic tier, oldest first. */
  promote(run: RunRef, promotion: Promotion, limit: number): Promise<StepResult>;
  /**
   * Merges duplicates: memories of one user and session with the same agent, expiry, source and metadata whose texts
   * are equal after NFC normalization and trimming. Memories that supersede others or are superseded are not merged.
   * `count` is the number of merged duplicates.
   */
  mergeDuplicates(run: RunRef, now: number, limit: number): Promise<StepResult>;
  /** Evicts expired memories. Their rows stay in the archive. */
  evictExpired(run: RunRef, now: number, limit: number): Promise<StepResult>;
  /**
   * Returns the live memories of a tier with the lowest retention, lowest first. Of equal retentions, the older memory
   * is first. See `getRetention` in core.
   *
   * @param count at most 10,000
   */
  leastRetained(namespace: string, tier: Tier, count: number, now: number): Promise<RetainedMemory[]>;
  /**
   * Evicts the memories with these ordinals, except memories that are no longer in the tier. Their rows stay in the
   * archive. Returns the number of evicted memories.
   */
  evictExcess(run: RunRef, tier: Tier, ordinals: number[], now: number): Promise<number>;
  /**
   * Deletes memories that were evicted at or before `until`, as `forget` does; semantic memories whose text a client
   * wrote stay. Also deletes earlier runs that ended at or before `until`. `count` is the number of evicted memories,
   * changes and runs that were deleted.
   */
  clearArchive(run: RunRef, until: number, limit: number): Promise<StepResult>;
  /** Deletes idempotency keys that a store recorded before `usedBefore`. */
  dropIdempotencyKeys(usedBefore: number, limit: number): Promise<StepResult>;
  /** Previews `promote`: at most `limit` items, oldest first. */
  planPromotion(namespace: string, promotion: Promotion, limit: number): Promise<Preview<{ id: string }>>;
  /** Previews `mergeDuplicates` for memories that have not expired at `now`. */
  planMerge(namespace: string, now: number, limit: number): Promise<Preview<{ id: string; mergedInto: string }>>;
  /** Previews `evictExpired`. */
  planEvict(
    namespace: string,
    now: number,
    limit: number,
  ): Promise<Preview<{ id: string; reason: ChangeDetails['evicted']['reason'] }>>;
}

/**
 * A memory, and the version that was read. A write based on this version is refused if a client has written the memory
 * since.
 */
export interface MemoryVersion {
  ordinal: number;
  version: number;
}

/**
 * The existing group of a memory: the semantic memory that was distilled from the group, and the number of its sources.
 */
interface GroupSoFar {
  semantic: number;
  sourceCount: number;
}

/** Requests candidates for distillation. Working memories that are old enough to promote are included. */
export interface DistilCandidatesRequest extends Promotion {
  namespace: string;
  /** `next` of the previous call. */
  after?: number;
  limit: number;
}

/** Requests the background cosine of one owner at the time `now`, in ms. */
interface BackgroundRequest {
  namespace: string;
  owner: Owner;
  now: number;
}

/** A memory that is similar to a candidate and can be distilled. */
export interface DistilNeighbor {
  ordinal: number;
  /**
   * Maximum cosine between a part of the candidate and a part of this memory. Of a long candidate, only the first parts
   * are compared.
   */
  cosine: number;
  /** Number of content words that occur in both memories and are rare in the memories of their owner. */
  sharedRareWords: number;
  group?: GroupSoFar;
}

/**
 * A memory to group, because the memory is new or changed, or its group has to change. `neighbors` is empty if the
 * memory can no longer be a source.
 */
export interface DistilCandidate extends MemoryVersion, Owner {
  group?: GroupSoFar;
  neighbors: DistilNeighbor[];
}

/** A batch of candidates. `next` is the `after` of the following call, absent on the last batch. */
export interface DistilCandidates {
  candidates: DistilCandidate[];
  next?: number;
}

/** Requests a group of memories: the sources of the semantic memory `semantic`, the memories `joining`, or both. */
export interface GroupRequest extends Promotion {
  namespace: string;
  semantic?: number;
  joining: number[];
}

/** The current state of a group. */
export interface ReadGroup {
  /**
   * Sources that can be distilled, oldest first. Texts have no leading white space, and are cut after 65,536
   * characters.
   */
  sources: (MemoryVersion & DistilSource)[];
  /**
   * True if nothing may be distilled from the group: the semantic memory was forgotten, evicted or written by a client,
   * a run that distilled the group was undone, or the sources have different owners.
   */
  isClosed: boolean;
  /** Id of the existing semantic memory, if any. */
  semanticId?: string;
}

/** A semantic memory to create. */
export interface DistilledMemory {
  id: string;
  content: string;
  sources: MemoryVersion[];
  at: number;
}

/** A new text and new sources for a semantic memory. */
export interface RefreshedMemory {
  semantic: number;
  content: string;
  sources: MemoryVersion[];
  at: number;
}

/** A memory and the memory that corrects it. */
export interface CorrectionPair {
  corrected: MemoryVersion;
  by: MemoryVersion;
  at: number;
}

/** Finds groups of related memories, and stores the semantic memories distilled from them. */
export interface DistilStorage {
  /**
   * Returns candidates with their nearest neighbors: memories that are new or changed, or whose semantic memory has to
   * change. Skips working memories that are too new to promote, and distillable memories with pending vectors.
   */
  distilCandidates(request: DistilCandidatesRequest): Promise<DistilCandidates>;
  /** Recommended number of candidates per call; small if recall has to wait for the call. */
  readonly candidatesAtOnce: number;
  /**
   * Estimates the cosine of unrelated memories of one owner, from .1 to 1. Samples the owner's texts, each once,
   * so that the estimate depends neither on other owners nor on the number or the times of equal texts.
   */
  backgroundCosine(request: BackgroundRequest): Promise<number>;
  readGroup(request: GroupRequest): Promise<ReadGroup>;
  /**
   * Creates a semantic memory from sources, which then are no longer candidates. Returns the ordinal of the semantic
   * memory. Returns undefined and changes nothing if the sources have different owners, or if a source was changed or
   * deleted, cannot be distilled, or is a source of another semantic memory.
   */
  distil(run: RunRef, memory: DistilledMemory): Promise<number | undefined>;
  /**
   * Replaces the sources of a semantic memory. If `content` differs from the current text, also replaces the text, and
   * adds the previous text to the history. The sources then are no longer candidates. Returns false and changes nothing
   * if the semantic memory was evicted or written by a client, or for sources that `distil` would reject.
   */
  refresh(run: RunRef, memory: RefreshedMemory): Promise<boolean>;
  /**
   * Marks a memory as superseded by the memory that corrects it. Returns false and changes nothing if the correcting
   * memory already supersedes another memory, or if either memory was changed or deleted, or cannot be distilled.
   */
  correct(run: RunRef, correction: CorrectionPair): Promise<boolean>;
  /**
   * Queues memories again that earlier versions of the distilling rules did not distil, newest first. Looks at up to
   * `limit` memories of the namespace, and continues there at the next call. Has no effect once all memories have been
   * looked at. `count` is the number of queued memories.
   */
  requeuePassedOver(run: RunRef, limit: number): Promise<StepResult>;
  /** Removes memories from the candidates, except memories that have changed since they were read. */
  dropCandidates(run: RunRef, memories: MemoryVersion[]): Promise<void>;
}
