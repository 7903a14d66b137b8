import type { Metadata } from '@memoryd/contract';
import { extract } from '../../../core/distil/extract.ts';
import { fromJson } from '../../damage.ts';
import { hasOwnText, isWritten, type Source, sharedBy } from '../../sources.ts';
import type { Target } from '../../target.ts';
import { addAttributes, removeAttributes } from '../attributes.ts';
import { type Connection, sql } from '../connection.ts';
import { groupDigest } from '../group-digest.ts';
import { relabel, waitBehindOthers } from '../recall-entry.ts';
import { findByOrdinal } from './find.ts';
import { setText } from './text.ts';

const SOURCE_COLUMNS = 'm.ordinal, m.id, m.created_at AS createdAt, m.importance, m.tags, m.content';

/** Memories as sources, in the order given. */
export function readSources(connection: Connection, ordinals: readonly number[]): Source[] {
  const read = sql(connection, `SELECT ${SOURCE_COLUMNS} FROM memory m WHERE m.ordinal = ?`);
  return ordinals.map((ordinal) => read.get(ordinal) as Source);
}

/** The memories that a semantic memory was distilled from, oldest first. */
export function sourcesOf(connection: Connection, semantic: number): Source[] {
  return sql(
    connection,
    `SELECT ${SOURCE_COLUMNS} FROM memory_source l CROSS JOIN memory m ON m.ordinal = l.source WHERE l.semantic = ?
     ORDER BY m.created_at, m.ordinal`,
  ).all(semantic) as Source[];
}

/** The semantic memory that was distilled from a memory, among others. */
export function distilledFrom(connection: Connection, source: number): number | undefined {
  return sql(connection, 'SELECT semantic FROM memory_source WHERE source = ?').pluck().get(source) as
    | number
    | undefined;
}

/** Makes these the sources of a semantic memory, and no others; its earlier texts are of those that it had. */
export function setSources(
  connection: Connection,
  namespace: string,
  semantic: number,
  sources: readonly number[],
): void {
  sql(
    connection,
    `INSERT OR IGNORE INTO former_source (namespace, semantic, source)
     SELECT namespace, semantic, source FROM memory_source WHERE semantic = ?`,
  ).run(semantic);
  sql(connection, 'DELETE FROM memory_source WHERE semantic = ?').run(semantic);
  for (const source of sources) {
    sql(connection, 'INSERT INTO memory_source (namespace, semantic, source) VALUES (?, ?, ?)').run(
      namespace,
      semantic,
      source,
    );
    sql(connection, 'DELETE FROM former_source WHERE semantic = ? AND source = ?').run(semantic, source);
  }
}

/** Lets nothing be distilled from the sources of a semantic memory again until one of them has another text. */
export function decline(connection: Connection, namespace: string, semantic: number): void {
  const ordinals = sourcesOf(connection, semantic).map((source) => source.ordinal);
  sql(connection, 'INSERT OR IGNORE INTO declined_group (namespace, digest) VALUES (?, ?)').run(
    namespace,
    groupDigest(connection, ordinals),
  );
}

/** What became of semantic memories that lost sources. */
export interface Lost {
  /** Those that have none left, for the caller to erase. */
  emptied: Target[];
  /** Whether others have another text, and wait for its vectors. */
  embedding: boolean;
}

/**
 * Takes memories out of what was distilled from them, with every word of theirs: it is distilled again from what is
 * left.
 *
 * @param keepsOwn whether what has nothing left stays where a client has given it a text: nobody forgot that
 */
export function leaveDistilled(
  connection: Connection,
  namespace: string,
  ordinals: readonly number[],
  { keepsOwn = false } = {},
): Lost {
  const left = new Set<number>();
  for (const ordinal of ordinals) {
    const semantic = distilledFrom(connection, ordinal);
    if (semantic !== undefined) left.add(semantic);
    sql(connection, 'DELETE FROM memory_source WHERE source = ?').run(ordinal);
    for (const former of formerlyDistilledFrom(connection, ordinal)) eraseDistilledTexts(connection, former);
  }
  const lost: Lost = { emptied: [], embedding: false };
  for (const semantic of left) {
    const target = findByOrdinal(connection, semantic) as Target;
    const sources = sourcesOf(connection, semantic);
    if (sources.length === 0 && keepsOwn && hasOwnText(target)) eraseDistilledTexts(connection, semantic);
    else if (sources.length === 0) lost.emptied.push(target);
    else if (distilAgain(connection, namespace, target, sources)) lost.embedding = true;
  }
  return lost;
}

function formerlyDistilledFrom(connection: Connection, source: number): number[] {
  return sql(connection, 'SELECT semantic FROM former_source WHERE source = ?').pluck().all(source) as number[];
}

/** Erases the earlier texts of a semantic memory that consolidation gave it. */
function eraseDistilledTexts(connection: Connection, semantic: number): void {
  sql(
    connection,
    `DELETE FROM memory_history WHERE ordinal = @semantic
       AND revision <= (SELECT distilled_revision FROM memory WHERE ordinal = @semantic)`,
  ).run({ semantic });
  sql(connection, 'DELETE FROM former_source WHERE semantic = ?').run(semantic);
}

/** Answers whether the text is another one now. */
export function distilAgain(
  connection: Connection,
  namespace: string,
  target: Target,
  sources: readonly Source[],
): boolean {
  const { ordinal } = target;
  eraseDistilledTexts(connection, ordinal);
  if (!isWritten(target)) describe(connection, namespace, target, sources);
  const content = hasOwnText(target) ? target.content : extract({ sources }).content;
  if (content === target.content) relabel(connection, ordinal);
  else setDistilledText(connection, namespace, target, content);
  return content !== target.content;
}

/** Gives a semantic memory another text, and keeps nothing of the one that it had. */
export function setDistilledText(connection: Connection, namespace: string, target: Target, content: string): void {
  setText(connection, namespace, target, content);
  waitBehindOthers(connection, target.ordinal);
  sql(connection, 'UPDATE memory SET distilled_revision = revision WHERE ordinal = ?').run(target.ordinal);
}

/** Gives a semantic memory what its sources share; recall knows it only after its entry is renewed. */
export function describe(connection: Connection, namespace: string, target: Target, sources: readonly Source[]): void {
  const { createdAt, importance, tags } = sharedBy(sources);
  const metadata = fromJson<Metadata>(target.metadata);
  removeAttributes(connection, namespace, target.ordinal, fromJson<string[]>(target.tags), metadata);
  addAttributes(connection, namespace, target.ordinal, tags, metadata);
  sql(connection, 'UPDATE memory SET created_at = ?, importance = ?, tags = ? WHERE ordinal = ?').run(
    createdAt,
    importance,
    JSON.stringify(tags),
    target.ordinal,
  );
}
