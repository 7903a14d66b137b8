import { NO_ROW, type Signals } from '../../ports/storage-search.ts';
import { distilledAmong } from './sources.ts';
import { liftTo, lowerTo, type Standing } from './standing.ts';

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
