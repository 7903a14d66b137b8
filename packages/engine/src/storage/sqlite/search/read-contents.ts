import type { StoredMemory } from '../../../ports/storage-memories.ts';
import { IN_TIER } from '../../conditions.ts';
import { type AnswerRow, takeAnswered } from '../../memory-row.ts';
import { type Connection, sql } from '../connection.ts';
import { IS_CORRECTION_EXPIRED, MEMORY_COLUMNS, MEMORY_TABLES, NOT_EXPIRED } from '../row.ts';

/** See `Storage.read`. */
export function readContents(
  connection: Connection,
  namespace: string,
  ordinals: readonly number[],
  now: number,
  maxBytes: number,
): { memories: StoredMemory[]; truncated: boolean } {
  const byOrdinal = sql(
    connection,
    `SELECT ${MEMORY_COLUMNS}, ${IS_CORRECTION_EXPIRED} AS is_correction_expired FROM ${MEMORY_TABLES}
     WHERE m.ordinal = @ordinal AND m.namespace = @namespace AND ${IN_TIER} AND ${NOT_EXPIRED}`,
  );
  return takeAnswered(rows(), maxBytes);

  function* rows(): Iterable<AnswerRow> {
    for (const ordinal of ordinals) {
      const row = byOrdinal.get({ ordinal, namespace, now }) as AnswerRow | undefined;
      if (row) yield row;
    }
  }
}
