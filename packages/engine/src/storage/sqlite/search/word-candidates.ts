import { type Connection, sql } from '../connection.ts';
import { spell } from '../words.ts';
import type { QueryWord } from './query-words.ts';
import type { Scope } from './scope.ts';

/**
 * Most postings that one query walks. Rare terms are walked first, so what a longer walk would add are memories that
 * share only common terms with the query; the exact scores of the candidates count every term all the same.
 */
const MOST_POSTINGS = 20_000;

/**
 * Memories whose words may match best, at most `count`: those that share the most, weighed by rarity, with the query.
 */
export function wordCandidates(
  connection: Connection,
  words: readonly QueryWord[],
  memoryCount: number,
  scope: Scope,
  count: number,
): number[] {
  const held = words.filter(({ frequency }) => frequency > 0);
  if (held.length === 0) return [];
  if (scope.few) return scope.few;
  const weights = new Map<number, number>();
  const postings = sql(connection, 'SELECT rowid FROM word_index WHERE word_index MATCH ? ORDER BY rowid DESC LIMIT ?');
  let left = MOST_POSTINGS;
  for (const { digests, frequency } of held) {
    if (left < frequency && left < MOST_POSTINGS) break;
    const weight = Math.log(1 + memoryCount / frequency);
    for (const ordinal of postings.pluck().all(digests.map(spell).join(' OR '), left) as number[]) {
      if (scope.allows(ordinal)) weights.set(ordinal, (weights.get(ordinal) ?? 0) + weight);
    }
    left -= Math.min(left, frequency);
  }
  return heaviest(weights, count);
}

function heaviest(weights: ReadonlyMap<number, number>, count: number): number[] {
  if (weights.size <= count) return [...weights.keys()];
  const sorted = Float64Array.from(weights.values()).sort();
  const least = sorted[sorted.length - count] as number;
  const heavier: number[] = [];
  const tied: number[] = [];
  for (const [ordinal, weight] of weights) {
    if (weight > least) heavier.push(ordinal);
    else if (weight === least) tied.push(ordinal);
  }
  // Of those that tie with the last, the newest.
  tied.sort((a, b) => b - a);
  return [...heavier, ...tied.slice(0, count - heavier.length)];
}
