import { MemoryError } from './errors.ts';

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/**
 * Splits a stream of byte chunks into lines without line terminators. Only U+000A ends a line. A non-empty rest after
 * the last terminator is also a line.
 *
 * @throws MemoryError PAYLOAD_TOO_LARGE for a line longer than `maxBytes`; the message contains the line number,
 *   counted from 1
 */
export async function* getLines(chunks: AsyncIterable<Uint8Array>, maxBytes: number): AsyncIterable<Uint8Array> {
  let pending: Uint8Array[] = [];
  let pendingBytes = 0;
  let number = 1;
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, start)) {
      assertLength(pendingBytes + end - start, maxBytes, number);
      yield join([...pending, chunk.subarray(start, end)], pendingBytes + end - start);
      pending = [];
      pendingBytes = 0;
      start = end + 1;
      number++;
    }
    pending.push(chunk.subarray(start));
    pendingBytes += chunk.length - start;
    assertLength(pendingBytes, maxBytes, number);
  }
  if (pendingBytes > 0) yield join(pending, pendingBytes);
}

/** Returns true for a line that is empty except for an optional carriage return. */
export function isBlankLine(line: Uint8Array): boolean {
  return line.length === 0 || (line.length === 1 && line[0] === CARRIAGE_RETURN);
}

function assertLength(bytes: number, maxBytes: number, number: number): void {
  if (bytes > maxBytes) throw new MemoryError('PAYLOAD_TOO_LARGE', `line ${number} must be at most ${maxBytes} bytes`);
}

function join(parts: Uint8Array[], bytes: number): Uint8Array {
  const [first] = parts;
  if (parts.length === 1 && first) return first;
  const line = new Uint8Array(bytes);
  let offset = 0;
  for (const part of parts) {
    line.set(part, offset);
    offset += part.length;
  }
  return line;
}
