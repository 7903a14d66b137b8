import { extract } from '../../core/distil/extract.ts';
import { groupedByOwner } from '../../core/owner.ts';
import type { DistilledMemory, GroupRequest, ReadGroup } from '../../ports/storage-consolidation.ts';
import type { Owner } from '../../ports/storage-owner.ts';
import { fromJson } from '../damage.ts';
import { waitBehindOthers } from './candidates.ts';
import { DISTILLABLE, isPromoted } from './filters.ts';
import {
  type Erasable,
  type FoundMemory,
  findByOrdinal,
  findErasable,
  type Target,
  toLabelled,
} from './find-memory.ts';
import { groupDigest, isDeclined } from './kept-records.ts';
import { addAttributes, removeAttributes } from './memory-rows.ts';
import type { Queries, Transaction } from './queries.ts';
import { raw, sql } from './sql.ts';
import { setText } from './text-history.ts';

const SOURCE_COLUMNS = raw(
  'm.ordinal, m.id, m.user_id AS "userId", m.agent_id AS "agentId", m.created_at AS "createdAt", m.importance, m.tags, m.content',
);

/** Memories as sources, in the order given. */
export async function readSources(queries: Queries, namespace: string, ordinals: readonly number[]): Promise<Source[]> {
  return queries.rows<Source>(sql`
    SELECT ${SOURCE_COLUMNS} FROM ${queries.dialect.ordinals('asked', ordinals)} CROSS JOIN memory m
    WHERE m.namespace = ${namespace} AND m.ordinal = asked.ordinal ORDER BY asked.place`);
}

/** The memories that a semantic memory was distilled from, oldest first. */
export async function getSources(queries: Queries, namespace: string, semantic: number): Promise<Source[]> {
  return queries.rows<Source>(sql`
    SELECT ${SOURCE_COLUMNS} FROM memory_source l CROSS JOIN memory m
    WHERE l.namespace = ${namespace} AND l.semantic = ${semantic} AND m.namespace = l.namespace AND m.ordinal = l.source
    ORDER BY m.created_at, m.ordinal`);
}

/** The semantic memory that was distilled from a memory, among others. */
export async function distilledFrom(queries: Queries, namespace: string, source: number): Promise<number | undefined> {
  const found = await queries.row<{ semantic: number }>(
    sql`SELECT semantic FROM memory_source WHERE namespace = ${namespace} AND source = ${source}`,
  );
  return found?.semantic;
}

/** Makes these the sources of a semantic memory, and no others; its earlier texts are of those that it had. */
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

/** Lets nothing be distilled from the sources of a semantic memory again until one of them has another text. */
export async function decline(transaction: Transaction, namespace: string, semantic: number): Promise<void> {
  const ordinals = (await getSources(transaction, namespace, semantic)).map((source) => source.ordinal);
  const digest = await groupDigest(transaction, namespace, ordinals);
  await transaction.run(sql`
    INSERT INTO declined_group (namespace, digest, user_id, agent_id)
    SELECT namespace, ${digest}, user_id, agent_id FROM memory WHERE namespace = ${namespace} AND ordinal = ${semantic}
    ON CONFLICT DO NOTHING`);
}

/** What became of semantic memories that lost sources. */
interface Lost {
  /** Those that have none left, for the caller to erase. */
  emptied: Erasable[];
  /** Whether others have another text, and wait for its vectors. */
  embedding: boolean;
}

/**
 * Takes memories out of what was distilled from them, with every word of theirs: it is distilled again from what is
 * left.
 *
 * @param keepsOwn whether what has nothing left stays where a client has given it a text: nobody forgot that
 */
export async function leaveDistilled(
  transaction: Transaction,
  namespace: string,
  ordinals: readonly number[],
  { keepsOwn = false } = {},
): Promise<Lost> {
  const { isMemory } = transaction.dialect;
  const these = isMemory('source', namespace, ordinals);
  const left = await transaction.rows<{ semantic: number }>(
    sql`DELETE FROM memory_source WHERE ${these} RETURNING semantic`,
  );
  const former = await transaction.rows<{ semantic: number }>(
    sql`SELECT DISTINCT semantic FROM former_source WHERE ${these}`,
  );
  await eraseDistilledTexts(
    transaction,
    namespace,
    former.map(({ semantic }) => semantic),
  );
  const leaving = new Set(ordinals);
  const lost = new Set(left.map(({ semantic }) => semantic).filter((semantic) => !leaving.has(semantic)));
  if (lost.size === 0) return { emptied: [], embedding: false };
  const kept = await transaction.rows<{ semantic: number }>(sql`
    SELECT DISTINCT semantic FROM memory_source
    WHERE ${isMemory('semantic', namespace, [...lost])}`);
  let embedding = false;
  for (const { semantic } of kept) {
    lost.delete(semantic);
    const target = (await findByOrdinal(transaction, namespace, semantic)) as FoundMemory;
    const sources = await getSources(transaction, namespace, semantic);
    if (await distilAgain(transaction, target, sources)) embedding = true;
  }
  const empty = await findErasable(transaction, namespace, [...lost]);
  const own = keepsOwn ? empty.filter(hasOwnText) : [];
  await eraseDistilledTexts(
    transaction,
    namespace,
    own.map(({ ordinal }) => ordinal),
  );
  return { emptied: empty.filter((target) => !own.includes(target)), embedding };
}

