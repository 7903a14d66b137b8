import { MemoryError } from '@memoryd/contract/errors';

/**
 * Name of the property with the format version of the index entries. The version increases with each change of the
 * format.
 */
export const ENTRIES_MADE_BY = 'entries_made_by';

/**
 * Throws UNAVAILABLE if a newer memoryd has changed the format of the database.
 *
 * @param newest newest version that this memoryd can write
 * @param needed version of the database
 */
export function assertMayWrite(newest: number, needed: number): void {
  if (needed <= newest) return;
  throw new MemoryError(
    'UNAVAILABLE',
    'a newer memoryd has upgraded the database, so this version can no longer write to it; start the newer version',
  );
}
