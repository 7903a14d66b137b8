import type { Tier } from '@memoryd/contract';
import { EMBEDDING_LIMITS, fromJson, join, raw, type Sql, sql, type Transaction } from '@memoryd/core';
import { ANALYZER_VERSION, getWords, type Recallable, termDigest } from '@memoryd/search';
import { memoriesBy, type OwnQueries } from './dialect.ts';

/** Increase when index entries of the same text change. */
const ENTRY_VERSION = 2;

/** Version of the rules by which index entries are built. */
export const MADE_BY = ENTRY_VERSION * 1000 + ANALYZER_VERSION;

/** Maximum stored frequency of a term in a memory. Higher frequencies hardly change scores. */
const MAX_FREQUENCY = 2 ** 15 - 1;

/** End of a claim. Before this time, only the claiming process embeds the memory. */
export const CLAIM_END = raw("clock_timestamp() + interval '30 seconds'");

/** Values of `pending_embedding.stage`. */
export const [SHORT, LONG, REST] = [0, 1, 2];

/** See `Transaction['recall'].enterNew`. If a client waits for the vectors, the memories are claimed by this process. */
async function enterNew(
  transaction: OwnQueries,
  memories: readonly RecallText[],
  vectors: 'waited for' | 'not waited for',
): Promise<void> {
  if (memories.length === 0) return;
  await insertEntries(transaction, memories);
  const rows = sql`unnest(${memories.map(({ namespace }) => namespace)}::text[],
    ${memories.map(({ ordinal }) => ordinal)}::bigint[], ${memories.map(({ userId }) => userId)}::text[],
    ${memories.map(({ content }) => (content.length > EMBEDDING_LIMITS.shortText ? LONG : SHORT))}::smallint[])
    AS entered(namespace, ordinal, user_id, stage)
    WHERE EXISTS (SELECT 1 FROM embedding_model WHERE in_use) ON CONFLICT DO NOTHING`;
  await transaction.run(
    vectors === 'waited for'
      ? sql`INSERT INTO pending_embedding (namespace, ordinal, user_id, stage, claimed_by, claimed_until)
            SELECT namespace, ordinal, user_id, stage, ${transaction.process}, ${CLAIM_END} FROM ${rows}`
      : sql`INSERT INTO pending_embedding (namespace, ordinal, user_id, stage)
            SELECT namespace, ordinal, user_id, stage FROM ${rows}`,
  );
}

/** Data of a memory from which its index entry is built. */
interface RecallText extends Pick<Recallable, 'namespace' | 'userId' | 'content' | 'tags'> {
  ordinal: number;
  tier: Tier;
}

type RecallTextRow = Omit<RecallText, 'tags'> & { tags: string };

/** Indexes a memory with its current text after the memory has returned to a tier. */
async function reenter(transaction: OwnQueries, namespace: string, ordinal: number): Promise<void> {
  await enterNew(transaction, await readRecallTexts(transaction, namespace, [ordinal]), 'waited for');
}

/**
 * Updates the speaker and the terms in the index entries of memories after their tags have changed. No effect on memories
 * without an index entry.
 */
async function relabel(transaction: OwnQueries, namespace: string, ordinals: readonly number[]): Promise<void> {
  for (const memory of await readRecallTexts(transaction, namespace, ordinals)) {
    const { ordinal } = memory;
    const { speaker, speaker_terms, terms, frequencies, length } = buildEntry(memory);
    const isSemantic = memory.tier === 'semantic';
    await transaction.run(sql`
      WITH former AS (
          SELECT ordinal, unnest(terms) AS term FROM recall_entry WHERE namespace = ${namespace} AND ordinal = ${ordinal}),
        entry AS (
          UPDATE recall_entry SET speaker = ${speaker}, speaker_terms = ${speaker_terms}::bigint[],
            terms = ${terms}::bigint[], frequencies = ${frequencies}::smallint[]
          WHERE namespace = ${namespace} AND ordinal = ${ordinal} RETURNING ordinal),
        gone AS (${deletePostings(namespace, sql`SELECT ordinal, term FROM former WHERE term <> ALL(${terms}::bigint[])`)})
      INSERT INTO posting (namespace, term, ordinal, length, frequency, is_semantic)
      SELECT ${namespace}, t.term, entry.ordinal, ${length}::integer, t.frequency, ${isSemantic}::boolean
      FROM entry, unnest(${terms}::bigint[], ${frequencies}::smallint[]) AS t(term, frequency)
      ORDER BY t.term ON CONFLICT DO NOTHING`);
  }
}

