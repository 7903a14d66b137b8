import { extract } from '../../../core/distil/extract.ts';
import { hasOwnText, isWritten, type Source, sharedBy } from '../../sources.ts';
import { groupDigest } from '../../sql/declined-groups.ts';
import { findByOrdinal } from '../../sql/find-memory.ts';
import type { Queries } from '../../sql/queries.ts';
import { raw, sql } from '../../sql/sql.ts';
import { addAttributes, removeAttributes } from '../attributes.ts';
import type { Transaction } from '../connection.ts';
import { relabel, waitBehindOthers } from '../recall-entry.ts';
import { type Erasable, findErasable, labelsOf, type Target } from './find.ts';
import { setText } from './text.ts';

const SOURCE_COLUMNS = raw('m.ordinal, m.id, m.created_at AS "createdAt", m.importance, m.tags, m.content');

/** Memories as sources, in the order given. */
export async function readSources(queries: Queries, namespace: string, ordinals: readonly number[]): Promise<Source[]> {
  return queries.rows<Source>(sql`
    SELECT ${SOURCE_COLUMNS} FROM unnest(${ordinals}::bigint[]) WITH ORDINALITY AS asked(ordinal, place)
    JOIN memory m ON m.namespace = ${namespace} AND m.ordinal = asked.ordinal ORDER BY asked.place`);
}

/** The memories that a semantic memory was distilled from, oldest first. */
export async function sourcesOf(queries: Queries, namespace: string, semantic: number): Promise<Source[]> {
  return queries.rows<Source>(sql`
    SELECT ${SOURCE_COLUMNS} FROM memory_source l
    JOIN memory m ON m.namespace = l.namespace AND m.ordinal = l.source
    WHERE l.namespace = ${namespace} AND l.semantic = ${semantic}
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
  const ofIt = sql`namespace = ${namespace} AND semantic = ${semantic}`;
  await transaction.run(sql`
    INSERT INTO former_source (namespace, semantic, source)
    SELECT namespace, semantic, source FROM memory_source WHERE ${ofIt} ON CONFLICT DO NOTHING`);
  await transaction.run(sql`DELETE FROM memory_source WHERE ${ofIt}`);
  await transaction.run(sql`
    INSERT INTO memory_source (namespace, semantic, source)
    SELECT ${namespace}, ${semantic}::bigint, unnest(${sources}::bigint[])`);
  await transaction.run(sql`DELETE FROM former_source WHERE ${ofIt} AND source = ANY(${sources}::bigint[])`);
}

/** Lets nothing be distilled from the sources of a semantic memory again until one of them has another text. */
export async function decline(transaction: Transaction, namespace: string, semantic: number): Promise<void> {
  const ordinals = (await sourcesOf(transaction, namespace, semantic)).map((source) => source.ordinal);
  const digest = await groupDigest(transaction, namespace, ordinals);
  await transaction.run(
    sql`INSERT INTO declined_group (namespace, digest) VALUES (${namespace}, ${digest}) ON CONFLICT DO NOTHING`,
  );
}

/** What became of semantic memories that lost sources. */
export interface Lost {
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
  const these = sql`namespace = ${namespace} AND source = ANY(${ordinals}::bigint[])`;
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
    WHERE namespace = ${namespace} AND semantic = ANY(${[...lost]}::bigint[])`);
  let embedding = false;
  for (const { semantic } of kept) {
    lost.delete(semantic);
    const target = (await findByOrdinal(transaction, namespace, semantic)) as Target;
    const sources = await sourcesOf(transaction, namespace, semantic);
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
  await transaction.run(sql`
    DELETE FROM memory_history h USING memory m
    WHERE m.namespace = ${namespace} AND m.ordinal = ANY(${semantics}::bigint[])
      AND h.namespace = m.namespace AND h.ordinal = m.ordinal AND h.revision <= m.distilled_revision`);
  await transaction.run(
    sql`DELETE FROM former_source WHERE namespace = ${namespace} AND semantic = ANY(${semantics}::bigint[])`,
  );
}

/** Answers whether the text is another one now. */
export async function distilAgain(
  transaction: Transaction,
  target: Target,
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
export async function setDistilledText(transaction: Transaction, target: Target, content: string): Promise<void> {
  await setText(transaction, target, content);
  await waitBehindOthers(transaction, target.namespace, target.ordinal);
  await transaction.run(sql`
    UPDATE memory SET distilled_revision = revision
    WHERE namespace = ${target.namespace} AND ordinal = ${target.ordinal}`);
}

/** Gives a semantic memory what its sources share. */
export async function describe(transaction: Transaction, target: Target, sources: readonly Source[]): Promise<void> {
  const { createdAt, importance, tags } = sharedBy(sources);
  const labels = labelsOf(target);
  await removeAttributes(transaction, [labels]);
  await addAttributes(transaction, [{ ...labels, tags }]);
  await transaction.run(sql`
    UPDATE memory SET created_at = ${createdAt}, importance = ${importance}, tags = ${JSON.stringify(tags)}
    WHERE namespace = ${target.namespace} AND ordinal = ${target.ordinal}`);
  await relabel(transaction, target.namespace, target.ordinal);
}
