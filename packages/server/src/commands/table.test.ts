import fc from 'fast-check';
import stringWidth from 'string-width';
import { describe, expect, it } from 'vitest';
import { toPrintable } from './printable.ts';
import { table } from './table.ts';

describe('a table', () => {
  it('aligns columns by their width on a terminal', () => {
    const rows = [
      ['文字', 'x'],
      ['👩‍👩‍👧', 'y'],
      ['e\u0301', 'z'],
    ];
    const lines = table(['A', 'B'], rows).trimEnd().split('\n');
    expect(lines.map((line) => stringWidth(line.slice(0, -1)))).toEqual([6, 6, 6, 6]);
  });

  it('truncates its last column to the width of the terminal, between characters, with an ellipsis', () => {
    const [, row = ''] = table(['ID', 'MEMORY'], [['1', '文字'.repeat(20)]], 30).split('\n');
    expect(row).toBe(`1   ${'文字'.repeat(6)}…`);
    expect(stringWidth(row)).toBeLessThanOrEqual(30);
    expect(table(['ID', 'MEMORY'], [['1', 'word '.repeat(20)]])).toContain('word '.repeat(19));
  });

  it('a table has one line for each row and no control characters', () => {
    const cells = fc.string({ unit: 'binary' });
    fc.assert(
      fc.property(fc.array(fc.tuple(cells, cells), { maxLength: 5 }), (rows) => {
        const printed = table(['A', 'B'], rows);
        expect(printed.split('\n')).toHaveLength(rows.length + 2);
        // biome-ignore lint/suspicious/noControlCharactersInRegex: the table must not contain them
        expect(printed.replaceAll('\n', '')).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/);
      }),
      { numRuns: 30 },
    );
  });
});

it('toPrintable escapes control characters as code points', () => {
  expect(toPrintable('a\u001b[2J\tb\r\nc\u202e')).toBe('a\\u{1b}[2J\\u{9}b\\u{d} c\\u{202e}');
});
