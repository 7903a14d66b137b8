/** What an entry takes beside its bytes, about. */
const ENTRY_BYTES = 256;

/** Keeps bytes by number: those that came last, as many as a maximum of bytes in all has room for. */
export class ByteCache {
  readonly #maxBytes: number;
  readonly #kept = new Map<number, Uint8Array>();
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get(key: number): Uint8Array | undefined {
    return this.#kept.get(key);
  }

  set(key: number, bytes: Uint8Array): void {
    this.delete(key);
    this.#kept.set(key, bytes);
    this.#bytes += bytes.length + ENTRY_BYTES;
    for (const oldest of this.#kept.keys()) {
      if (this.#bytes <= this.#maxBytes) break;
      this.delete(oldest);
    }
  }

  delete(key: number): void {
    const bytes = this.#kept.get(key);
    if (!bytes) return;
    this.#kept.delete(key);
    this.#bytes -= bytes.length + ENTRY_BYTES;
  }
}
