import type { Owner } from '@memoryd/search';
import { groupByOwner } from '@memoryd/search';
import type { DistilledMemory, GroupRequest, ReadGroup } from '../ports/storage-consolidation.ts';
import { deferEmbedding, queueForDistilling } from './consolidation-queue.ts';
import { fromJson } from './corruption.ts';
import { groupDigest, isDeclined } from './export-records.ts';
import { DISTILLABLE, isPromoted } from './filters.ts';
import {
  type Erasable,
  type FoundMemory,
  findByOrdinal,
  findDistilledFrom,
  type Target,
  toMemoryAttributes,
} from './find-memory.ts';
import { replaceAttributes } from './memory-rows.ts';
import type { Queries, Transaction } from './queries.ts';
import { raw, sql } from './sql.ts';
import { setText } from './text-history.ts';

const SOURCE_COLUMNS = raw(
  'm.ordinal, m.id, m.user_id AS "userId", m.agent_id AS "agentId", m.created_at AS "createdAt", m.valid_from AS "validFrom", m.importance, m.tags, m.content',
);

/** Reads memories as sources, in the order of `ordinals`. */
export async function readSources(queries: Queries, namespace: string, ordinals: readonly number[]): Promise<Source[]> {
  return queries.rows<Source>(sql`
    SELECT ${SOURCE_COLUMNS} FROM ${queries.dialect.ordinals('asked', ordinals)} CROSS JOIN memory m
    WHERE m.namespace = ${namespace} AND m.ordinal = asked.ordinal ORDER BY asked.place`);
}

/** Returns the sources of a semantic memory, oldest first. */
export async function getSources(queries: Queries, namespace: string, semantic: number): Promise<Source[]> {
  return queries.rows<Source>(sql`
    SELECT ${SOURCE_COLUMNS} FROM memory_source l CROSS JOIN memory m
    WHERE l.namespace = ${namespace} AND l.semantic = ${semantic} AND m.namespace = l.namespace AND m.ordinal = l.source
    ORDER BY m.created_at, m.ordinal`);
}

/**
 * Returns the ordinal of the semantic memory that was distilled from this source, or undefined if the memory is no
 * source.
 */
export async function getSemanticOrdinal(
  queries: Queries,
  namespace: string,
  source: number,
): Promise<number | undefined> {
  const found = await queries.row<{ semantic: number }>(
    sql`SELECT semantic FROM memory_source WHERE namespace = ${namespace} AND source = ${source}`,
  );
  return found?.semantic;
}

/**
 * Replaces the sources of a semantic memory. Stores the previous sources that are no longer sources as former sources,
 * because earlier texts of the semantic memory were distilled from these memories.
 */
export async function setSources(
  transaction: Transaction,
  namespace: string,
  semantic: number,
  sources: readonly number[],
): Promise<void> {
  const { dialect } = transaction;
  const ofIt = sql`namespace = ${namespace} AND semantic = ${semantic}`;
  await transaction.run(sql`
    INSERT INTO former_source (namespace, semantic, source)
    SELECT namespace, semantic, source FROM memory_source WHERE ${ofIt}
    ON CONFLICT DO NOTHING`);
  await transaction.run(sql`DELETE FROM memory_source WHERE ${ofIt}`);
  await transaction.run(sql`
    INSERT INTO memory_source (namespace, semantic, source)
    SELECT ${namespace}, CAST(${semantic} AS bigint), ordinal FROM ${dialect.ordinals('source', sources)}`);
  await transaction.run(
    sql`DELETE FROM former_source WHERE semantic = ${semantic} AND ${dialect.isMemory('source', namespace, sources)}`,
  );
}

/**
 * Prevents a group with the same sources as a semantic memory from being distilled again until the text of a source
 * changes.
 */
export async function decline(transaction: Transaction, namespace: string, semantic: number): Promise<void> {
  const ordinals = (await getSources(transaction, namespace, semantic)).map((source) => source.ordinal);
  const digest = await groupDigest(transaction, namespace, ordinals);
  await transaction.run(sql`
    INSERT INTO declined_group (namespace, digest, user_id, agent_id)
    SELECT namespace, ${digest}, user_id, agent_id FROM memory WHERE namespace = ${namespace} AND ordinal = ${semantic}
    ON CONFLICT DO NOTHING`);
}

