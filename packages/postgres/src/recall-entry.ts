import type { Tier } from '@memoryd/contract';
import {
  ANALYZER_VERSION,
  fromJson,
  getWords,
  join,
  type Recallable,
  type RecallWriter,
  raw,
  sql,
  termDigest,
} from '@memoryd/engine/storage-kit';
import type { OwnQueries } from './dialect.ts';

/** Raised when entries come to hold something else for the same text. */
const ENTRY_VERSION = 2;

/** By which rules entries are made now. */
export const MADE_BY = ENTRY_VERSION * 1000 + ANALYZER_VERSION;

/** Most that a frequency is told as; no score moves by what is beyond. */
const MAX_FREQUENCY = 2 ** 15 - 1;

/** How long memories that a process has stored or asked for wait for it alone, for their vectors. */
export const CLAIM = raw("clock_timestamp() + interval '30 seconds'");

/** See `RecallWriter.enterNew`. A client that stores is answered when its vectors are in, so its process makes them. */
async function enterNew(
  transaction: OwnQueries,
  memories: readonly RecallText[],
  vectors: 'waited for' | 'not waited for',
): Promise<void> {
  if (memories.length === 0) return;
  await keepEntries(transaction, memories);
  const rows = sql`unnest(${memories.map(({ namespace }) => namespace)}::text[],
    ${memories.map(({ ordinal }) => ordinal)}::bigint[]) AS entered(namespace, ordinal)
    WHERE EXISTS (SELECT 1 FROM embedding_model WHERE in_use) ON CONFLICT DO NOTHING`;
  await transaction.run(
    vectors === 'waited for'
      ? sql`INSERT INTO pending_embedding (namespace, ordinal, claimed_by, claimed_until)
            SELECT namespace, ordinal, ${transaction.process}, ${CLAIM} FROM ${rows}`
      : sql`INSERT INTO pending_embedding (namespace, ordinal) SELECT namespace, ordinal FROM ${rows}`,
  );
}

/** What of a memory recall's words and its queues are about. */
interface RecallText extends Pick<Recallable, 'namespace' | 'content' | 'tags'> {
  ordinal: number;
  tier: Tier;
}

/** As they stand in its row. */
type RecallTextInRow = Omit<RecallText, 'tags'> & { tags: string };

/** Lets recall find a memory that is in a tier again, with the text that it has now. */
async function enterAgain(transaction: OwnQueries, namespace: string, ordinal: number): Promise<void> {
  await enterNew(transaction, await readRecallTexts(transaction, namespace, [ordinal]), 'waited for');
}

/** Lets recall know the speaker and the words of a memory by the tags that it has now, if recall finds it at all. */
async function relabel(transaction: OwnQueries, namespace: string, ordinal: number): Promise<void> {
  for (const memory of await readRecallTexts(transaction, namespace, [ordinal])) {
    const { speaker, speaker_terms, terms, frequencies, length } = getEntry(memory);
    const isSemantic = memory.tier === 'semantic';
    await transaction.run(sql`
      WITH entry AS (
          UPDATE recall_entry SET speaker = ${speaker}, speaker_terms = ${speaker_terms}::bigint[],
            terms = ${terms}::bigint[], frequencies = ${frequencies}::smallint[]
          WHERE namespace = ${namespace} AND ordinal = ${ordinal} RETURNING ordinal),
        gone AS (
          DELETE FROM posting USING entry WHERE posting.namespace = ${namespace} AND posting.ordinal = entry.ordinal
            AND posting.term <> ALL(${terms}::bigint[]))
      INSERT INTO posting (namespace, term, ordinal, length, frequency, is_semantic)
      SELECT ${namespace}, t.term, entry.ordinal, ${length}::integer, t.frequency, ${isSemantic}::boolean
      FROM entry, unnest(${terms}::bigint[], ${frequencies}::smallint[]) AS t(term, frequency)
      ORDER BY t.term ON CONFLICT DO NOTHING`);
  }
}

