import type { Tier } from '@memoryd/contract';
import type { NewRow } from './new-row.ts';
import type { Queries } from './queries.ts';

/** Inside a transaction that writes. */
export interface Transaction extends Queries {
  readonly recall: RecallWriter;
}

/** What a database keeps so that recall finds memories: the entries of an index, or postings and vectors. */
export interface RecallWriter {
  /** Writes new memories, their labels and what recall finds them by; returns their ordinals, in their order. */
  insert(memories: readonly NewRow[], tier: Tier): Promise<number[]>;
  /** Enters a memory that is in a tier again, with the text that it has now. */
  enter(namespace: string, ordinal: number): Promise<void>;
  /** Enters the labels that a memory has now, if recall finds it at all. */
  relabel(namespace: string, ordinal: number): Promise<void>;
  /** Removes memories, with their words and vectors. */
  remove(namespace: string, ordinals: readonly number[]): Promise<void>;
  /** Notes that texts were deleted, so that none of their bytes stay. */
  noteErased(): Promise<void>;
}
