import * as text from '../../../core/text/analyze.ts';
import { type Connection, sql } from '../connection.ts';
import { spell, termDigest } from '../words.ts';

/**
 * A word of a query: the digests of the terms that stand for it, and how many memories of the namespace hold the most
 * frequent of them: nearly as many as hold any, since a memory with a stem holds the plain terms of its words too.
 */
export interface QueryWord {
  digests: readonly number[];
  frequency: number;
}

/** Most words of a query that take part; of a longer query, the rarest. */
const MOST_WORDS = 64;

/** Most words of a query whose frequencies are looked up. */
const MOST_LOOKED_UP = 512;

/** The distinct words of a query, rarest first. */
export function queryWords(connection: Connection, namespace: string, query: string): QueryWord[] {
  const frequencyOf = sql(connection, 'SELECT doc FROM word_frequency WHERE term = ?').pluck();
  return text
    .queryWords(query)
    .slice(0, MOST_LOOKED_UP)
    .map((terms) => {
      const digests = terms.map((term) => termDigest(namespace, term));
      const frequencies = digests.map((digest) => (frequencyOf.get(spell(digest)) as number | undefined) ?? 0);
      return { digests, frequency: Math.max(...frequencies) };
    })
    .sort((a, b) => a.frequency - b.frequency)
    .slice(0, MOST_WORDS);
}
