import type { NamespaceQuota } from '@memoryd/contract';
import type { Quota } from '../../ports/storage-namespaces.ts';
import { isLimit, quotaOf, Rooms } from '../quota.ts';
import type { Queries } from './queries.ts';
import { raw, sql } from './sql.ts';

const NOTHING: Quota = { memories: 0, bytes: 0 };

/**
 * Reads what namespaces have room for; it stays so while the transaction has to itself those that may not hold just
 * anything.
 */
export async function readRooms(queries: Queries, namespaces: readonly string[], ofAll: Quota): Promise<Rooms> {
  const own = await ownQuotas(queries, namespaces);
  const quotas = new Map(namespaces.map((namespace) => [namespace, quotaOf(own.get(namespace), ofAll)]));
  const limited = [...quotas].filter(([, quota]) => isLimit(quota));
  if (limited.length === 0) return new Rooms(new Map());
  const used = await usageOf(queries, namespaces);
  return new Rooms(
    new Map(limited.map(([namespace, quota]) => [namespace, { quota, used: used.get(namespace) ?? NOTHING }])),
  );
}

async function ownQuotas(queries: Queries, namespaces: readonly string[]): Promise<Map<string, NamespaceQuota>> {
  const rows = await queries.rows<NamespaceQuota & { namespace: string }>(
    sql`SELECT namespace, memories, bytes FROM namespace_quota WHERE ${queries.dialect.isIn(raw('namespace'), namespaces)}`,
  );
  return new Map(rows.map((row) => [row.namespace, row]));
}

async function usageOf(queries: Queries, namespaces: readonly string[]): Promise<Map<string, Quota>> {
  const rows = await queries.rows<Quota & { namespace: string }>(sql`
    SELECT namespace, CAST(sum(memories) AS bigint) AS memories, CAST(sum(bytes) AS bigint) AS bytes FROM namespace_usage
    WHERE ${queries.dialect.isIn(raw('namespace'), namespaces)} GROUP BY namespace`);
  return new Map(rows.map((row) => [row.namespace, row]));
}

/** See `Storage.setQuota`. Nobody stores in the namespace meanwhile, so that a new quota holds at once. */
export async function setQuota(
  queries: Queries,
  namespace: string,
  { memories, bytes }: NamespaceQuota,
): Promise<void> {
  if (memories === null && bytes === null) {
    await queries.run(sql`DELETE FROM namespace_quota WHERE namespace = ${namespace}`);
    return;
  }
  await queries.run(sql`
    INSERT INTO namespace_quota (namespace, memories, bytes) VALUES (${namespace}, ${memories}, ${bytes})
    ON CONFLICT (namespace) DO UPDATE SET memories = excluded.memories, bytes = excluded.bytes`);
}
