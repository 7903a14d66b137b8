import { NO_ROW } from '../ports/storage-search.ts';
import type { Kernel } from './kernel.ts';

/** Sessions of which it is remembered where rows were sorted in last. */
const MAX_REMEMBERED = 1024;

/**
 * Gives postponed rows their places: those that arrived with a time of creation far before the end of their session, as
 * histories do that are filled in later. All of a session are sorted in at once, in one walk along it: from its end, or,
 * where that leads there, from where the last were, since a history mostly comes in its order.
 */
export class SessionOrder {
  readonly #kernel: Kernel;
  /** By session, the last of the rows that were sorted in last. */
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
      this.#sortIn(session, rows);
    }
  }

  /** Merges rows, which are in order, into the chain of their session, from behind the last of them. */
  #sortIn(session: number, rows: number[]): void {
    const kernel = this.#kernel;
    const latest = rows.at(-1) as number;
    let [placed, after] = this.#startFor(session, latest);
    this.#remember(session, latest);
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

  /** A row of the session that is not far behind where a row belongs, and the next, which is behind it. */
  #startFor(session: number, row: number): [placed: number, after: number] {
    const kernel = this.#kernel;
    const placed = this.#latest.get(session);
    if (placed !== undefined && kernel.isLive(placed) !== 0) {
      const after = kernel.next(placed);
      if (after !== NO_ROW && isBefore(kernel, row, after)) return [placed, after];
    }
    return [kernel.lastRow(session), NO_ROW];
  }

  #remember(session: number, row: number): void {
    this.#latest.delete(session);
    this.#latest.set(session, row);
    if (this.#latest.size <= MAX_REMEMBERED) return;
    const [longestAgo] = this.#latest.keys();
    this.#latest.delete(longestAgo as number);
  }
}

function isBefore(kernel: Kernel, row: number, other: number): boolean {
  const [createdAt, otherCreatedAt] = [kernel.createdAt(row), kernel.createdAt(other)];
  return createdAt === otherCreatedAt ? kernel.ordinal(row) < kernel.ordinal(other) : createdAt < otherCreatedAt;
}
