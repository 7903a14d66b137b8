import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { zeroGaps } from './page-gaps.ts';

const PAGE_BYTES = 4096;

let folder: string;
let path: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'memoryd-'));
  path = join(folder, 'pages');
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Writes an empty page and a table leaf page with one cell at its end and some bytes in the gap before it. */
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

/** Zeroes the gaps, and returns true if the file was written. */
function zero(rewrite: boolean): boolean {
  utimesSync(path, 1, 1);
  const file = openSync(path, 'r+');
  expect(zeroGaps(file, PAGE_BYTES, [{ from: 1, until: 100 }], rewrite)).toBe(2);
  closeSync(file);
  return statSync(path).mtimeMs !== 1000;
}

describe('zeroGaps', () => {
  it('zeroes bytes between cell pointers and cells, and keeps the cells', () => {
    writePages('residue');
    expect(zero(false)).toBe(true);
    const bytes = readFileSync(path);
    expect([bytes.includes('residue'), bytes.includes('cell')]).toEqual([false, true]);
  });

  it('writes zeros over existing zeros only if rewrite is true', () => {
    writePages('');
    expect(zero(false)).toBe(false);
    expect(zero(true)).toBe(true);
  });
});
