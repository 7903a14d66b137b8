import type { Thesaurus } from '@memoryd/search';
import { wordMatcher } from '@memoryd/search';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createHighlighter } from './highlight.ts';

const NO_SYNONYMS: Thesaurus = { getSynonyms: () => [], getRank: () => undefined };
const SYNONYMS: Thesaurus = {
  getSynonyms(term) {
    const terms = { doctor: ['physician', 'medic'], vehicl: ['car'] }[term] ?? [];
    return terms.map((term) => ({ term, closeness: 0.9, rank: 0 }));
  },
  getRank: () => undefined,
};

function highlight(query: string, content: string, thesaurus = NO_SYNONYMS): string {
  return createHighlighter(query, thesaurus)(content);
}

/** Sentences without words of the queries below. */
const filler = (chars: number) => `${'Lorem ipsum dolor sit amet. '.repeat(chars / 28 + 1).slice(0, chars - 2)}. `;

describe('a highlighter', () => {
  it('returns the part around the rarer of two English words if they are far apart', () => {
    const content = `They live here. ${filler(600)}The quokka sleeps.`;
    const ranks = { live: 5, quokka: undefined };
    const thesaurus: Thesaurus = { ...NO_SYNONYMS, getRank: (term) => ranks[term as keyof typeof ranks] };
    expect(highlight('where does the quokka live', content, thesaurus)).toContain('quokka');
    expect(highlight('where does the quokka live', content)).toContain('live');
  });

  it('returns a text of at most 300 characters unchanged', () => {
    const content = `  ${filler(297)}\n`;
    expect(content).toHaveLength(300);
    expect(highlight('ipsum', content)).toBe(content);
    expect(highlight('x', '😀'.repeat(300))).toBe('😀'.repeat(300));
    expect(highlight('x', `${content}.`).length).toBeLessThan(300);
  });

  it('returns the beginning of a text that contains no query word', () => {
    const content = `\n A title. ${filler(1000)}`;
    const found = highlight('peanuts', content);
    expect(content.trimStart().startsWith(found)).toBe(true);
    expect(found.length).toBeGreaterThan(270);
    expect(highlight('peanuts', 'x'.repeat(1000))).toBe('x'.repeat(300));
  });

  it('returns the part around a rare word at the end of 100,000 characters', () => {
    const content = `${filler(99_979)}\nThe code is zanzibar`;
    expect(content).toHaveLength(100_000);
    const found = highlight('What is the zanzibar?', content);
    expect(found).toMatch(/^Lorem ipsum.*\nThe code is zanzibar$/s);
    expect(found.length).toBeGreaterThan(270);
  });

  it('returns the part with the most distinct query words, even if another part repeats one of them', () => {
    const content = `${filler(500)}peanut peanut peanut. ${filler(500)}Ada avoids peanuts. ${filler(500)}`;
    expect(highlight('Does Ada avoid peanuts?', content)).toMatch(/^Ada avoids peanuts\. Lorem/);
  });

  it('returns a part that begins with the sentence or line of the query word if that starts close enough', () => {
    const sentence = 'In spring, as every year, she plants tomatoes.';
    for (const border of ['Yes. ', 'Yes?  ', 'a line\n', '- one item\r\n', 'He said “no.” ', '终わり。']) {
      const found = highlight('tomatoes', `${'x '.repeat(300)}${border}${sentence} ${'y '.repeat(300)}`);
      expect(found.startsWith(sentence), border).toBe(true);
    }
  });

  it('returns a part that begins and ends between words, with context on both sides, if no sentence starts close enough', () => {
    const content = `${'before '.repeat(100)}tomatoes ${'after '.repeat(100)}`;
    expect(highlight('tomatoes', content)).toMatch(/^(before ){5,}tomatoes (after ){5,}after$/);
    const end = `${'before '.repeat(100)}tomatoes`;
    expect(highlight('tomatoes', end)).toMatch(/^(before ){40,}tomatoes$/);
  });

  it('returns a highlight with all query words if they span exactly 300 characters', () => {
    const part = `tomato ${'x'.repeat(286)} peanut`;
    expect(part).toHaveLength(300);
    expect(highlight('tomato peanut', `${'x '.repeat(200)}ripe_${part}_butter${' x'.repeat(200)}`)).toBe(part);
    const shorter = part.replace('xxxx', '');
    expect(highlight('tomato peanut', `${'x '.repeat(200)}ripe_${shorter}_bbe\u0301 x`)).toBe(`${shorter}_bb`);
  });

  it('returns the first part that can begin with a sentence if several parts contain the same query words', () => {
    const cut = `${'x '.repeat(200)}tomatoes ${'x '.repeat(200)}`;
    const whole = `- The tomatoes are ripe, says Ada ${'y '.repeat(200)}`;
    expect(highlight('tomatoes', `${cut}\n${whole}\n${whole}`)).toMatch(/^- The tomatoes are ripe, says Ada y y/);
    expect(highlight('tomatoes', `${cut}${cut.replaceAll('x', 'y')}`)).toBe(highlight('tomatoes', cut));
    expect(highlight('tomatoes', `The tomatoes ${cut}\n${whole}`)).toMatch(/^The tomatoes x/);
    const red = (text: string) => text.replace('tomatoes', 'red tomatoes');
    expect(highlight('red tomatoes', `Tomatoes ${red(cut)}\n${red(whole)}`)).toMatch(/^- The red tomatoes/);
  });

  it('returns the part around a synonym if the text does not contain the query word', () => {
    const content = `${filler(500)}The physician comes. ${filler(500)}`;
    expect(highlight('doctor', content, SYNONYMS)).toMatch(/^The physician comes\./);
    expect(highlight('doctor', content)).toMatch(/^Lorem/);
  });

  it('prefers a part with one query word to a part with synonyms of two other query words', () => {
    const content = `A physician and a medic with a car. ${filler(500)}The harbour. ${filler(500)}`;
    expect(highlight('doctor vehicle harbour', content, SYNONYMS)).toMatch(/^The harbour\./);
  });

  it('ignores a synonym if the part contains the query word itself', () => {
    const content = `The doctor is here. ${filler(500)}The doctor, a physician. ${filler(500)}`;
    expect(highlight('doctor', content, SYNONYMS)).toMatch(/^The doctor is here\./);
    const harbour = `A physician at the harbour. ${filler(500)}The doctor, a physician at the harbour. ${filler(500)}`;
    expect(highlight('doctor harbour', harbour, SYNONYMS)).toMatch(/^The doctor, a physician/);
  });

  it('returns the place around a part of a query word if the text does not contain the word', () => {
    const content = `${filler(500)}The one is in בבקבוק here. ${filler(500)}`;
    expect(highlight('הבקבוק', content)).toContain('בבקבוק');
    expect(highlight('הבקבוק', `${content}הבקבוק`)).not.toContain('בבקבוק');
  });

  it('matches inflected forms in the language of the text', () => {
    const content = `${'Das ist noch nicht alles, und es geht weiter. '.repeat(20)}Die Kinder spielen mit dem Ball.`;
    expect(highlight('mit den Kindern', content)).toContain('Die Kinder spielen');
    const apart = `Der Garten. ${content}\nEs ist der Garten, und er ist nicht groß. ${content}`;
    expect(highlight('mit den Kindern im Garten', apart)).toMatch(/^Die Kinder.*\n.*Garten/);
  });

  it('matches words in scripts without spaces, and ends the highlight between words', () => {
    const content = `${'今日は雨が降っています。'.repeat(40)}来月の読書会は京都です。${'明日は晴れるでしょう。'.repeat(40)}`;
    expect(highlight('読書会', content)).toMatch(/^来月の読書会は京都です。明日/);
  });

  it('searches at most maxUnits over all texts, and returns the beginning of the remaining texts', () => {
    const content = `${filler(900)}Tomatoes. ${filler(90)}`;
    const first = createHighlighter('tomatoes', NO_SYNONYMS, 1900);
    expect(first(content)).toContain('Tomatoes');
    expect(first(content)).not.toContain('Tomatoes');
    // A text that is its own highlight does not count.
    const second = createHighlighter('tomatoes', NO_SYNONYMS, 1000);
    expect(second('Short.')).toBe('Short.');
    expect(second(content)).toContain('Tomatoes');
  });

  it('a highlighter does not split a grapheme', () => {
    const family = '👩🏽‍👩🏽‍👧🏽‍👦🏽';
    expect(highlight('y', family.repeat(100)).length % family.length).toBe(0);
    const accents = 'e\u0301'.repeat(300);
    expect(highlight('😀', `${accents}😀${accents}`)).toMatch(/^(?:e\u0301)+😀(?:e\u0301)+$/);
    const part = `😀 ${'x'.repeat(289)} tomato`;
    expect(highlight('😀 tomato', `${accents}${part}s ${filler(500)}`)).toBe(`${part}s`);
    // Both words fit, but not with all marks of the second.
    const far = `読書会 ${'x'.repeat(200)} fooBar${'\u0301'.repeat(95)}`;
    expect(far.length).toBeGreaterThan(300);
    expect(highlight('読書会 fooBar', far)).toMatch(/^x+ fooBar\u0301{95}$/);
    const marked = `cafe${'\u0301'.repeat(150)}`;
    expect(highlight('café', `${filler(500)}${'y '.repeat(110)}${marked}${' z'.repeat(200)}`)).toContain(marked);
  });

  it('splits a grapheme that is longer than a highlight between two code points', () => {
    const marks = '\u0301'.repeat(400);
    expect(highlight('y', `x${marks}`)).toBe(`x${marks}`.slice(0, 300));
    expect(highlight('y', `x${'🏽'.repeat(500)}`)).toBe(`x${'🏽'.repeat(149)}`);
    const content = `Tomatoes and cafe${marks}`;
    expect(highlight('tomatoes café', content)).toBe(content.slice(0, 300));
    expect(highlight('👧', `👩${marks}\u200d👧 ${filler(500)}`)).toContain('👧');
    expect(highlight('😀 harbour', `😀${marks} ${filler(500)}The harbour. ${filler(500)}`)).toMatch(/^The harbour\./);
  });
});

