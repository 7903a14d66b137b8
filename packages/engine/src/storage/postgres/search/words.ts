import { personsAmong, speakerTerms } from '../../../core/ranking/addressed.ts';
import { dampingOf } from '../../../core/ranking/bm25.ts';
import { datedAmong, dateMatch } from '../../../core/ranking/dated.ts';
import { weighed } from '../../../core/ranking/synonyms.ts';
import type { AskedDate } from '../../../ports/ranking.ts';
import type { SearchRequest } from '../../../ports/storage-search.ts';
import type { Digest } from '../../../recall-index/entry.ts';
import { areTooMany, askedWords, rarestWords, synonymsAmong } from '../../asked-words.ts';
import { termDigest } from '../../digests.ts';
import type { Queries } from '../connection.ts';
import { join, raw, type Sql, sql } from '../sql.ts';
import { admission, type Scope } from './scope.ts';

/** The words of a query, each any of some terms, and how many memories hold each. */
export interface Asked {
  words: Digest[][];
  frequencies: number[];
  /** Synonyms that any holds, with the places of their words. */
  synonyms: { word: number; weight: number; term: Digest }[];
  /** For each word, the terms by which it names a speaker. */
  speakers: Digest[][];
  /** See `Signals`. */
  persons: Uint8Array;
  dated: Uint8Array;
}

/** Looks up the words of a query; of many, the rarest take part. */
export async function askWords(
  queries: Queries,
  { namespace, memoryCount }: Scope,
  { text, date }: Pick<SearchRequest, 'text' | 'date'>,
): Promise<Asked> {
  const digest = (term: string) => termDigest(namespace, term);
  const digested = (words: string[][]) => words.map((terms) => terms.map(digest));
  const count = (...lists: Counted[]) => documentFrequencies(queries, namespace, lists, memoryCount);
  const asked = askedWords(text);
  const looked = { words: digested(asked.words), sampled: CLOSELY };
  const words = areTooMany(asked.words) ? rarestWords(asked.words, (await count(looked))[0] as number[]) : asked.words;
  const synonyms = synonymsAmong(words, asked);
  const [frequencies = [], held = []] = await count(
    { words: digested(words), sampled: CLOSELY },
    { words: digested(synonyms.map(({ term }) => [term])), sampled: ROUGHLY },
  );
  return {
    words: digested(words),
    frequencies,
    synonyms: weighed(synonyms, held, { memoryCount, documentFrequencies: frequencies }).map((synonym) => ({
      ...synonym,
      term: digest(synonym.term),
    })),
    speakers: digested(speakerTerms(text, words)),
    persons: personsAmong(words),
    dated: datedAmong(words, date),
  };
}

/** Memories that are counted one by one for all words of a query, and for one at least and at most. */
const COUNTED = 16_384;
const LEAST_COUNTED = 256;
const MOST_COUNTED = 4096;

/**
 * Postings of a sample whose places in an order of chance tell how many there are: to a twentieth; and to a tenth, which is
 * enough for how much less a synonym counts.
 */
const CLOSELY = 512;
const ROUGHLY = 128;

/** Words that are counted, and postings of the samples of those that are in many memories. */
interface Counted {
  words: readonly Digest[][];
  sampled: number;
}

/** The sample's part of all, and the place at which it ends in the order; see `posting_sample` in the schema. */
const SAMPLE_SHARE = 1 / 16;
const SAMPLE_END = raw('-1879048192');

/**
 * In how many memories but semantic ones each word occurs. Exact up to some hundreds or thousands; beyond, told by the
 * lowest of the hashes of those that hold it (Bar-Yossef et al. 2002, "Counting distinct elements in a data stream"), at
 * the same cost however many they are.
 */
async function documentFrequencies(
  queries: Queries,
  namespace: string,
  lists: readonly Counted[],
  memoryCount: number,
): Promise<number[][]> {
  const frequencies = lists.map(({ words }) => words.map(() => 0));
  const asked = [...lists.entries()].filter(([, { words }]) => words.length > 0);
  if (asked.length === 0) return frequencies;
  const counts = await queries.rows<Count>(
    join(
      asked.map(([list, counted]) => sql`(${countsOf(namespace, list, counted)})`),
      ' UNION ALL ',
    ),
  );
  for (const { list, place, count, isSampled, sampled, highest } of counts) {
    const most = lists[list]?.sampled as number;
    const estimate = isSampled ? estimated(sampled, highest, most) : count;
    (frequencies[list] as number[])[place] = Math.max(count, Math.min(Math.round(estimate), memoryCount));
  }
  return frequencies;
}

