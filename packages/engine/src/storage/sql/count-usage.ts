import type { Quota } from '../../ports/storage-namespaces.ts';
import { inOrder } from './count-tiers.ts';
import type { Queries } from './queries.ts';
import { raw, sql } from './sql.ts';

/** So much more that clients gave a namespace, or less. */
export interface UsageChange extends Quota {
  namespace: string;
}

/**
 * Adds to what namespaces are counted to use. To be called by whatever keeps or erases what clients gave: storing,
 * updating, importing and erasing.
 */
export async function countUsage(queries: Queries, changes: readonly UsageChange[]): Promise<void> {
  const sums = new Map<string, UsageChange>();
  for (const { namespace, memories, bytes } of changes) {
    const before = sums.get(namespace) ?? { memories: 0, bytes: 0 };
    const sum = { namespace, memories: before.memories + memories, bytes: before.bytes + bytes };
    if (memories !== 0 || bytes !== 0) sums.set(namespace, sum);
  }
  await queries.insert('namespace_usage', COLUMNS, inOrder(sums), ADD_UP);
}

const COLUMNS = { namespace: 'text', memories: 'bigint', bytes: 'bigint' } as const;
const ADD_UP = sql`ON CONFLICT (namespace, slot) DO UPDATE SET
  memories = namespace_usage.memories + excluded.memories, bytes = namespace_usage.bytes + excluded.bytes`;

/** What rows of `memory m` count for, all together. */
export const COUNTED = raw(`count(*) FILTER (WHERE m.tier <> 'semantic') AS memories,
  CAST(coalesce(sum(
    CASE WHEN m.revision > coalesce(m.distilled_revision, 0) THEN octet_length(m.content) ELSE 0 END
    + CASE WHEN m.revision > 1 THEN coalesce((
        SELECT sum(octet_length(h.content)) FROM memory_history h
        WHERE h.namespace = m.namespace AND h.ordinal = m.ordinal AND h.revision > coalesce(m.distilled_revision, 0)), 0)
      ELSE 0 END), 0) AS bigint) AS bytes`);

/** What some memories count for. */
export async function takenByMemories(
  queries: Queries,
  namespace: string,
  ordinals: readonly number[],
): Promise<Quota> {
  const taken = await queries.row<Quota>(
    sql`SELECT ${COUNTED} FROM memory m WHERE ${queries.dialect.isMemory('m.ordinal', namespace, ordinals)}`,
  );
  return taken ?? { memories: 0, bytes: 0 };
}
