import { retentionOf } from '../../../core/retention.ts';
import { type Connection, sql } from '../connection.ts';
import { RETAINABLE_COLUMNS, WITH_ACCESS } from '../row.ts';

type Columns = [importance: number, storedAt: number, accessCount: number, accessedAt: number | null];

/** How far memories are retained at a time, in the order of their ordinals given. */
export function retentions(connection: Connection, ordinals: readonly number[], now: number): Float32Array {
  // A cross join keeps its order: each memory is looked up, however many there are. Arrays take less time than objects.
  const rows = sql(
    connection,
    `SELECT ${RETAINABLE_COLUMNS} FROM json_each(?) asked CROSS JOIN memory m INDEXED BY memory_retained ${WITH_ACCESS}
     WHERE m.ordinal = asked.value ORDER BY asked.key`,
  )
    .raw()
    .all(JSON.stringify(ordinals)) as Columns[];
  return Float32Array.from(rows, ([importance, storedAt, accessCount, accessedAt]) =>
    retentionOf({ importance, storedAt, accessCount, accessedAt }, now),
  );
}
