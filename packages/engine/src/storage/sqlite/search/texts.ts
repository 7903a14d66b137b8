import type { Description } from '../../../recall-index/recall-index.ts';
import { firstEqual } from '../../text-digest.ts';
import { type Connection, sql } from '../connection.ts';

/** What is known of rows that is the same where their texts are. */
interface Alike {
  /** To the query's vector, as the index tells it; NaN where a row waits for its own. */
  cosines: Float32Array;
  /** See `Signals`. */
  frequencies: Uint16Array;
}

/**
 * For the first `count` of the rows described, numbers that are equal where their texts are. Equal texts have as many words
 * and the same cosine; so few others do that the digests of all such are read, and no more.
 */
export function texts(
  connection: Connection,
  { ordinals, lengths }: Description,
  alike: Alike,
  count: number,
): Int32Array {
  const traits = traitsOf(lengths, alike, count);
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

/** More than the words of any text. */
const BEYOND_LENGTHS = 2 ** 24;

/**
 * The length of each row and its cosine; of the rows of a length of which any waits for its vector, that and how often each
 * word of the query occurs. What differs may yet have an equal sum, but is then told by its digest.
 */
function traitsOf(lengths: Uint32Array, { cosines, frequencies }: Alike, count: number): Float64Array {
  const traits = new Float64Array(count).map((_, place) => (lengths[place] as number) + (cosines[place] as number));
  if (!traits.some(Number.isNaN)) return traits;
  const waiting = new Set(Array.from(lengths.subarray(0, count)).filter((_, place) => Number.isNaN(traits[place])));
  const words = frequencies.length / cosines.length;
  return traits.map((trait, place) => {
    const length = lengths[place] as number;
    if (!waiting.has(length)) return trait;
    const held = frequencies.subarray(place * words, (place + 1) * words);
    return length + BEYOND_LENGTHS * held.reduce((sum, frequency, word) => sum + frequency * (word + 1), 0);
  });
}

/** The values that are there more than once. */
function repeatedAmong(values: Float64Array): Set<number> {
  const sorted = values.slice().sort();
  return new Set(sorted.filter((value, i) => value === sorted[i - 1]));
}
