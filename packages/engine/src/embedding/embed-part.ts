/** The first part of a window as a unit vector; `tokens` is 0 for a part that says nothing. */
export interface EmbeddedPart {
  vector: Float32Array;
  /** Characters that it covers, at least one unless the window is empty. */
  length: number;
  /** How much it says, in whatever the model counts: the weight of this vector among those of a text. */
  tokens: number;
}

export type EmbedPart = (window: string) => Promise<EmbeddedPart>;
