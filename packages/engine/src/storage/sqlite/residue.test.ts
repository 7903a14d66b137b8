import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { zeroGaps } from './residue.ts';

const PAGE_BYTES = 4096;

let folder: string;
let path: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'memoryd-'));
  path = join(folder, 'pages');
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Two leaf pages of a table, each with one cell at its end and something in the gap before. */
function writePages(gap: string): void {
  const page = Buffer.alloc(PAGE_BYTES);
  page[0] = 0x0d;
  page.writeUInt16BE(1, 3);
  page.writeUInt16BE(PAGE_BYTES - 4, 5);
  page.write('cell', PAGE_BYTES - 4);
  page.write(gap, 2000);
  const first = Buffer.alloc(PAGE_BYTES);
  writeFileSync(path, Buffer.concat([first, page]));
}

/** Whether the file was written to. */
function zero(anew: boolean): boolean {
  utimesSync(path, 1, 1);
  const file = openSync(path, 'r+');
  expect(zeroGaps(file, PAGE_BYTES, [{ from: 1, until: 100 }], anew)).toBe(2);
  closeSync(file);
  return statSync(path).mtimeMs !== 1000;
}

describe('zeroing gaps', () => {
  it('clears what stands between pointers and cells, and leaves the cells', () => {
    writePages('residue');
    expect(zero(false)).toBe(true);
    const bytes = readFileSync(path);
    expect([bytes.includes('residue'), bytes.includes('cell')]).toEqual([false, true]);
  });

  it('writes zeros again where they may not have reached the disk, and otherwise not', () => {
    writePages('');
    expect(zero(false)).toBe(false);
    expect(zero(true)).toBe(true);
  });
});
