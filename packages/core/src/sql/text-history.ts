import type { OwnerFilter } from '@memoryd/search';
import { textDigest } from '@memoryd/search';
import type { MemoryText, Page, PageRequest } from '../ports/storage-memories.ts';
import { indexAndQueue } from './consolidation-queue.ts';
import { getChangeTime } from './field-history.ts';
import { BEFORE_THE_LAST, isOfOwners, notExpired } from './filters.ts';
import type { FoundMemory } from './find-memory.ts';
import { type TextRow, takeTexts } from './memory-row.ts';
import { replaceWords } from './memory-words.ts';
import { count, type Queries, type Transaction } from './queries.ts';
import { type Sql, sql } from './sql.ts';

interface Owner {
  namespace: string;
  ordinal: number;
  storedAt: number;
}

/** Selects the texts of a memory after a revision. The last row is the current text, whose `heldUntil` is null. */
function texts({ namespace, ordinal }: Owner, after: number): Sql {
  const these = sql`namespace = ${namespace} AND ordinal = ${ordinal} AND revision > ${after}`;
  return sql`SELECT revision, octet_length(content) AS bytes, replaced_at AS "heldUntil" FROM memory_history WHERE ${these}
    UNION ALL SELECT revision, octet_length(content), NULL FROM memory WHERE ${these}`;
}

/**
 * Returns the `content` column for a row of `texts`. Only the outermost query selects the column, so that only the
 * texts of returned rows are read.
 */
function contentColumn({ namespace, ordinal }: Owner): Sql {
  const these = sql`namespace = ${namespace} AND ordinal = ${ordinal}`;
  return sql`CASE WHEN "heldUntil" IS NULL THEN (SELECT content FROM memory WHERE ${these})
    ELSE (SELECT h.content FROM memory_history h WHERE ${these} AND h.revision = text.revision) END AS content`;
}

/** See `Storage.history`. A page position is a revision. Must run in a snapshot. */
export async function history(
  queries: Queries,
  namespace: string,
  id: string,
  request: PageRequest<number>,
  now: number,
  of: OwnerFilter = {},
): Promise<Page<MemoryText, number> | undefined> {
  const owner = await findOwner(queries, namespace, id, now, of);
  if (!owner) return undefined;
  const { limit, maxBytes, after = 0 } = request;
  const rows = await queries.rows<TextRow>(sql`
    SELECT revision, "heldUntil", ${contentColumn(owner)} FROM (
      SELECT *, sum(bytes) OVER (ORDER BY revision ${BEFORE_THE_LAST}) AS before
      FROM (${texts(owner, after)}) AS every_text) AS text
    WHERE coalesce(before, 0) <= ${maxBytes} ORDER BY revision LIMIT ${limit + 1}`);
  const total = await countTexts(queries, owner);
  return takeTexts(rows, request, total, await heldFromAfter(queries, owner, after));
}

/** See `Storage.textAt`. Must run in a snapshot. */
export async function textAt(
  queries: Queries,
  namespace: string,
  id: string,
  at: number,
  now: number,
  of: OwnerFilter = {},
): Promise<MemoryText | undefined> {
  const owner = await findOwner(queries, namespace, id, now, of);
  if (!owner || at < owner.storedAt) return undefined;
  const row = (await queries.row<TextRow>(sql`
    SELECT revision, "heldUntil", ${contentColumn(owner)} FROM (${texts(owner, 0)}) AS text
    WHERE "heldUntil" IS NULL OR "heldUntil" > ${at} ORDER BY revision LIMIT 1`)) as TextRow;
  return { ...row, heldFrom: await heldFromAfter(queries, owner, row.revision - 1) };
}

function findOwner(
  queries: Queries,
  namespace: string,
  id: string,
  now: number,
  of: OwnerFilter,
): Promise<Owner | undefined> {
  return queries.row<Owner>(sql`
    SELECT m.namespace, m.ordinal, m.stored_at AS "storedAt" FROM memory m
    WHERE m.namespace = ${namespace} AND m.id = ${id} AND m.evicted_at IS NULL AND ${notExpired(now)}
      AND ${isOfOwners(queries.dialect, of)}`);
}

async function countTexts(queries: Queries, { namespace, ordinal }: Owner): Promise<number> {
  return 1 + (await count(queries, sql`memory_history WHERE namespace = ${namespace} AND ordinal = ${ordinal}`));
}

/** Returns the time from which the first text after a revision was valid. */
async function heldFromAfter(queries: Queries, owner: Owner, revision: number): Promise<number> {
  const earlier = await queries.row<{ replacedAt: number }>(sql`
    SELECT replaced_at AS "replacedAt" FROM memory_history
    WHERE namespace = ${owner.namespace} AND ordinal = ${owner.ordinal} AND revision <= ${revision}
    ORDER BY revision DESC LIMIT 1`);
  return earlier?.replacedAt ?? owner.storedAt;
}

/**
 * Stores the current text of a memory in its history before the text is replaced, after `rememberFields`. The end of the
 * text's validity is never earlier than its start, even if the clock was set back.
 */
export async function rememberText(
  transaction: Transaction,
  { namespace, ordinal, revision, content }: FoundMemory,
  at: number,
): Promise<void> {
  const { greatest } = transaction.dialect;
  await transaction.run(sql`
    INSERT INTO memory_history (namespace, ordinal, revision, replaced_at, content)
    SELECT namespace, ordinal, CAST(${revision} AS integer), ${greatest}(${getChangeTime(transaction, 'memory', at)}, coalesce((
      SELECT h.replaced_at FROM memory_history h WHERE h.namespace = ${namespace} AND h.ordinal = ${ordinal}
      ORDER BY h.revision DESC LIMIT 1), 0)), ${content}
    FROM memory WHERE namespace = ${namespace} AND ordinal = ${ordinal}`);
}

/**
 * Replaces the text of a memory. Indexes the memory again, and queues the memory for consolidation, unless it is merged
 * or evicted.
 */
export async function setText(transaction: Transaction, target: FoundMemory, content: string): Promise<void> {
  const { namespace, ordinal, mergedInto, evictedAt } = target;
  await transaction.recall.remove(namespace, [ordinal]);
  await transaction.run(sql`
    UPDATE memory SET content = ${content}, text_digest = ${textDigest(content)}, revision = revision + 1
    WHERE namespace = ${namespace} AND ordinal = ${ordinal}`);
  await replaceWords(transaction, namespace, [{ ordinal, content }]);
  if (mergedInto === null && evictedAt === null) await indexAndQueue(transaction, namespace, ordinal);
}
