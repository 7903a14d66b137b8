import { expect, it } from 'vitest';
import { unrelatedFacts } from './unrelated-facts.ts';

it('makes 300 different facts, each with a question of its own', () => {
  const { turns, questions } = unrelatedFacts();
  expect(new Set(turns.map(({ text }) => text)).size).toBe(300);
  expect(new Set(questions.map(({ text }) => text)).size).toBe(300);
  for (const { text } of [...turns, ...questions]) expect(text).not.toMatch(/NAME|VALUE/);
});
