import { vectorsOf } from '../../../recall-index/entry.ts';
import { dotInt8 } from '../../../recall-index/int8.ts';
import type { RecallIndex } from '../../../recall-index/recall-index.ts';
import type { Connection } from '../connection.ts';
import { readEntry } from '../recall-entry.ts';

/**
 * Cosines of a query's vector and the nearest of each row's, by the 8-bit vectors in the file: to about .001, where the
 * index in memory tells them to some thousandths. The rows must have vectors.
 */
export function exactCosines(
  connection: Connection,
  index: RecallIndex,
  rows: readonly number[],
  query: Float32Array,
): Float32Array {
  return Float32Array.from(rows, (row) => {
    const entry = readEntry(connection, index.ordinal(row)) as Buffer;
    return Math.max(...vectorsOf(entry).map((vector) => dotInt8(query, vector)));
  });
}
