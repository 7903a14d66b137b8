import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { getWordMatches } from '../ranking/bm25.ts';
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

/** Returns the ids of the best matches by words, in one store of all languages. */
function best(query: string, count: number): string[] {
  const words = queryWords(query);
  const columns = words.map((terms) =>
    memories.map(({ frequencies }) => Math.max(...terms.map((term) => frequencies.get(term) ?? 0))),
  );
  const matches = getWordMatches({
    memoryCount: memories.length,
    documentFrequencies: columns.map((column) => column.filter((frequency) => frequency > 0).length),
    everyday: new Float64Array(words.length),
    lengths: Uint32Array.from(memories, ({ length }) => length),
    frequencies: Uint16Array.from(memories.flatMap((_, row) => columns.map((column) => column[row] as number))),
    synonyms: [],
    synonymFrequencies: new Uint16Array(),
  });
  const getRow = (row: number) => matches.subarray(row * words.length, (row + 1) * words.length);
  return memories
    .map(({ id }, row) => ({ id, match: getRow(row).reduce((sum, match) => sum + match, 0) }))
    .filter(({ match }) => match > 0)
    .sort((a, b) => b.match - a.match)
    .slice(0, count)
    .map(({ id }) => id);
}

/** Languages without a stemmer of their own, or with inflections that theirs does not remove. */
const HARD = new Set(['ukrainian', 'arabic', 'romanian']);

describe('word search in a store of many languages', () => {
  it.each(languages)(
    'finds the answers in $language even if the question uses other inflected forms',
    ({ language, questions }) => {
      const found = questions.filter(({ query, relevant }) => best(query, 3).some((id) => relevant.includes(id)));
      expect(found.length / questions.length).toBeGreaterThanOrEqual(HARD.has(language) ? 0.7 : 0.9);
    },
  );

  it('finds nearly all answers over all languages, most of them as the first result', () => {
    const questions = languages.flatMap((set) => set.questions);
    const share = (count: number) =>
      questions.filter(({ query, relevant }) => best(query, count).some((id) => relevant.includes(id))).length /
      questions.length;
    expect(share(3)).toBeGreaterThanOrEqual(0.94);
    expect(share(1)).toBeGreaterThanOrEqual(0.91);
  });
});
