import type { Tier } from '@memoryd/contract';
import type { Recallable } from '../recallable.ts';
import type { Queries } from './queries.ts';

/** Inside a transaction that writes. */
export interface Transaction extends Queries {
  readonly recall: RecallWriter;
  /** Returns ordinals for new memories, ascending, that no memory has had. */
  nextOrdinals(count: number): Promise<number[]>;
}

/** What recall finds a memory by, once it has its row. */
export interface RecallEntry extends Recallable {
  ordinal: number;
  tier: Tier;
  /** See `NewRow`. */
  entry?: Uint8Array;
}

/** What a database keeps so that recall finds memories: the entries of an index, or postings and vectors. */
export interface RecallWriter {
  /**
   * Enters memories that have just got their rows: words at once, vectors once they are embedded.
   *
   * @param vectors whether a client waits for the vectors, so that its own process makes them
   */
  enterNew(memories: readonly RecallEntry[], vectors: 'waited for' | 'not waited for'): Promise<void>;
  /** Enters a memory that is in a tier again, with the text that it has now. */
  enter(namespace: string, ordinal: number): Promise<void>;
  /** Enters the labels that a memory has now, if recall finds it at all. */
  relabel(namespace: string, ordinal: number): Promise<void>;
  /** Removes memories, with their words and vectors. */
  remove(namespace: string, ordinals: readonly number[]): Promise<void>;
  /** Notes that texts were deleted, so that none of their bytes stay. */
  noteErased(): Promise<void>;
}
