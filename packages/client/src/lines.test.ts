import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { linesOf } from './lines.ts';

/** A body that arrives in pieces of these sizes, in turn. */
function bodyOf(text: string, sizes: number[]): ReadableStream<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  let at = 0;
  let turn = 0;
  return new ReadableStream({
    pull(controller) {
      const size = sizes[turn++ % sizes.length] ?? 1;
      if (at < bytes.length) controller.enqueue(bytes.subarray(at, at + size));
      at += size;
      if (at >= bytes.length) controller.close();
    },
  });
}

async function gathered(body: ReadableStream<Uint8Array>): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of linesOf(body)) lines.push(line);
  return lines;
}

describe('the lines of a body', () => {
  it('are its lines, however it arrives', async () => {
    const line = fc.string({ unit: 'grapheme' }).map((text) => text.replace(/[\r\n]/g, ''));
    const sizes = fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1 });
    await fc.assert(
      fc.asyncProperty(fc.array(line), fc.constantFrom('\n', '\r\n'), sizes, async (lines, end, pieces) => {
        const body = bodyOf(lines.map((text) => text + end).join(''), pieces);
        expect(await gathered(body)).toEqual(lines);
      }),
    );
  });

  it('may end without an end', async () => {
    expect(await gathered(bodyOf('one\ntwo', [3]))).toEqual(['one', 'two']);
  });

  it('are given up with the body when nobody reads on', async () => {
    let isCancelled = false;
    const endless = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(new TextEncoder().encode('again\n')),
      cancel: () => {
        isCancelled = true;
      },
    });
    for await (const line of linesOf(endless)) if (line === 'again') break;
    expect(isCancelled).toBe(true);
  });

  it('are not gathered without end', async () => {
    const piece = new TextEncoder().encode('x'.repeat(1024 * 1024));
    const endless = new ReadableStream<Uint8Array>({ pull: (controller) => controller.enqueue(piece) });
    await expect(linesOf(endless).next()).rejects.toMatchObject({ code: 'INTERNAL_ERROR' });
  });
});
