import type { RecalledMemory } from '../../../ports/storage-memories.ts';
import { ANSWER_COLUMNS, type AnswerRow, takeAnswered } from '../../memory-row.ts';
import { IN_TIER } from '../../sql/filters.ts';
import { type Connection, sql } from '../connection.ts';

/** See `Storage.read`. */
export function readContents(
  connection: Connection,
  namespace: string,
  ordinals: readonly number[],
  now: number,
  maxBytes: number,
): { memories: RecalledMemory[]; truncated: boolean } {
  const byOrdinal = sql(
    connection,
    `SELECT ${ANSWER_COLUMNS},
       (SELECT s.expires_at <= @now FROM memory s WHERE s.namespace = m.namespace AND s.id = m.superseded_by)
         AS is_correction_expired
     FROM memory m WHERE m.ordinal = @ordinal AND m.namespace = @namespace AND ${IN_TIER}
       AND (m.expires_at IS NULL OR m.expires_at > @now)`,
  );
  return takeAnswered(rows(), maxBytes);

  function* rows(): Iterable<AnswerRow> {
    for (const ordinal of ordinals) {
      const row = byOrdinal.get({ ordinal, namespace, now }) as AnswerRow | undefined;
      if (row) yield row;
    }
  }
}
