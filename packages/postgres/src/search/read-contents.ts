import {
  ANSWER_COLUMNS,
  type AnswerRow,
  BEFORE_THE_LAST,
  liveAndPassing,
  type Queries,
  type RecalledMemory,
  raw,
  sql,
  takeAnswered,
} from '@memoryd/engine/storage-kit';
import { isCorrectionExpired, memoriesBy } from '../row.ts';

/** See `Storage.read`. */
export async function readContents(
  queries: Queries,
  namespace: string,
  ordinals: readonly number[],
  now: number,
  maxBytes: number,
): Promise<{ memories: RecalledMemory[]; truncated: boolean }> {
  const rows = await queries.rows<AnswerRow>(sql`
    WITH asked AS (
        SELECT m.ordinal, asked.place, octet_length(m.content) AS bytes
        FROM unnest(${ordinals}::bigint[]) WITH ORDINALITY AS asked(ordinal, place)
        CROSS JOIN ${memoriesBy('m', sql`namespace = ${namespace} AND ordinal = asked.ordinal`)}
        WHERE ${liveAndPassing(queries.dialect, namespace, {}, now)}),
      sized AS (SELECT *, sum(bytes) OVER (ORDER BY place ${BEFORE_THE_LAST}) AS before FROM asked)
    SELECT ${raw(ANSWER_COLUMNS)}, ${isCorrectionExpired(now)} AS is_correction_expired
    FROM sized CROSS JOIN ${memoriesBy('m', sql`namespace = ${namespace} AND ordinal = sized.ordinal`)}
    WHERE coalesce(sized.before, 0) <= ${maxBytes} ORDER BY sized.place`);
  return takeAnswered(rows, maxBytes);
}
