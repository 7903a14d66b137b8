import type { Owner } from '@memoryd/search';
import { queueForDistilling, queueForMerging } from './consolidation-queue.ts';
import { IN_TIER } from './filters.ts';
import type { Dialect, Queries, Transaction } from './queries.ts';
import { raw, type Sql, sql } from './sql.ts';

/**
 * Links a memory to the memories that it supersedes: the memory `superseded`, the memory that this one was merged into,
 * and all memories with the same text in the same session, user and agent that arrived before the successor. Leaves out
 * memories that supersede the successor themselves, since of a circle none would hold. Returns the ordinals of the
 * memories that were not linked to the successor before.
 */
export async function addSuccessor(
  transaction: Transaction,
  namespace: string,
  superseded: string,
  successor: number,
): Promise<number[]> {
  const named = await findText(transaction, namespace, sql`id = ${superseded}`);
  if (!named) return [];
  const ordinals = await findWithText(transaction, namespace, named, successor);
  return addSuccession(transaction, namespace, ordinals, successor);
}

/**
 * Links a memory that returns from the archive to the memories that supersede its text, if they were stored while it was
 * archived.
 */
export async function catchUpSuccession(transaction: Transaction, namespace: string, ordinal: number): Promise<void> {
  const named = await findText(transaction, namespace, sql`ordinal = ${ordinal}`);
  if (!named) return;
  const same = await findWithText(transaction, namespace, named, Number.MAX_SAFE_INTEGER);
  const successors = await transaction.rows<{ successor: number }>(sql`
    SELECT DISTINCT successor FROM succession
    WHERE ${transaction.dialect.isMemory('ordinal', namespace, same)} AND successor > ${ordinal}`);
  for (const { successor } of successors) await addSuccession(transaction, namespace, [ordinal], successor);
}

function findText(queries: Queries, namespace: string, condition: Sql): Promise<Superseded | undefined> {
  return queries.row<Superseded>(sql`
    SELECT ordinal, id, merged_into AS "mergedInto", user_id AS "userId", agent_id AS "agentId",
      session_id AS "sessionId", text_digest AS "textDigest"
    FROM memory WHERE namespace = ${namespace} AND ${condition}`);
}

interface Superseded extends Owner {
  ordinal: number;
  id: string;
  mergedInto: string | null;
  sessionId: string | null;
  textDigest: Uint8Array;
}

/** Returns a memory, its survivor, and the memories with its text that arrived before `successor`, visible or merged. */
async function findWithText(
  { rows, dialect }: Queries,
  namespace: string,
  { ordinal, id, mergedInto, userId, agentId, sessionId, textDigest }: Superseded,
  successor: number,
): Promise<number[]> {
  const hasText = sql`text_digest = ${textDigest} AND agent_id = ${agentId} AND ordinal < ${successor}`;
  const inSession = sessionId === null ? raw('session_id IS NULL') : sql`session_id = ${sessionId}`;
  const visible = await rows<{ ordinal: number; id: string }>(sql`
    SELECT m.ordinal, m.id FROM memory m ${dialect.indexedBy('memory_by_text')}
    WHERE m.namespace = ${namespace} AND m.user_id = ${userId} AND ${inSession} AND ${hasText} AND ${raw(IN_TIER)}
    UNION SELECT ordinal, id FROM memory WHERE namespace = ${namespace} AND id = ${mergedInto}`);
  const ids = [id, ...visible.map((memory) => memory.id)];
  const merged = await rows<{ ordinal: number }>(sql`
    SELECT ordinal FROM memory
    WHERE namespace = ${namespace} AND ${dialect.isIn(raw('merged_into'), ids)} AND ${hasText}`);
  return [...new Set([ordinal, ...[...visible, ...merged].map((memory) => memory.ordinal)])];
}

/**
 * Links memories to one that supersedes them, except where a link would close a circle or a summary would end its own
 * sources, and so itself. Returns the ordinals of the memories that were not linked before.
 */
