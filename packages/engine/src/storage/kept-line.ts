import { textsTooLong } from '../core/texts-too-long.ts';
import type { KeptRecord } from '../ports/storage-kept.ts';

/** A record as a line of a copy, without its end. UNAVAILABLE where it is longer than a string can be. */
export function toLine(record: KeptRecord): string {
  try {
    return JSON.stringify(record);
  } catch (error) {
    throw error instanceof RangeError && 'memory' in record ? textsTooLong(record.memory.id) : error;
  }
}
