import { modelOf, vectorsOf } from '../../../recall-index/entry.ts';
import type { RecallIndex } from '../../../recall-index/recall-index.ts';
import type { Connection } from '../connection.ts';
import { readEntry } from '../recall-entry.ts';

/** See `RecallIndex.exactCosines`; the vectors are those in the file. */
export function exactCosines(
  connection: Connection,
  index: RecallIndex,
  rows: readonly number[],
  query: Float32Array,
): Map<number, number> {
  return index.exactCosines(query, rows, (row) => {
    const entry = readEntry(connection, index.ordinal(row)) as Buffer;
    return modelOf(entry) === index.model?.number ? vectorsOf(entry) : [];
  });
}
