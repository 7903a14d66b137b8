import { queryTerms } from '../../../core/text/analyze.ts';
import { type Connection, sql } from '../connection.ts';
import { spell, termDigest } from '../words.ts';

/** A term of a query: its digest and how many memories of the namespace hold it. */
export interface QueryWord {
  digest: number;
  frequency: number;
}

/** Most terms of a query that take part; of a longer query, the rarest. */
const MOST_WORDS = 64;

/** Most terms of a query whose frequencies are looked up. */
const MOST_TERMS = 512;

/** The distinct terms of a query, rarest first. */
export function queryWords(connection: Connection, namespace: string, text: string): QueryWord[] {
  const frequencyOf = sql(connection, 'SELECT doc FROM word_frequency WHERE term = ?').pluck();
  const words: QueryWord[] = [];
  for (const digest of new Set(
    queryTerms(text)
      .slice(0, MOST_TERMS)
      .map((term) => termDigest(namespace, term)),
  )) {
    const frequency = (frequencyOf.get(spell(digest)) as number | undefined) ?? 0;
    words.push({ digest, frequency });
  }
  return words.sort((a, b) => a.frequency - b.frequency).slice(0, MOST_WORDS);
}
