import { NO_ROW } from '../ranking/signals.ts';
import type { Kernel } from './kernel.ts';

/** Maximum sessions whose last insertion position is cached. */
const MAX_CACHED_SESSIONS = 1024;

/**
 * Inserts postponed rows into their sessions. The kernel postpones a row that belongs far before the end of its
 * session, as in imported histories. All postponed rows of a session are inserted in one walk over the session. If all
 * these rows belong at or before the last insertion position, the walk starts there, because histories are mostly
 * imported in order. Otherwise, the walk starts at the end of the session.
 */
export class SessionOrder {
  readonly #kernel: Kernel;
  /** The row with the latest position in the last insertion, by session. */
  readonly #latest = new Map<number, number>();

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
  }

  orderPostponed(): void {
    const kernel = this.#kernel;
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
    for (const [session, rows] of bySession) {
      rows.sort((a, b) => (isBefore(kernel, a, b) ? -1 : 1));
      this.#insertRows(session, rows);
    }
  }

  /** Merges sorted rows into the chain of their session, last row first. */
  #insertRows(session: number, rows: number[]): void {
    const kernel = this.#kernel;
    const latest = rows.at(-1) as number;
    let [before, after] = this.#findStart(session, latest);
    this.#cachePosition(session, latest);
    let row = rows.pop();
    while (row !== undefined) {
      if (before !== NO_ROW && isBefore(kernel, row, before)) {
        after = before;
        before = kernel.previous(before);
        continue;
      }
      kernel.linkRows(before, row);
      kernel.linkRows(row, after);
      if (after === NO_ROW) kernel.setLastRow(session, row);
      after = row;
      row = rows.pop();
    }
  }

  /**
   * Returns the position to start the walk from, as a row and its next row. `row` belongs at or before the returned
   * position.
   */
  #findStart(session: number, row: number): [before: number, after: number] {
    const kernel = this.#kernel;
    const before = this.#latest.get(session);
    if (before !== undefined && kernel.isLive(before) !== 0) {
      const after = kernel.next(before);
      if (after !== NO_ROW && isBefore(kernel, row, after)) return [before, after];
    }
    return [kernel.lastRow(session), NO_ROW];
  }

  #cachePosition(session: number, row: number): void {
    this.#latest.delete(session);
    this.#latest.set(session, row);
    if (this.#latest.size <= MAX_CACHED_SESSIONS) return;
    const [leastRecent] = this.#latest.keys();
    this.#latest.delete(leastRecent as number);
  }
}

function isBefore(kernel: Kernel, row: number, other: number): boolean {
  const [createdAt, otherCreatedAt] = [kernel.createdAt(row), kernel.createdAt(other)];
  return createdAt === otherCreatedAt ? kernel.ordinal(row) < kernel.ordinal(other) : createdAt < otherCreatedAt;
}
