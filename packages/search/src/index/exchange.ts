import { MemoryError } from '@memoryd/contract/errors';
import type { Digest } from './entry.ts';
import { getComponents, type Int8Vector } from './int8.ts';
import type { Kernel } from './kernel.ts';

/**
 * Thrown if the kernel's memory is full. An index is unusable after an index entry could not be added, and unchanged
 * after a query failed.
 */
export class IndexFullError extends MemoryError {
  constructor(cause: unknown) {
    super(
      'UNAVAILABLE',
      'the database has more memories than one process can search; forget memories, or migrate the database to PostgreSQL',
      { cause },
    );
  }
}

/** Minimum bytes of the buffer, so that it rarely grows. */
const MIN_BYTES = 65_536;

/** A buffer in the kernel's memory, used to pass index entries and queries to the kernel and to read results. */
export class Exchange {
  readonly #kernel: Kernel;
  view = new DataView(new ArrayBuffer(0));
  bytes = new Uint8Array(0);

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
  }

  /**
   * Returns the address of a buffer of at least `bytes` bytes. The previous contents of the buffer may be lost. Throws
   * IndexFullError.
   */
  reserve(bytes: number): number {
    const at = this.guardMemory(() => this.#kernel.exchange(Math.max(bytes, MIN_BYTES)));
    const { buffer } = this.#kernel.memory;
    if (this.bytes.buffer !== buffer) {
      this.bytes = new Uint8Array(buffer);
      this.view = new DataView(buffer);
    }
    return at >>> 0;
  }

  /** Runs work that may exhaust the kernel's memory. Throws IndexFullError if the memory is exhausted. */
  guardMemory<T>(work: () => T): T {
    try {
      return work();
    } catch (cause) {
      throw this.#kernel.isOutOfMemory.value ? new IndexFullError(cause) : cause;
    }
  }

  /** Writes an index entry to the buffer and returns the address. Throws IndexFullError. */
  writeEntry(entry: Uint8Array): number {
    return this.writeBytes(entry);
  }

  /** Writes bytes to the buffer and returns the address. Throws IndexFullError. */
  writeBytes(bytes: Uint8Array): number {
    const at = this.reserve(bytes.length);
    this.bytes.set(bytes, at);
    return at;
  }

  /** Writes digests to the buffer and returns the address. Throws IndexFullError. */
  writeDigests(digests: readonly Digest[]): number {
    const at = this.reserve(digests.length * 8);
    for (let i = 0; i < digests.length; i++) {
      const digest = digests[i] as Digest;
      this.view.setUint32(at + i * 8, digest % 2 ** 32, true);
      this.view.setUint32(at + i * 8 + 4, Math.floor(digest / 2 ** 32), true);
    }
    return at;
  }

  /** Writes the components of a query vector, and reserves `more` bytes after the vector. Returns both addresses. */
  writeQuery(query: Int8Vector, more: number): [query: number, more: number] {
    const bytes = this.#kernel.queryVectorBytes();
    const at = this.reserve(bytes + more);
    const components = getComponents(query);
    this.bytes.fill(0, at, at + bytes);
    this.bytes.set(new Uint8Array(components.buffer, components.byteOffset, components.length), at);
    return [at, at + bytes];
  }
}
