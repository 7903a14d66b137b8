import { type Connection, sql } from '../connection.ts';
import { enterRecall } from '../recall-entry.ts';

/** Makes a merged twin a memory of its own, in recall unless it was evicted. */
export function setFree(connection: Connection, twin: { ordinal: number; evictedAt: number | null }): void {
  sql(connection, 'UPDATE memory SET merged_into = NULL WHERE ordinal = ?').run(twin.ordinal);
  if (twin.evictedAt === null) enterRecall(connection, twin.ordinal);
}
