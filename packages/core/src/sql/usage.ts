import type { Tier, TierCounts, ValidityCounts } from '@memoryd/contract';
import type { OwnerFilter } from '@memoryd/search';
import { isLimited } from '@memoryd/search';
import type { NamespaceUsage, Quota, StorageStats } from '../ports/storage-namespaces.ts';
import { COUNTED } from './counters.ts';
import { type ChangedUntil, changedUntil } from './database-marks.ts';
import { IN_TIER, isOfOwners, liveAndPassing, notExpired } from './filters.ts';
import { count, type Queries } from './queries.ts';
import { raw, type Sql, sql } from './sql.ts';
import { getBegin, getReplacement } from './validity.ts';

/** The counts of a database. The size is determined by each adapter. */
type Counted = Omit<StorageStats, 'sizeBytes'>;

/** See `Storage.stats`. Must run in a snapshot. */
export async function stats(queries: Queries, namespace: string, now: number, of: OwnerFilter = {}): Promise<Counted> {
  if (isLimited(of)) return statsOfOwners(queries, namespace, now, of);
  const counts = await tierCounts(queries, now, namespace);
  return {
    ...counts,
    ...(await getValidityCounts(queries, counts, now, namespace)),
    ...(await facts(queries, namespace)),
  };
}

/** See `Storage.totals`. Must run in a snapshot. */
export async function totals(queries: Queries, now: number): Promise<Counted> {
  const counts = await tierCounts(queries, now);
  return { ...counts, ...(await getValidityCounts(queries, counts, now)), ...(await facts(queries)) };
}

async function statsOfOwners(queries: Queries, namespace: string, now: number, of: OwnerFilter): Promise<Counted> {
  const { dialect } = queries;
  const these = sql`m.namespace = ${namespace} AND ${isOfOwners(dialect, of)}`;
  const live = await queries.rows<{ tier: Tier; count: number }>(sql`
    SELECT m.tier, count(*) AS count FROM memory m WHERE ${liveAndPassing(dialect, namespace, of, now)} GROUP BY m.tier`);
  const counts = noCounts();
  for (const { tier, count } of live) counts[`${tier}_count`] += count;
  const used = await queries.row<Quota>(sql`SELECT ${COUNTED} FROM memory m WHERE ${these}`);
  const pendingEmbeddings = await countPendingAmong(queries, these);
  const { lastSleepAt, embedding } = await facts(queries, namespace);
  const total = await count(queries, sql`memory m WHERE ${these} AND ${raw(IN_TIER)}`);
  return {
    ...counts,
    ...(await getValidityCounts(queries, counts, now, namespace, of)),
    textBytes: used?.bytes ?? 0,
    lastSleepAt,
    pendingEmbeddings,
    embedding: embedding && { modelId: embedding.modelId, embedded: total - pendingEmbeddings, total },
  };
}

type Facts = Omit<Counted, keyof TierCounts | keyof ValidityCounts>;

/** Returns the statistics other than tier counts, of one namespace or of all namespaces. */
async function facts(queries: Queries, namespace?: string): Promise<Facts> {
  const these = within(namespace);
  // The latest run is selected by number instead of time, because the clock may have been set back.
  const row = await queries.row<Omit<Facts, 'embedding'> & { modelId: string | null; total: number }>(sql`
    SELECT (SELECT CAST(coalesce(sum(bytes), 0) AS bigint) FROM usage WHERE ${these} AND user_id = '') AS "textBytes",
      (SELECT ended_at FROM consolidation_run WHERE ${these} AND ended_at IS NOT NULL ORDER BY no DESC LIMIT 1)
        AS "lastSleepAt",
      (${countPending(these, await changedUntil(queries))}) AS "pendingEmbeddings",
      (SELECT CAST(coalesce(sum(count), 0) AS bigint) FROM tier_count WHERE ${these} AND user_id = '') AS total,
      (SELECT model_id FROM embedding_model WHERE in_use) AS "modelId"`);
  const { modelId, total, ...rest } = row as NonNullable<typeof row>;
  const embedded = total - rest.pendingEmbeddings;
  return { ...rest, embedding: modelId === null ? null : { modelId, embedded, total } };
}

/**
 * Returns a query for the number of pending embeddings. A model change on PostgreSQL runs in steps; meanwhile, the
 * index entries that the change has not processed yet count as pending.
 */
function countPending(these: Sql, until: ChangedUntil | undefined): Sql {
  if (!until) return sql`SELECT count(*) FROM pending_embedding WHERE ${these}`;
  const place = sql`(${until.namespace}, CAST(${until.ordinal} AS bigint))`;
  return sql`
    SELECT (SELECT count(*) FROM pending_embedding WHERE ${these} AND (namespace, ordinal) <= ${place})
      + (SELECT count(*) FROM recall_entry WHERE ${these} AND (namespace, ordinal) > ${place})`;
}

