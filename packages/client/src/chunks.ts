import { MemoryError } from './memory-error.ts';
import type { OpenResponse } from './transport.ts';

/**
 * Maximum characters of one line. The longest lines are lines of an export: a memory with its complete text history.
 */
const MAX_LINE_CHARS = 128 * 1024 * 1024;

/**
 * Reads the bytes of a response as they arrive. Leaving the loop early aborts the response.
 *
 * @param silenceMs maximum time in ms to wait for the next chunk
 * @throws MemoryError UNAVAILABLE if the response is cut off; the reason of the caller's signal if the signal is
 *   aborted
 */
export async function* readChunks(
  { response, end, toRejection }: OpenResponse,
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
    throw toRejection(error);
  } finally {
    end();
  }
}

/**
 * Splits a stream of UTF-8 chunks into lines without line terminators. The last line needs no terminator.
 *
 * @throws MemoryError INTERNAL_ERROR for a line above the maximum length
 */
export async function* readLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder();
  let pending: string[] = [];
  let chars = 0;
  for await (const chunk of chunks) {
    const [first = '', ...more] = decoder.decode(chunk, { stream: true }).split('\n');
    pending.push(first);
    chars += first.length;
    for (const next of more) {
      yield joinLine(pending);
      pending = [next];
      chars = next.length;
    }
    if (chars > MAX_LINE_CHARS)
      throw new MemoryError('INTERNAL_ERROR', `a line of the response must be at most ${MAX_LINE_CHARS} characters`);
  }
  const last = joinLine([...pending, decoder.decode()]);
  if (last !== '') yield last;
}

function joinLine(parts: string[]): string {
  return parts.join('').replace(/\r$/, '');
}
