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
  const waits = (place: number) => Number.isNaN(cosines[place] as number);
  const places = Array.from({ length: count }, (_, place) => place);
  const waiting = new Set(places.filter(waits).map((place) => lengths[place] as number));
  // A whole number and one from -1 to 1: what differs in either may yet have an equal sum, but is then told by its digest.
  const traits = places.map((place) => {
    const length = lengths[place] as number;
    return waiting.has(length) ? length : length + (cosines[place] as number);
  });
  const seen = new Map<number, number>();
  for (const trait of traits) seen.set(trait, (seen.get(trait) ?? 0) + 1);
  const digestOf = sql(connection, 'SELECT hex(text_digest) FROM memory WHERE ordinal = ?').pluck();
  return firstEqual(
    places.map((place) =>
      (seen.get(traits[place] as number) as number) > 1 ? (digestOf.get(ordinals[place]) as string) : String(place),
    ),
  );
}
