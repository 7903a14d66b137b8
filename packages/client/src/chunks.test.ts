import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readChunks, readLines } from './chunks.ts';

/** Creates a body that arrives in chunks of the given sizes, repeated in turn. */
function createBody(text: string, sizes: number[]): ReadableStream<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  let offset = 0;
  let turn = 0;
  return new ReadableStream({
    pull(controller) {
      const size = sizes[turn++ % sizes.length] ?? 1;
      if (offset < bytes.length) controller.enqueue(bytes.subarray(offset, offset + size));
      offset += size;
      if (offset >= bytes.length) controller.close();
    },
  });
}

async function collectLines(body: ReadableStream<Uint8Array>): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of readLines(body)) lines.push(line);
  return lines;
}

describe('readLines', () => {
  it('returns the same lines for chunks of any size', async () => {
    const line = fc.string({ unit: 'grapheme' }).map((text) => text.replace(/[\r\n]/g, ''));
    const sizes = fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1 });
    await fc.assert(
      fc.asyncProperty(fc.array(line), fc.constantFrom('\n', '\r\n'), sizes, async (lines, end, chunkSizes) => {
        const body = createBody(lines.map((text) => text + end).join(''), chunkSizes);
        expect(await collectLines(body)).toEqual(lines);
      }),
    );
  });

  it('returns a last line without a line terminator', async () => {
    expect(await collectLines(createBody('one\ntwo', [3]))).toEqual(['one', 'two']);
  });

  it('rejects a line above the maximum length', async () => {
    const chunk = new TextEncoder().encode('x'.repeat(1024 * 1024));
    const endless = new ReadableStream<Uint8Array>({ pull: (controller) => controller.enqueue(chunk) });
    await expect(readLines(endless).next()).rejects.toMatchObject({ code: 'INTERNAL_ERROR' });
  });
});

describe('readChunks', () => {
  /** Creates a response whose body fails when it is ended, as with `fetch`. */
  function createOpenResponse(chunk: string | undefined) {
    let bodyController: ReadableStreamDefaultController<Uint8Array> | undefined;
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        bodyController = controller;
        if (chunk !== undefined) controller.enqueue(new TextEncoder().encode(chunk));
      },
    });
    const open = {
      response: new Response(body),
      clearTimeout: () => {},
      endCalls: 0,
      end: () => {
        open.endCalls++;
        bodyController?.error(new Error('broken'));
      },
      toRejection: (error: unknown) => new Error('rejected', { cause: error }),
    };
    return open;
  }

  it('ends the response when the reader stops', async () => {
    const open = createOpenResponse('again');
    for await (const chunk of readChunks(open, 10_000)) if (chunk.length === 5) break;
    expect(open.endCalls).toBe(1);
  });

  it('rejects if no chunk arrives within the timeout', async () => {
    const chunks = readChunks(createOpenResponse(undefined), 10);
    await expect(chunks.next()).rejects.toThrow('rejected');
  });

  it('excludes the time of a slow reader from the timeout', async () => {
    const open = createOpenResponse('once');
    const chunks = readChunks(open, 20);
    await chunks.next();
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(open.endCalls).toBe(0);
    await chunks.return();
  });
});
