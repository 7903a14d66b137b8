import { DEFAULTS } from '@memoryd/contract/limits';
import type { Moment, Queries } from '@memoryd/core';
import {
  collectCandidates,
  type Digest,
  firstEqual,
  type Matches,
  NO_SESSION,
  type SelectedWords,
  type Signals,
  termDigest,
} from '@memoryd/search';
import { type Facts, readFacts } from './facts.ts';
import type { QueryVector } from './nearest.ts';
import { readRowRelations } from './row-relations.ts';
import type { Scope } from './scope.ts';

interface SearchContext {
  scope: Scope;
  moment: Moment;
  queryWords: SelectedWords;
  vector: QueryVector | undefined;
}

/** Collects the ranking signals of the candidates, of the memories that supersede them, and of their neighbors. */
export async function collectSignals(
  queries: Queries,
  { scope, moment, queryWords, vector }: SearchContext,
  found: Matches,
): Promise<Omit<Signals, 'stagesMs'>> {
  const { now } = moment;
  const relations = await readRowRelations(queries, scope, moment, found);
  const terms = [...queryWords.words.flat(), ...queryWords.synonyms.map(({ term }) => term)];
  const facts = await readFacts(queries, scope.namespace, relations.ordinals, { terms, vector, now });
  const words = indexByTerm(queryWords.words);
  const speakers = queryWords.speakers.map((terms) => terms.map((term) => termDigest(scope.namespace, term)));
  const relevant = (ordinals: readonly number[]) =>
    ordinals.filter((ordinal) => isRelevant(words, getFacts(facts, ordinal)));
  const { rows: ordinals, getPlaces, ...candidates } = collectCandidates({ ...relations, relevant }, found);
  const rows = ordinals.map((ordinal) => getFacts(facts, ordinal));
  return {
    ...candidates,
    memoryCount: scope.memoryCount,
    documentFrequencies: queryWords.documentFrequencies,
    ordinals: Float64Array.from(ordinals),
    createdAts: Float64Array.from(rows, (row) => row.createdAt),
    begins: Float64Array.from(rows, (row) => row.begin),
    ends: Float64Array.from(rows, (row) => row.end ?? Number.POSITIVE_INFINITY),
    lengths: Uint32Array.from(rows, (row) => row.length),
    frequencies: getFrequencies(words, rows),
    synonyms: queryWords.synonyms.map(({ word, weight }) => ({ word, weight })),
    synonymFrequencies: getFrequencies(indexByTerm(queryWords.synonyms.map(({ term }) => [term])), rows),
    cosines: Float32Array.from(rows, (row) => row.cosine ?? Number.NaN),
    nearnesses: Float32Array.from(rows.slice(0, candidates.candidateCount), (row) => row.nearness),
    texts: firstEqual(rows.slice(0, candidates.candidateCount).map((row) => row.textDigest)),
    retentions: Float32Array.from(rows.slice(0, candidates.candidateCount), (row) => row.retention),
    sessions: numberSessions(rows),
    previous: getPlaces(ordinals.map(relations.previous)),
    next: getPlaces(ordinals.map(relations.next)),
    speakers: Uint32Array.from(rows, (row) => row.speaker),
    marks: Uint16Array.from(rows, (row) => row.marks),
    speaks: getSpeakerMatches(indexByTerm(speakers), rows),
    ...queryWords.kinds,
    now,
  };
}

function getFacts(facts: ReadonlyMap<number, Facts>, ordinal: number): Facts {
  const found = facts.get(ordinal);
  if (!found) throw new Error(`index inconsistency: memory ${ordinal} has no index entry`);
  return found;
}

function isRelevant({ byTerm }: WordsByTerm, { terms, cosine }: Facts): boolean {
  return terms.some((term) => byTerm.has(term)) || (cosine ?? 0) > 0;
}

/** Returns, for each row and word, the frequency of the word's most frequent term in the row. */
function getFrequencies({ count, byTerm }: WordsByTerm, rows: readonly Facts[]): Uint16Array {
  const all = new Uint16Array(rows.length * count);
  rows.forEach(({ terms, frequencies }, row) => {
    terms.forEach((term, i) => {
      for (const word of byTerm.get(term) ?? []) {
        const at = row * count + word;
        all[at] = Math.max(all[at] as number, frequencies[i] as number);
      }
    });
  });
  return all;
}

function getSpeakerMatches({ count, byTerm }: WordsByTerm, rows: readonly Facts[]): Uint8Array {
  const all = new Uint8Array(rows.length * count);
  rows.forEach(({ speakerTerms }, row) => {
    for (const term of speakerTerms) {
      for (const word of byTerm.get(term) ?? []) all[row * count + word] = 1;
    }
  });
  return all;
}

/** The number of words, and the indexes of the words of each term. */
interface WordsByTerm {
  count: number;
  byTerm: ReadonlyMap<Digest, number[]>;
}

function indexByTerm(words: readonly Digest[][]): WordsByTerm {
  const byTerm = new Map<Digest, number[]>();
  words.forEach((terms, place) => {
    for (const term of terms) byTerm.set(term, [...(byTerm.get(term) ?? []), place]);
  });
  return { count: words.length, byTerm };
}

function numberSessions(rows: readonly Facts[]): Int32Array {
  const numbers = new Map<string, number>();
  return Int32Array.from(rows, ({ sessionId, userId }) => {
    if (sessionId === null || sessionId === DEFAULTS.sessionId) return NO_SESSION;
    const session = `${userId}\0${sessionId}`;
    const number = numbers.get(session) ?? numbers.size;
    numbers.set(session, number);
    return number;
  });
}
