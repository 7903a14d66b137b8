import { createHash } from 'node:crypto';
import type { EmbedPurpose } from '@memoryd/core/models';
import type { Pooling } from '../engine-defaults.ts';

/** Text that is prepended to the texts of each purpose; an empty string prepends nothing. */
export type Prefixes = Readonly<Record<EmbedPurpose, string>>;

/** The field `input_type` of requests for each purpose; an empty string omits the field. */
export type InputTypes = Readonly<Record<EmbedPurpose, string>>;

/** How texts are encoded into vectors. Another encoding gives other vectors, even with the same weights. */
export interface Encoding {
  prefixes: Prefixes;
  pooling: Pooling;
  /** For a model on a server; no `input_type` if omitted. */
  inputTypes?: InputTypes;
}

/** No prefixes and mean pooling. */
export const PLAIN_ENCODING: Encoding = { prefixes: { query: '', memory: '' }, pooling: 'mean' };

/** No `input_type`. */
export const NO_INPUT_TYPES: InputTypes = { query: '', memory: '' };

/** Returns a suffix for the model id that identifies the encoding. The suffix is empty for `PLAIN_ENCODING`. */
export function getEncodingMark(encoding: Encoding): string {
  const values = getValues(encoding);
  if (values === getValues(PLAIN_ENCODING)) return '';
  return `:${createHash('sha256').update(values).digest('hex').slice(0, 8)}`;
}

function getValues({ prefixes, pooling, inputTypes = NO_INPUT_TYPES }: Encoding): string {
  return JSON.stringify([prefixes.query, prefixes.memory, pooling, inputTypes.query, inputTypes.memory]);
}
