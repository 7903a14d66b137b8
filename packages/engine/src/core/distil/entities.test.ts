import { expect, it } from 'vitest';
import { mostMemoriesOfRareWord } from './entities.ts';

it.each([
  [0, 12],
  [1000, 12],
  [3000, 30],
  [1_000_000, 64],
])('of %i memories, a word in at most %i is rare', (memories, most) => {
  expect(mostMemoriesOfRareWord(memories)).toBe(most);
});
