import { NO_ROW } from '../ports/storage-search.ts';
import type { Kernel } from './kernel.ts';

/**
 * Gives postponed rows their places: those that arrived with a time of creation far before the end of their session, as
 * histories do that are filled in later. All of a session are sorted in at once, in one walk along it.
 */
export function orderPostponed(kernel: Kernel): void {
  const count = kernel.postponedCount.value;
  if (count === 0) return;
  const bySession = new Map<number, number[]>();
  for (let place = 0; place < count; place++) {
    const row = kernel.postponedRow(place);
    if (kernel.isLive(row) === 0) continue;
    const session = kernel.session(row);
    const rows = bySession.get(session);
    if (rows) rows.push(row);
    else bySession.set(session, [row]);
  }
  kernel.clearPostponed();
  for (const [session, rows] of bySession) orderSession(kernel, session, rows);
}

/** Merges rows into the chain of their session, from its end. */
function orderSession(kernel: Kernel, session: number, rows: number[]): void {
  rows.sort((a, b) => (isBefore(kernel, a, b) ? -1 : 1));
  let after = NO_ROW;
  let placed = kernel.lastRow(session);
  let row = rows.pop();
  while (row !== undefined) {
    if (placed !== NO_ROW && isBefore(kernel, row, placed)) {
      after = placed;
      placed = kernel.previous(placed);
      continue;
    }
    kernel.join(placed, row);
    kernel.join(row, after);
    if (after === NO_ROW) kernel.setLastRow(session, row);
    after = row;
    row = rows.pop();
  }
}

function isBefore(kernel: Kernel, row: number, other: number): boolean {
  const [createdAt, otherCreatedAt] = [kernel.createdAt(row), kernel.createdAt(other)];
  return createdAt === otherCreatedAt ? kernel.ordinal(row) < kernel.ordinal(other) : createdAt < otherCreatedAt;
}