interface Count {
  list: number;
  place: number;
  count: number;
  isSampled: boolean;
  sampled: number;
  highest: number;
}

function countsOf(namespace: string, list: number, { words, sampled }: Counted): Sql {
  const { places, terms } = columnsOf(words);
  const counted = areOneTermEach(words) ? raw('count(*)') : raw('count(DISTINCT ordinal)');
  const most = Math.max(LEAST_COUNTED, Math.min(MOST_COUNTED, Math.floor(COUNTED / words.length)));
  return sql`
    WITH word AS MATERIALIZED (SELECT * FROM unnest(${places}::integer[], ${terms}::bigint[]) AS word(place, term)),
      counted AS MATERIALIZED (
        SELECT place, ${counted} AS count FROM word CROSS JOIN LATERAL (
          SELECT ordinal FROM posting p
          WHERE p.namespace = ${namespace} AND p.term = word.term AND NOT p.is_semantic LIMIT ${most}) AS bounded
        GROUP BY place)
    SELECT ${list}::integer AS list, place, count, count >= ${most} AS "isSampled", sampled, highest
    FROM counted CROSS JOIN LATERAL (
      SELECT count(*) AS sampled, max(hash) AS highest FROM (
        SELECT DISTINCT hash FROM word CROSS JOIN LATERAL (
          SELECT hashint8(p.ordinal) AS hash FROM posting p
          WHERE p.namespace = ${namespace} AND p.term = word.term
            AND NOT p.is_semantic AND hashint8(p.ordinal) < ${SAMPLE_END}
          ORDER BY hashint8(p.ordinal) LIMIT ${sampled}) AS bounded
        WHERE word.place = counted.place AND counted.count >= ${most}
        ORDER BY hash LIMIT ${sampled}) AS lowest) AS sample`;
}

function estimated(sampled: number, highest: number, most: number): number {
  return sampled < most ? sampled / SAMPLE_SHARE : (sampled - 1) / ((highest + 2 ** 31) / 2 ** 32);
}

/** Then no memory holds a word twice, by two of its terms. */
function areOneTermEach(words: readonly Digest[][]): boolean {
  return words.every((terms) => terms.length === 1);
}

function columnsOf(words: readonly Digest[][]): { places: number[]; terms: Digest[] } {
  return { places: words.flatMap((terms, place) => terms.map(() => place)), terms: words.flat() };
}

/** Postings of which matches are made at a search, and candidates that are held against the words that were left out. */
const MOST_MATCHED = 16_384;
const MOST_CANDIDATES = 512;

/**
 * The memories in scope whose words match best, best first, the newest first where they match equally; only those that
 * hold a word. Where the words are in too many memories, the rarer ones choose candidates, and of the first word that is
 * in too many its newest memories; all words then rank these. A memory of the date that is asked about matches without
 * words too, of too many the newest.
 */
export async function bestByWords(
  queries: Queries,
  scope: Scope,
  { words, frequencies, dated, shares, date }: Matched,
  count: number,
): Promise<number[]> {
  const matching = words
    .map((terms, place) => ({ terms, share: shares[place] as number, frequency: frequencies[place] as number }))
    .sort((a, b) => a.frequency - b.frequency);
  if (matching.length === 0) return [];
  const { namespace } = scope;
  const ofDate = date && matchesOfDate(namespace, date, dateMatch(shares, dated));
  const among = (ordinals: readonly number[]) => {
    const these = sql`AND p.namespace = ${namespace} AND p.ordinal = ANY(${ordinals}::bigint[])`;
    return best(queries, matching, count, { of: these, ofDate: ofDate?.(these) });
  };
  if (scope.few) return among(scope.few);
  const choosing = withinBounds(matching);
  const areAll = choosing.every(({ most }) => most === MOST_MATCHED) && choosing.length === matching.length;
  const wanted = { words: choosing, ofDate: ofDate?.(NEWEST) };
  const candidates = await bestInScope(queries, scope, wanted, areAll ? count : Math.max(count, MOST_CANDIDATES));
  return areAll ? candidates : among(candidates);
}

