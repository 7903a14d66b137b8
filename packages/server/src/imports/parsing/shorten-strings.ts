const BACKSLASH = 0x5c;
const LETTER_U = 0x75;
const NEWLINE = 0x0a;
const QUOTE = 0x22;

/** Has 1 for the bytes that may end a string or change its next byte. */
const IS_SPECIAL = new Uint8Array(256);
for (const byte of [BACKSLASH, NEWLINE, QUOTE]) IS_SPECIAL[byte] = 1;

/** Hexadecimal digits of an escape such as `\u00e9`. */
const UNICODE_DIGITS = 4;

/**
 * Shortens the strings of JSON or JSON lines, so that the structure around long texts and images becomes a small
 * document. Reads in chunks, in time proportional to the length.
 */
export class StringShortener {
  readonly #maxBytes: number;
  #isString = false;
  /** Bytes of the string so far. */
  #size = 0;
  /** Bytes of an escape that are still to come. */
  #escaped = 0;
  #isAfterBackslash = false;

  /** @param maxBytes the bytes that stay of a string; an escape is not cut */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Returns the next chunk without the ends of long strings. */
  shorten(chunk: Uint8Array): Buffer {
    const out = Buffer.allocUnsafe(chunk.length);
    let length = 0;
    for (let at = 0; at < chunk.length; at += 1) {
      if (this.#isString && this.#size >= this.#maxBytes && this.#escaped === 0) at = skipPlain(chunk, at);
      const byte = chunk[at];
      if (byte !== undefined && this.#isKept(byte)) out[length++] = byte;
    }
    // The copy frees the bytes that were left out.
    return Buffer.from(out.subarray(0, length));
  }

  #isKept(byte: number): boolean {
    if (!this.#isString) {
      this.#isString = byte === QUOTE;
      this.#size = 0;
      return true;
    }
    if (this.#escaped > 0) return this.#takeEscaped(byte);
    // A string has no line break, so a missing quote costs one of several JSON lines.
    if (byte === QUOTE || byte === NEWLINE) {
      this.#isString = false;
      return true;
    }
    if (byte === BACKSLASH) {
      this.#escaped = 1;
      this.#isAfterBackslash = true;
    }
    this.#size += 1;
    return this.#size <= this.#maxBytes;
  }

  /** Returns true for all bytes of an escape whose backslash is kept. */
  #takeEscaped(byte: number): boolean {
    this.#escaped -= 1;
    if (this.#isAfterBackslash && byte === LETTER_U) this.#escaped = UNICODE_DIGITS;
    this.#isAfterBackslash = false;
    return this.#size <= this.#maxBytes;
  }
}

/** Returns the index of the next special byte, or the length of the chunk. */
function skipPlain(chunk: Uint8Array, from: number): number {
  let at = from;
  while (at < chunk.length && IS_SPECIAL[chunk[at] as number] === 0) at += 1;
  return at;
}
