import { retentionOf } from '../../../core/retention.ts';
import type { Description } from '../../../recall-index/recall-index.ts';
import { type Connection, sql } from '../connection.ts';

type Access = [place: number, count: number, lastAt: number];

/** How far the first `count` of the rows described are retained at a time. */
export function retentions(
  connection: Connection,
  { ordinals, storedAts, importances }: Description,
  count: number,
  now: number,
): Float32Array {
  const accesses = new Map(accessesOf(connection, ordinals.subarray(0, count)).map((access) => [access[0], access]));
  return Float32Array.from({ length: count }, (_, place) => {
    const [, accessCount = 0, accessedAt = null] = accesses.get(place) ?? [];
    const [importance, storedAt] = [importances[place] as number, storedAts[place] as number];
    return retentionOf({ importance, storedAt, accessCount, accessedAt }, now);
  });
}

/** Of those that have been given out, by their places among these. */
function accessesOf(connection: Connection, ordinals: Float64Array): Access[] {
  // A cross join looks each up, however many there are. Arrays take less time than objects.
  return sql(
    connection,
    `SELECT asked.key, c.count, c.last_at FROM json_each(?) asked CROSS JOIN memory_access c
     WHERE c.ordinal = asked.value`,
  )
    .raw()
    .all(`[${ordinals.join()}]`) as Access[];
}
