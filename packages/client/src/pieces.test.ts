import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { getLines, getPieces } from './pieces.ts';

/** A body that arrives in pieces of these sizes, in turn. */
function getBody(text: string, sizes: number[]): ReadableStream<Uint8Array> {
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
  for await (const line of getLines(body)) lines.push(line);
  return lines;
}

describe('the lines of a body', () => {
  it('are its lines, however it arrives', async () => {
    const line = fc.string({ unit: 'grapheme' }).map((text) => text.replace(/[\r\n]/g, ''));
    const sizes = fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1 });
    await fc.assert(
      fc.asyncProperty(fc.array(line), fc.constantFrom('\n', '\r\n'), sizes, async (lines, end, pieces) => {
        const body = getBody(lines.map((text) => text + end).join(''), pieces);
        expect(await gathered(body)).toEqual(lines);
      }),
    );
  });

  it('may end without an end', async () => {
    expect(await gathered(getBody('one\ntwo', [3]))).toEqual(['one', 'two']);
  });

  it('are not gathered without end', async () => {
    const piece = new TextEncoder().encode('x'.repeat(1024 * 1024));
    const endless = new ReadableStream<Uint8Array>({ pull: (controller) => controller.enqueue(piece) });
    await expect(getLines(endless).next()).rejects.toMatchObject({ code: 'INTERNAL_ERROR' });
  });
});

describe('the pieces of an answer', () => {
  /** An answer whose body breaks when it is ended, as one of fetch does. */
  function getArrival(piece: string | undefined) {
    let broken: ReadableStreamDefaultController<Uint8Array> | undefined;
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        broken = controller;
        if (piece !== undefined) controller.enqueue(new TextEncoder().encode(piece));
      },
    });
    const arrival = {
      response: new Response(body),
      lift: () => {},
      ended: 0,
      end: () => {
        arrival.ended++;
        broken?.error(new Error('broken'));
      },
      rejection: (error: unknown) => new Error('told', { cause: error }),
    };
    return arrival;
  }

  it('are given up when nobody reads on', async () => {
    const arrival = getArrival('again');
    for await (const piece of getPieces(arrival, 10_000)) if (piece.length === 5) break;
    expect(arrival.ended).toBe(1);
  });

  it('are given up when none comes any more', async () => {
    const pieces = getPieces(getArrival(undefined), 10);
    await expect(pieces.next()).rejects.toThrow('told');
  });

  it('are waited for no matter how long their reader takes', async () => {
    const arrival = getArrival('once');
    const pieces = getPieces(arrival, 20);
    await pieces.next();
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(arrival.ended).toBe(0);
    await pieces.return();
  });
});
