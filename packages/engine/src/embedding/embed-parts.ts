import type { EmbedPurpose } from '../ports/embedder.ts';

/** The first part of a window as a unit vector; `tokens` is 0 for a part that says nothing. */
export interface EmbeddedPart {
  vector: Float32Array;
  /** Characters that it covers, at least one unless the window is empty. */
  length: number;
  /** How much it says, in whatever the model counts: the weight of this vector among those of a text. */
  tokens: number;
}

/** Resolves when the next stretch of native code may run: a query's at once, a memory's when no query is under way. */
export type Turn = () => Promise<void>;

/** A model: embeds the first part of each window, in their order, asking for its turn before each stretch of native code. */
export type Model = (windows: readonly string[], turn: Turn) => Promise<EmbeddedPart[]>;

/** Embeds the first part of each window, for queries before all else. */
export type EmbedParts = (windows: readonly string[], purpose: EmbedPurpose) => Promise<EmbeddedPart[]>;
