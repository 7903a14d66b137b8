import type { Tier } from '@memoryd/contract';
import type { WaitingLink } from '../../ports/storage-kept.ts';
import { alike } from '../conditions.ts';
import type { FoundLink } from '../kept-arrivals.ts';
import { countTiers } from './count-tiers.ts';
import { raw, type Sql, sql } from './sql.ts';
import type { Transaction } from './transaction.ts';

/** Sets links of memories to others, but for those that no longer make sense. */
export async function setLinks(
  transaction: Transaction,
  namespace: string,
  links: readonly FoundLink[],
): Promise<void> {
  const of = (kind: WaitingLink['kind']) => links.filter((link) => link.kind === kind);
  await setIds(transaction, namespace, 'supersedes', of('supersedes'));
  await setIds(transaction, namespace, 'superseded_by', of('supersededBy'));
  await addSources(transaction, namespace, 'memory_source', of('source'));
  await addSources(transaction, namespace, 'former_source', of('formerSource'));
  await mergeAll(transaction, namespace, of('mergedInto'));
}

async function setIds(
  transaction: Transaction,
  namespace: string,
  column: 'supersedes' | 'superseded_by',
  links: readonly FoundLink[],
): Promise<void> {
  if (links.length === 0) return;
  await transaction.run(sql`
    UPDATE memory AS m SET ${raw(column)} = link.id FROM ${toRecords(transaction, links)}
    WHERE ${isLinked(transaction, namespace, links)} AND m.ordinal = link.ordinal AND m.${raw(column)} IS NULL`);
}

/** Lets memories name what they correct, where that has come back and names them. */
export async function correctAgain(
  transaction: Transaction,
  namespace: string,
  links: readonly FoundLink[],
): Promise<void> {
  if (links.length === 0) return;
  await transaction.run(sql`
    UPDATE memory AS m SET supersedes = link.id FROM ${toRecords(transaction, links)} CROSS JOIN memory o
    WHERE o.namespace = ${namespace} AND o.ordinal = link.target AND ${isLinked(transaction, namespace, links)}
      AND m.ordinal = link.ordinal AND m.supersedes IS NULL AND o.superseded_by = m.id`);
}

async function addSources(
  transaction: Transaction,
  namespace: string,
  table: 'memory_source' | 'former_source',
  links: readonly FoundLink[],
): Promise<void> {
  if (links.length === 0) return;
  await transaction.run(sql`
    INSERT INTO ${raw(table)} (namespace, semantic, source)
    SELECT m.namespace, m.ordinal, link.target FROM ${toRecords(transaction, links)} CROSS JOIN memory m
    WHERE m.namespace = ${namespace} AND m.ordinal = link.ordinal AND m.tier = 'semantic'
    ON CONFLICT DO NOTHING`);
}

/** Merges twins into others, one after the other, since whether two may be depends on those before. */
async function mergeAll(transaction: Transaction, namespace: string, links: readonly FoundLink[]): Promise<void> {
  const merged: { ordinal: number; tier: Tier; evictedAt: number | null }[] = [];
  for (const link of links) merged.push(...(await mergeInto(transaction, namespace, link)));
  if (merged.length === 0) return;
  const ordinals = merged.map(({ ordinal }) => ordinal);
  await transaction.recall.remove(namespace, ordinals);
  const left = merged.filter(({ evictedAt }) => evictedAt === null);
  await countTiers(
    transaction,
    left.map(({ tier }) => ({ namespace, tier, count: -1 })),
  );
}

// A memory that takes part in a merge twice would be found through nothing.
async function mergeInto(transaction: Transaction, namespace: string, { ordinal, target }: FoundLink) {
  const survivor = await transaction.row<{ id: string }>(sql`
    SELECT s.id FROM memory m CROSS JOIN memory s
    WHERE m.namespace = ${namespace} AND m.ordinal = ${ordinal} AND s.namespace = ${namespace} AND s.ordinal = ${target}
      AND m.session_id = s.session_id AND ${raw(alike('m', 's'))} AND m.evicted_at IS NOT DISTINCT FROM s.evicted_at
      AND m.merged_into IS NULL AND s.merged_into IS NULL AND m.id <> s.id
      AND NOT EXISTS (SELECT 1 FROM memory t WHERE t.namespace = ${namespace} AND t.merged_into = m.id)`);
  if (!survivor) return [];
  return transaction.rows<{ ordinal: number; tier: Tier; evictedAt: number | null }>(sql`
    UPDATE memory SET merged_into = ${survivor.id} WHERE namespace = ${namespace} AND ordinal = ${ordinal}
    RETURNING ordinal, tier, evicted_at AS "evictedAt"`);
}

/** Returns a condition: `m` is a memory that has one of some links. */
function isLinked({ dialect }: Transaction, namespace: string, links: readonly FoundLink[]): Sql {
  return dialect.isMemory(
    'm.ordinal',
    namespace,
    links.map(({ ordinal }) => ordinal),
  );
}

/** Returns links as a table named `link`. */
function toRecords({ dialect }: Transaction, links: readonly FoundLink[]): Sql {
  return dialect.records('link', { ordinal: 'bigint', id: 'text', target: 'bigint' }, links);
}
