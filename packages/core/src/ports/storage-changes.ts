import type { FilterFields, MemoryFilter, Owner, OwnerFilter } from '@memoryd/search';
import type { StepResult } from './storage-consolidation.ts';

/** The changes to make in each of many memories. */
export interface ManyChanges {
  addTags: string[];
  removeTags: string[];
  importance?: number;
  /** Top-level fields to set; null removes a field. */
  metadata?: Readonly<Record<string, unknown>>;
}

/**
 * Selects the memories to change: the live memories that match the filter. Includes merged duplicates that `ids` or an
 * external id name.
 */
export interface ChangeSelection {
  filter: MemoryFilter;
  ids?: readonly string[];
}

/**
 * A change of many memories. Its id is unique for its owner: the user and agent that the selection is limited to, or
 * empty. `digest`: of the selection and the changes.
 */
export interface NewChange extends Owner {
  id: string;
  digest: string;
  selection: ChangeSelection;
  changes: ManyChanges;
}

/** Numbers of memories that a change changed, that had its values already, and that could not take it. */
export interface ChangeCounts {
  updated: number;
  unchanged: number;
  refused: number;
}

/**
 * `conflict`: the owner has used the id for another change. `undone`: the undo of the change has begun. `dropped`: the
 * record of the change was deleted meanwhile, because its namespace was deleted or its owner forgotten.
 */
type ChangeOutcome =
  | ({ outcome: 'changed' } & ChangeCounts)
  | { outcome: 'conflict' }
  | { outcome: 'undone' }
  | { outcome: 'dropped' };

/** `ambiguous`: several owners within `of` have a change with the id. */
type ChangeUndoOutcome =
  | { outcome: 'undone'; restored: number; kept: number }
  | { outcome: 'unknown' }
  | { outcome: 'ambiguous' };

/** A memory that was changed, and the fields that it had. */
export interface ChangedMemory extends Owner, FilterFields {
  id: string;
}

/** The clock of a change or undo, and a callback after each committed batch with changes. */
export interface ChangeProgress {
  now(): number;
  onChanged(memories: ChangedMemory[]): void;
}

/** Changes many memories, and undoes such changes. */
export interface ChangeStorage {
  /**
   * Changes the selected memories in batches, as `update` does. Records the change before the first batch, and with
   * each batch the earlier and the new values of its memories, so that an interrupted change can be undone. A change with the id of
   * an interrupted one continues it; a change that has ended is not repeated. The counts are of all calls together.
   * Memories that are stored after the first call are not changed.
   */
  changeMany(namespace: string, change: NewChange, progress: ChangeProgress): Promise<ChangeOutcome>;
  /**
   * Takes a change back in batches, see `MemoryApi.undoChange`. Keeps memories that have none of its values any more, and
   * memories that are no longer visible. An interrupted undo can be repeated; the counts
   * are of all calls together. `unknown` for a change whose last batch is more than an hour ago, or whose owner does not
   * match `of`.
   */
  undoChange(namespace: string, id: string, of: OwnerFilter, progress: ChangeProgress): Promise<ChangeUndoOutcome>;
  /** Deletes the records of changes that can no longer be undone at `now`. */
  dropChanges(now: number, limit: number): Promise<StepResult>;
}