/** Returns the number of pending embeddings among the memories that meet a condition. See `countPending`. */
async function countPendingAmong(queries: Queries, these: Sql): Promise<number> {
  const until = await changedUntil(queries);
  const ofTable = (table: string, condition: Sql) =>
    count(
      queries,
      sql`memory m CROSS JOIN ${raw(table)} p
      WHERE ${these} AND p.namespace = m.namespace AND p.ordinal = m.ordinal AND ${condition}`,
    );
  if (!until) return ofTable('pending_embedding', raw('true'));
  const place = sql`(${until.namespace}, CAST(${until.ordinal} AS bigint))`;
  const noted = await ofTable('pending_embedding', sql`(p.namespace, p.ordinal) <= ${place}`);
  return noted + (await ofTable('recall_entry', sql`(p.namespace, p.ordinal) > ${place}`));
}

/** Returns the number of live memories in a namespace. */
export async function countLive(queries: Queries, namespace: string, now: number): Promise<number> {
  const counts = await tierCounts(queries, now, namespace);
  return counts.working_count + counts.episodic_count + counts.semantic_count;
}

/** Returns the number of live memories by tier, of one namespace or of all namespaces. */
async function tierCounts(queries: Queries, now: number, namespace?: string): Promise<TierCounts> {
  const counts = noCounts();
  for (const { tier, count } of await countTiers(queries, now, namespace)) counts[`${tier}_count`] += count;
  return counts;
}

/**
 * Returns the numbers of live memories that hold, are superseded and have ended, of one namespace, of some owners in it,
 * or of all namespaces. Reads only memories that may not hold: those with a successor, and those that have ended or not
 * begun.
 */
async function getValidityCounts(
  queries: Queries,
  tiers: TierCounts,
  now: number,
  namespace?: string,
  of: OwnerFilter = {},
): Promise<ValidityCounts> {
  const { dialect } = queries;
  const { indexedBy } = dialect;
  const select = (index: string, condition: Sql) => sql`
    SELECT m.namespace, m.ordinal FROM counted CROSS JOIN memory m ${indexedBy(index)}
    WHERE m.namespace = counted.namespace AND ${condition} AND ${raw(IN_TIER)}`;
  const row = await queries.row<{ superseded: number; ended: number; withoutHold: number }>(sql`
    WITH counted AS (SELECT DISTINCT namespace FROM tier_count WHERE ${within(namespace)} AND user_id = ''),
      doubtful AS (
        SELECT l.namespace, l.ordinal FROM counted CROSS JOIN succession l ${indexedBy('succession_of_namespace')}
        WHERE l.namespace = counted.namespace
        UNION ${select('memory_ending', sql`m.valid_to <= ${now}`)}
        UNION ${select('memory_beginning', sql`m.valid_from > ${now}`)}
        UNION ${select('memory_by_time', sql`m.created_at > ${now} AND m.valid_from IS NULL`)})
    SELECT count(*) FILTER (WHERE "isReplaced") AS superseded, count(*) FILTER (WHERE "hasEnded") AS ended,
      count(*) FILTER (WHERE "isReplaced" OR "hasEnded" OR NOT "hasBegun") AS "withoutHold"
    FROM (
      SELECT EXISTS ${getReplacement(dialect, { at: now, now })} AS "isReplaced",
        coalesce(m.valid_to <= ${now}, false) AS "hasEnded", ${getBegin('m')} <= ${now} AS "hasBegun"
      FROM doubtful d ${dialect.joinMemory('m', { namespace: raw('d.namespace'), ordinal: raw('d.ordinal') })}
      WHERE ${raw(IN_TIER)} AND ${notExpired(now)} AND ${isOfOwners(dialect, of)}) AS state`);
  const { superseded, ended, withoutHold } = row as NonNullable<typeof row>;
  const live = tiers.working_count + tiers.episodic_count + tiers.semantic_count;
  return { current_count: live - withoutHold, superseded_count: superseded, ended_count: ended };
}

/** Returns the number of live memories by namespace and tier. */
async function countsByNamespace(queries: Queries, now: number): Promise<Map<string, TierCounts>> {
  const all = new Map<string, TierCounts>();
  for (const { namespace, tier, count } of await countTiers(queries, now)) addCount(all, namespace, tier, count);
  return all;
}

export function noCounts(): TierCounts {
  return { working_count: 0, episodic_count: 0, semantic_count: 0 };
}

