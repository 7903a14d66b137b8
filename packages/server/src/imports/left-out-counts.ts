import type { LeftOutReason, Part } from './format.ts';

/** Counts the items that a part of a file leaves out. */
export class LeftOutCounts {
  readonly #counts = new Map<LeftOutReason, number>();

  add(reason: LeftOutReason, count = 1): void {
    if (count > 0) this.#counts.set(reason, (this.#counts.get(reason) ?? 0) + count);
  }

  /** Returns one part for each reason. */
  *toParts(): Generator<Part> {
    for (const [reason, count] of this.#counts) yield { kind: 'left-out', reason, count };
  }
}
