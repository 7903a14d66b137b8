import { UnreadableFile } from '../source/source.ts';
import { CLOSE_ARRAY, CLOSE_OBJECT, COLON, JsonSpan, OPEN_ARRAY, OPEN_OBJECT } from './json-span.ts';

/**
 * A value at a wanted place, or why it cannot be read. `number` counts the values of a place from 1. With `isBroken`, the
 * rest of the document cannot be read either.
 */
export type FoundValue<Value = unknown> =
  | { place: string; number: number; value: Value }
  | { place: string; number: number; refused: string; isTooLarge?: boolean; isBroken?: true };

const DEFAULT_MAX_BYTES = 64 * 1024 * 1024;

const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];
const TAB = 0x09;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const SPACE = 0x20;

/**
 * Reads the values at some places of a JSON document, in the order of the document, without holding the document. Each
 * value is parsed alone. A broken or too large value is refused, and the next one is read. A truncated document, or an
 * `UnreadableFile` while reading, gives the values before that point and then one refusal.
 *
 * Places: `*` are the elements of the document if it is an array. If it is an object, `blocks.*` are the elements of
 * the array in its field `blocks`, and `metadata` is the value of its field `metadata`. `$` is the whole document, or
 * with `*`, the whole document unless it is an array.
 *
 * @param bytes UTF-8, with or without a byte order mark
 * @param options `maxBytes`: maximum size of one value, 64 MiB if absent
 * @example for await (const found of readJsonValues(file.open(), ['*', 'results.*'])) …
 */
export async function* readJsonValues(
  bytes: AsyncIterable<Uint8Array>,
  places: readonly string[],
  { maxBytes = DEFAULT_MAX_BYTES }: { maxBytes?: number } = {},
): AsyncGenerator<FoundValue> {
  yield* readValues(bytes, new JsonSplitter(new Set(places), maxBytes, (span) => span.parse()));
}

/**
 * Reads the elements of a JSON document that is an array, as `readJsonValues` does, without parsing them. An element may
 * not be JSON. `isTooLarge` is true for an element above the maximum size.
 *
 * @param maxBytes maximum size of one element
 */
export async function* readJsonElements(
  bytes: AsyncIterable<Uint8Array>,
  maxBytes: number,
): AsyncGenerator<FoundValue<Buffer>> {
  yield* readValues(bytes, new JsonSplitter(new Set(['*']), maxBytes, (span) => span.getBytes()));
}

async function* readValues<Value>(
  bytes: AsyncIterable<Uint8Array>,
  splitter: JsonSplitter<Value>,
): AsyncGenerator<FoundValue<Value>> {
  let failure: string | undefined;
  try {
    for await (const chunk of bytes) {
      yield* splitter.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
      if (splitter.isBroken) return;
    }
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error;
    failure = error.message;
  }
  yield* splitter.end(failure);
}

type ToValue<Value> = (span: JsonSpan) => { value: Value } | { refused: string; isTooLarge?: boolean };

/** Splits a document into the values of the wanted places. */
class JsonSplitter<Value> {
  /** True if the rest of the document cannot be split. */
  isBroken = false;
  readonly #places: ReadonlySet<string>;
  readonly #maxBytes: number;
  readonly #toValue: ToValue<Value>;
  readonly #counts = new Map<string, number>();
  /** Bytes of the document before the current chunk. */
  #offset = 0;
  #container: 'start' | 'whole' | 'array' | 'object' | 'end' = 'start';
  /** In an object: whether a name, a value, or the comma or bracket after an array is next. */
  #next: 'name' | 'value' | 'rest' = 'name';
  /** The place of the next value; undefined if it is not wanted. */
  #place: string | undefined;
  /** Whether the container has had no comma yet. */
  #isFirst = true;
  #span: JsonSpan | undefined;

  constructor(places: ReadonlySet<string>, maxBytes: number, toValue: ToValue<Value>) {
    this.#places = places;
    this.#maxBytes = maxBytes;
    this.#toValue = toValue;
  }