/** What a search knows of the words of a query. */
interface Matched extends Asked {
  /** What each word is worth. */
  shares: Float64Array;
  date: AskedDate | undefined;
}

/** The memories of a date and how well these match by that, as far as a condition on `memory p` goes. */
function matchesOfDate(namespace: string, { from, until }: AskedDate, match: number): (of: Sql) => Sql {
  return (of) => sql`
    SELECT ordinal, ${match}::float8 AS match FROM (
      SELECT p.ordinal FROM memory p
      WHERE p.namespace = ${namespace} AND p.created_at >= ${from} AND p.created_at < ${until} ${of}) AS dated`;
}

const NEWEST = sql`ORDER BY p.created_at DESC, p.ordinal DESC LIMIT ${MOST_MATCHED}`;

/** Of how many matches those in scope are taken first, where that is nearly all of them. */
const MATCHES_EACH = 2;

async function bestInScope(
  queries: Queries,
  scope: Scope,
  { words, ofDate }: { words: readonly MatchedWord[]; ofDate: Sql | undefined },
  count: number,
): Promise<number[]> {
  const of = sql`AND p.namespace = ${scope.namespace} ORDER BY p.ordinal DESC LIMIT word.most`;
  const admitted = admission(scope, raw('matched.ordinal'));
  if (scope.isOpen) {
    // Some thousand matches need not be put in order for their first hundred.
    const found = await best(queries, words, count, { of, ofDate, admitted, most: count * MATCHES_EACH });
    if (found.length === count) return found;
  }
  return best(queries, words, count, { of, ofDate, admitted });
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
  let left = MOST_MATCHED;
  for (const word of words) {
    const fits = word.frequency <= left;
    chosen.push({ ...word, most: fits ? MOST_MATCHED : Math.ceil(left / word.terms.length) });
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
  words: readonly MatchedWord[],
  count: number,
  { of, ofDate, admitted = raw(''), most }: { of: Sql; ofDate?: Sql | undefined; admitted?: Sql; most?: number },
): Promise<number[]> {
  const { places, terms } = columnsOf(words.map((word) => word.terms));
  const shares = places.map((place) => words[place]?.share);
  const mosts = places.map((place) => words[place]?.most ?? 0);
  const least = dampingOf(0);
  const perWord = dampingOf(1) - least;
  const ofTerms = sql`
    SELECT p.ordinal, word.place, share * p.frequency / (p.frequency + ${least}::float8 + ${perWord}::float8 * p.length) AS match
    FROM unnest(${places}::integer[], ${terms}::bigint[], ${shares}::float8[], ${mosts}::integer[])
      AS word(place, term, share, most)
    CROSS JOIN LATERAL (
      SELECT p.ordinal, p.frequency, p.length FROM posting p WHERE p.term = word.term ${of} OFFSET 0) AS p`;
  const ofWords = areOneTermEach(words.map((word) => word.terms))
    ? ofTerms
    : sql`SELECT ordinal, max(match) AS match FROM (${ofTerms}) AS of_term GROUP BY ordinal, place`;
  const matches = ofDate ? sql`SELECT ordinal, match FROM (${ofWords}) AS of_word UNION ALL ${ofDate}` : ofWords;
  // As numbers of 32 bits, matches are equal that differ by no more than the order in which they were added up.
  const rows = await queries.rows<{ ordinal: number }>(sql`
    SELECT matched.ordinal FROM (
      SELECT ordinal, sum(match)::real AS match FROM (${matches}) AS of_word_or_date
      GROUP BY ordinal ORDER BY match DESC, ordinal DESC LIMIT ${most ?? null}) AS matched
    ${admitted}
    ORDER BY match DESC, matched.ordinal DESC LIMIT ${count}`);
  return rows.map(({ ordinal }) => ordinal);
}
