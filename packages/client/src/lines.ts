import { MemoryError } from './memory-error.ts';

/** Characters of one line: more than an event or a memory's record with its texts can have. */
const LINE_CHARS = 32 * 1024 * 1024;

/**
 * The lines of a body in UTF-8 as they arrive, without their ends; the last need not have one. Leaving early cancels the
 * body.
 *
 * @throws MemoryError INTERNAL_ERROR for a line longer than any that the service writes
 */
export async function* linesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string, void, undefined> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      const lines = (rest + decoder.decode(value, { stream: !done })).split('\n');
      rest = lines.pop() ?? '';
      if (rest.length > LINE_CHARS) throw new MemoryError('INTERNAL_ERROR', 'a line of the answer is too long');
      for (const line of lines) yield withoutReturn(line);
      if (!done) continue;
      if (rest !== '') yield withoutReturn(rest);
      return;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function withoutReturn(line: string): string {
  return line.endsWith('\r') ? line.slice(0, -1) : line;
}
