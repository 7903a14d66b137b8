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

  const id = '01a21e6a-c232-7193-b409-97893564f329';
  const date = '2026-01-31 09:30';

  it('wraps the text of its last column, and ends it after three lines unless it is printed in full', () => {
    const rows = [['1', { text: '文字'.repeat(100), words: `from ${id} ${id}` }]];
    const lines = (full: boolean) => table(['ID', 'MEMORY'], rows, { columns: 64, full }).split('\n').slice(1, -1);
    const wide = `    ${'文字'.repeat(15)}`;
    const ids = [`    from ${id}`, `    ${id}`];
    expect(lines(false)).toEqual([wide.replace('    ', '1   '), wide, wide, '    … (+4 lines, --full)', ...ids]);
    expect(lines(true).join('')).not.toContain('…');
    expect(lines(true).join('').match(/文字/g)).toHaveLength(100);
  });

  it('cuts nothing in a pipe', () => {
    expect(table(['ID', 'MEMORY'], [['1', { text: 'word '.repeat(500), words: id }]])).toContain(
      `${'word '.repeat(499)}word  ${id}\n`,
    );
  });

  it('never cuts or breaks an id, a date or a number, whatever the width of the terminal', () => {
    const text = fc.record({ text: fc.lorem({ maxCount: 40 }), words: fc.constant(`into ${id}`) });
    const row = fc.tuple(fc.constant(id), fc.constant(date), fc.nat(), fc.oneof(fc.constant(date), text));
    fc.assert(
      fc.property(fc.array(row, { minLength: 1, maxLength: 4 }), fc.integer({ min: 60, max: 140 }), (rows, columns) => {
        const printed = table(['ID', 'CREATED', 'COUNT', 'DETAIL'], rows, { columns });
        for (const line of printed.split('\n')) expect(stringWidth(line)).toBeLessThanOrEqual(columns);
        const cells = rows.flatMap(([...all]) => all.map((cell) => (typeof cell === 'object' ? id : String(cell))));
        const count = (cell: string) => cells.filter((each) => each === cell).length;
        for (const cell of cells) expect(printed.split(cell).length - 1).toBeGreaterThanOrEqual(count(cell));
      }),
    );
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
