import { createHash } from 'node:crypto';
import type { EmbedPurpose } from '@memoryd/core/models';
import type { Pooling } from '../engine-defaults.ts';

/** Text that is prepended to the texts of each purpose; an empty string prepends nothing. */
export type Prefixes = Readonly<Record<EmbedPurpose, string>>;

/** How texts are encoded into vectors. Another prefix or pooling gives other vectors, even with the same weights. */
export interface Encoding {
  prefixes: Prefixes;
  pooling: Pooling;
}

/** No prefixes and mean pooling. */
export const PLAIN_ENCODING: Encoding = { prefixes: { query: '', memory: '' }, pooling: 'mean' };

/**
 * Returns a suffix for the model id that identifies the prefixes and pooling. The suffix is empty for `PLAIN_ENCODING`.
 */
export function getEncodingMark({ prefixes, pooling }: Encoding): string {
  const { query, memory } = prefixes;
  if (query === '' && memory === '' && pooling === PLAIN_ENCODING.pooling) return '';
  const digest = createHash('sha256')
    .update(JSON.stringify([query, memory, pooling]))
    .digest('hex');
  return `:${digest.slice(0, 8)}`;
}
