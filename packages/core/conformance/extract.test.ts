import { expectSound, getGroup, NEAR_PAIRS } from '@memoryd/suites';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { extract } from '../src/distil/extract.ts';
import type { DistilGroup } from '../src/ports/distiller.ts';

function expectExactQuotes(group: DistilGroup): void {
  const { facts } = extract(group);
  for (const { text, sources } of facts) {
    for (const { id, content } of group.sources) if (sources.includes(id)) expect(content).toContain(text);
  }
}

describe('extract', () => {
  it('quotes a topic that several memories share before a topic of one memory', () => {
    const about = ['wax', 'hives', 'winter', 'swarms', 'smoke', 'queens', 'flowers', 'mites', 'a veil'];
    const { content, facts } = extract(
      getGroup(...about.map((thing) => `Ada keeps bees and spoke of ${thing}.`), 'It rained.'),
    );
    expect(facts).toHaveLength(8);
    expect(content).not.toContain('rained');
  });

  it('selects a new statement before a paraphrase', () => {
    const same = [
      'Ada moved to Leeds in May.',
      'In May, Ada moved to Leeds.',
      'Ada moved in May to Leeds.',
      'Ada has moved to Leeds in May.',
      'It was in May that Ada moved to Leeds.',
      'To Leeds, Ada moved in May.',
      'In May Ada moved to Leeds.',
      'Ada moved, in May, to Leeds.',
    ];
    const { content } = extract(getGroup(...same, 'Ada works at the library of Leeds.'));
    expect(content).toContain('library');
  });

  it('quotes statements in chronological order', () => {
    const { content } = extract(getGroup('First, tea.', 'Second, coffee and tea.', 'Third, tea.'));
    expect(content).toBe('First, tea.\nSecond, coffee and tea.\nThird, tea.');
  });

  it('quotes identical sentences once, with all their sources', () => {
    const { facts } = extract(getGroup('Tea is hot. Ada knows.', 'Tea is hot.', 'Tea is Hot.'));
    expect(facts).toEqual([
      { text: 'Tea is hot.', sources: ['memory-1', 'memory-2'] },
      { text: 'Ada knows.', sources: ['memory-1'] },
      { text: 'Tea is Hot.', sources: ['memory-3'] },
    ]);
  });

  it('omits questions if there are statements', () => {
    const { content } = extract(getGroup('Bo: Where do you live?', 'Ada: In Leeds. And you?'));
    expect(content).toBe('Ada: In Leeds. And you?');
  });

  it('extracts facts from texts of 1 MiB that repeat one character, word or sentence', () => {
    for (const unit of ['Ada likes tea. ', ' \n', 'a', '猫', '🚀', 'Ada: tea ', '.', '?', '"?"']) {
      const huge = unit.repeat(2 ** 20 / new TextEncoder().encode(unit).length);
      const group = getGroup(`${huge}end`, 'Bo likes tea.', `${huge}end`);
      expectSound(extract(group), group);
      expectExactQuotes(group);
    }
  });

  it('throws for a group of blank texts', () => {
    expect(() => extract({ sources: [] })).toThrow(RangeError);
    expect(() => extract(getGroup(' ', '\n'))).toThrow(RangeError);
  });

  it('quotes any group exactly and deterministically', () => {
    const words = fc.array(fc.constantFrom('Ada', 'likes', 'tea.', 'Bo:', 'not', '5', '猫。', '\n', '\u0085', ' '), {
      minLength: 1,
    });
    const text = fc.oneof(
      words.map((some) => some.join(' ')),
      fc.string({ unit: 'grapheme' }),
    );
    const contents = fc.array(
      text.filter((any) => any.trim() !== ''),
      { minLength: 1, maxLength: 12 },
    );
    fc.assert(
      fc.property(contents, (some) => {
        const group = getGroup(...some);
        expectExactQuotes(group);
        expect(extract(group)).toEqual(extract(structuredClone(group)));
      }),
    );
  });
});

describe('facts that differ in a name, a number, a date or a negation', () => {
  it('facts that differ in a name, a number, a date or a negation include at least 200 pairs in at least 6 languages and of each kind', () => {
    expect(NEAR_PAIRS.length).toBeGreaterThanOrEqual(200);
    expect(new Set(NEAR_PAIRS.map(({ differsIn }) => differsIn))).toEqual(
      new Set(['name', 'number', 'date', 'negation']),
    );
    expect(new Set(NEAR_PAIRS.map(({ language }) => language)).size).toBeGreaterThanOrEqual(6);
    expect(new Set(NEAR_PAIRS.flatMap(({ texts }) => texts)).size).toBe(2 * NEAR_PAIRS.length);
  });

  it('facts that differ in a name, a number, a date or a negation are both quoted in full, each with its own source', () => {
    for (const { texts } of NEAR_PAIRS) {
      expect(extract(getGroup(...texts)).facts).toEqual([
        { text: texts[0], sources: ['memory-1'] },
        { text: texts[1], sources: ['memory-2'] },
      ]);
    }
  });

  it('facts that differ in a name, a number, a date or a negation are both quoted if the group also has other sources on the topic', () => {
    for (const { texts } of NEAR_PAIRS) {
      const group = getGroup(texts[0], texts.join(' '), texts[1], 'Noted.');
      for (const text of texts) expect(extract(group).content).toContain(text);
      expectExactQuotes(group);
    }
  });
});
