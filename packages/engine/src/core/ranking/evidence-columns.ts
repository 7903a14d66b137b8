import type { Evidence } from '../../ports/ranking.ts';
import { WEIGHTS } from './weights.ts';

/** The evidence for rows, in columns. */
export type EvidenceColumns = Record<keyof Evidence, Float64Array>;

/** All that is weighed. */
export const EVIDENCE = Object.keys(WEIGHTS.evidence) as (keyof Evidence)[];

/** Nothing known of so many rows. One buffer, since each takes longer to make than to fill. */
export function emptyColumns(rows: number): EvidenceColumns {
  const { buffer } = new Float64Array(rows * EVIDENCE.length);
  const columns: Partial<EvidenceColumns> = {};
  EVIDENCE.forEach((name, i) => {
    columns[name] = new Float64Array(buffer, i * rows * Float64Array.BYTES_PER_ELEMENT, rows);
  });
  return columns as EvidenceColumns;
}