/** Erases the earlier texts of semantic memories that consolidation gave them. */
async function eraseDistilledTexts(
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
  await transaction.run(sql`DELETE FROM former_source WHERE ${isMemory('semantic', namespace, semantics)}`);
}

/** Answers whether the text is another one now. */
export async function distilAgain(
  transaction: Transaction,
  target: FoundMemory,
  sources: readonly Source[],
): Promise<boolean> {
  await eraseDistilledTexts(transaction, target.namespace, [target.ordinal]);
  if (!isWritten(target)) await describe(transaction, target, sources);
  const content = hasOwnText(target) ? target.content : extract({ sources }).content;
  if (content === target.content) return false;
  await setDistilledText(transaction, target, content);
  return true;
}

/** Gives a semantic memory another text, and keeps nothing of the one that it had. */
export async function setDistilledText(transaction: Transaction, target: FoundMemory, content: string): Promise<void> {
  await setText(transaction, target, content);
  await waitBehindOthers(transaction, target.namespace, target.ordinal);
  await transaction.run(sql`
    UPDATE memory SET distilled_revision = revision
    WHERE namespace = ${target.namespace} AND ordinal = ${target.ordinal}`);
}

/** Gives a semantic memory what its sources share. */
export async function describe(
  transaction: Transaction,
  target: FoundMemory,
  sources: readonly Source[],
): Promise<void> {
  const { createdAt, importance, tags } = sharedBy(sources);
  const labels = toLabelled(target);
  await removeAttributes(transaction, [labels]);
  await addAttributes(transaction, [{ ...labels, tags }]);
  await transaction.run(sql`
    UPDATE memory SET created_at = ${createdAt}, importance = ${importance}, tags = ${JSON.stringify(tags)}
    WHERE namespace = ${target.namespace} AND ordinal = ${target.ordinal}`);
  await transaction.recall.relabel(target.namespace, target.ordinal);
}

/** A memory that others are distilled from. */
interface Source extends Owner {
  ordinal: number;
  id: string;
  createdAt: number;
  importance: number;
  tags: string;
  content: string;
}

/** Whether a client has written to a semantic memory, which then is the client's to change. */
export function isWritten({ version }: { version: number }): boolean {
  return version > 1;
}

/** Whether a client has given a semantic memory a text since it was distilled, which then is the client's own. */
export function hasOwnText({ revision, distilledRevision }: Pick<Target, 'revision' | 'distilledRevision'>): boolean {
  return revision !== distilledRevision;
}

/** What a semantic memory has from its sources beside its text. */
function sharedBy(sources: readonly Source[]): { createdAt: number; importance: number; tags: string[] } {
  const [first = [], ...others] = sources.map((source) => fromJson<string[]>(source.tags));
  return {
    createdAt: Math.max(...sources.map((source) => source.createdAt)),
    importance: Math.max(...sources.map((source) => source.importance)),
    tags: first.filter((tag) => others.every((tags) => tags.includes(tag))),
  };
}

/** What semantic memories name as their source. */
const SOURCE = 'consolidation';

/** A semantic memory that is about to be made of its sources. */
export function getSemantic(namespace: string, { id, content, at }: DistilledMemory, sources: readonly Source[]) {
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
    storedAt: at,
    expiresAt: null,
    supersedes: null,
    ...sharedBy(sources),
  };
}

/** The part of a source's text that is read, from where it says something: more than any distiller looks at. */
const MAX_SOURCE_CHARS = 65_536;

/** All that a text may begin with and say nothing: the white space of JavaScript. */
export const BLANKS =
  '\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff';

/** See `Storage.readGroup`. To be asked in a snapshot. */
export async function readGroup(queries: Queries, request: GroupRequest): Promise<ReadGroup> {
  const { namespace, semantic, joining } = request;
  const sources = await queries.rows<Omit<ReadGroup['sources'][number], 'tags'> & Owner & { tags: string }>(sql`
    SELECT m.user_id AS "userId", m.agent_id AS "agentId", m.ordinal, m.version, m.id, m.created_at AS "createdAt", m.session_id AS "sessionId", m.tags,
      substr(ltrim(m.content, ${BLANKS}), 1, ${MAX_SOURCE_CHARS}) AS content
    FROM (
      SELECT ordinal FROM ${queries.dialect.ordinals('joining', joining)}
      UNION SELECT source FROM memory_source WHERE namespace = ${namespace} AND semantic = ${semantic ?? null}) AS named
    CROSS JOIN memory m
    WHERE m.namespace = ${namespace} AND m.ordinal = named.ordinal AND m.tier <> 'semantic' AND ${raw(DISTILLABLE)} AND ${isPromoted(request)}
    ORDER BY m.created_at, m.ordinal`);
  const ordinals = sources.map((source) => source.ordinal);
  const memory = semantic === undefined ? undefined : await findByOrdinal(queries, namespace, semantic);
  const isOpen = semantic === undefined || (memory?.evictedAt === null && !isWritten(memory));
  return {
    sources: sources.map(({ userId, agentId, ...source }) => ({ ...source, tags: fromJson<string[]>(source.tags) })),
    isClosed: !isOpen || groupedByOwner(sources).length > 1 || (await isDeclined(queries, namespace, ordinals)),
    ...(memory && { semanticId: memory.id }),
  };
}
