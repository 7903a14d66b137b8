import { modelOf, vectorsOf } from '../../../recall-index/entry.ts';
import { dotInt8 } from '../../../recall-index/int8.ts';
import type { RecallIndex } from '../../../recall-index/recall-index.ts';
import type { Connection } from '../connection.ts';
import { readEntry } from '../recall-entry.ts';

/**
 * Cosines of a query's vector and the nearest of each row's, by row, by the 8-bit vectors in the file: to about .001,
 * where the index in memory tells them to some thousandths. Rows without vectors of the
 * index's model are left out.
 */
export function exactCosines(
  connection: Connection,
  index: RecallIndex,
  rows: readonly number[],
  query: Float32Array,
): Map<number, number> {
  const cosines = new Map<number, number>();
  for (const row of rows) {
    if (cosines.has(row)) continue;
    const entry = readEntry(connection, index.ordinal(row)) as Buffer;
    const vectors = modelOf(entry) === index.model?.number ? vectorsOf(entry) : [];
    if (vectors.length > 0) cosines.set(row, Math.max(...vectors.map((vector) => dotInt8(query, vector))));
  }
  return cosines;
}
