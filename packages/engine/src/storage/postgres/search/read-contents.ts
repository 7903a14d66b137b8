import type { StoredMemory } from '../../../ports/storage-memories.ts';
import { type AnswerRow, takeAnswered } from '../../memory-row.ts';
import type { Queries } from '../connection.ts';
import { liveAndPassing } from '../filter.ts';
import { BEFORE_THE_LAST } from '../read/page.ts';
import { isCorrectionExpired, MEMORY_COLUMNS, memoriesBy, WITH_ACCESS } from '../row.ts';
import { sql } from '../sql.ts';

/** See `Storage.read`. */
export async function readContents(
  queries: Queries,
  namespace: string,
  ordinals: readonly number[],
  now: number,
  maxBytes: number,
): Promise<{ memories: StoredMemory[]; truncated: boolean }> {
  const rows = await queries.rows<AnswerRow>(sql`
    WITH asked AS (
        SELECT m.ordinal, asked.place, octet_length(m.content) AS bytes
        FROM unnest(${ordinals}::bigint[]) WITH ORDINALITY AS asked(ordinal, place)
        CROSS JOIN ${memoriesBy('m', sql`namespace = ${namespace} AND ordinal = asked.ordinal`)}
        WHERE ${liveAndPassing(namespace, {}, now)}),
      sized AS (SELECT *, sum(bytes) OVER (ORDER BY place ${BEFORE_THE_LAST}) AS before FROM asked)
    SELECT ${MEMORY_COLUMNS}, ${isCorrectionExpired(now)} AS is_correction_expired
    FROM sized CROSS JOIN ${memoriesBy('m', sql`namespace = ${namespace} AND ordinal = sized.ordinal`)} ${WITH_ACCESS}
    WHERE coalesce(sized.before, 0) <= ${maxBytes} ORDER BY sized.place`);
  return takeAnswered(rows, maxBytes);
}
