import { retentionOf } from '../../../core/retention.ts';
import type { Digest } from '../../../recall-index/entry.ts';
import type { Queries } from '../connection.ts';
import { RETAINABLE_COLUMNS, WITH_ACCESS } from '../row.ts';
import { raw, sql } from '../sql.ts';
import type { QueryVector } from './nearest.ts';

/** What a search tells of a memory in recall. */
export interface Facts {
  ordinal: number;
  createdAt: number;
  sessionId: string | null;
  length: number;
  speaker: number;
  marks: number;
  speakerTerms: Digest[];
  /** Terms of the query that it holds, and in the same places how often. */
  terms: Digest[];
  frequencies: number[];
  /** To the query's vector, of the nearest of its own; null where there is none. */
  cosine: number | null;
  /** How far it is retained, from 0 to 1. */
  retention: number;
}

/** Reads the facts of memories in recall, by ordinal. */
export async function readFacts(
  queries: Queries,
  namespace: string,
  ordinals: readonly number[],
  asked: { terms: readonly Digest[]; vector: QueryVector | undefined; now: number },
): Promise<Map<number, Facts>> {
  const { terms, vector, now } = asked;
  // Asked of the large tables apart, so that each is read along its own key.
  const these = (table: string) =>
    sql`${raw(table)}.namespace = ${namespace} AND ${raw(table)}.ordinal = ANY(${ordinals}::bigint[])`;
  const cosines = vector
    ? sql`SELECT v.ordinal, 1 - min(v.embedding <=> ${vector.text}::halfvec) AS cosine FROM memory_vector v
        WHERE ${these('v')} AND v.model = ${vector.model.number} GROUP BY v.ordinal`
    : raw('SELECT NULL::bigint AS ordinal, NULL::float8 AS cosine');
  const rows = await queries.rows<Omit<Facts, 'retention'> & Parameters<typeof retentionOf>[0]>(sql`
    SELECT m.ordinal, m.created_at AS "createdAt", m.session_id AS "sessionId", e.length, e.speaker, e.marks,
      e.speaker_terms AS "speakerTerms", coalesce(held.terms, '{}') AS terms,
      coalesce(held.frequencies, '{}') AS frequencies, near.cosine, ${RETAINABLE_COLUMNS}
    FROM memory m
    JOIN recall_entry e ON e.ordinal = m.ordinal AND ${these('e')}
    ${WITH_ACCESS}
    LEFT JOIN (
      SELECT p.ordinal, array_agg(p.term) AS terms, array_agg(p.frequency) AS frequencies FROM posting p
      WHERE ${these('p')} AND p.term = ANY(${terms}::bigint[]) GROUP BY p.ordinal) AS held ON held.ordinal = m.ordinal
    LEFT JOIN (${cosines}) AS near ON near.ordinal = m.ordinal
    WHERE ${these('m')}`);
  return new Map(rows.map((row) => [row.ordinal, { ...row, retention: retentionOf(row, now) }]));
}
