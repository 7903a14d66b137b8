import type { StoredMemory } from '../../../ports/storage.ts';
import { IN_TIER } from '../../conditions.ts';
import { type AnswerRow, textBytes, toAnswered } from '../../memory-row.ts';
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
  const memories: StoredMemory[] = [];
  let bytes = 0;
  for (const ordinal of ordinals) {
    const row = byOrdinal.get({ ordinal, namespace, now }) as AnswerRow | undefined;
    if (!row) continue;
    bytes += textBytes(row);
    if (memories.length > 0 && bytes > maxBytes) return { memories, truncated: true };
    memories.push(toAnswered(row));
  }
  return { memories, truncated: false };
}
