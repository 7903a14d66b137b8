import { type Queries, raw, type Sql, sql } from '@memoryd/core';
import { type CreatedMatch, DAMPING, type Digest, type SelectedWords } from '@memoryd/search';
import { type FoundMemory, withTextDigests } from './diversity.ts';
import { joinScope, type Scope } from './scope.ts';
import { areOneTermEach, getColumns } from './words.ts';

/** Maximum postings scored in a search, unless the filter matches few memories. */
const MAX_POSTINGS = 16_384;

/** Candidates of the rarest words that are scored with all words, unless more results are requested. */
const MAX_CANDIDATES = 512;

/**
 * Returns the memories in scope whose words match best, best first; newer memories first on ties. A result contains a
 * word of the query, or was created in the period that the query names. If the words have more than `MAX_POSTINGS`
 * postings, the rarest words select candidates, and then all words rank the candidates. If more than `MAX_POSTINGS`
 * memories were created in the period, only the newest are read.
 */
export async function findBestByWords(
  queries: Queries,
  scope: Scope,
  { words, documentFrequencies, shares, dateMatches }: SelectedWords,
  count: number,
): Promise<FoundMemory[]> {
  const sorted = words
    .map((terms, place) => ({ terms, share: shares[place] as number, frequency: documentFrequencies[place] as number }))
    .sort((a, b) => a.frequency - b.frequency);
  if (sorted.length === 0 && dateMatches.length === 0) return [];
  const { namespace } = scope;
  const selectDated = dateMatches.length > 0 ? createDateSelect(namespace, dateMatches) : undefined;
  const rankAmong = (ordinals: readonly number[]) => {
    const lookUp = sql`AND p.namespace = ${namespace} AND p.ordinal = ANY(${ordinals}::bigint[])`;
    // The subquery is hashed once, so that the postings of a word are read in one index scan. `IS TRUE` prevents a join,
    // for which the planner has no statistics.
    const scan = sql`AND p.namespace = ${namespace}
      AND (p.ordinal IN (SELECT unnest(${ordinals}::bigint[]))) IS TRUE`;
    const condition = areFewPostings(sorted, ordinals.length) ? scan : lookUp;
    return rank(queries, scope, sorted, count, { condition, dated: selectDated?.(lookUp) });
  };
  if (scope.few) return rankAmong(scope.few);
  const selecting = limitPostings(sorted);
  const areAll =
    selecting.every(({ maxPostings }) => maxPostings === MAX_POSTINGS) && selecting.length === sorted.length;
  const selection = { words: selecting, dated: selectDated?.(NEWEST) };
  const candidates = await rankInScope(queries, scope, selection, areAll ? count : Math.max(count, MAX_CANDIDATES));
  return areAll ? candidates : rankAmong(candidates.map(({ ordinal }) => ordinal));
}

/** Number of postings of a word that are read in the time of one lookup by ordinal. */
const POSTINGS_PER_LOOKUP = 4;

/** Returns true if reading all postings of the words takes less time than looking up each of `count` memories. */
function areFewPostings(words: readonly WeightedWord[], count: number): boolean {
  const postings = words.reduce((sum, { frequency }) => sum + frequency, 0);
  const lookups = words.reduce((sum, { terms }) => sum + terms.length * count, 0);
  return postings < POSTINGS_PER_LOOKUP * lookups;
}

/** Returns a function that creates SQL: the memories with each date match, if they meet a condition on `memory p`. */
function createDateSelect(namespace: string, matches: readonly CreatedMatch[]): (condition: Sql) => Sql {
  return (condition) =>
    matches
      .map(
        ({ from, until, match }) => sql`
          SELECT ordinal, ${match}::float8 AS match FROM (
            SELECT p.ordinal FROM memory p
            WHERE p.namespace = ${namespace} AND p.created_at >= ${from} AND p.created_at < ${until} ${condition}) AS dated`,
      )
      .reduce((all, select) => sql`${all} UNION ALL ${select}`);
}

const NEWEST = sql`ORDER BY p.created_at DESC, p.ordinal DESC LIMIT ${MAX_POSTINGS}`;

