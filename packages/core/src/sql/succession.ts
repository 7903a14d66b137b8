import type { Owner } from '@memoryd/search';
import type { Moment } from '../validity.ts';
import { queueForDistilling, queueForMerging } from './consolidation-queue.ts';
import { getChangeTime } from './field-history.ts';
import { IN_TIER } from './filters.ts';
import type { Dialect, Queries, Transaction } from './queries.ts';
import { raw, type Sql, sql } from './sql.ts';
import { IS_LINKED, isLinked } from './validity.ts';

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
  at: number,
): Promise<number[]> {
  const named = await findText(transaction, namespace, sql`id = ${superseded}`);
  if (!named) return [];
  const ordinals = await findWithText(transaction, namespace, named, successor);
  return addSuccession(transaction, namespace, ordinals, successor, at);
}

/**
 * Links a memory that returns from the archive to the memories that supersede its text, if they were stored while it was
 * archived.
 */
export async function catchUpSuccession(transaction: Transaction, namespace: string, ordinal: number): Promise<void> {
  const named = await findText(transaction, namespace, sql`ordinal = ${ordinal}`);
  if (!named) return;
  const same = await findWithText(transaction, namespace, named, Number.MAX_SAFE_INTEGER);
  const successors = await transaction.rows<{ successor: number; linkedAt: number }>(sql`
    SELECT successor, min(linked_at) AS "linkedAt" FROM succession l
    WHERE ${transaction.dialect.isMemory('ordinal', namespace, same)} AND successor > ${ordinal} AND ${raw(IS_LINKED)}
    GROUP BY successor`);
  for (const { successor, linkedAt } of successors) {
    await addSuccession(transaction, namespace, [ordinal], successor, linkedAt);
  }
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
 * sources, and so itself. The time of a link is never before the last change of the successor; see `getChangeTime`.
 * Returns the ordinals of the memories that were not linked before.
 */
export async function addSuccession(
  transaction: Transaction,
  namespace: string,
  ordinals: readonly number[],
  successor: number,
  at: number,
): Promise<number[]> {
  const linked = await transaction.rows<{ ordinal: number }>(sql`
    INSERT INTO succession (namespace, ordinal, successor, linked_at)
    SELECT s.namespace, named.ordinal, s.ordinal, ${getChangeTime(transaction, 's', at)}
    FROM ${transaction.dialect.ordinals('named', ordinals)} CROSS JOIN memory s
    WHERE s.namespace = ${namespace} AND s.ordinal = ${successor}
      AND named.ordinal NOT IN ${getUnreplaceable(namespace, successor)} AND NOT EXISTS (
        SELECT 1 FROM succession l WHERE l.namespace = s.namespace AND l.ordinal = named.ordinal
          AND l.successor = s.ordinal AND ${raw(IS_LINKED)})
    ${onSameLink(transaction.dialect)} RETURNING ordinal`);
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
      WHERE l.namespace = ${namespace} AND l.ordinal = later.ordinal AND ${raw(IS_LINKED)})
    SELECT ordinal FROM later)`;
}

/**
 * Ends the links of a memory to the memories that it supersedes, after `rememberFields` for the memory. The links stay for
 * reads of what was known before.
 */
export async function removeSuccessor(
  transaction: Transaction,
  namespace: string,
  successor: number,
  at: number,
): Promise<void> {
  const freed = await transaction.rows<{ ordinal: number }>(sql`
    UPDATE succession AS l SET unlinked_at = (
      SELECT ${getChangeTime(transaction, 's', at)} FROM memory s WHERE s.namespace = ${namespace} AND s.ordinal = ${successor})
    WHERE namespace = ${namespace} AND successor = ${successor} AND ${raw(IS_LINKED)} RETURNING ordinal`);
  await queueFreed(transaction, namespace, freed);
}

// A memory that is no longer superseded can be a source again, and can be merged.
async function queueFreed(
  transaction: Transaction,
  namespace: string,
  freed: readonly { ordinal: number }[],
): Promise<void> {
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
  const { least, greatest } = transaction.dialect;
  // A link through the memory was known while both of its parts were.
  const begin = sql`${greatest}(before.linked_at, after.linked_at)`;
  const end = sql`${least}(coalesce(before.unlinked_at, ${NEVER}), coalesce(after.unlinked_at, ${NEVER}))`;
  await transaction.run(sql`
    INSERT INTO succession (namespace, ordinal, successor, linked_at, unlinked_at)
    SELECT namespace, ordinal, successor, linked_at, nullif(max(unlinked_at), ${NEVER}) FROM (
      SELECT before.namespace, before.ordinal, after.successor, ${begin} AS linked_at, ${end} AS unlinked_at
      FROM succession before CROSS JOIN succession after
      WHERE before.namespace = ${namespace} AND before.successor = ${ordinal} AND after.namespace = ${namespace}
        AND after.ordinal = ${ordinal} AND before.ordinal <> after.successor AND ${begin} < ${end}) AS through
    GROUP BY namespace, ordinal, successor, linked_at
    ${onSameLink(transaction.dialect)}`);
  await transaction.run(sql`DELETE FROM succession WHERE namespace = ${namespace} AND ordinal = ${ordinal}`);
  const freed = await transaction.rows<{ ordinal: number }>(sql`
    DELETE FROM succession WHERE namespace = ${namespace} AND successor = ${ordinal} RETURNING ordinal`);
  await queueFreed(transaction, namespace, freed);
}

/** A time after all others. */
const NEVER = sql`CAST(${Number.MAX_SAFE_INTEGER} AS bigint)`;

/** Extends a link that has the same begin as an inserted one to the later end of both. */
function onSameLink({ greatest, linkKey }: Dialect): Sql {
  const end = sql`${greatest}(coalesce(succession.unlinked_at, ${NEVER}), coalesce(excluded.unlinked_at, ${NEVER}))`;
  return sql`ON CONFLICT ${linkKey} DO UPDATE SET unlinked_at = nullif(${end}, ${NEVER})`;
}

/** Returns an expression: the ids of the memories that supersede `memory m`, as JSON, in the order of their arrival. */
export function getSuccessors(dialect: Dialect, moment: Pick<Moment, 'known'>): Sql {
  return sql`(SELECT ${dialect.jsonArray(raw('s.id'), raw('l.successor'))} FROM succession l
    ${dialect.joinMemory('s', { namespace: raw('l.namespace'), ordinal: raw('l.successor') })}
    WHERE l.namespace = m.namespace AND l.ordinal = m.ordinal AND ${isLinked(moment)})`;
}
