import type { Gunzip, InflateRaw } from 'node:zlib';
import { UnreadableFile } from './source.ts';

/** Compressed bytes per step. Deflate expands at most 1,032 times, so at most 17 MB of output wait for the reader. */
export const MAX_COMPRESSED_CHUNK_BYTES = 16 * 1024;

/** The progress of a decompression. */
export interface Decompression {
  /** Bytes handed to the decoder so far. */
  given: number;
  /** Bytes of the compressed stream, which may end before its input. Known at the end. */
  consumed: number;
}

/**
 * Decompresses chunks of at most `MAX_COMPRESSED_CHUNK_BYTES`. Yields all bytes before a fault, and then throws
 * `UnreadableFile`. Streams of Node drop what is buffered when they fail, so each step is awaited and taken before the
 * next one.
 */
export async function* decompress(
  chunks: AsyncIterable<Uint8Array>,
  decoder: InflateRaw | Gunzip,
  progress: Decompression,
): AsyncGenerator<Uint8Array> {
  const steps = new DecoderSteps(decoder);
  try {
    for await (const chunk of chunks) {
      progress.given += chunk.length;
      await steps.write(chunk);
      yield* steps.takeOutput();
      if (steps.hasEnded) break;
    }
    if (!steps.hasEnded) await steps.end();
    yield* steps.takeOutput();
  } finally {
    progress.consumed = decoder.bytesWritten;
    decoder.destroy();
  }
}

/** A decoder that takes one chunk at a time. */
class DecoderSteps {
  readonly #decoder: InflateRaw | Gunzip;
  #output: Uint8Array[] = [];
  #failure: Error | undefined;
  #wake = () => {};
  hasEnded = false;

  constructor(decoder: InflateRaw | Gunzip) {
    this.#decoder = decoder;
    decoder.on('data', (bytes: Uint8Array) => this.#output.push(bytes));
    decoder.on('error', (error) => {
      this.#failure = error;
      this.#wake();
    });
    decoder.on('end', () => {
      this.hasEnded = true;
      this.#wake();
    });
  }

  /** Resolves when the chunk is decompressed, also if the stream ends inside it or is damaged. */
  async write(chunk: Uint8Array): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      this.#decoder.write(chunk, () => resolve());
    });
  }

  async end(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      this.#decoder.end();
    });
  }

  *takeOutput(): Generator<Uint8Array> {
    const output = this.#output;
    this.#output = [];
    yield* output;
    if (!this.#failure) return;
    const isCut = (this.#failure as NodeJS.ErrnoException).code === 'Z_BUF_ERROR';
    throw new UnreadableFile(isCut ? 'its compressed data ends too early' : 'its compressed data is damaged', {
      cause: this.#failure,
    });
  }
}
