import type { Embedding } from '../ports/embedder.ts';
import type { MemoryVectors } from '../ports/storage-vectors.ts';

/**
 * Maximum time that a store waits for the vectors of its memories. A model in this process needs milliseconds, or
 * seconds for a book; a remote model may not respond.
 */
const MAX_WAIT_MS = 5000;

/** Ends the wait of one store. The embedding is absent if this process has not computed it. */
type Release = (embedding?: Embedding) => void;

/** The stores that wait for the vectors of their memories, by ordinal. */
export class WaitingStores {
  readonly #released = new Map<number, Release[]>();

  /** The ordinals that have not been released, including ordinals whose wait has timed out. */
  get ordinals(): number[] {
    return [...this.#released.keys()];
  }

  /** Resolves with the embedding, if it is known, when the ordinal is released, or after 5 seconds. */
  wait(ordinal: number): Promise<Embedding | undefined> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(undefined), MAX_WAIT_MS);
      const released = this.#released.get(ordinal) ?? [];
      released.push((embedding) => {
        clearTimeout(timer);
        resolve(embedding);
      });
      this.#released.set(ordinal, released);
    });
  }

  /** @param embeddings the embeddings of released ordinals, as far as they are known */
  release(ordinals: Iterable<number>, embeddings: readonly MemoryVectors[] = []): void {
    const known = new Map(embeddings.map((embedding) => [embedding.ordinal, embedding]));
    for (const ordinal of ordinals) {
      for (const release of this.#released.get(ordinal) ?? []) release(known.get(ordinal));
      this.#released.delete(ordinal);
    }
  }

  releaseAll(): void {
    this.release(this.ordinals);
  }
}
