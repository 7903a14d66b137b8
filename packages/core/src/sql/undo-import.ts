import type { OwnerFilter } from '@memoryd/search';
import type { DeletedMemory } from '../ports/storage-memories.ts';
import { rememberFields } from './field-history.ts';
import { type FoundMemory, findByOrdinal } from './find-memory.ts';
import { detachDuplicate, eraseGroups, takeDeletable, toDeleted } from './forget-memories.ts';
import { findImportNumber } from './imports.ts';
import type { Transaction } from './queries.ts';
import { textSize } from './read-page.ts';
import { raw, type Sql, sql } from './sql.ts';

/** Maximum memories that one transaction of an undo selects, so that other writers are not blocked for long. */
const MAX_UNDONE_AT_ONCE = 100;

/** A batch of an undo. `last`: the last ordinal of its memories until then; absent once the import is deleted. */
interface UndoneBatch {
  deleted: DeletedMemory[];
  kept: number;
  last?: number;
}

/**
 * Undoes one batch of an import. Once no memory is left, deletes the import. Returns undefined if the import does not
 * exist or its owner does not match `of`. The transaction must hold the lock of the namespace. See `Storage.undoImport`.
 *
 * @param after last ordinal of the batch before, or 0
 */
export async function undoImportBatch(
  transaction: Transaction,
  namespace: string,
  id: string,
  of: OwnerFilter,
  { after, at }: { after: number; at: number },
): Promise<UndoneBatch | undefined> {
  const no = await findImportNumber(transaction, namespace, id, of);
  if (no === undefined) return undefined;
  await transaction.run(sql`
    UPDATE import_run SET undoing = 1 WHERE namespace = ${namespace} AND no = ${no} AND undoing = 0`);
  const found = await transaction.rows<BatchRow>(sql`
    SELECT m.ordinal, m.id, m.merged_into AS "mergedInto", ${textSize()} AS bytes,
      CASE WHEN i.version <> m.version THEN 'kept' WHEN ${hasLaterImport('i')} THEN 'moved' ELSE 'forgotten' END AS fate
    FROM imported_memory i CROSS JOIN memory m
    WHERE i.namespace = ${namespace} AND i.run = ${no} AND i.ordinal > ${after}
      AND m.namespace = i.namespace AND m.ordinal = i.ordinal
    ORDER BY i.ordinal LIMIT ${MAX_UNDONE_AT_ONCE}`);
  const batch = takeDeletable(found);
  const last = batch.at(-1)?.ordinal;
  if (last === undefined) return undoChanges(transaction, namespace, no, after);
  const withFate = (fate: BatchRow['fate']) => batch.filter((row) => row.fate === fate);
  const [kept, moved, forgotten] = [withFate('kept'), withFate('moved'), withFate('forgotten')];
  await release(transaction, namespace, toOrdinals(kept));
  await moveToLaterImport(transaction, namespace, toOrdinals(moved));
  await detachOthers(transaction, { namespace, no }, forgotten, at);
  const deleted = await eraseGroups(transaction, namespace, forgotten, { keepOwnText: true });
  return { deleted: deleted.map(toDeleted), kept: kept.length + moved.length, last };
}

/**
 * `kept`: someone changed the memory. `moved`: nobody did, but another import, which is not being undone, changed it last.
 */
type BatchRow = Pick<FoundMemory, 'ordinal' | 'id' | 'mergedInto'> & {
  bytes: number;
  fate: 'kept' | 'moved' | 'forgotten';
};

function toOrdinals(rows: readonly { ordinal: number }[]): number[] {
  return rows.map(({ ordinal }) => ordinal);
}

function hasLaterImport(imported: string): Sql {
  return raw(`EXISTS (
    SELECT 1 FROM import_run later
    WHERE later.namespace = ${imported}.namespace AND later.no = ${imported}.changed_by AND later.undoing = 0)`);
}

/**
 * Removes the import from one batch of the memories of other imports that it changed. Once none is left, deletes the
 * import, to which no memory may belong any more.
 */
async function undoChanges(
  transaction: Transaction,
  namespace: string,
  no: number,
  after: number,
): Promise<UndoneBatch> {
  const changed = await transaction.rows<{ ordinal: number }>(sql`
    SELECT i.ordinal FROM imported_memory i WHERE i.namespace = ${namespace} AND i.changed_by = ${no}
    ORDER BY i.ordinal LIMIT ${MAX_UNDONE_AT_ONCE}`);
  if (changed.length === 0) {
    await transaction.run(sql`DELETE FROM import_run WHERE namespace = ${namespace} AND no = ${no}`);
    return { deleted: [], kept: 0 };
  }
  await transaction.run(sql`
    UPDATE imported_memory SET changed_by = NULL
    WHERE ${transaction.dialect.isMemory('ordinal', namespace, toOrdinals(changed))}`);
  return { deleted: [], kept: changed.length, last: after };
}

/** Makes memories belong to the import that changed them last. */
async function moveToLaterImport(
  transaction: Transaction,
  namespace: string,
  ordinals: readonly number[],
): Promise<void> {
  if (ordinals.length === 0) return;
  await transaction.run(sql`
    UPDATE imported_memory SET run = changed_by, changed_by = NULL
    WHERE ${transaction.dialect.isMemory('ordinal', namespace, ordinals)}`);
}

/** Makes memories independent of their import. */
async function release(transaction: Transaction, namespace: string, ordinals: readonly number[]): Promise<void> {
  if (ordinals.length === 0) return;
  await transaction.run(sql`
    DELETE FROM imported_memory WHERE ${transaction.dialect.isMemory('ordinal', namespace, ordinals)}`);
}

/**
 * Detaches the duplicates that were merged into memories to be forgotten, if the duplicates are of other origin or were
 * changed, also by a later import. Otherwise they would be forgotten too.
 */
async function detachOthers(
  transaction: Transaction,
  { namespace, no }: { namespace: string; no: number },
  survivors: readonly BatchRow[],
  at: number,
): Promise<void> {
  const ids = survivors.filter(({ mergedInto }) => mergedInto === null).map(({ id }) => id);
  const others = await transaction.rows<{ ordinal: number }>(sql`
    SELECT m.ordinal FROM memory m
    WHERE m.namespace = ${namespace} AND ${transaction.dialect.isIn(raw('m.merged_into'), ids)} AND NOT EXISTS (
      SELECT 1 FROM imported_memory i
      WHERE i.namespace = m.namespace AND i.ordinal = m.ordinal AND i.run = ${no} AND i.version = m.version
        AND NOT ${hasLaterImport('i')})
    ORDER BY m.ordinal`);
  for (const { ordinal } of others) {
    await rememberFields(transaction, namespace, [ordinal], at, { isRegrouping: true });
    await detachDuplicate(transaction, (await findByOrdinal(transaction, namespace, ordinal)) as FoundMemory);
  }
}