/**
 * Removes memories as sources of semantic memories, and queues the remaining sources of the memories that end. Returns
 * the semantic memories that end without these sources, which the caller must delete: those with a text that
 * consolidation wrote and, unless `keepOwnText`, those without any source left.
 */
export async function removeSources(
  transaction: Transaction,
  namespace: string,
  ordinals: readonly number[],
  { keepOwnText = false } = {},
): Promise<Erasable[]> {
  const { isMemory } = transaction.dialect;
  const these = isMemory('source', namespace, ordinals);
  const leaving = new Set(ordinals);
  const affected = (await findDistilledFrom(transaction, namespace, ordinals)).filter(
    ({ ordinal }) => !leaving.has(ordinal),
  );
  const former = await transaction.rows<{ semantic: number }>(
    sql`SELECT DISTINCT semantic FROM former_source WHERE ${these}`,
  );
  await transaction.run(sql`DELETE FROM memory_source WHERE ${these}`);
  const remaining = await transaction.rows<{ semantic: number; source: number }>(sql`
    SELECT semantic, source FROM memory_source
    WHERE ${isMemory(
      'semantic',
      namespace,
      affected.map(({ ordinal }) => ordinal),
    )}`);
  const hasSource = (semantic: Erasable) => remaining.some((link) => link.semantic === semantic.ordinal);
  const kept = affected.filter((semantic) => hasOwnText(semantic) && (keepOwnText || hasSource(semantic)));
  // Their earlier texts can contain words of the removed memories.
  await deleteDistilledTexts(transaction, namespace, [
    ...former.map(({ semantic }) => semantic),
    ...kept.map(({ ordinal }) => ordinal),
  ]);
  const ended = affected.filter((semantic) => !kept.includes(semantic));
  const freed = remaining.filter(({ semantic }) => ended.some(({ ordinal }) => ordinal === semantic));
  await queueForDistilling(
    transaction,
    namespace,
    freed.map(({ source }) => source),
  );
  return ended;
}

/** Deletes the earlier texts and fields that consolidation wrote for semantic memories. */
async function deleteDistilledTexts(
  transaction: Transaction,
  namespace: string,
  semantics: readonly number[],
): Promise<void> {
  if (semantics.length === 0) return;
  const { isMemory } = transaction.dialect;
  await transaction.run(sql`
    DELETE FROM memory_history WHERE ${isMemory('ordinal', namespace, semantics)}
      AND revision <= (
        SELECT m.distilled_revision FROM memory m
        WHERE m.namespace = memory_history.namespace AND m.ordinal = memory_history.ordinal)`);
  // Fields that consolidation set follow from the sources, too.
  await transaction.run(
    sql`DELETE FROM field_history WHERE ${isMemory('ordinal', namespace, semantics)} AND version = 1`,
  );
  await transaction.run(sql`DELETE FROM former_source WHERE ${isMemory('semantic', namespace, semantics)}`);
}

/** Replaces the text of a semantic memory, without storing the former text in its history. */
export async function setDistilledText(transaction: Transaction, target: FoundMemory, content: string): Promise<void> {
  await setText(transaction, target, content);
  await deferEmbedding(transaction, target.namespace, target.ordinal);
  await transaction.run(sql`
    UPDATE memory SET distilled_revision = revision
    WHERE namespace = ${target.namespace} AND ordinal = ${target.ordinal}`);
}

/** Updates the fields of a semantic memory that are derived from its sources. */
export async function updateSharedFields(
  transaction: Transaction,
  target: FoundMemory,
  sources: readonly Source[],
): Promise<void> {
  const { createdAt, validFrom, importance, tags } = getSharedFields(sources);
  const labels = toMemoryAttributes(target);
  await replaceAttributes(transaction, [{ before: labels, after: { ...labels, tags } }]);
  await transaction.run(sql`
    UPDATE memory SET created_at = ${createdAt}, valid_from = ${validFrom}, importance = ${importance}, tags = ${JSON.stringify(tags)}
    WHERE namespace = ${target.namespace} AND ordinal = ${target.ordinal}`);
  await transaction.recall.relabel(target.namespace, [target.ordinal]);
}

