import type { Description } from '../../../recall-index/recall-index.ts';
import { firstEqual } from '../../digests.ts';
import { type Connection, sql } from '../connection.ts';

/**
 * For the first `count` of the rows described, numbers that are equal where their texts are. The index tells which texts may
 * be equal; so few others are told so that the digests of all these are read, and no more.
 */
export function texts(connection: Connection, { ordinals, texts }: Description, count: number): Int32Array {
  const repeated = repeatedAmong(texts.slice(0, count));
  const equal = new Int32Array(count);
  const places: number[] = [];
  for (let place = 0; place < count; place += 1) {
    equal[place] = place;
    if (repeated.has(texts[place] as number)) places.push(place);
  }
  if (places.length === 0) return equal;
  const digestOf = sql(connection, 'SELECT hex(text_digest) FROM memory WHERE ordinal = ?').pluck();
  const firsts = firstEqual(places.map((place) => digestOf.get(ordinals[place]) as string));
  places.forEach((place, i) => {
    equal[place] = places[firsts[i] as number] as number;
  });
  return equal;
}

/** The values that are there more than once, of an array that is put in order for that. */
function repeatedAmong(values: Uint32Array): Set<number> {
  const repeated = new Set<number>();
  values.sort();
  for (let i = 1; i < values.length; i += 1) if (values[i] === values[i - 1]) repeated.add(values[i] as number);
  return repeated;
}
