import { expect, it } from 'vitest';
import { createUnrelatedFacts } from './unrelated-facts.ts';

it('createUnrelatedFacts creates 300 different facts, each with its own question', () => {
  const { turns, questions } = createUnrelatedFacts();
  expect(new Set(turns.map(({ text }) => text)).size).toBe(300);
  expect(new Set(questions.map(({ text }) => text)).size).toBe(300);
  for (const { text } of [...turns, ...questions]) expect(text).not.toMatch(/NAME|VALUE/);
});