/** A source of a semantic memory. `tags` is JSON. */
interface Source extends Owner {
  ordinal: number;
  id: string;
  createdAt: number;
  validFrom: number | null;
  importance: number;
  tags: string;
  content: string;
}

/** Returns true if a client has written to a semantic memory. Consolidation does not refresh such a memory. */
export function isChangedByClient({ version }: { version: number }): boolean {
  return version > 1;
}

/** Returns true if a client has replaced the text of a semantic memory since it was distilled. */
export function hasOwnText({ revision, distilledRevision }: Pick<Target, 'revision' | 'distilledRevision'>): boolean {
  return revision !== distilledRevision;
}

/** Returns the fields of a semantic memory that are derived from its sources, except the text. */
function getSharedFields(
  sources: readonly Source[],
): Pick<Source, 'createdAt' | 'validFrom' | 'importance'> & { tags: string[] } {
  const [first = [], ...others] = sources.map((source) =>
    fromJson<string[]>(source.tags, 'the tags of memory', source.id),
  );
  const createdAt = Math.max(...sources.map((source) => source.createdAt));
  const begin = Math.max(...sources.map((source) => source.validFrom ?? source.createdAt));
  return {
    createdAt,
    validFrom: begin === createdAt ? null : begin,
    importance: Math.max(...sources.map((source) => source.importance)),
    tags: first.filter((tag) => others.every((tags) => tags.includes(tag))),
  };
}

/** The `source` field of semantic memories. */
const SOURCE = 'consolidation';

/** Builds a semantic memory from its sources. */
export function toSemanticMemory(namespace: string, { id, content, at }: DistilledMemory, sources: readonly Source[]) {
  const [{ userId, agentId }] = sources as [Source, ...Source[]];
  return {
    namespace,
    id,
    userId,
    agentId,
    content,
    source: SOURCE,
    sessionId: null,
    metadata: {},
    externalId: null,
    storedAt: at,
    expiresAt: null,
    validTo: null,
    supersedes: null,
    ...getSharedFields(sources),
  };
}

/**
 * Maximum characters that are read from the text of a source, after leading white space. Distillers ignore the rest.
 */
const MAX_SOURCE_CHARS = 65_536;

/** The white space characters of JavaScript, which are trimmed from the start of a text. */
export const WHITE_SPACE =
  '\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff';

/** See `Storage.readGroup`. Must run in a snapshot. */
export async function readGroup(queries: Queries, request: GroupRequest): Promise<ReadGroup> {
  const { namespace, semantic, joining } = request;
  const sources = await queries.rows<Omit<ReadGroup['sources'][number], 'tags'> & Owner & { tags: string }>(sql`
    SELECT m.user_id AS "userId", m.agent_id AS "agentId", m.ordinal, m.version, m.id, m.created_at AS "createdAt", m.session_id AS "sessionId", m.tags,
      substr(ltrim(m.content, ${WHITE_SPACE}), 1, ${MAX_SOURCE_CHARS}) AS content
    FROM (
      SELECT ordinal FROM ${queries.dialect.ordinals('joining', joining)}
      UNION SELECT source FROM memory_source WHERE namespace = ${namespace} AND semantic = ${semantic ?? null}) AS named
    CROSS JOIN memory m
    WHERE m.namespace = ${namespace} AND m.ordinal = named.ordinal AND m.tier <> 'semantic' AND ${raw(DISTILLABLE)} AND ${isPromoted(request)}
    ORDER BY m.created_at, m.ordinal`);
  const ordinals = sources.map((source) => source.ordinal);
  const memory = semantic === undefined ? undefined : await findByOrdinal(queries, namespace, semantic);
  const [first, ...others] = groupByOwner(sources);
  const isOpen = semantic === undefined || (memory?.evictedAt === null && !isChangedByClient(memory));
  return {
    sources: sources.map(({ userId, agentId, ...source }) => ({
      ...source,
      tags: fromJson<string[]>(source.tags, 'the tags of memory', source.id),
    })),
    isClosed:
      !isOpen ||
      others.length > 0 ||
      (first !== undefined && (await isDeclined(queries, namespace, first[0], ordinals))),
    ...(memory && { semanticId: memory.id }),
  };
}
