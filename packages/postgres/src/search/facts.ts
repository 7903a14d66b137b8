import { type Queries, raw, sql } from '@memoryd/core';
import { type Digest, getRetention, Nearness } from '@memoryd/search';
import type { QueryVector } from './nearest.ts';

/** Data of a memory for ranking. */
export interface Facts {
  createdAt: number;
  begin: number;
  end: number | null;
  sessionId: string | null;
  userId: string;
  textDigest: string;
  length: number;
  speaker: number;
  marks: number;
  speakerTerms: Digest[];
  /** Terms of the query and synonyms in the memory, and their frequencies at the same indexes. */
  terms: Digest[];
  frequencies: number[];
  /** See `Signals.cosines`; null instead of NaN. */
  cosine: number | null;
  /** See `Signals.nearnesses`. */
  nearness: number;
  /** From 0 to 1. */
  retention: number;
}

/** Columns of several tables. The columns of a table are null if the table has no matching row. */
interface Columns {
  memories: number[] | null;
  createdAts: number[];
  begins: number[];
  ends: (number | null)[];
  sessionIds: (string | null)[];
  userIds: string[];
  textDigests: string[];
  importances: number[];
  storedAts: number[];

  entries: number[] | null;
  lengths: number[];
  speakers: number[];
  marks: number[];
  models: number[];
  /** Comma-separated digests. */
  speakerTerms: string[];

  used: number[] | null;
  counts: number[];
  lastUses: number[];

  holders: number[] | null;
  terms: Digest[];
  frequencies: number[];

  measured: number[] | null;
  cosines: number[];

  stated: number[] | null;
  states: Buffer[];
}

/** Reads the ranking data (see `Facts`) of memories that have an index entry. Returns a map by ordinal. */
export async function readFacts(
  queries: Queries,
  namespace: string,
  ordinals: readonly number[],
  { terms, vector, now }: { terms: readonly Digest[]; vector: QueryVector | undefined; now: number },
): Promise<Map<number, Facts>> {
  const condition = sql`namespace = ${namespace} AND ordinal = ANY((SELECT ordinals FROM asked)::bigint[])`;
  const cosines = vector
    ? sql`SELECT array_agg(ordinal) AS measured, array_agg(1 - (embedding <=> ${vector.text}::halfvec)) AS cosines
        FROM memory_vector WHERE ${condition} AND model = ${vector.model.number}`
    : raw('SELECT NULL::bigint[] AS measured');
  const states = vector?.states
    ? sql`SELECT array_agg(ordinal) AS stated, array_agg(states) AS states
        FROM token_states WHERE ${condition} AND model = ${vector.model.number}`
    : raw('SELECT NULL::bigint[] AS stated');
  // Each table is read separately by its key, because the planner underestimates the rows and would choose slow joins.
  // The values are aggregated to arrays, because transferring individual rows takes much longer.
  const columns = (await queries.row<Columns>(sql`
    WITH asked AS MATERIALIZED (SELECT ${ordinals}::bigint[] AS ordinals)
    SELECT * FROM
      (SELECT array_agg(ordinal) AS memories, array_agg(created_at) AS "createdAts", array_agg(coalesce(valid_from, created_at)) AS begins, array_agg(valid_to) AS ends,
         array_agg(session_id) AS "sessionIds", array_agg(user_id) AS "userIds", array_agg(encode(text_digest, 'base64')) AS "textDigests",
         array_agg(importance) AS importances, array_agg(stored_at) AS "storedAts"
       FROM memory WHERE ${condition}) AS memory,
      (SELECT array_agg(ordinal) AS entries, array_agg(length) AS lengths, array_agg(speaker) AS speakers,
         array_agg(marks) AS marks, array_agg(model) AS models, array_agg(array_to_string(speaker_terms, ',')) AS "speakerTerms"
       FROM recall_entry WHERE ${condition}) AS entry,
      (SELECT array_agg(ordinal) AS used, array_agg(count) AS counts, array_agg(last_at) AS "lastUses"
       FROM memory_access WHERE ${condition}) AS access,
      (SELECT array_agg(ordinal) AS holders, array_agg(term) AS terms, array_agg(frequency) AS frequencies
       FROM posting WHERE ${condition} AND term = ANY(${terms}::bigint[])) AS held,
      (${cosines}) AS near,
      (${states}) AS stated`)) as Columns;
  return toFacts(columns, vector, now);
}

function toFacts(columns: Columns, vector: QueryVector | undefined, now: number): Map<number, Facts> {
  const uses = new Map(columns.used?.map((ordinal, i) => [ordinal, i]));
  const entries = new Map(columns.entries?.map((ordinal, i) => [ordinal, i]));
  const nearest = new Map<number, number>();
  columns.measured?.forEach((ordinal, i) => {
    nearest.set(ordinal, Math.max(nearest.get(ordinal) ?? -1, columns.cosines[i] as number));
  });
  const nearness = vector?.states && prepareNearness(vector.states);
  const stated = new Map(columns.stated?.map((ordinal, i) => [ordinal, columns.states[i] as Buffer]));
  const facts = new Map<number, Facts>();
  columns.memories?.forEach((ordinal, i) => {
    const entry = entries.get(ordinal);
    if (entry === undefined) return;
    const use = uses.get(ordinal);
    const states = stated.get(ordinal);
    const retainable = {
      importance: columns.importances[i] as number,
      storedAt: columns.storedAts[i] as number,
      accessCount: use === undefined ? 0 : (columns.counts[use] as number),
      accessedAt: use === undefined ? null : (columns.lastUses[use] as number),
    };
    facts.set(ordinal, {
      createdAt: columns.createdAts[i] as number,
      begin: columns.begins[i] as number,
      end: columns.ends[i] as number | null,
      sessionId: columns.sessionIds[i] as string | null,
      userId: columns.userIds[i] as string,
      textDigest: columns.textDigests[i] as string,
      length: columns.lengths[entry] as number,
      speaker: columns.speakers[entry] as number,
      marks: columns.marks[entry] as number,
      speakerTerms: parseDigests(columns.speakerTerms[entry] as string),
      terms: [],
      frequencies: [],
      cosine: nearest.get(ordinal) ?? (columns.models[entry] === vector?.model.number ? 0 : null),
      nearness: states && nearness ? nearness.addAndScore(ordinal, states) : Number.NaN,
      retention: getRetention(retainable, now),
    });
  });
  columns.holders?.forEach((ordinal, i) => {
    const holder = facts.get(ordinal);
    holder?.terms.push(columns.terms[i] as Digest);
    holder?.frequencies.push(columns.frequencies[i] as number);
  });
  return facts;
}

let nearness: Nearness | undefined;

function prepareNearness(states: Int8Array): Nearness {
  nearness ??= new Nearness({ maxBytes: 0 });
  nearness.setQuery(states);
  return nearness;
}

function parseDigests(text: string): Digest[] {
  return text === '' ? [] : text.split(',').map(Number);
}