/** What recall's words of memories are made of now. */
export async function readRecallTexts(
  transaction: OwnQueries,
  namespace: string,
  ordinals: readonly number[],
): Promise<RecallText[]> {
  const rows = await transaction.rows<RecallTextInRow>(sql`
    SELECT namespace, ordinal, tier, content, tags FROM memory
    WHERE namespace = ${namespace} AND ordinal = ANY(${ordinals}::bigint[])`);
  return rows.map((row) => ({ ...row, tags: fromJson<string[]>(row.tags) }));
}

/** Makes the entries and postings of memories that have none. */
export async function keepEntries(transaction: OwnQueries, memories: readonly RecallText[]): Promise<void> {
  const entries = JSON.stringify(memories.map(getEntry));
  const semantic = memories.filter(({ tier }) => tier === 'semantic').map(({ ordinal }) => ordinal);
  await transaction.run(sql`
    WITH entered AS (
      INSERT INTO recall_entry
        (namespace, ordinal, made_by, length, speaker, marks, terms, frequencies, speaker_terms)
      SELECT namespace, ordinal, ${MADE_BY}::integer, length, speaker, marks, terms, frequencies, speaker_terms
      FROM json_to_recordset(${entries}::json) AS entry(
        namespace text, ordinal bigint, length integer, speaker bigint, marks integer,
        terms bigint[], frequencies smallint[], speaker_terms bigint[])
      RETURNING namespace, ordinal, length, terms, frequencies)
    INSERT INTO posting (namespace, term, ordinal, length, frequency, is_semantic)
    SELECT e.namespace, t.term, e.ordinal, e.length, t.frequency, e.ordinal = ANY(${semantic}::bigint[])
    FROM entered e, unnest(e.terms, e.frequencies) AS t(term, frequency)
    ORDER BY e.namespace, t.term, e.ordinal`);
}

/** An entry as it is written. */
export function getEntry(memory: RecallText) {
  const { namespace, ordinal } = memory;
  const { frequencies, length, speaker, marks, speakerTerms } = getWords(memory);
  const terms = [...frequencies.entries()].sort(([one], [other]) => one - other);
  return {
    namespace,
    ordinal,
    length,
    speaker,
    marks,
    terms: terms.map(([term]) => term),
    frequencies: terms.map(([, frequency]) => Math.min(frequency, MAX_FREQUENCY)),
    speaker_terms: speakerTerms.map((term) => termDigest(namespace, term)),
  };
}

/** Takes memories, their words, their vectors and their states out of recall. */
async function leaveRecall(transaction: OwnQueries, namespace: string, ordinals: readonly number[]): Promise<void> {
  const these = sql`namespace = ${namespace} AND ordinal = ANY(${ordinals}::bigint[])`;
  const others = ['memory_vector', 'token_states', 'merge_candidate', 'distil_candidate'].map(
    (table, i) => sql`${raw(`gone${i}`)} AS (DELETE FROM ${raw(table)} WHERE ${these})`,
  );
  await transaction.run(sql`
    WITH entry AS (DELETE FROM recall_entry WHERE ${these} RETURNING ordinal, terms),
      words AS (
        DELETE FROM posting p USING (SELECT ordinal, unnest(terms) AS term FROM entry) w
        WHERE p.namespace = ${namespace} AND p.term = w.term AND p.ordinal = w.ordinal),
      ${join(others, ', ')}
    DELETE FROM pending_embedding WHERE ${these}`);
}

export function recallWriter(queries: OwnQueries): RecallWriter {
  return {
    enterNew: (memories, vectors) => enterNew(queries, memories, vectors),
    enter: (namespace, ordinal) => enterAgain(queries, namespace, ordinal),
    relabel: (namespace, ordinal) => relabel(queries, namespace, ordinal),
    remove: (namespace, ordinals) => leaveRecall(queries, namespace, ordinals),
    // Vacuuming is asked for once the transaction is committed.
    noteErased: async () => {},
  };
}
