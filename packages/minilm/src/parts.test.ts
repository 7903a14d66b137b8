import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { BUILT_FOLDER, MODEL_FILES } from './files.ts';
import { getWindow, takePart, WINDOW_LENGTH } from './parts.ts';
import { PART_TOKENS, readTokenizer, type Tokenize } from './tokens.ts';

let tokenize: Tokenize;
beforeAll(async () => {
  ({ tokenize } = await readTokenizer(join(BUILT_FOLDER, MODEL_FILES.tokenizer)));
});

/** Splits a text into parts. */
function getParts(text: string): { text: string; ids: number[] }[] {
  const parts: { text: string; ids: number[] }[] = [];
  for (let from = 0; from < text.length; ) {
    const { ids, length } = takePart(getWindow(text, from), tokenize, PART_TOKENS);
    expect(length).toBeGreaterThan(0);
    parts.push({ text: text.slice(from, from + length), ids });
    from += length;
  }
  return parts;
}

const SENTENCE = 'The gardener planted seventeen rose bushes along the southern wall of the monastery. ';
const WORDS = 'hammer lantern violin pepper bridge window orchard saddle ';

describe('parts of a long text', () => {
  it.each([
    ['sentences', SENTENCE.repeat(200)],
    ['words without sentences', WORDS.repeat(300)],
    ['lines', 'milk, eggs and flour\n'.repeat(500)],
    ['code', 'if(a[i]<b[j]){c[k++]=a[i++];}else{c[k++]=b[j++];}\n'.repeat(150)],
  ])('parts of a long text contain all tokens of %s in order, with at most 254 tokens per part', (_, text) => {
    const parts = getParts(text);
    expect(parts.length).toBeGreaterThan(2);
    for (const { ids } of parts) expect(ids.length).toBeLessThanOrEqual(PART_TOKENS);
    expect(parts.flatMap(({ ids }) => ids)).toEqual(tokenize(text));
  });

  it.each([
    ['one word', 'x'.repeat(20_000)],
    ['syllables that decompose into letters', '한'.repeat(1000)],
    ['letters that combine into one endless character', '\u1100'.repeat(5000)],
    ['emoji of several characters', '👩‍👩‍👧‍👦'.repeat(1000)],
    ['characters of two units', '𒀀'.repeat(6000)],
  ])('parts of a long text contain the whole text of %s without splitting a character', (_, text) => {
    const parts = getParts(text);
    expect(parts.map((part) => part.text).join('')).toBe(text);
    for (const part of parts) {
      expect(part.ids.length).toBeLessThanOrEqual(PART_TOKENS);
      expect(part.text.isWellFormed()).toBe(true);
    }
  });

  it('parts of a long text end at the ends of sentences', () => {
    for (const part of getParts(SENTENCE.repeat(100))) expect(part.text.trimEnd()).toMatch(/monastery\.$/);
  });

  it('parts of a long text end at the ends of words if a sentence is too long', () => {
    const parts = getParts(WORDS.repeat(200));
    const words = parts.flatMap((part) => part.text.trim().split(/\s+/));
    expect(new Set(words)).toEqual(new Set(WORDS.trim().split(' ')));
  });

  it('parts of a long text are at least half full, except the last part', () => {
    const text = `Yes. ${SENTENCE.repeat(30)} ${WORDS.repeat(60)}. No. ${'x,'.repeat(2000)}`;
    for (const { ids } of getParts(text).slice(0, -1)) expect(ids.length).toBeGreaterThanOrEqual(PART_TOKENS / 2);
  });

  it('parts of a long text are cut from windows of limited length', () => {
    const text = WORDS.repeat(1000);
    for (const from of [0, 1, 5000]) expect(getWindow(text, from).length).toBeLessThanOrEqual(WINDOW_LENGTH);
    expect(getWindow(text, 0)).toMatch(/ $/);
  });
});

describe('tokenizing a long word', () => {
  it('splits the word into several tokens instead of one unknown token', () => {
    expect(tokenize('lighthouse'.repeat(20)).length).toBeGreaterThan(10);
    expect(tokenize('ǖ'.repeat(60)).length).toBeGreaterThan(10);
  });

  it('tokenizing a long word does not split a word of up to 64 characters', () => {
    const word = 'electroencephalographically'.repeat(2);
    expect(tokenize(`(${word})`)).toEqual([...tokenize('('), ...tokenize(word), ...tokenize(')')]);
    expect(tokenize(word)).not.toEqual(tokenize(`${word.slice(0, 16)} ${word.slice(16)}`));
  });
});

describe('tokenizing a text', () => {
  it.each([
    ['Chinese', '我明天下午三点去图书馆还书。'],
    ['Japanese', '今日は天気がいいので、川沿いを散歩しました。'],
    ['Korean', '내일 저녁에 같이 밥 먹을래요?'],
    ['Arabic', 'متى يفتح المتحف يوم الجمعة؟'],
    ['Hindi', 'कल सुबह बारिश होगी, छाता ले आना।'],
    ['Thai', 'วันนี้อากาศดีมาก'],
    ['Russian', 'Завтра встречаемся в шесть у фонтана.'],
    ['Greek', 'Το πλοίο φεύγει στις οκτώ το πρωί.'],
    ['Hebrew', 'שלום, מתי מתחיל השיעור?'],
    ['Chinese with an English name', 'user: 我明天下午三点去图书馆还书。'],
    ['only unknown symbols', '🎉'],
  ])('returns no tokens for %s', (_, text) => {
    expect(tokenize(text)).toEqual([]);
  });

  it.each([
    ['English with a name in Chinese', 'Her friend 李明 lives in Beijing.'],
    ['German', 'Ich habe gestern mit meiner Tante telefoniert.'],
    ['Polish', 'Jutro idziemy na grzyby, weź kosz i nóż.'],
    ['Vietnamese', 'Tối nay chúng ta ăn phở ở quán gần nhà.'],
    ['code', 'if(a[i]<b[j]){c[k++]=a[i++];}'],
    ['numbers and symbols', '3 + 4 = 7?'],
  ])('returns tokens for %s', (_, text) => {
    expect(tokenize(text).length).toBeGreaterThan(0);
  });
});
