import { join, type Queries, raw, type Sql, sql } from '@memoryd/core';
import {
  type Digest,
  type SearchRequest,
  type SelectedWords,
  selectQueryWords,
  type WordCounter,
} from '@memoryd/search';
import type { Scope } from './scope.ts';

/** Selects the words of a query; see `selectQueryWords`. */
export function getQueryWords(
  queries: Queries,
  { namespace, memoryCount }: Scope,
  { text, date }: Pick<SearchRequest, 'text' | 'date'>,
): Promise<SelectedWords> {
  const count = (...lists: CountRequest[]) => getDocumentFrequencies(queries, namespace, lists, memoryCount);
  const counter: WordCounter = {
    memoryCount,
    async count({ words, synonyms }) {
      const [ofWords = [], ofSynonyms = []] = await count(
        { words, sampleSize: LARGE_SAMPLE },
        { words: synonyms, sampleSize: SMALL_SAMPLE },
      );
      return { words: ofWords, synonyms: ofSynonyms };
    },
    countAll: async (words) => (await count({ words, sampleSize: LARGE_SAMPLE }))[0] as number[],
  };
  return selectQueryWords(counter, { namespace, text, date });
}

/** Postings that are counted exactly in total. Each word of a query has an equal share. */
const EXACT_COUNT = 16_384;

/** Minimum share of a word in `EXACT_COUNT`. */
const MIN_EXACT_COUNT = 256;

/** Maximum share of a word in `EXACT_COUNT`. */
const MAX_EXACT_COUNT = 4096;

/** Sample size for the document frequencies of words: about 5 % error. */
const LARGE_SAMPLE = 512;

/** Sample size for the document frequencies of synonyms: about 10 % error. */
const SMALL_SAMPLE = 128;

/** Words whose memories are counted, and the sample size for words that occur in many memories. */
interface CountRequest {
  words: readonly Digest[][];
  sampleSize: number;
}

/** Share of the postings that are in the index `posting_sample`. */
const SAMPLE_SHARE = 1 / 16;

/** Upper bound of the hashes in the index `posting_sample`. */
const SAMPLE_END = raw('-1879048192');

/**
 * Returns the number of memories that contain each word, without semantic memories. Counts are exact up to a limit of
 * 256 to 4,096 postings, which depends on the number of words. Higher counts are estimated at constant cost from the
 * lowest hashes (Bar-Yossef et al. 2002, "Counting distinct elements in a data stream").
 */
async function getDocumentFrequencies(
  queries: Queries,
  namespace: string,
  lists: readonly CountRequest[],
  memoryCount: number,
): Promise<number[][]> {
  const frequencies = lists.map(({ words }) => words.map(() => 0));
  const nonEmpty = [...lists.entries()].filter(([, { words }]) => words.length > 0);
  if (nonEmpty.length === 0) return frequencies;
  const counts = await queries.rows<Count>(
    join(
      nonEmpty.map(([list, request]) => sql`(${countStatement(namespace, list, request)})`),
      ' UNION ALL ',
    ),
  );
  for (const { list, place, count, isSampled, sampled, highest } of counts) {
    const sampleSize = lists[list]?.sampleSize as number;
    const estimate = isSampled ? estimateCount(sampled, highest, sampleSize) : count;
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

function countStatement(namespace: string, list: number, { words, sampleSize }: CountRequest): Sql {
  const { places, terms } = getColumns(words);
  const counted = areOneTermEach(words) ? raw('count(*)') : raw('count(DISTINCT ordinal)');
  const maxExact = Math.max(MIN_EXACT_COUNT, Math.min(MAX_EXACT_COUNT, Math.floor(EXACT_COUNT / words.length)));
  return sql`
    WITH word AS MATERIALIZED (SELECT * FROM unnest(${places}::integer[], ${terms}::bigint[]) AS word(place, term)),
      counted AS MATERIALIZED (
        SELECT place, ${counted} AS count FROM word CROSS JOIN LATERAL (
          SELECT ordinal FROM posting p
          WHERE p.namespace = ${namespace} AND p.term = word.term AND NOT p.is_semantic LIMIT ${maxExact}) AS bounded
        GROUP BY place)
    SELECT ${list}::integer AS list, place, count, count >= ${maxExact} AS "isSampled", sampled, highest
    FROM counted CROSS JOIN LATERAL (
      SELECT count(*) AS sampled, max(hash) AS highest FROM (
        SELECT DISTINCT hash FROM word CROSS JOIN LATERAL (
          SELECT hashint8(p.ordinal) AS hash FROM posting p
          WHERE p.namespace = ${namespace} AND p.term = word.term
            AND NOT p.is_semantic AND hashint8(p.ordinal) < ${SAMPLE_END}
          ORDER BY hashint8(p.ordinal) LIMIT ${sampleSize}) AS bounded
        WHERE word.place = counted.place AND counted.count >= ${maxExact}
        ORDER BY hash LIMIT ${sampleSize}) AS lowest) AS sample`;
}

function estimateCount(sampled: number, highest: number, sampleSize: number): number {
  return sampled < sampleSize ? sampled / SAMPLE_SHARE : (sampled - 1) / ((highest + 2 ** 31) / 2 ** 32);
}

/** Returns true if every word has one term, so that a memory cannot match a word twice. */
export function areOneTermEach(words: readonly Digest[][]): boolean {
  return words.every((terms) => terms.length === 1);
}

/** Returns the terms and the indexes of their words as two columns. */
export function getColumns(words: readonly Digest[][]): { places: number[]; terms: Digest[] } {
  return { places: words.flatMap((terms, place) => terms.map(() => place)), terms: words.flat() };
}
