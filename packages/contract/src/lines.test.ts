import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { getLines } from './lines.ts';

async function* inPieces(bytes: Uint8Array, sizes: number[]): AsyncIterable<Uint8Array> {
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const size = sizes[i % sizes.length] ?? 1;
    yield bytes.subarray(at, at + size);
    at += size;
  }
}

async function read(text: string, sizes = [7], maxBytes = 1_000_000): Promise<string[]> {
  const lines: string[] = [];
  const decoder = new TextDecoder('utf-8', { fatal: true });
  for await (const line of getLines(inPieces(new TextEncoder().encode(text), sizes), maxBytes)) {
    lines.push(decoder.decode(line));
  }
  return lines;
}

describe('lines', () => {
  it('come whole however the bytes arrive, in every script', async () => {
    const line = fc.string({ unit: 'binary' }).map((text) => text.replaceAll('\n', '').toWellFormed());
    await fc.assert(
      fc.asyncProperty(
        fc.array(line),
        fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }),
        async (all, sizes) => {
          // A mark at the beginning of a text is taken for its byte order.
          const lines = all.map((each) => `:${each}`);
          expect(await read(lines.map((each) => `${each}\n`).join(''), sizes)).toEqual(lines);
        },
      ),
    );
  });

  it('end at U+000A and at no other sign', async () => {
    expect(await read('a\u2028b\rc\u2029d\u0085e\n\nf')).toEqual(['a\u2028b\rc\u2029d\u0085e', '', 'f']);
  });

  it('may be so long and no longer', async () => {
    expect(await read('1234\n5678\n', [3], 4)).toEqual(['1234', '5678']);
    const refused = { code: 'PAYLOAD_TOO_LARGE', message: 'line 2 is longer than 4 bytes' };
    await expect(read('1234\n56789', [3], 4)).rejects.toMatchObject(refused);
    await expect(read('1234\n56789\n', [100], 4)).rejects.toMatchObject(refused);
  });
});
