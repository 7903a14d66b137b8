import type { Embedder, EmbedPurpose } from '@memoryd/core/models';

/** Embeds texts and returns their vectors without token states. */
export async function embedVectors(
  embedder: Embedder,
  texts: readonly string[],
  purpose: EmbedPurpose,
): Promise<Float32Array[][]> {
  return (await embedder.embed(texts, purpose)).map(({ vectors }) => vectors);
}