describe('a highlight for any query and text', () => {
  const words = fc.constantFrom('Ada', 'peanut', 'café', 'Kinder', 'v1.2.3', '読書会', '😀', "don't", 'fooBar', 'C++');
  const query = fc.oneof(
    fc.array(words, { minLength: 1, maxLength: 3 }).map((all) => all.join(' ')),
    fc.string({ minLength: 1 }),
  );
  const repeated = fc
    .tuple(fc.constantFrom('lorem ', 'a', 'ipsum. ', '\u0301', '🇫🇷', '字', '👩‍👧'), fc.integer({ min: 1, max: 200 }))
    .map(([unit, times]) => unit.repeat(times));
  const piece = fc.oneof(
    words,
    fc.constantFrom(' ', '. ', ', ', '\n', '。', '-', '\r\n'),
    fc.string({ unit: 'grapheme', maxLength: 60 }),
    fc.string({ unit: 'binary', maxLength: 60 }),
    repeated,
  );
  const graphemes = (text: string) => [...new Intl.Segmenter('en').segment(text)];
  const content = fc
    .array(piece, { minLength: 5, maxLength: 40 })
    .map((pieces) => pieces.join(''))
    .filter((text) => /\S/.test(text) && graphemes(text).every(({ segment }) => segment.length <= 300));

  it('a highlight for any query and text is a substring of at most 300 characters with whole graphemes', () => {
    fc.assert(
      fc.property(query, content, (query, content) => {
        const found = highlight(query, content);
        expect([...found].length).toBeLessThanOrEqual(300);
        expect(found).toMatch(/\S/);
        const borders = new Set([...graphemes(content).map(({ index }) => index), content.length]);
        const starts = [...borders].filter((start) => content.startsWith(found, start));
        expect(starts.some((start) => borders.has(start + found.length))).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  it('contains a query word if the text contains one', () => {
    fc.assert(
      fc.property(query, content, (query, content) => {
        const matched = wordMatcher(query, content.length)(content);
        const found = highlight(query, content);
        expect(matched.length === 0 || matched.some((word) => found.includes(word))).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  it('contains as many distinct query words as any part of 300 characters', () => {
    const asked = ['peanut', 'garden', 'tomato', 'harbour'];
    const word = fc.constantFrom(...asked, ...Array(20).fill('lorem'), 'Dolor.', 'x'.repeat(60));
    const getCount = (text: string) => asked.filter((word) => text.split(' ').includes(word)).length;
    fc.assert(
      fc.property(fc.array(word, { minLength: 60, maxLength: 200 }), (all) => {
        const content = all.join(' ');
        const parts = [...content.matchAll(/(?<=^| )\S/g)].map(({ index }) => content.slice(index, index + 301));
        // A word that a part contains only partly is removed.
        const most = Math.max(...parts.map((part) => getCount(part.length > 300 ? part.replace(/ ?\S*$/, '') : part)));
        expect(getCount(highlight(asked.join(' '), content))).toBe(most);
      }),
    );
  });
});
