import { describe, expect, it } from 'vitest';
import { splitBlocks } from './split-text.ts';

describe('splitBlocks', () => {
  it.each([
    ['short blocks together', ['one', 'two', 'three'], ['one\n\ntwo', 'three']],
    ['a long paragraph at its sentences', ['Ada ran. Ben sat. Mara.'], ['Ada ran.', 'Ben sat.', 'Mara.']],
    ['a list at its lines', ['- one apple\n- two figs'], ['- one apple', '- two figs']],
    ['a long sentence at a space', ['one two three four'], ['one two', 'three four']],
    ['a block of code at its lines', ['```\na. b. c\nd. e\n```'], ['```\na. b. c', 'd. e\n```']],
    ['a word without a space anywhere', ['abcdefghijklmnop'], ['abcdefghijkl', 'mnop']],
    ['a text without spaces between whole characters', [`x${'🦊'.repeat(6)}`], [`x${'🦊'.repeat(5)}`, '🦊']],
    ['a text in Chinese at its sentences', ['今天下雨。我去了学校。好。'], ['今天下雨。我去了学校。', '好。']],
  ])('splits %s', (_case, blocks, texts) => {
    expect([...splitBlocks(blocks, 12)]).toEqual(texts);
  });
});
