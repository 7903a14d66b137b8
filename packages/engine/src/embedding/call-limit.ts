import { MemoryError } from '@memoryd/contract/errors';
import type { EmbedPurpose } from '../ports/embedder.ts';

/** Most calls to an embedder at a time: a query takes a millisecond, a memory of 1 MiB many seconds. */
export const CALL_LIMITS: Record<EmbedPurpose, number> = { query: 256, memory: 16 };

/** Counts the calls to an embedder that wait or are under way, and refuses those beyond the limit of their purpose. */
export class CallLimit {
  readonly #calls: Record<EmbedPurpose, number> = { query: 0, memory: 0 };

  /** What the call answers. UNAVAILABLE, and no call, where as many are under way as may. */
  async count<T>(purpose: EmbedPurpose, call: () => Promise<T>): Promise<T> {
    if (this.#calls[purpose] >= CALL_LIMITS[purpose]) {
      throw new MemoryError('UNAVAILABLE', 'too many texts wait to be embedded');
    }
    this.#calls[purpose]++;
    try {
      return await call();
    } finally {
      this.#calls[purpose]--;
    }
  }
}
