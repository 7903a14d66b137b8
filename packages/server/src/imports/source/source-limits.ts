import { UnreadableFile } from './source.ts';

const GIB = 1024 ** 3;

/** Limits of a source. */
export interface SourceLimits {
  /** Files and folders of a folder, and entries of its zips, together. */
  maxFiles: number;
  /** Levels of folders. */
  maxDepth: number;
  /** Size of a zip in bytes. */
  maxZipBytes: number;
  /** Uncompressed size of one entry of a zip in bytes. */
  maxEntryBytes: number;
  /** Uncompressed size of all entries that are read, in bytes. */
  maxTotalBytes: number;
  /** Uncompressed bytes per compressed byte. Text reaches about 100, the deflate method up to 1,032. */
  maxRatio: number;
}

export const DEFAULT_SOURCE_LIMITS: Readonly<SourceLimits> = {
  maxFiles: 100_000,
  maxDepth: 32,
  maxZipBytes: 2 * GIB,
  maxEntryBytes: 8 * GIB,
  maxTotalBytes: 24 * GIB,
  maxRatio: 250,
};

/** Below this size, the ratio of a file does not count: a short file cannot harm, however well it compresses. */
const MIN_RATIO_BYTES = 1024 * 1024;

/** A compressed file that is larger than the limits allow. */
export class LimitExceeded extends UnreadableFile {}

/** Counts the bytes that compressed files really have, because their headers may lie. */
export class UncompressedBytes {
  readonly #limits: SourceLimits;
  #total = 0;
  /** The most bytes that were read of each file. A file that is read again counts once. */
  readonly #byFile = new Map<object, number>();

  constructor(limits: SourceLimits) {
    this.#limits = limits;
  }

  /** True once all compressed files together have exceeded their limit. */
  get isExhausted(): boolean {
    return this.#total > this.#limits.maxTotalBytes;
  }

  /**
   * Counts what was read of a file from its beginning. Throws `LimitExceeded`.
   *
   * @param file identifies the file
   */
  count(file: object, uncompressed: number, compressed: number): void {
    const { maxEntryBytes, maxRatio, maxTotalBytes } = this.#limits;
    const counted = this.#byFile.get(file) ?? 0;
    if (uncompressed > counted) {
      this.#total += uncompressed - counted;
      this.#byFile.set(file, uncompressed);
    }
    if (uncompressed > maxEntryBytes) {
      throw new LimitExceeded(
        `its uncompressed size exceeds ${maxEntryBytes} bytes, the maximum for a compressed file`,
      );
    }
    if (uncompressed > MIN_RATIO_BYTES && uncompressed > maxRatio * compressed) {
      throw new LimitExceeded(`it expands to more than ${maxRatio} times its compressed size, the maximum ratio`);
    }
    if (this.isExhausted) {
      throw new LimitExceeded(
        `the compressed files have more than ${maxTotalBytes} bytes together, the maximum; import them in parts`,
      );
    }
  }
}