/** Maximum matches per requested result in the first attempt of a search without a filter. */
const MATCHES_PER_RESULT = 2;

async function rankInScope(
  queries: Queries,
  scope: Scope,
  { words, dated }: { words: readonly WeightedWord[]; dated: Sql | undefined },
  count: number,
): Promise<FoundMemory[]> {
  const condition = sql`AND p.namespace = ${scope.namespace} ORDER BY p.ordinal DESC LIMIT word.most`;
  const scopeJoin = joinScope(scope, raw('matched.ordinal'));
  if (scope.isOpen) {
    // Avoids sorting and filtering thousands of matches for the first hundred.
    const maxMatches = count * MATCHES_PER_RESULT;
    const found = await rank(queries, scope, words, count, { condition, dated, scopeJoin, maxMatches });
    if (found.length === count) return found;
  }
  return rank(queries, scope, words, count, { condition, dated, scopeJoin });
}

interface WeightedWord {
  terms: Digest[];
  share: number;
  frequency: number;
  /** Maximum postings read for each term. */
  maxPostings?: number;
}

/**
 * Returns the rarest words up to the maximum number of postings. If the last word exceeds the maximum, only a part of
 * its postings is read.
 */
function limitPostings(words: readonly WeightedWord[]): WeightedWord[] {
  const selected: WeightedWord[] = [];
  let remaining = MAX_POSTINGS;
  for (const word of words) {
    const fits = word.frequency <= remaining;
    selected.push({ ...word, maxPostings: fits ? MAX_POSTINGS : Math.ceil(remaining / word.terms.length) });
    if (!fits) break;
    remaining -= word.frequency;
  }
  return selected;
}

interface RankOptions {
  /** Further condition on `posting p`, optionally with an order and a limit. */
  condition: Sql;
  /** Selects memories that match by their date. */
  dated?: Sql | undefined;
  /** Join that selects the memories in scope. */
  scopeJoin?: Sql;
  /** Maximum matches before the join. Unlimited if absent. */
  maxMatches?: number;
}

/** Returns the memories that match best by words and date. */
async function rank(
  queries: Queries,
  scope: Scope,
  words: readonly WeightedWord[],
  count: number,
  { condition, dated, scopeJoin = raw(''), maxMatches }: RankOptions,
): Promise<FoundMemory[]> {
  const { places, terms } = getColumns(words.map((word) => word.terms));
  const shares = places.map((place) => words[place]?.share);
  const limits = places.map((place) => words[place]?.maxPostings ?? 0);
  const { min, perWord, max } = DAMPING;
  const damping = sql`least(${max}::float8, ${min}::float8 + ${perWord}::float8 * p.length)`;
  const ofTerms = sql`
    SELECT p.ordinal, word.place, share * p.frequency / (p.frequency + ${damping}) AS match
    FROM unnest(${places}::integer[], ${terms}::bigint[], ${shares}::float8[], ${limits}::integer[])
      AS word(place, term, share, most)
    CROSS JOIN LATERAL (
      SELECT p.ordinal, p.frequency, p.length FROM posting p WHERE p.term = word.term ${condition} OFFSET 0) AS p`;
  const ofWords = areOneTermEach(words.map((word) => word.terms))
    ? ofTerms
    : sql`SELECT ordinal, max(match) AS match FROM (${ofTerms}) AS of_term GROUP BY ordinal, place`;
  const matches = dated ? sql`SELECT ordinal, match FROM (${ofWords}) AS of_word UNION ALL ${dated}` : ofWords;
  // Rounding to 32 bits removes differences that result only from the order of addition.
  const found = sql`
    SELECT matched.ordinal FROM (
      SELECT ordinal, sum(match)::real AS match FROM (${matches}) AS of_word_or_date
      GROUP BY ordinal ORDER BY match DESC, ordinal DESC LIMIT ${maxMatches ?? null}) AS matched
    ${scopeJoin}
    ORDER BY match DESC, matched.ordinal DESC LIMIT ${count}`;
  return queries.rows<FoundMemory>(withTextDigests(scope, found));
}
