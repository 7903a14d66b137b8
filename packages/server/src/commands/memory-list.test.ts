import fc from 'fast-check';
import stringWidth from 'string-width';
import { describe, expect, it } from 'vitest';
import { formatMemories, shortenIds } from './memory-list.ts';
import { toPrintable } from './printable.ts';
import { wrap } from './table.ts';

const ids = ['01a21e6a-c232-7193-b409-97893564f329', '01a21e6a-c232-7193-b409-97893564f32a'] as const;
const memory = { id: ids[0], content: 'Ada likes tea', tags: [], created_at: '2026-01-31T09:30:00Z' };

describe('a list of memories', () => {
  it('a list of memories has one line per memory, followed by its indented text', () => {
    const result = { ...memory, tags: ['food', 'tea'], session_id: 'kitchen', score: 0.31 };
    expect(formatMemories([result], { columns: 80 })).toMatch(
      /^0\.31 possible {2}2026-01-3\d \d\d:\d\d {2}kitchen {2}#food #tea {2}3564f329\n {4}Ada likes tea\n$/,
    );
  });

  it('shows whole ids with the option ids', () => {
    expect(formatMemories([memory], { columns: 80, ids: true })).toContain(`  ${ids[0]}\n`);
  });

  it('shows from and until when a memory holds, and which memory replaced it', () => {
    const [old, next] = [
      { ...memory, valid_from: '2026-01-31T12:00:00Z', valid_to: '2026-03-01T12:00:00Z', superseded_by: ids[1] },
      { ...memory, id: ids[1], valid_from: null, valid_to: null, superseded_by: null },
    ];
    const headlines = formatMemories([old, next], { columns: 200, utc: true }).split('\n');
    expect(headlines[0]).toMatch(
      / {2}3564f329 {2}from 2026-01-31 12:00Z {2}until 2026-03-01 12:00Z {2}replaced by 3564f32a$/,
    );
    expect(headlines[2]).toMatch(/ {2}3564f32a$/);
    expect(formatMemories([old], { columns: 200, ids: true })).toContain(`replaced by ${ids[1]}\n`);
  });

  it('keeps the line breaks of a text, and shows a note below the text', () => {
    const printed = formatMemories([{ ...memory, content: 'one\n\n  two', note: 'words 0.5' }], { columns: 80 });
    expect(printed.split('\n').slice(1)).toEqual(['    one', '', '      two', '    words 0.5', '']);
  });

  it('ends a text of more than three lines with the number of further lines, and shows the note below', () => {
    const long = { ...memory, content: 'word '.repeat(50).trim(), note: 'words 0.5' };
    const lines = formatMemories([long], { columns: 54 }).split('\n').slice(1, -1);
    expect(lines).toEqual([
      ...Array(3).fill(`    ${'word '.repeat(10).trim()}`),
      '    … (+2 lines, --full)',
      '    words 0.5',
    ]);
    expect(formatMemories([long], { columns: 54, full: true })).not.toContain('…');
  });

  it('fits any width of at least 24 columns without losing words', () => {
    const text = fc.oneof(fc.string({ unit: 'binary' }), fc.lorem({ maxCount: 30 }));
    fc.assert(
      fc.property(text, fc.string({ unit: 'grapheme' }), fc.integer({ min: 24, max: 100 }), (content, tag, columns) => {
        const printed = formatMemories([{ ...memory, content, tags: [tag] }], { columns, full: true });
        for (const line of printed.split('\n')) expect(stringWidth(line)).toBeLessThanOrEqual(columns);
        const withoutSpaces = (from: string) => from.replaceAll(/\s/g, '');
        expect(withoutSpaces(printed)).toContain(withoutSpaces(toPrintable(content)));
      }),
    );
  });
});

describe('wrap', () => {
  it('breaks lines at spaces', () => {
    expect(wrap('The tide was low.', 8)).toEqual(['The tide', 'was low.']);
  });

  it('breaks a word that is wider than a line between characters', () => {
    expect(wrap('文字'.repeat(4), 7)).toEqual(['文字文', '字文字', '文字']);
  });
});

describe('short ids', () => {
  it('short ids are the last 8 characters', () => {
    expect(shortenIds([ids[0], ids[1]])).toEqual(['3564f329', '3564f32a']);
  });

  it('short ids are longer if several ids have the same last 8 characters, and equal for the same id', () => {
    const other = ids[0].replace('97893564', '97883564');
    expect(shortenIds([ids[0], other, other])).toEqual(['93564f329', '83564f329', '83564f329']);
  });

  it('short ids are unique suffixes of the ids', () => {
    fc.assert(
      fc.property(fc.array(fc.uuid({ version: 7 })), (all) => {
        const short = shortenIds(all);
        expect(new Set(short).size).toBe(new Set(all).size);
        for (const [i, id] of all.entries()) expect(id.endsWith(short[i] as string)).toBe(true);
      }),
    );
  });
});
