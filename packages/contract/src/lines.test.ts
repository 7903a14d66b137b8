import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { getLines } from './lines.ts';

async function* toChunks(bytes: Uint8Array, sizes: number[]): AsyncIterable<Uint8Array> {
  for (let offset = 0, i = 0; offset < bytes.length; i++) {
    const size = sizes[i % sizes.length] ?? 1;
    yield bytes.subarray(offset, offset + size);
    offset += size;
  }
}

async function read(text: string, sizes = [7], maxBytes = 1_000_000): Promise<string[]> {
  const lines: string[] = [];
  const decoder = new TextDecoder('utf-8', { fatal: true });
  for await (const line of getLines(toChunks(new TextEncoder().encode(text), sizes), maxBytes)) {
    lines.push(decoder.decode(line));
  }
  return lines;
}

describe('getLines', () => {
  it('returns complete lines, whatever the chunk sizes and scripts', async () => {
    const line = fc.string({ unit: 'binary' }).map((text) => text.replaceAll('\n', '').toWellFormed());
    await fc.assert(
      fc.asyncProperty(
        fc.array(line),
        fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }),
        async (all, sizes) => {
          // The prefix prevents a leading U+FEFF from being decoded as a byte order mark.
          const lines = all.map((each) => `:${each}`);
          expect(await read(lines.map((each) => `${each}\n`).join(''), sizes)).toEqual(lines);
        },
      ),
    );
  });

  it('splits only at U+000A', async () => {
    expect(await read('a\u2028b\rc\u2029d\u0085e\n\nf')).toEqual(['a\u2028b\rc\u2029d\u0085e', '', 'f']);
  });

  it('throws PAYLOAD_TOO_LARGE for a line above the maximum length', async () => {
    expect(await read('1234\n5678\n', [3], 4)).toEqual(['1234', '5678']);
    const error = { code: 'PAYLOAD_TOO_LARGE', message: 'line 2 must be at most 4 bytes' };
    await expect(read('1234\n56789', [3], 4)).rejects.toMatchObject(error);
    await expect(read('1234\n56789\n', [100], 4)).rejects.toMatchObject(error);
  });
});
