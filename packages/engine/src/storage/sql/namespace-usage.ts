import type { NamespaceUsage } from '../../ports/storage-namespaces.ts';
import type { Queries } from './queries.ts';
import { sql } from './sql.ts';
import { countsByNamespace, noCounts } from './tier-counts.ts';

/** See `Storage.namespaces`. */
export async function namespaces(queries: Queries): Promise<string[]> {
  const rows = await queries.rows<{ namespace: string }>(sql`
    SELECT namespace FROM tier_count t GROUP BY namespace
    HAVING sum(count) > 0 OR EXISTS (
      SELECT 1 FROM memory m ${queries.dialect.indexedBy('memory_evicted')}
      WHERE m.namespace = t.namespace AND m.evicted_at IS NOT NULL)`);
  return rows.map(({ namespace }) => namespace);
}

interface Row {
  name: string;
  memories: number;
  bytes: number;
  quotaMemories: number | null;
  quotaBytes: number | null;
  keys: number;
}

/** See `Storage.usage`. To be asked in a snapshot. */
export async function namespaceUsage(queries: Queries, now: number): Promise<NamespaceUsage[]> {
  const rows = await queries.rows<Row>(sql`
    WITH used AS (
        SELECT namespace, CAST(sum(memories) AS bigint) AS memories, CAST(sum(bytes) AS bigint) AS bytes
        FROM namespace_usage GROUP BY namespace),
      counted AS (SELECT namespace FROM tier_count GROUP BY namespace HAVING sum(count) > 0),
      good AS (
        SELECT namespace, count(*) FILTER (WHERE revoked_at IS NULL) AS keys FROM api_key GROUP BY namespace),
      known AS (
        SELECT namespace FROM used WHERE memories > 0 OR bytes > 0
        UNION SELECT namespace FROM counted
        UNION SELECT namespace FROM sleep_run
        UNION SELECT namespace FROM namespace_quota
        UNION SELECT namespace FROM good)
    SELECT namespace AS name, coalesce(u.memories, 0) AS memories, coalesce(u.bytes, 0) AS bytes,
      q.memories AS "quotaMemories", q.bytes AS "quotaBytes", coalesce(g.keys, 0) AS keys
    FROM known LEFT JOIN used u USING (namespace) LEFT JOIN namespace_quota q USING (namespace)
      LEFT JOIN good g USING (namespace)
    ORDER BY namespace`);
  const counts = await countsByNamespace(queries, now);
  return rows.map(({ name, memories, bytes, quotaMemories, quotaBytes, keys }) => ({
    name,
    counts: counts.get(name) ?? noCounts(),
    used: { memories, bytes },
    quota: { memories: quotaMemories, bytes: quotaBytes },
    keys,
  }));
}
