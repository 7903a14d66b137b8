import type { ImportFormat } from '@memoryd/contract';
import type { Format } from '../format.ts';

/** All formats of other programs, in the order in which they are tried: those with the most specific content first. */
export const FORMATS: readonly Format[] = [];

/** Formats without fields of their own. They give way to the other formats of a source. */
export const GENERAL_FORMATS: ReadonlySet<ImportFormat> = new Set(['markdown', 'csv', 'jsonl']);
