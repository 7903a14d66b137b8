import { retentionOf, WHOLE_RETENTION } from '../../../core/retention.ts';
import type { Description } from '../../../recall-index/recall-index.ts';
import { type Connection, sql } from '../connection.ts';

/** How often a memory was given out, and when last. */
type Access = [count: number, lastAt: number];

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
    const [importance, storedAt] = [importances[place] as number, storedAts[place] as number];
    const unused = retentionOf({ importance, storedAt, accessCount: 0, accessedAt: null }, now);
    retentions[place] = unused;
    if (unused >= WHOLE_RETENTION) continue;
    const access = accessOf.get(ordinals[place]) as Access | undefined;
    if (!access) continue;
    const [accessCount, accessedAt] = access;
    retentions[place] = retentionOf({ importance, storedAt, accessCount, accessedAt }, now);
  }
  return retentions;
}
