import { MemoryError } from '@memoryd/contract/errors';

/** The property that tells by which rules the entries of recall are made: a number that grows with each change of them. */
export const ENTRIES_MADE_BY = 'entries_made_by';

/**
 * Throws UNAVAILABLE where a newer memoryd writes a database in a way that this one does not know: what this one wrote would be
 * wrong for the other. `newest` is what this memoryd knows, `needed` what it has to know to write.
 */
export function assertMayWrite(newest: number, needed: number): void {
  if (needed <= newest) return;
  throw new MemoryError(
    'UNAVAILABLE',
    'a newer memoryd has changed the database, and this one may no longer write; start the newer version in its place',
  );
}
