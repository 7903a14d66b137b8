import type { Description } from '../../../recall-index/recall-index.ts';
import { firstEqual } from '../../text-digest.ts';
import { type Connection, sql } from '../connection.ts';

/**
 * For the first `count` of the rows described, numbers that are equal where their texts are. Equal texts have as many words
 * and the same cosine, as the index tells it; so few others do that the digests of all such are read, and no more.
 *
 * @param cosines NaN where a row waits for its vector
 */
export function texts(
  connection: Connection,
  { ordinals, lengths }: Description,
  cosines: Float32Array,
  count: number,
): Int32Array {
  const traits = traitsOf(lengths, cosines, count);
  const texts = new Int32Array(count).map((_, place) => place);
  const repeated = repeatedAmong(traits);
  if (repeated.size === 0) return texts;
  const digestOf = sql(connection, 'SELECT hex(text_digest) FROM memory WHERE ordinal = ?').pluck();
  const places = [...texts].filter((place) => repeated.has(traits[place] as number));
  const firsts = firstEqual(places.map((place) => digestOf.get(ordinals[place]) as string));
  places.forEach((place, i) => {
    texts[place] = places[firsts[i] as number] as number;
  });
  return texts;
}

/**
 * Whole numbers and parts of 1: what differs in either may yet have an equal sum, but is then told by its digest. Where any
 * row of a length waits for its vector, that length alone.
 */
function traitsOf(lengths: Uint32Array, cosines: Float32Array, count: number): Float64Array {
  const traits = new Float64Array(count).map((_, place) => (lengths[place] as number) + (cosines[place] as number));
  if (!traits.some(Number.isNaN)) return traits;
  const waiting = new Set(Array.from(lengths.subarray(0, count)).filter((_, place) => Number.isNaN(traits[place])));
  return traits.map((trait, place) => {
    const length = lengths[place] as number;
    return waiting.has(length) ? length : trait;
  });
}

/** The values that are there more than once. */
function repeatedAmong(values: Float64Array): Set<number> {
  const sorted = values.slice().sort();
  return new Set(sorted.filter((value, i) => value === sorted[i - 1]));
}
