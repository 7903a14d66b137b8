import type { Evidence } from './ranking.ts';
import { NO_ROW, type Signals } from './signals.ts';
import { WEIGHTS } from './weights.ts';

/** Evidence in columnar form: one array per kind of evidence, with one element per row. */
export type EvidenceColumns = Record<keyof Evidence, Float64Array>;

/** The names of all evidence. */
export const EVIDENCE = Object.keys(WEIGHTS.evidence) as (keyof Evidence)[];

/**
 * Creates empty columns for a number of rows. All columns share one buffer, since allocating a buffer takes longer than
 * filling it.
 */
export function createColumns(rows: number): EvidenceColumns {
  const { buffer } = new Float64Array(rows * EVIDENCE.length);
  const columns: Partial<EvidenceColumns> = {};
  EVIDENCE.forEach((name, i) => {
    columns[name] = new Float64Array(buffer, i * rows * Float64Array.BYTES_PER_ELEMENT, rows);
  });
  return columns as EvidenceColumns;
}

/** Returns the weighted sum of the evidence of each row. */
export function getSums(evidence: EvidenceColumns): Float64Array {
  const sums = new Float64Array(evidence.words.length);
  for (const name of EVIDENCE) {
    const [weight, values] = [WEIGHTS.evidence[name], evidence[name]];
    for (let row = 0; row < sums.length; row += 1) sums[row] = (sums[row] as number) + weight * (values[row] as number);
  }
  return sums;
}

/**
 * Returns the score of each row, from 0 to 1: the logistic function of the weighted sum of its evidence, calibrated so
 * that a memory of score .5 is as likely relevant as not.
 */
export function getScores(evidence: EvidenceColumns): Float64Array {
  const { even, slope } = WEIGHTS.calibration;
  return getSums(evidence).map((sum) => 1 / (1 + Math.exp(slope * (even - sum))));
}

/**
 * Returns 1 for each candidate row that repeats the text of a better row, else 0. Of rows with equal texts, the
 * original is the row with the greatest sum or, of equal sums, the newest. A pool row never repeats a tail row, and no
 * row repeats a semantic memory with sources among the candidates. Tail rows therefore do not change the scores of pool
 * rows, and such semantic memories change no scores of other rows.
 *
 * @param sums weighted sums of all other evidence that differs between rows
 */
export function getRepeats(sums: Float64Array, signals: Signals, distilled: ReadonlySet<number>): Float64Array {
  const { texts, pool } = signals;
  const originals = findOriginals(sums, signals, distilled);
  const repeats = new Float64Array(texts.length);
  for (let row = 0; row < texts.length; row += 1) {
    const best = originals.get(texts[row] as number) ?? row;
    if (best !== row && (best < pool || row >= pool)) repeats[row] = 1;
  }
  return repeats;
}

/** Returns the original row of each text: rows of the pool before those of the tail, then the best, then the newest. */
function findOriginals(
  sums: Float64Array,
  { texts, ordinals, pool }: Signals,
  distilled: ReadonlySet<number>,
): Map<number, number> {
  const originals = new Map<number, number>();
  for (let row = 0; row < texts.length; row += 1) {
    if (distilled.has(row)) continue;
    const other = originals.get(texts[row] as number);
    if (other === undefined) originals.set(texts[row] as number, row);
    // Rows of the pool come first, and a row of the tail never replaces a row of the pool.
    else if ((row < pool || other >= pool) && isBetter(row, other)) originals.set(texts[row] as number, row);
  }
  return originals;

  function isBetter(row: number, other: number): boolean {
    const [sum, otherSum] = [sums[row] as number, sums[other] as number];
    return sum === otherSum ? (ordinals[row] as number) > (ordinals[other] as number) : sum > otherSum;
  }
}

/**
 * Returns the weighted sum of the evidence of the row at `WEIGHTS.crowd.rank` among the rows before `found`, at least
 * `WEIGHTS.crowd.min`. Excludes semantic memories with sources among the candidates, so that such memories do not
 * change scores. Also excludes neighbors in the pool, since a request with a higher limit may have more evidence for
 * the neighbors.
 *
 * @param sums weighted sums of all other evidence except repeats
 */
export function getCrowd(
  sums: Float64Array,
  repeats: Float64Array,
  { found }: Signals,
  distilled: ReadonlySet<number>,
): number {
  const { rank, min } = WEIGHTS.crowd;
  const best = sums
    .subarray(0, found)
    .map((sum, row) => sum + WEIGHTS.evidence.repeat * (repeats[row] as number))
    .filter((_, row) => !distilled.has(row))
    .sort();
  return Math.max(min, best.at(-rank) ?? min);
}

