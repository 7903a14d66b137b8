import { describe, expect, it } from 'vitest';
import { UnreadableFile } from '../source/source.ts';
import { type Line, readLines } from './read-lines.ts';

async function* toChunks(bytes: Uint8Array, size: number): AsyncIterable<Uint8Array> {
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size);
}

async function read(text: string | Uint8Array, { maxBytes, size = 3 }: { maxBytes?: number; size?: number } = {}) {
  const lines: Line[] = [];
  for await (const line of readLines(toChunks(Buffer.from(text), size), maxBytes)) lines.push(line);
  return lines;
}

describe('lines of a file', () => {
  it.each([1, 3, 1000])('reads the same lines in chunks of %i bytes', async (size) => {
    expect(await read('über\n\n  \n{"a": "é"}\r\nlast', { size })).toEqual([
      { number: 1, text: 'über' },
      { number: 4, text: '{"a": "é"}' },
      { number: 5, text: 'last' },
    ]);
  });

  it('removes a byte order mark at the start, and only there', async () => {
    expect(await read('\uFEFFfirst\n\uFEFFsecond')).toEqual([
      { number: 1, text: 'first' },
      { number: 2, text: '\uFEFFsecond' },
    ]);
  });

  it('refuses a line that is too long, and reads the next one', async () => {
    expect(await read(`${'a'.repeat(11)}\n${'b'.repeat(10)}\n${'c'.repeat(5000)}`, { maxBytes: 10 })).toEqual([
      { number: 1, refused: 'the line is longer than 10 bytes' },
      { number: 2, text: 'b'.repeat(10) },
      { number: 3, refused: 'the line is longer than 10 bytes' },
    ]);
  });

  it('refuses a line that is no UTF-8, and reads the next one', async () => {
    expect(await read(Buffer.concat([Buffer.from([0x61, 0xe9, 0x0a]), Buffer.from('next\n')]))).toEqual([
      { number: 1, refused: 'the line is not valid UTF-8' },
      { number: 2, text: 'next' },
    ]);
  });

  it('reads the lines before the place where a file becomes unreadable', async () => {
    async function* open(): AsyncIterable<Uint8Array> {
      yield Buffer.from('first\nsec');
      throw new UnreadableFile('the entry is truncated');
    }
    const lines: Line[] = [];
    for await (const line of readLines(open())) lines.push(line);
    expect(lines).toEqual([
      { number: 1, text: 'first' },
      { number: 2, refused: 'the entry is truncated' },
    ]);
  });
});
