import type { Embedder, EmbedPurpose } from './embedder.ts';

/** Returns the vectors of some texts alone. */
export async function embedVectors(
  embedder: Embedder,
  texts: readonly string[],
  purpose: EmbedPurpose,
): Promise<Float32Array[][]> {
  return (await embedder.embed(texts, purpose)).map(({ vectors }) => vectors);
}
