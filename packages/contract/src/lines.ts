import { MemoryError } from './errors.ts';

const LINE_END = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/**
 * The lines of a text that arrives in pieces of bytes, without their ends; only U+000A ends a line, and what follows the
 * last one is a line too, unless it is empty.
 *
 * @throws MemoryError PAYLOAD_TOO_LARGE for a line of more than `maxBytes`, named by its number from 1
 */
export async function* getLines(pieces: AsyncIterable<Uint8Array>, maxBytes: number): AsyncIterable<Uint8Array> {
  let begun: Uint8Array[] = [];
  let begunBytes = 0;
  let number = 1;
  for await (const piece of pieces) {
    let start = 0;
    for (let end = piece.indexOf(LINE_END); end >= 0; end = piece.indexOf(LINE_END, start)) {
      assertShort(begunBytes + end - start, maxBytes, number);
      yield joined([...begun, piece.subarray(start, end)], begunBytes + end - start);
      begun = [];
      begunBytes = 0;
      start = end + 1;
      number++;
    }
    begun.push(piece.subarray(start));
    begunBytes += piece.length - start;
    assertShort(begunBytes, maxBytes, number);
  }
  if (begunBytes > 0) yield joined(begun, begunBytes);
}

/** Whether a line says nothing: it is empty, but for the carriage return that some writers end lines with. */
export function isBlankLine(line: Uint8Array): boolean {
  return line.length === 0 || (line.length === 1 && line[0] === CARRIAGE_RETURN);
}

function assertShort(bytes: number, maxBytes: number, number: number): void {
  if (bytes > maxBytes) throw new MemoryError('PAYLOAD_TOO_LARGE', `line ${number} is longer than ${maxBytes} bytes`);
}

function joined(parts: Uint8Array[], bytes: number): Uint8Array {
  const [first] = parts;
  if (parts.length === 1 && first) return first;
  const whole = new Uint8Array(bytes);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