export async function addSuccession(
  transaction: Transaction,
  namespace: string,
  ordinals: readonly number[],
  successor: number,
): Promise<number[]> {
  const linked = await transaction.rows<{ ordinal: number }>(sql`
    INSERT INTO succession (namespace, ordinal, successor)
    SELECT ${namespace}, named.ordinal, CAST(${successor} AS bigint)
    FROM ${transaction.dialect.ordinals('named', ordinals)} WHERE named.ordinal NOT IN ${getUnreplaceable(namespace, successor)}
    ON CONFLICT DO NOTHING RETURNING ordinal`);
  return linked.map(({ ordinal }) => ordinal);
}

/** Returns true if a memory can supersede the memory `id`. See `addSuccession`. */
export async function canReplace(
  queries: Queries,
  { namespace, ordinal }: { namespace: string; ordinal: number },
  id: string,
): Promise<boolean> {
  const refused = await queries.row(sql`
    SELECT 1 FROM memory
    WHERE namespace = ${namespace} AND id = ${id} AND ordinal IN ${getUnreplaceable(namespace, ordinal)}`);
  return refused === undefined;
}

/**
 * Returns a subquery: the ordinals of the memories that a memory must not supersede. These are the memory itself, its
 * sources, and the memories that supersede them, directly or through others.
 */
function getUnreplaceable(namespace: string, ordinal: number): Sql {
  return sql`(
    WITH RECURSIVE later (ordinal) AS (
      SELECT CAST(${ordinal} AS bigint)
      UNION SELECT source FROM memory_source WHERE namespace = ${namespace} AND semantic = ${ordinal}
      UNION
      SELECT l.successor FROM later CROSS JOIN succession l
      WHERE l.namespace = ${namespace} AND l.ordinal = later.ordinal)
    SELECT ordinal FROM later)`;
}

/** Removes the links of a memory to the memories that it supersedes. */
export async function removeSuccessor(transaction: Transaction, namespace: string, successor: number): Promise<void> {
  const freed = await transaction.rows<{ ordinal: number }>(sql`
    DELETE FROM succession WHERE namespace = ${namespace} AND successor = ${successor} RETURNING ordinal`);
  // A memory that is no longer superseded can be a source again, and can be merged.
  const ordinals = freed.map(({ ordinal }) => ordinal);
  await queueForDistilling(transaction, namespace, ordinals);
  await queueForMerging(transaction, namespace, ordinals);
}

/** Removes memories from all chains of corrections. Links the successors of a removed memory to its predecessors. */
export async function leaveSuccession(
  transaction: Transaction,
  namespace: string,
  ordinals: readonly number[],
): Promise<void> {
  const { dialect } = transaction;
  const links = await transaction.rows<{ ordinal: number; successor: number }>(sql`
    SELECT ordinal, successor FROM succession WHERE ${dialect.isMemory('ordinal', namespace, ordinals)}
    UNION SELECT ordinal, successor FROM succession WHERE ${dialect.isMemory('successor', namespace, ordinals)}`);
  if (links.length === 0) return;
  const leaving = new Set(links.flatMap(({ ordinal, successor }) => [ordinal, successor]));
  for (const ordinal of ordinals.filter((each) => leaving.has(each))) await leave(transaction, namespace, ordinal);
}

async function leave(transaction: Transaction, namespace: string, ordinal: number): Promise<void> {
  await transaction.run(sql`
    INSERT INTO succession (namespace, ordinal, successor)
    SELECT before.namespace, before.ordinal, after.successor FROM succession before CROSS JOIN succession after
    WHERE before.namespace = ${namespace} AND before.successor = ${ordinal} AND after.namespace = ${namespace}
      AND after.ordinal = ${ordinal} AND before.ordinal <> after.successor
    ON CONFLICT DO NOTHING`);
  await transaction.run(sql`DELETE FROM succession WHERE namespace = ${namespace} AND ordinal = ${ordinal}`);
  await removeSuccessor(transaction, namespace, ordinal);
}

/** Returns an expression: the id of the first memory that was stored to supersede `memory m`, or null. */
export function getFirstSuccessor(dialect: Dialect): Sql {
  return sql`(SELECT s.id FROM succession l
    ${dialect.joinMemory('s', { namespace: raw('l.namespace'), ordinal: raw('l.successor') })}
    WHERE l.namespace = m.namespace AND l.ordinal = m.ordinal ORDER BY l.successor LIMIT 1)`;
}
