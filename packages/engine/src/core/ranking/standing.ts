import type { Evidence } from '../../ports/ranking.ts';
import { NO_ROW, type Signals } from '../../ports/storage-search.ts';
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

/** Returns the weighted sum of the evidence for each row. */
export function getSums(evidence: EvidenceColumns): Float64Array {
  const sums = new Float64Array(evidence.words.length);
  for (const name of EVIDENCE) {
    const [weight, values] = [WEIGHTS.evidence[name], evidence[name]];
    for (let row = 0; row < sums.length; row += 1) sums[row] = (sums[row] as number) + weight * (values[row] as number);
  }
  return sums;
}

/**
 * The score of each row, from 0 to 1: the logistic function of the weighted sum of its evidence, set so that a memory
 * of score .5 is as likely relevant as not.
 */
export function getScores(evidence: EvidenceColumns): Float64Array {
  const { even, slope } = WEIGHTS.calibration;
  return getSums(evidence).map((sum) => 1 / (1 + Math.exp(slope * (even - sum))));
}

/**
 * Returns 1 for each admitted row whose text a better one says, else 0: of equal texts the best stands, and the newest of those
 * that are as good. No row repeats one of the tail unless it is of the tail, nor a semantic memory with admitted sources, so
 * that neither moves a score of the others.
 *
 * @param sums of all other evidence that differs between rows
 */
export function getRepeats(sums: Float64Array, signals: Signals, distilled: ReadonlySet<number>): Float64Array {
  const { texts, pool } = signals;
  const standing = standingByText(sums, signals, distilled);
  const repeats = new Float64Array(texts.length);
  for (let row = 0; row < texts.length; row += 1) {
    const best = standing.get(texts[row] as number) ?? row;
    if (best !== row && (best < pool || row >= pool)) repeats[row] = 1;
  }
  return repeats;
}

/** For each text the row that stands: one of the pool before one of the tail, then the best, then the newest. */
function standingByText(
  sums: Float64Array,
  { texts, ordinals, pool }: Signals,
  distilled: ReadonlySet<number>,
): Map<number, number> {
  const standing = new Map<number, number>();
  for (let row = 0; row < texts.length; row += 1) {
    if (distilled.has(row)) continue;
    const other = standing.get(texts[row] as number);
    if (other === undefined) standing.set(texts[row] as number, row);
    // The pool has come first, and no row of the tail takes the place of one of its rows.
    else if ((row < pool || other >= pool) && isBetter(row, other)) standing.set(texts[row] as number, row);
  }
  return standing;

  function isBetter(row: number, other: number): boolean {
    const [sum, otherSum] = [sums[row] as number, sums[other] as number];
    return sum === otherSum ? (ordinals[row] as number) > (ordinals[other] as number) : sum > otherSum;
  }
}

/**
 * Returns the weighted sum of the evidence for one of the best rows that were found. See `WEIGHTS.crowd`. Semantic memories
 * with admitted sources are left out, so that they move no score of these; so are the neighbours in the pool, of which a
 * longer answer may know more.
 *
 * @param sums of all other evidence but repeats
 */
export function getCrowd(
  sums: Float64Array,
  repeats: Float64Array,
  { found }: Signals,
  distilled: ReadonlySet<number>,
): number {
  const { rank, least } = WEIGHTS.crowd;
  const best = sums
    .subarray(0, found)
    .map((sum, row) => sum + WEIGHTS.evidence.repeat * (repeats[row] as number))
    .filter((_, row) => !distilled.has(row))
    .sort();
  return Math.max(least, best.at(-rank) ?? least);
}

/** Where rows stand to each other, in columns. */
interface Standing {
  scores: Float64Array;
  /** How many rows stand above each whatever they score: of equal scores, the row with fewer goes first. */
  above: Uint32Array;
  /** The row whose score each has: itself, or one that it must not stand above or below. */
  givers: Int32Array;
}

/** Each by its own score, none above another. */
export function standingBy(scores: Float64Array): Standing {
  return {
    scores,
    above: new Uint32Array(scores.length),
    givers: new Int32Array(scores.length).map((_, row) => row),
  };
}

/** Gives a row the score of another where that is larger. */
function liftTo({ scores, givers }: Standing, row: number, other: number): void {
  if ((scores[other] as number) > (scores[row] as number)) takeFrom({ scores, givers }, row, other);
}

/** Gives a row the score of another where that is smaller. */
function lowerTo({ scores, givers }: Standing, row: number, other: number): void {
  if ((scores[other] as number) < (scores[row] as number)) takeFrom({ scores, givers }, row, other);
}

function takeFrom({ scores, givers }: Pick<Standing, 'scores' | 'givers'>, row: number, other: number): void {
  scores[row] = scores[other] as number;
  givers[row] = givers[other] as number;
}

/**
 * Puts every semantic memory below all of its admitted sources, in place: it gets the lowest of their scores where its
 * own is higher, and counts as having them above it, so that it takes no place that one of them would have without it.
 */
export function placeBelowSources(standing: Standing, { distilledInto }: Signals): void {
  const { above } = standing;
  for (let source = 0; source < above.length; source += 1) {
    const semantic = distilledInto[source] as number;
    if (semantic === NO_ROW) continue;
    lowerTo(standing, semantic, source);
    above[semantic] = Math.max(above[semantic] as number, (above[source] as number) + 1);
  }
}

/** The semantic memories that have a source among the admitted rows. */
export function distilledAmong({ distilledInto }: Signals): ReadonlySet<number> {
  const distilled = new Set<number>();
  for (const semantic of distilledInto) if (semantic !== NO_ROW) distilled.add(semantic);
  return distilled;
}

/**
 * Puts every row below its successor, the memory that supersedes it, in place: a successor gets the larger of both
 * scores, along whole chains, and counts as standing above. Rows of the tail lift nothing and are lowered instead, so
 * that a longer answer moves no score of the pool; so are semantic memories with admitted sources, which could lift a
 * correction past these. Where rows supersede each other in a circle, which no writer should bring about, the circle is
 * ignored.
 */
export function placeBelowSuccessors(standing: Standing, signals: Signals): void {
  const { pool, supersededBy } = signals;
  const { above } = standing;
  const distilled = distilledAmong(signals);
  const successors = admittedSuccessors(above.length, supersededBy);
  const order = oldestFirst(successors);
  for (const row of order) {
    const successor = successors[row] as number;
    if (successor !== NO_ROW && row < pool && !distilled.has(row)) liftTo(standing, successor, row);
  }
  for (const row of order.reverse()) {
    const successor = successors[row] as number;
    if (successor === NO_ROW) continue;
    lowerTo(standing, row, successor);
    above[row] = (above[successor] as number) + 1;
  }
}

function admittedSuccessors(admitted: number, supersededBy: Int32Array): Int32Array {
  return supersededBy.slice(0, admitted).map((successor) => (successor < admitted ? successor : NO_ROW));
}

/** The rows outside circles, each before its successor (Kahn's topological order). */
function oldestFirst(successors: Int32Array): number[] {
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
