import { MemoryError } from '@memoryd/contract/errors';
import { LIMITS } from '@memoryd/contract/limits';
import type { ExportRecord } from './ports/storage-export.ts';
import type { NewMemory } from './ports/storage-memories.ts';

/** Maximum memories per commit of an import or a batch. Other writers wait for at most one commit. */
export const CHUNK_MEMORIES = 256;

/** Approximate maximum UTF-16 units of text per commit. */
export const CHUNK_CHARS = 1024 * 1024;

/** Returns the UTF-16 units of the texts and attachments of new memories. */
export function countNewChars(memories: readonly Pick<NewMemory, 'content' | 'attachment'>[]): number {
  return memories.reduce((sum, { content, attachment = '' }) => sum + content.length + attachment.length, 0);
}

/** Returns the UTF-16 units of a memory's text, earlier texts and attachment; 0 for other records. */
export function countChars(record: ExportRecord): number {
  if (!('memory' in record)) return 0;
  const { history } = record.memory;
  return history.reduce((sum, text) => sum + text.content.length, countNewChars([record.memory]));
}

/** Creates the error for an export in which the texts of one memory exceed the limit of a line. */
export function createTextsTooLongError(id: string): MemoryError {
  const max = `${LIMITS.exportLineBytes} bytes`;
  return new MemoryError(
    'UNAVAILABLE',
    `the texts of memory ${id} exceed the limit of ${max} per line; make a backup instead of an export`,
  );
}