/** Reads the data from which index entries are built. */
export async function readRecallTexts(
  transaction: OwnQueries,
  namespace: string,
  ordinals: readonly number[],
): Promise<RecallText[]> {
  const rows = await transaction.rows<RecallTextRow>(sql`
    SELECT m.namespace, m.user_id AS "userId", m.ordinal, m.tier, m.content, m.tags
    FROM unnest(${ordinals}::bigint[]) AS named(ordinal)
    JOIN ${memoriesBy('m', sql`namespace = ${namespace} AND ordinal = named.ordinal`)} ON true`);
  return rows.map((row) => ({ ...row, tags: fromJson<string[]>(row.tags, 'the tags of memory', row.ordinal) }));
}

/** Inserts the index entries and postings of memories that have none. */
export async function insertEntries(transaction: OwnQueries, memories: readonly RecallText[]): Promise<void> {
  const entries = JSON.stringify(memories.map(buildEntry));
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

/** Returns the index entry of a memory as a row of the table `recall_entry`. */
export function buildEntry(memory: Omit<RecallText, 'userId'>) {
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

/**
 * Returns a statement that deletes postings. Each is looked up by its key, because without statistics PostgreSQL would read
 * many others. The terms must be given, because no index finds the postings of a memory.
 *
 * @param postings a query for the ordinals and the terms of the postings
 */
export function deletePostings(namespace: string, postings: Sql): Sql {
  return sql`
    DELETE FROM posting WHERE ctid = ANY(ARRAY(
      SELECT p.ctid FROM (${postings}) AS gone(ordinal, term) CROSS JOIN LATERAL (
        SELECT ctid FROM posting
        WHERE namespace = ${namespace} AND term = gone.term AND ordinal = gone.ordinal OFFSET 0) p))`;
}

/** Deletes the index entries, postings, vectors and token states of memories, and removes the memories from queues. */
async function removeEntries(transaction: OwnQueries, namespace: string, ordinals: readonly number[]): Promise<void> {
  const these = sql`namespace = ${namespace} AND ordinal = ANY(${ordinals}::bigint[])`;
  const others = ['memory_vector', 'token_states', 'merge_candidate', 'distil_candidate'].map(
    (table, i) => sql`${raw(`gone${i}`)} AS (DELETE FROM ${raw(table)} WHERE ${these})`,
  );
  await transaction.run(sql`
    WITH entry AS (DELETE FROM recall_entry WHERE ${these} RETURNING ordinal, terms),
      words AS (${deletePostings(namespace, sql`SELECT ordinal, unnest(terms) FROM entry`)}),
      ${join(others, ', ')}
    DELETE FROM pending_embedding WHERE ${these}`);
}

export function createRecallWriter(queries: OwnQueries): Transaction['recall'] {
  return {
    enterNew: (memories, vectors) => enterNew(queries, memories, vectors),
    enter: (namespace, ordinal) => reenter(queries, namespace, ordinal),
    relabel: (namespace, ordinals) => relabel(queries, namespace, ordinals),
    remove: (namespace, ordinals) => removeEntries(queries, namespace, ordinals),
    // `SqlRunner.purge` requests the vacuum after the commit.
    noteErased: async () => {},
  };
}