  /** Returns the values that end in a chunk. */
  *push(chunk: Buffer): Generator<FoundValue<Value>> {
    let at = 0;
    while (at < chunk.length && !this.isBroken) {
      if (this.#span === undefined) {
        at = this.#skipSpace(chunk, at);
        if (at === chunk.length) break;
        const refused = this.#begin(chunk[at] as number, this.#offset + at);
        if (refused !== undefined) yield this.#break(refused);
        if (this.#span === undefined) at += 1;
        continue;
      }
      at = this.#span.read(chunk, at);
      if (at === chunk.length) break;
      yield* this.#endSpan(this.#span, chunk[at] as number, this.#offset + at);
      this.#span = undefined;
      at += 1;
    }
    this.#offset += chunk.length;
  }

  /** Returns the last value or refusal, at the end of the document. */
  *end(failure?: string): Generator<FoundValue<Value>> {
    const span = this.#span;
    if (this.#container === 'start') return yield this.#break(failure ?? 'the file must not be empty');
    if (failure === undefined) {
      if (this.#container === 'end') return;
      if (this.#container === 'whole' && span?.isBalanced) return yield this.#found(span, '$');
    }
    const isElementOrField = this.#container === 'array' || !this.#place?.endsWith('.*');
    if (span?.isComplete && this.#place !== undefined && isElementOrField) yield this.#found(span, this.#place);
    yield this.#break(failure ?? 'the JSON ends in the middle');
  }

  #skipSpace(chunk: Buffer, from: number): number {
    let at = from;
    while (at < chunk.length) {
      const byte = chunk[at] as number;
      const isMark = this.#container === 'start' && byte === BYTE_ORDER_MARK[this.#offset + at];
      if (!isMark && byte !== SPACE && byte !== LINE_FEED && byte !== CARRIAGE_RETURN && byte !== TAB) break;
      at += 1;
    }
    return at;
  }

  /** Begins a span or enters a container. Returns why the document cannot be read. */
  #begin(byte: number, position: number): string | undefined {
    if (this.#container === 'end') return `nothing must follow the end of the document, at byte ${position}`;
    if (this.#container === 'start') {
      if (byte === 0xfe || byte === 0xff) return 'the file must be UTF-8';
      const isWhole = this.#places.has('$') && !(byte === OPEN_ARRAY && this.#places.has('*'));
      if (!isWhole) return this.#enter(byte);
      this.#container = 'whole';
    }
    const isName = this.#container === 'object' && this.#next === 'name';
    if (this.#container === 'object' && byte === OPEN_ARRAY && this.#place?.endsWith('.*')) {
      this.#container = 'array';
      this.#isFirst = true;
      return undefined;
    }
    const isKept = isName || this.#place !== undefined || this.#container === 'whole';
    this.#span = new JsonSpan({ first: byte, start: position, isName, maxBytes: isKept ? this.#maxBytes : 0 });
    return undefined;
  }

  #enter(byte: number): string | undefined {
    const hasElements = this.#places.has('*');
    const hasFields = this.#places.size > (hasElements ? 1 : 0);
    if (byte === OPEN_ARRAY && hasElements) {
      this.#container = 'array';
      this.#place = '*';
      return undefined;
    }
    if (byte === OPEN_OBJECT && hasFields) {
      this.#container = 'object';
      return undefined;
    }
    const kinds = [...(hasElements ? ['array'] : []), ...(hasFields ? ['object'] : [])];
    return `the file must be a JSON ${kinds.join(' or ')}`;
  }

  *#endSpan(span: JsonSpan, end: number, position: number): Generator<FoundValue<Value>> {
    const wrong = this.#container === 'array' ? CLOSE_OBJECT : CLOSE_ARRAY;
    if (this.#container === 'whole' || end === wrong) {
      yield this.#break(`brackets must match; see byte ${position}`);
      return;
    }
    const isNothing = span.isEmpty && this.#isFirst && (end === CLOSE_ARRAY || end === CLOSE_OBJECT);
    this.#isFirst = false;
    if (this.#container === 'array') {
      if (!isNothing) yield this.#found(span, this.#place as string);
      if (end === CLOSE_ARRAY) this.#leaveArray();
      return;
    }
    if (this.#next !== 'name') yield* this.#endValue(span, position);
    else if (!isNothing) yield* this.#endName(span, end, position);
    if (end === CLOSE_OBJECT) this.#container = 'end';
  }

  #leaveArray(): void {
    this.#container = this.#place === '*' ? 'end' : 'object';
    this.#next = 'rest';
    this.#place = undefined;
  }

  *#endName(span: JsonSpan, end: number, position: number): Generator<FoundValue<Value>> {
    const parsed = span.parse();
    const name = 'value' in parsed ? parsed.value : undefined;
    if (typeof name !== 'string' || end !== COLON) {
      yield { place: '$', number: this.#count('$'), refused: `a name and a value must stand before byte ${position}` };
    }
    if (end !== COLON) return;
    this.#next = 'value';
    if (typeof name !== 'string' || name.endsWith('*') || name === '$') return;
    this.#place = [`${name}.*`, name].find((place) => this.#places.has(place));
  }

  *#endValue(span: JsonSpan, position: number): Generator<FoundValue<Value>> {
    const place = this.#place;
    const isRest = this.#next === 'rest';
    this.#place = undefined;
    this.#next = 'name';
    if (isRest && !span.isEmpty) {
      yield { place: '$', number: this.#count('$'), refused: `a comma must follow the array before byte ${position}` };
    }
    if (place === undefined) return;
    if (!place.endsWith('.*')) {
      yield this.#found(span, place);
      return;
    }
    const parsed = span.parse();
    if ('value' in parsed && parsed.value === null) return;
    const refused = 'refused' in parsed ? parsed.refused : `the field ${place.slice(0, -2)} must be an array`;
    yield { place, number: this.#count(place), refused };
  }

  #found(span: JsonSpan, place: string): FoundValue<Value> {
    return { place, number: this.#count(place), ...this.#toValue(span) };
  }

  #count(place: string): number {
    const number = (this.#counts.get(place) ?? 0) + 1;
    this.#counts.set(place, number);
    return number;
  }

  #break(refused: string): FoundValue<Value> {
    this.isBroken = true;
    const place = this.#place ?? '$';
    return { place, number: this.#count(place), refused, isBroken: true };
  }
}