/** The order of rows, in columns. */
export interface ScoreOrder {
  scores: Float64Array;
  /** Minimum number of rows above each row. Of equal scores, the row with the lower number ranks first. */
  above: Uint32Array;
  /**
   * For each row, the row whose score it has: the row itself, or a row of a memory that its memory supersedes, is
   * superseded by, was distilled from, or whose place it took.
   */
  scoreRows: Int32Array;
}

/** Creates an order in which each row has its own score. */
export function createScoreOrder(scores: Float64Array): ScoreOrder {
  return {
    scores,
    above: new Uint32Array(scores.length),
    scoreRows: new Int32Array(scores.length).map((_, row) => row),
  };
}

/** Raises the score of a row to the score of `other`, if higher. */
function raiseTo({ scores, scoreRows }: ScoreOrder, row: number, other: number): void {
  if ((scores[other] as number) > (scores[row] as number)) copyScore({ scores, scoreRows }, row, other);
}

/** Lowers the score of a row to the score of `other`, if lower. */
function lowerTo({ scores, scoreRows }: ScoreOrder, row: number, other: number): void {
  if ((scores[other] as number) < (scores[row] as number)) copyScore({ scores, scoreRows }, row, other);
}

export function copyScore(
  { scores, scoreRows }: Pick<ScoreOrder, 'scores' | 'scoreRows'>,
  row: number,
  other: number,
): void {
  scores[row] = scores[other] as number;
  scoreRows[row] = scoreRows[other] as number;
}

/**
 * Ranks each semantic memory below all of its sources among the candidates, in place. The score is limited to the
 * lowest score of these sources, and `above` is increased, so that a semantic memory never displaces a source from the
 * results.
 */
export function placeBelowSources(scoreOrder: ScoreOrder, { distilledInto }: Signals): void {
  const { above } = scoreOrder;
  for (let source = 0; source < above.length; source += 1) {
    const semantic = distilledInto[source] as number;
    if (semantic === NO_ROW) continue;
    lowerTo(scoreOrder, semantic, source);
    above[semantic] = Math.max(above[semantic] as number, (above[source] as number) + 1);
  }
}

/** Returns the rows of semantic memories with at least one source among the candidates. */
export function getDistilledRows({ distilledInto }: Signals): ReadonlySet<number> {
  const distilled = new Set<number>();
  for (const semantic of distilledInto) if (semantic !== NO_ROW) distilled.add(semantic);
  return distilled;
}

/**
 * Ranks each row below its successor, the memory that supersedes it, in place. A successor gets the higher of both
 * scores, along whole chains, and ranks first (`above`). Rows of the tail do not raise their successors and are lowered
 * instead, so that a higher limit does not change scores of the pool. The same applies to semantic memories with
 * sources among the candidates, which could otherwise raise a successor above these sources. Circular successors, which
 * should not exist, are ignored.
 */
export function placeBelowSuccessors(scoreOrder: ScoreOrder, signals: Signals): void {
  const { pool, supersededBy: successors } = signals;
  const { above } = scoreOrder;
  const distilled = getDistilledRows(signals);
  const order = sortBySuccession(successors);
  for (const row of order) {
    const successor = successors[row] as number;
    if (successor !== NO_ROW && row < pool && !distilled.has(row)) raiseTo(scoreOrder, successor, row);
  }
  for (const row of order.reverse()) {
    const successor = successors[row] as number;
    if (successor === NO_ROW) continue;
    lowerTo(scoreOrder, row, successor);
    above[row] = (above[successor] as number) + 1;
  }
}

/** Returns the rows outside circles, each before its successor (Kahn's topological sort). */
function sortBySuccession(successors: Int32Array): number[] {
  const predecessors = new Uint32Array(successors.length);
  for (const successor of successors) {
    if (successor !== NO_ROW) predecessors[successor] = (predecessors[successor] as number) + 1;
  }
  const order: number[] = [];
  for (let row = 0; row < successors.length; row += 1) if (predecessors[row] === 0) order.push(row);
  for (const row of order) {
    const successor = successors[row] as number;
    if (successor === NO_ROW) continue;
    const left = (predecessors[successor] as number) - 1;
    predecessors[successor] = left;
    if (left === 0) order.push(successor);
  }
  return order;
}
