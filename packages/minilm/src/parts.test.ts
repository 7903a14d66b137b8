import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { BUILT_FOLDER, MODEL_FILES } from './files.ts';
import { takePart, WINDOW_LENGTH, windowAt } from './parts.ts';
import { PART_TOKENS, readTokenizer, type Tokenize } from './tokens.ts';

let tokenize: Tokenize;
beforeAll(async () => {
  ({ tokenize } = await readTokenizer(join(BUILT_FOLDER, MODEL_FILES.tokenizer)));
});

/** All parts of a text, as an embedder takes them. */
function getParts(text: string): { text: string; ids: number[] }[] {
  const parts: { text: string; ids: number[] }[] = [];
  for (let from = 0; from < text.length; ) {
    const { ids, length } = takePart(windowAt(text, from), tokenize, PART_TOKENS);
    expect(length).toBeGreaterThan(0);
    parts.push({ text: text.slice(from, from + length), ids });
    from += length;
  }
  return parts;
}

const SENTENCE = 'The gardener planted seventeen rose bushes along the southern wall of the monastery. ';
const WORDS = 'hammer lantern violin pepper bridge window orchard saddle ';

describe('the parts of a long text', () => {
  it.each([
    ['sentences', SENTENCE.repeat(200)],
    ['words without sentences', WORDS.repeat(300)],
    ['lines', 'milk, eggs and flour\n'.repeat(500)],
    ['code', 'if(a[i]<b[j]){c[k++]=a[i++];}else{c[k++]=b[j++];}\n'.repeat(150)],
  ])('hold every token of %s, in order and at most 254 in each', (_, text) => {
    const parts = getParts(text);
    expect(parts.length).toBeGreaterThan(2);
    for (const { ids } of parts) expect(ids.length).toBeLessThanOrEqual(PART_TOKENS);
    expect(parts.flatMap(({ ids }) => ids)).toEqual(tokenize(text));
  });

  it.each([
    ['one word', 'x'.repeat(20_000)],
    ['syllables that fall apart into letters', '한'.repeat(1000)],
    ['letters that join into one character without end', '\u1100'.repeat(5000)],
    ['emoji of several characters', '👩‍👩‍👧‍👦'.repeat(1000)],
    ['characters of two units', '𒀀'.repeat(6000)],
  ])('cover %s whole and cut no character in two', (_, text) => {
    const parts = getParts(text);
    expect(parts.map((part) => part.text).join('')).toBe(text);
    for (const part of parts) {
      expect(part.ids.length).toBeLessThanOrEqual(PART_TOKENS);
      expect(part.text.isWellFormed()).toBe(true);
    }
  });

  it('end at the ends of sentences', () => {
    for (const part of getParts(SENTENCE.repeat(100))) expect(part.text.trimEnd()).toMatch(/monastery\.$/);
  });

  it('end at the ends of words where a sentence is too long', () => {
    const parts = getParts(WORDS.repeat(200));
    const words = parts.flatMap((part) => part.text.trim().split(/\s+/));
    expect(new Set(words)).toEqual(new Set(WORDS.trim().split(' ')));
  });

  it('are at least half full before the last', () => {
    const text = `Yes. ${SENTENCE.repeat(30)} ${WORDS.repeat(60)}. No. ${'x,'.repeat(2000)}`;
    for (const { ids } of getParts(text).slice(0, -1)) expect(ids.length).toBeGreaterThanOrEqual(PART_TOKENS / 2);
  });

  it('are taken from windows that never grow', () => {
    const text = WORDS.repeat(1000);
    for (const from of [0, 1, 5000]) expect(windowAt(text, from).length).toBeLessThanOrEqual(WINDOW_LENGTH);
    expect(windowAt(text, 0)).toMatch(/ $/);
  });
});

describe('long words', () => {
  it('are tokenised in pieces instead of becoming one unknown token', () => {
    expect(tokenize('lighthouse'.repeat(20)).length).toBeGreaterThan(10);
    expect(tokenize('ǖ'.repeat(60)).length).toBeGreaterThan(10);
  });

  it('are left whole up to 64 characters', () => {
    const word = 'electroencephalographically'.repeat(2);
    expect(tokenize(`(${word})`)).toEqual([...tokenize('('), ...tokenize(word), ...tokenize(')')]);
    expect(tokenize(word)).not.toEqual(tokenize(`${word.slice(0, 16)} ${word.slice(16)}`));
  });
});

describe('a text', () => {
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
    ['Chinese with a name of English', 'user: 我明天下午三点去图书馆还书。'],
    ['nothing but signs that it does not know', '🎉'],
  ])('in %s has no tokens, since the model does not know it', (_, text) => {
    expect(tokenize(text)).toEqual([]);
  });

  it.each([
    ['English with a name in Chinese', 'Her friend 李明 lives in Beijing.'],
    ['German', 'Ich habe gestern mit meiner Tante telefoniert.'],
    ['Polish', 'Jutro idziemy na grzyby, weź kosz i nóż.'],
    ['Vietnamese', 'Tối nay chúng ta ăn phở ở quán gần nhà.'],
    ['code', 'if(a[i]<b[j]){c[k++]=a[i++];}'],
    ['numbers and signs', '3 + 4 = 7?'],
  ])('of %s has tokens', (_, text) => {
    expect(tokenize(text).length).toBeGreaterThan(0);
  });
});
