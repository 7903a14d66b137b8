import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { wordMatches } from '../ranking/bm25.ts';
import { queryWords, termFrequencies } from './analyze.ts';

interface LanguageSet {
  language: string;
  memories: { id: string; content: string }[];
  questions: { query: string; relevant: string[] }[];
}

const fixture = new URL('./fixtures/languages.json', import.meta.url);
const languages = JSON.parse(readFileSync(fixture, 'utf8')) as LanguageSet[];
const memories = languages
  .flatMap((set) => set.memories)
  .map(({ id, content }) => ({ id, ...termFrequencies(content) }));

/** The ids of the memories that match a query best by its words, in one store of all languages. */
function best(query: string, count: number): string[] {
  const words = queryWords(query);
  const columns = words.map((terms) =>
    memories.map(({ frequencies }) => Math.max(...terms.map((term) => frequencies.get(term) ?? 0))),
  );
  const matches = wordMatches({
    memoryCount: memories.length,
    documentFrequencies: columns.map((column) => column.filter((frequency) => frequency > 0).length),
    everyday: new Float64Array(words.length),
    lengths: Uint32Array.from(memories, ({ length }) => length),
    frequencies: Uint16Array.from(memories.flatMap((_, row) => columns.map((column) => column[row] as number))),
    synonyms: [],
    synonymFrequencies: new Uint16Array(),
  });
  const ofRow = (row: number) => matches.subarray(row * words.length, (row + 1) * words.length);
  return memories
    .map(({ id }, row) => ({ id, match: ofRow(row).reduce((sum, match) => sum + match, 0) }))
    .filter(({ match }) => match > 0)
    .sort((a, b) => b.match - a.match)
    .slice(0, count)
    .map(({ id }) => id);
}

/** Languages that have no stemmer of their own, or inflect beyond what theirs takes off. */
const HARD = new Set(['ukrainian', 'arabic', 'romanian']);

describe('one store of many languages, by words alone', () => {
  it.each(languages)(
    'finds what questions in $language ask for, in other forms of its words',
    ({ language, questions }) => {
      const found = questions.filter(({ query, relevant }) => best(query, 3).some((id) => relevant.includes(id)));
      expect(found.length / questions.length).toBeGreaterThanOrEqual(HARD.has(language) ? 0.7 : 0.9);
    },
  );

  it('finds nearly all of them, most at the first place', () => {
    const questions = languages.flatMap((set) => set.questions);
    const share = (count: number) =>
      questions.filter(({ query, relevant }) => best(query, count).some((id) => relevant.includes(id))).length /
      questions.length;
    expect(share(3)).toBeGreaterThanOrEqual(0.94);
    expect(share(1)).toBeGreaterThanOrEqual(0.91);
  });
});
