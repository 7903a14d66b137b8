import {
  areTooMany,
  askedWords,
  type Digest,
  join,
  kindsOfWords,
  type Queries,
  type QueryWordKinds,
  rarestWords,
  raw,
  type SearchRequest,
  type Sql,
  speakerTerms,
  sql,
  synonymsAmong,
  termDigest,
  weighed,
} from '@memoryd/engine/storage-kit';
import type { Scope } from './scope.ts';

/** The words of a query, each any of some terms, and how many memories hold each. */
export interface Asked {
  words: Digest[][];
  frequencies: number[];
  /** Synonyms that any holds, with the places of their words. */
  synonyms: { word: number; weight: number; term: Digest }[];
  /** For each word, the terms by which it names a speaker. */
  speakers: Digest[][];
  kinds: QueryWordKinds;
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
  const kinds = kindsOfWords({ text, date }, words, asked);
  const queryWords = { memoryCount, documentFrequencies: frequencies, everyday: kinds.everyday };
  return {
    words: digested(words),
    frequencies,
    synonyms: weighed(synonyms, held, queryWords).map((synonym) => ({
      ...synonym,
      term: digest(synonym.term),
    })),
    speakers: digested(speakerTerms(text, words)),
    kinds,
  };
}

/** Memories that are counted one by one for all words of a query, and for one at least and at most. */
const COUNTED = 16_384;
const MIN_COUNTED = 256;
const MAX_COUNTED = 4096;

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
      asked.map(([list, counted]) => sql`(${getCounts(namespace, list, counted)})`),
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

function getCounts(namespace: string, list: number, { words, sampled }: Counted): Sql {
  const { places, terms } = getColumns(words);
  const counted = areOneTermEach(words) ? raw('count(*)') : raw('count(DISTINCT ordinal)');
  const most = Math.max(MIN_COUNTED, Math.min(MAX_COUNTED, Math.floor(COUNTED / words.length)));
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
export function areOneTermEach(words: readonly Digest[][]): boolean {
  return words.every((terms) => terms.length === 1);
}

/** Terms with the places of the words that they stand for, in two columns. */
export function getColumns(words: readonly Digest[][]): { places: number[]; terms: Digest[] } {
  return { places: words.flatMap((terms, place) => terms.map(() => place)), terms: words.flat() };
}
