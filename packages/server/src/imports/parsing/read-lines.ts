import { UnreadableFile } from '../source/source.ts';

/** Maximum bytes of a line unless a caller sets another limit. A result of a tool can make a line of many MiB. */
const DEFAULT_MAX_LINE_BYTES = 16 * 1024 * 1024;

/** The byte that ends a line. */
const LINE_FEED = 10;

/** A line of a file, without its line break. `number` counts from 1 and includes blank lines. */
export type Line = { number: number; text: string } | { number: number; refused: string };

/**
 * Returns the lines of UTF-8 text that are not blank. A byte order mark and `\r` before a line break are removed. A
 * line that is too long or not UTF-8 is refused, and the next one is read. If a file cannot be read to its end, returns
 * the complete lines before that point, and then a refused line.
 *
 * @param maxBytes maximum bytes of a line, of which no more are held in memory
 */
export async function* readLines(
  bytes: AsyncIterable<Uint8Array>,
  maxBytes: number = DEFAULT_MAX_LINE_BYTES,
): AsyncIterable<Line> {
  const line = new PendingLine(maxBytes);
  try {
    for await (const chunk of bytes) {
      let start = 0;
      for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, start)) {
        line.add(chunk.subarray(start, end));
        yield* line.end();
        start = end + 1;
      }
      line.add(chunk.subarray(start));
    }
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error;
    yield { number: line.number, refused: error.message };
    return;
  }
  yield* line.end();
}

/** The bytes of a line until its end is known. */
class PendingLine {
  number = 1;
  readonly #maxBytes: number;
  readonly #decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  #pieces: Uint8Array[] = [];
  /** Includes bytes that were not held. */
  #byteCount = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  add(piece: Uint8Array): void {
    this.#byteCount += piece.length;
    if (this.#byteCount > this.#maxBytes) this.#pieces = [];
    else if (piece.length > 0) this.#pieces.push(piece);
  }

  /** Returns the line unless it is blank, and begins the next one. */
  *end(): Iterable<Line> {
    const number = this.number++;
    const pieces = this.#pieces;
    const byteCount = this.#byteCount;
    this.#pieces = [];
    this.#byteCount = 0;
    if (byteCount > this.#maxBytes) {
      yield { number, refused: `the line is longer than ${this.#maxBytes} bytes` };
      return;
    }
    const text = this.#decode(pieces);
    if (text === undefined) yield { number, refused: 'the line is not valid UTF-8' };
    else if (text.trim() !== '') yield { number, text: toLine(text, number) };
  }

  #decode(pieces: readonly Uint8Array[]): string | undefined {
    try {
      return this.#decoder.decode(pieces.length === 1 ? pieces[0] : Buffer.concat(pieces));
    } catch {
      return undefined;
    }
  }
}

function toLine(text: string, number: number): string {
  const line = text.endsWith('\r') ? text.slice(0, -1) : text;
  return number === 1 && line.startsWith('\uFEFF') ? line.slice(1) : line;
}
