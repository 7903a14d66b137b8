import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatRevision } from './text-history.ts';

const text = { revision: 2, held_from: '2026-01-31T09:30:00.000Z', held_until: null };
const format = (content: string, previous?: string) => formatRevision({ ...text, content }, previous, { utc: true });

describe('formatRevision', () => {
  it('marks the words that changed since the previous text', () => {
    expect(format('The key is under the red pot', 'The key is under the blue pot')).toBe(
      'revision 2  2026-01-31 09:30Z to now\n    The key is under the [-blue-]{+red+} pot\n',
    );
  });

  it('marks words in a language without spaces', () => {
    expect(format('鍵は青い鉢の下', '鍵は赤い鉢の下')).toContain('[-赤い-]{+青い+}鉢の下');
  });

  it('marks nothing in the first text, and escapes control characters', () => {
    expect(format('one\u001b[31m\ntwo')).toBe('revision 2  2026-01-31 09:30Z to now\n    one\\u{1b}[31m\n    two\n');
  });

  it('shows a text in full without marks if too many words changed', () => {
    const words = (from: number) => Array.from({ length: 9000 }, (_, n) => `w${from + n}`).join(' ');
    const printed = format(words(10_000), words(0));
    expect(printed).toContain('(too many changes to mark)\n');
    expect(printed).toContain(words(10_000));
  });

  it('contains all words of the text, also after a change of any words', () => {
    const words = fc.array(fc.constantFrom('ada', 'moved', 'to', 'oslo', 'bergen', 'in', 'may'), { maxLength: 20 });
    fc.assert(
      fc.property(words, words, (before, after) => {
        const [, ...lines] = format(after.join(' '), before.join(' ')).split('\n');
        const kept = lines
          .join('\n')
          .replaceAll(/\[-.*?-\]/gs, '')
          .replaceAll(/\{\+|\+\}/g, '');
        expect(kept.split(/\s+/).filter((word) => word !== '')).toEqual(after);
      }),
    );
  });
});
