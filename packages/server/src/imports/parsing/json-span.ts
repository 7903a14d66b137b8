import { isUtf8 } from 'node:buffer';

/** `JSON.parse` needs memory for each open bracket. */
const MAX_DEPTH = 1000;

/** Maximum number of fields and elements of one value, since an empty object of 3 bytes takes 56 bytes of memory. */
const MAX_ITEMS = 4_000_000;

/** The first bytes of a string are searched one by one, because a call of `indexOf` takes longer than that. */
const SEARCHED_ONE_BY_ONE = 32;

const COMMA = 0x2c;
export const COLON = 0x3a;
export const OPEN_ARRAY = 0x5b;
export const CLOSE_ARRAY = 0x5d;
export const OPEN_OBJECT = 0x7b;
export const CLOSE_OBJECT = 0x7d;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** 1 for the bytes that matter outside of strings. */
const IS_STRUCTURE = new Uint8Array(256);
for (const byte of [QUOTE, COMMA, COLON, OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT]) IS_STRUCTURE[byte] = 1;

interface SpanOptions {
  /** The first byte, which is not white space. */
  first: number;
  /** Index of the first byte in the document. */
  start: number;
  /** Whether the span also ends at a colon, as the name of a field does. */
  isName: boolean;
  /** Maximum size in bytes; 0 for a span that is only skipped. */
  maxBytes: number;
}

/**
 * The text between two commas or brackets of a JSON document, read in chunks. Brackets are only counted: `JSON.parse`
 * finds brackets of the wrong kind.
 */
export class JsonSpan {
  readonly #options: SpanOptions;
  #parts: Buffer[] = [];
  #size = 0;
  #refused: string | undefined;
  #depth = 0;
  #items = 0;
  #isString = false;
  /** Whether the next byte of the string is escaped. */
  #isEscaped = false;

  constructor(options: SpanOptions) {
    this.#options = options;
  }

  get isEmpty(): boolean {
    return this.#size === 0;
  }

  /** True if the end of the document ends the value. The digits of a number may be cut off. */
  get isComplete(): boolean {
    const { first } = this.#options;
    return this.isBalanced && (first === QUOTE || first === OPEN_ARRAY || first === OPEN_OBJECT);
  }

  get isBalanced(): boolean {
    return this.#depth === 0 && !this.#isString;
  }

  /** Reads on, and returns the index of the byte that ends the span, or the length of the chunk. */
  read(chunk: Buffer, from: number): number {
    const end = this.#scan(chunk, from);
    this.#size += end - from;
    if (this.#items > MAX_ITEMS) this.#refuse(`must have at most ${MAX_ITEMS} fields and elements`);
    if (this.#isTooLarge) this.#refuse(`must have at most ${this.#options.maxBytes} bytes`);
    const part = chunk.subarray(from, end);
    // The bytes are copied if more follow in the next chunk, since the file may use the memory of this one again.
    if (this.#refused === undefined) this.#parts.push(end === chunk.length ? Buffer.from(part) : part);
    return end;
  }

  /** Returns the text of the value, which may not be JSON. */
  getBytes(): { value: Buffer } | { refused: string; isTooLarge: boolean } {
    if (this.#refused !== undefined) {
      return { refused: this.#toReason(this.#refused), isTooLarge: this.#isTooLarge };
    }
    return { value: this.#parts.length === 1 ? (this.#parts[0] as Buffer) : Buffer.concat(this.#parts) };
  }

  /** Parses the value. */
  parse(): { value: unknown } | { refused: string } {
    const bytes = this.getBytes();
    if ('refused' in bytes) return { refused: bytes.refused };
    if (!isUtf8(bytes.value)) return { refused: this.#toReason('must be UTF-8') };
    try {
      return { value: JSON.parse(bytes.value.toString()) };
    } catch {
      // The message of the error may quote the text, which may be private.
      return { refused: this.#toReason('must be valid JSON') };
    }
  }

  get #isTooLarge(): boolean {
    return this.#size > this.#options.maxBytes;
  }

  #refuse(rule: string): void {
    this.#refused ??= rule;
    this.#parts = [];
  }

  #toReason(rule: string): string {
    return `the value at byte ${this.#options.start} ${rule}`;
  }

  #scan(chunk: Buffer, from: number): number {
    const { isName } = this.#options;
    const { length } = chunk;
    let at = from;
    while (at < length) {
      if (this.#isString) at = this.#skipString(chunk, at);
      while (at < length && IS_STRUCTURE[chunk[at] as number] === 0) at += 1;
      if (at >= length) return length;
      const byte = chunk[at] as number;
      if (this.#depth === 0 && isEnd(byte, isName)) return at;
      this.#take(byte);
      at += 1;
    }
    return length;
  }

  /** Counts a byte that matters outside of strings. */
  #take(byte: number): void {
    if (byte === QUOTE) this.#isString = true;
    else if (byte === COMMA) this.#items += 1;
    else if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) this.#depth -= 1;
    else if (byte !== COLON) {
      this.#items += 1;
      this.#depth += 1;
      if (this.#depth > MAX_DEPTH) this.#refuse(`must have brackets at most ${MAX_DEPTH} deep`);
    }
  }

  /** Returns the index after the closing quote, or the length of the chunk. */
  #skipString(chunk: Buffer, from: number): number {
    const { length } = chunk;
    let at = this.#isEscaped ? from + 1 : from;
    const near = Math.min(length, at + SEARCHED_ONE_BY_ONE);
    while (at < near) {
      const byte = chunk[at];
      at += byte === BACKSLASH ? 2 : 1;
      if (byte === QUOTE) return this.#endString(at);
    }
    while (at < length) {
      const quote = chunk.indexOf(QUOTE, at);
      const end = quote === -1 ? length : quote;
      const isEscaped = hasOddBackslashes(chunk, at, end);
      if (quote !== -1 && !isEscaped) return this.#endString(quote + 1);
      at = isEscaped ? end + 1 : end;
    }
    this.#isEscaped = at > length;
    return length;
  }

  #endString(at: number): number {
    this.#isString = false;
    this.#isEscaped = false;
    return at;
  }
}

function isEnd(byte: number, isName: boolean): boolean {
  if (byte === COLON) return isName;
  return byte === COMMA || byte === CLOSE_ARRAY || byte === CLOSE_OBJECT;
}

/** Returns whether the bytes from `from` to `end` end with an odd number of backslashes, which escape the next byte. */
function hasOddBackslashes(chunk: Buffer, from: number, end: number): boolean {
  let at = end;
  while (at > from && chunk[at - 1] === BACKSLASH) at -= 1;
  return (end - at) % 2 === 1;
}
