import { createHash } from 'node:crypto';
import type { Pooling } from '../engine-defaults.ts';
import type { EmbedPurpose } from '../ports/embedder.ts';

/** Texts put before the texts of each purpose; empty ones are none. */
export type Prefixes = Readonly<Record<EmbedPurpose, string>>;

/** How a model is used: its weights make other vectors with another prefix or another pooling. */
export interface Encoding {
  prefixes: Prefixes;
  pooling: Pooling;
}

/** No prefix, and the mean over all tokens. */
export const PLAIN_ENCODING: Encoding = { prefixes: { query: '', memory: '' }, pooling: 'mean' };

/**
 * Returns the end of a model id, which another prefix or another pooling changes. It is empty for `PLAIN_ENCODING`, so a
 * model that needs neither keeps its id.
 */
export function getEncodingMark({ prefixes, pooling }: Encoding): string {
  const { query, memory } = prefixes;
  if (query === '' && memory === '' && pooling === PLAIN_ENCODING.pooling) return '';
  const digest = createHash('sha256')
    .update(JSON.stringify([query, memory, pooling]))
    .digest('hex');
  return `:${digest.slice(0, 8)}`;
}
