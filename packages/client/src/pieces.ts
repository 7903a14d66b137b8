import { MemoryError } from './memory-error.ts';
import type { Arrival } from './transport.ts';

/** Characters of one line: as many as a memory with all the texts that it has had can take in an export. */
const LINE_CHARS = 128 * 1024 * 1024;

/**
 * An answer's bytes as they arrive. Leaving early breaks it off.
 *
 * @param silenceMs after so many milliseconds without a byte it is dead
 * @throws MemoryError UNAVAILABLE when it is cut off, the reason of the caller's signal when that comes
 */
export async function* getPieces(
  { response, end, rejection }: Arrival,
  silenceMs: number,
): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = response.body?.getReader();
  try {
    while (reader) {
      const silence = setTimeout(end, silenceMs);
      const { done, value } = await reader.read().finally(() => clearTimeout(silence));
      if (done) return;
      yield value;
    }
  } catch (error) {
    throw rejection(error);
  } finally {
    end();
  }
}

/**
 * The lines of a text in UTF-8 that arrives in pieces, without their ends; the last need not have one.
 *
 * @throws MemoryError INTERNAL_ERROR for a line longer than any that the service writes
 */
export async function* getLines(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder();
  let begun: string[] = [];
  let chars = 0;
  for await (const piece of pieces) {
    const [first = '', ...more] = decoder.decode(piece, { stream: true }).split('\n');
    begun.push(first);
    chars += first.length;
    for (const next of more) {
      yield getLine(begun);
      begun = [next];
      chars = next.length;
    }
    if (chars > LINE_CHARS) throw new MemoryError('INTERNAL_ERROR', 'a line of the answer is too long');
  }
  const last = getLine([...begun, decoder.decode()]);
  if (last !== '') yield last;
}

function getLine(parts: string[]): string {
  return parts.join('').replace(/\r$/, '');
}
