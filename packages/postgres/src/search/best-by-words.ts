import {
  type AskedDate,
  DAMPING,
  type Digest,
  dateMatch,
  type Queries,
  raw,
  type Sql,
  sql,
} from '@memoryd/engine/storage-kit';
import { type FoundMemory, withTextDigests } from './crowds.ts';
import { admission, type Scope } from './scope.ts';
import type { Asked } from './words.ts';
import { areOneTermEach, getColumns } from './words.ts';

/** Postings of which matches are made at a search, and candidates that are held against the words that were left out. */
const MAX_MATCHED = 16_384;
const MAX_CANDIDATES = 512;

/**
 * The memories in scope whose words match best, best first, the newest first where they match equally; only those that
 * hold a word. Where the words are in too many memories, the rarer ones choose candidates, and of the first word that is
 * in too many its newest memories; all words then rank these. A memory of the date that is asked about matches without
 * words too, of too many the newest.
 */
export async function bestByWords(
  queries: Queries,
  scope: Scope,
  { words, frequencies, kinds: { dated }, shares, date }: Matched,
  count: number,
): Promise<FoundMemory[]> {
  const matching = words
    .map((terms, place) => ({ terms, share: shares[place] as number, frequency: frequencies[place] as number }))
    .sort((a, b) => a.frequency - b.frequency);
  if (matching.length === 0) return [];
  const { namespace } = scope;
  const ofDate = date && matchesOfDate(namespace, date, dateMatch(shares, dated));
  const among = (ordinals: readonly number[]) => {
    const these = sql`AND p.namespace = ${namespace} AND p.ordinal = ANY(${ordinals}::bigint[])`;
    return best(queries, scope, matching, count, { of: these, ofDate: ofDate?.(these) });
  };
  if (scope.few) return among(scope.few);
  const choosing = withinBounds(matching);
  const areAll = choosing.every(({ most }) => most === MAX_MATCHED) && choosing.length === matching.length;
  const wanted = { words: choosing, ofDate: ofDate?.(NEWEST) };
  const candidates = await bestInScope(queries, scope, wanted, areAll ? count : Math.max(count, MAX_CANDIDATES));
  return areAll ? candidates : among(candidates.map(({ ordinal }) => ordinal));
}

/** What a search knows of the words of a query. */
interface Matched extends Asked {
  /** What each word is worth. */
  shares: Float64Array;
  date: AskedDate | undefined;
}

/** The memories of a date and how well these match by that, as far as a condition on `memory p` goes. */
function matchesOfDate(namespace: string, { earliest, latest }: AskedDate, match: number): (of: Sql) => Sql {
  return (of) => sql`
    SELECT ordinal, ${match}::float8 AS match FROM (
      SELECT p.ordinal FROM memory p
      WHERE p.namespace = ${namespace} AND p.created_at >= ${earliest} AND p.created_at < ${latest} ${of}) AS dated`;
}

const NEWEST = sql`ORDER BY p.created_at DESC, p.ordinal DESC LIMIT ${MAX_MATCHED}`;

/** Of how many matches those in scope are taken first, where that is nearly all of them. */
const MATCHES_EACH = 2;

async function bestInScope(
  queries: Queries,
  scope: Scope,
  { words, ofDate }: { words: readonly MatchedWord[]; ofDate: Sql | undefined },
  count: number,
): Promise<FoundMemory[]> {
  const of = sql`AND p.namespace = ${scope.namespace} ORDER BY p.ordinal DESC LIMIT word.most`;
  const admitted = admission(scope, raw('matched.ordinal'));
  if (scope.isOpen) {
    // Some thousand matches need not be put in order for their first hundred.
    const found = await best(queries, scope, words, count, { of, ofDate, admitted, most: count * MATCHES_EACH });
    if (found.length === count) return found;
  }
  return best(queries, scope, words, count, { of, ofDate, admitted });
}

interface MatchedWord {
  terms: Digest[];
  share: number;
  frequency: number;
  /** Postings of each term that are looked at. */
  most?: number;
}

/** Words, the rarest first, as long as their postings are not too many; of the next only some. */
function withinBounds(words: readonly MatchedWord[]): MatchedWord[] {
  const chosen: MatchedWord[] = [];
  let left = MAX_MATCHED;
  for (const word of words) {
    const fits = word.frequency <= left;
    chosen.push({ ...word, most: fits ? MAX_MATCHED : Math.ceil(left / word.terms.length) });
    if (!fits) break;
    left -= word.frequency;
  }
  return chosen;
}

/**
 * The best of the memories whose postings a condition on `posting p` lets through, of those that match by their date, and
 * of those that are admitted; `most` are looked at for that, or all.
 */
async function best(
  queries: Queries,
  scope: Scope,
  words: readonly MatchedWord[],
  count: number,
  { of, ofDate, admitted = raw(''), most }: { of: Sql; ofDate?: Sql | undefined; admitted?: Sql; most?: number },
): Promise<FoundMemory[]> {
  const { places, terms } = getColumns(words.map((word) => word.terms));
  const shares = places.map((place) => words[place]?.share);
  const mosts = places.map((place) => words[place]?.most ?? 0);
  const { least, perWord } = DAMPING;
  const damping = sql`least(${DAMPING.most}::float8, ${least}::float8 + ${perWord}::float8 * p.length)`;
  const ofTerms = sql`
    SELECT p.ordinal, word.place, share * p.frequency / (p.frequency + ${damping}) AS match
    FROM unnest(${places}::integer[], ${terms}::bigint[], ${shares}::float8[], ${mosts}::integer[])
      AS word(place, term, share, most)
    CROSS JOIN LATERAL (
      SELECT p.ordinal, p.frequency, p.length FROM posting p WHERE p.term = word.term ${of} OFFSET 0) AS p`;
  const ofWords = areOneTermEach(words.map((word) => word.terms))
    ? ofTerms
    : sql`SELECT ordinal, max(match) AS match FROM (${ofTerms}) AS of_term GROUP BY ordinal, place`;
  const matches = ofDate ? sql`SELECT ordinal, match FROM (${ofWords}) AS of_word UNION ALL ${ofDate}` : ofWords;
  // As numbers of 32 bits, matches are equal that differ by no more than the order in which they were added up.
  const found = sql`
    SELECT matched.ordinal FROM (
      SELECT ordinal, sum(match)::real AS match FROM (${matches}) AS of_word_or_date
      GROUP BY ordinal ORDER BY match DESC, ordinal DESC LIMIT ${most ?? null}) AS matched
    ${admitted}
    ORDER BY match DESC, matched.ordinal DESC LIMIT ${count}`;
  return queries.rows<FoundMemory>(withTextDigests(scope, found));
}
