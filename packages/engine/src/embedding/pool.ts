import type { EmbeddedPart } from '@memoryd/minilm/parts';
import type { EmbedPurpose } from '../ports/embedder.ts';

/** Most parts that the vector of a query looks at: 2,000 tokens, about 8,000 characters of English. */
export const QUERY_PARTS = 8;

type WeightedVector = Pick<EmbeddedPart, 'vector' | 'tokens'>;

/** The vectors of a text by those of its parts: all of a memory's, one or none of a query's. */
export function vectorsOf(parts: readonly WeightedVector[], purpose: EmbedPurpose): Float32Array[] {
  if (purpose === 'memory') return parts.map(({ vector }) => vector);
  return parts.length > 0 ? [mean(parts)] : [];
}

/** The mean of unit vectors weighted by their tokens, at unit length: what pooling over all tokens comes to. */
function mean(parts: readonly WeightedVector[]): Float32Array {
  const [first] = parts;
  if (first && parts.length === 1) return first.vector;
  const sum = new Float32Array(first?.vector.length ?? 0);
  for (const { vector, tokens } of parts) {
    for (const [i, value] of vector.entries()) sum[i] = (sum[i] as number) + tokens * value;
  }
  const length = Math.hypot(...sum);
  return sum.map((value) => value / length);
}
