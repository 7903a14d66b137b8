import { type Retainable, retentionOf } from '../../../core/retention.ts';
import { type Connection, sql } from '../connection.ts';
import { MEMORY_TABLES, RETAINABLE_COLUMNS } from '../row.ts';

/** How far memories are retained at a time, in the order of their ordinals given. */
export function retentions(connection: Connection, ordinals: readonly number[], now: number): Float32Array {
  // A cross join keeps its order: each memory is looked up, however many there are.
  const rows = sql(
    connection,
    `SELECT ${RETAINABLE_COLUMNS} FROM json_each(?) asked CROSS JOIN ${MEMORY_TABLES}
     WHERE m.ordinal = asked.value ORDER BY asked.key`,
  ).all(JSON.stringify(ordinals)) as Retainable[];
  return Float32Array.from(rows, (row) => retentionOf(row, now));
}