/** Returns rows whose counts add up to the number of live memories by namespace and tier. A count may be negative. */
function countTiers(queries: Queries, now: number, namespace?: string) {
  const these = within(namespace);
  // The stored counts include expired memories, which are subtracted here.
  return queries.rows<{ namespace: string; tier: Tier; count: number }>(sql`
    SELECT namespace, tier, CAST(sum(count) AS bigint) AS count FROM tier_count
    WHERE ${these} AND user_id = '' GROUP BY namespace, tier
    UNION ALL
    SELECT m.namespace, m.tier, -count(*)
    FROM (SELECT DISTINCT namespace FROM tier_count WHERE ${these} AND user_id = '') AS counted
    CROSS JOIN memory m ${queries.dialect.indexedBy('memory_expiring')}
    WHERE m.namespace = counted.namespace AND m.expires_at <= ${now} AND ${raw(IN_TIER)}
    GROUP BY m.namespace, m.tier`);
}

/** Returns the number of live memories by user and tier, of the given users of a namespace. */
export async function getUserCounts(
  queries: Queries,
  namespace: string,
  userIds: readonly string[],
  now: number,
): Promise<Map<string, TierCounts>> {
  const { isIn, indexedBy } = queries.dialect;
  // The stored counts include expired memories, which are subtracted here.
  const rows = await queries.rows<{ userId: string; tier: Tier; count: number }>(sql`
    SELECT user_id AS "userId", tier, CAST(sum(count) AS bigint) AS count FROM tier_count
    WHERE namespace = ${namespace} AND ${isIn(raw('user_id'), userIds)} GROUP BY user_id, tier
    UNION ALL
    SELECT m.user_id, m.tier, -count(*) FROM memory m ${indexedBy('memory_expiring')}
    WHERE m.namespace = ${namespace} AND m.expires_at <= ${now} AND ${raw(IN_TIER)} AND ${isIn(raw('m.user_id'), userIds)}
    GROUP BY m.user_id, m.tier`);
  const all = new Map<string, TierCounts>();
  for (const { userId, tier, count } of rows) addCount(all, userId, tier, count);
  return all;
}

function addCount(all: Map<string, TierCounts>, key: string, tier: Tier, count: number): void {
  const counts = all.get(key) ?? noCounts();
  counts[`${tier}_count`] += count;
  all.set(key, counts);
}

/** Returns a condition: in the namespace, or always true if the namespace is undefined. */
function within(namespace: string | undefined): Sql {
  return namespace === undefined ? raw('true') : sql`namespace = ${namespace}`;
}

/** See `Storage.namespaces`. */
export async function namespaces(queries: Queries): Promise<string[]> {
  const rows = await queries.rows<{ namespace: string }>(sql`
    SELECT namespace FROM tier_count t WHERE user_id = '' GROUP BY namespace
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

/** See `Storage.usage`. Must run in a snapshot. */
export async function namespaceUsage(queries: Queries, now: number): Promise<NamespaceUsage[]> {
  const rows = await queries.rows<Row>(sql`
    WITH used AS (
        SELECT namespace, CAST(sum(memories) AS bigint) AS memories, CAST(sum(bytes) AS bigint) AS bytes
        FROM usage WHERE user_id = '' GROUP BY namespace),
      counted AS (SELECT namespace FROM tier_count WHERE user_id = '' GROUP BY namespace HAVING sum(count) > 0),
      good AS (
        SELECT namespace, count(*) FILTER (WHERE revoked_at IS NULL) AS keys FROM api_key GROUP BY namespace),
      known AS (
        SELECT namespace FROM used WHERE memories > 0 OR bytes > 0
        UNION SELECT namespace FROM counted
        UNION SELECT namespace FROM consolidation_run
        UNION SELECT namespace FROM quota
        UNION SELECT namespace FROM hook_setting
        UNION SELECT namespace FROM import_run
        UNION SELECT namespace FROM good)
    SELECT known.namespace AS name, coalesce(u.memories, 0) AS memories, coalesce(u.bytes, 0) AS bytes,
      q.memories AS "quotaMemories", q.bytes AS "quotaBytes", coalesce(g.keys, 0) AS keys
    FROM known LEFT JOIN used u ON u.namespace = known.namespace LEFT JOIN quota q ON q.namespace = known.namespace AND q.user_id = ''
      LEFT JOIN good g ON g.namespace = known.namespace
    ORDER BY known.namespace`);
  const counts = await countsByNamespace(queries, now);
  return rows.map(({ name, memories, bytes, quotaMemories, quotaBytes, keys }) => ({
    name,
    counts: counts.get(name) ?? noCounts(),
    used: { memories, bytes },
    quota: { memories: quotaMemories, bytes: quotaBytes },
    keys,
  }));
}
