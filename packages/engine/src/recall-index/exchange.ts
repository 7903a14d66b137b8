import { MemoryError } from '@memoryd/contract/errors';
import type { Digest } from './entry.ts';
import { getComponents, type Int8Vector } from './int8.ts';
import type { Kernel } from './kernel.ts';

/** An index has no room for an entry, and is of no use any more; or none for a question, and is as it was. */
export class NoRoom extends MemoryError {
  constructor(cause: unknown) {
    super('UNAVAILABLE', 'there are more memories than one process can search', { cause });
  }
}

/** The smallest exchange, large enough that it is hardly ever allocated anew. */
const MIN_BYTES = 65_536;

/** The stretch of a kernel's memory by which it is given entries and questions, and gives answers. */
export class Exchange {
  readonly #kernel: Kernel;
  view = new DataView(new ArrayBuffer(0));
  bytes = new Uint8Array(0);

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
  }

  /** Returns where at least so many bytes begin; what stood there may be lost. Throws NoRoom. */
  reserve(bytes: number): number {
    const at = this.inRoom(() => this.#kernel.exchange(Math.max(bytes, MIN_BYTES)));
    const { buffer } = this.#kernel.memory;
    if (this.bytes.buffer !== buffer) {
      this.bytes = new Uint8Array(buffer);
      this.view = new DataView(buffer);
    }
    return at >>> 0;
  }

  /** Does what may need more memory than there is. Throws NoRoom. */
  inRoom<T>(work: () => T): T {
    try {
      return work();
    } catch (cause) {
      throw this.#kernel.outOfRoom.value ? new NoRoom(cause) : cause;
    }
  }

  /** Writes an entry, and returns where it is. */
  writeEntry(entry: Uint8Array): number {
    const at = this.reserve(entry.length);
    this.bytes.set(entry, at);
    return at;
  }

  /** Writes digests, and returns where they are. */
  writeDigests(digests: readonly Digest[]): number {
    const at = this.reserve(digests.length * 8);
    for (let i = 0; i < digests.length; i++) {
      const digest = digests[i] as Digest;
      this.view.setUint32(at + i * 8, digest % 2 ** 32, true);
      this.view.setUint32(at + i * 8 + 4, Math.floor(digest / 2 ** 32), true);
    }
    return at;
  }

  /** Writes the components of a query's vector, with so many more bytes behind it, and returns where they and these are. */
  writeQuery(query: Int8Vector, more: number): [query: number, more: number] {
    const bytes = this.#kernel.queryVectorBytes();
    const at = this.reserve(bytes + more);
    const components = getComponents(query);
    this.bytes.fill(0, at, at + bytes);
    this.bytes.set(new Uint8Array(components.buffer, components.byteOffset, components.length), at);
    return [at, at + bytes];
  }
}
