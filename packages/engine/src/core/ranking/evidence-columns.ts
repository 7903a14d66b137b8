import type { Evidence } from '../../ports/ranking.ts';

/** The evidence for rows, in columns. */
export type EvidenceColumns = Record<keyof Evidence, Float64Array>;

/** Nothing known of so many rows. */
export function emptyColumns(rows: number): EvidenceColumns {
  return {
    words: new Float64Array(rows),
    meaning: new Float64Array(rows),
    neighbour: new Float64Array(rows),
    passage: new Float64Array(rows),
    session: new Float64Array(rows),
    reply: new Float64Array(rows),
    date: new Float64Array(rows),
    wish: new Float64Array(rows),
    question: new Float64Array(rows),
    brevity: new Float64Array(rows),
    repeat: new Float64Array(rows),
    retention: new Float64Array(rows),
  };
}
