import { MemoryError } from '@memoryd/contract/errors';
import { LIMITS } from '@memoryd/contract/limits';
import type { KeptRecord } from '../ports/storage-kept.ts';

/** Memories, and about how many characters of them, that one commit keeps: other writers wait no longer than for it. */
export const CHUNK_MEMORIES = 256;
export const CHUNK_CHARS = 1024 * 1024;

/** Characters (UTF-16 units) of what a record holds: a memory's text and those before it, or none. */
export function keptChars(record: KeptRecord): number {
  if (!('memory' in record)) return 0;
  const { content, history } = record.memory;
  return history.reduce((sum, text) => sum + text.content.length, content.length);
}

/** The error that whoever exports is given where one memory has had more text than a line holds. */
export function textsTooLong(id: string): MemoryError {
  const most = `${LIMITS.exportLineBytes} bytes`;
  return new MemoryError('UNAVAILABLE', `all texts of memory ${id} are more than the ${most} of a line; make a backup`);
}
