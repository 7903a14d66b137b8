import { retentionOf } from '../../../core/retention.ts';
import type { Description } from '../../../recall-index/recall-index.ts';
import { type Connection, sql } from '../connection.ts';

/** How often a memory was given out, and when last. */
type Access = [count: number, lastAt: number];

const NEVER = [0, null] as const;

/** How far the first `count` of the rows described are retained at a time. */
export function retentions(
  connection: Connection,
  { ordinals, storedAts, importances }: Description,
  count: number,
  now: number,
): Float32Array {
  // One by one, which takes less time than a join with a list of them; and arrays take less than objects.
  const accessOf = sql(connection, 'SELECT count, last_at FROM memory_access WHERE ordinal = ?').raw();
  const retentions = new Float32Array(count);
  for (let place = 0; place < count; place += 1) {
    const [accessCount, accessedAt] = (accessOf.get(ordinals[place]) as Access | undefined) ?? NEVER;
    const [importance, storedAt] = [importances[place] as number, storedAts[place] as number];
    retentions[place] = retentionOf({ importance, storedAt, accessCount, accessedAt }, now);
  }
  return retentions;
}
