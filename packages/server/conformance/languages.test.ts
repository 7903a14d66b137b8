import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { useServer, WORDS_ONLY } from './under-test.ts';

interface LanguageSet {
  language: string;
  memories: { id: string; content: string }[];
  questions: { query: string; relevant: string[] }[];
}

/** Memories in many languages, and questions that ask for them in other forms of their words. */
const fixture = new URL('../../engine/src/core/text/fixtures/languages.json', import.meta.url);
const languages = JSON.parse(readFileSync(fixture, 'utf8')) as LanguageSet[];

/** What one server finds with all languages in one namespace. */
function describeLanguages(name: string, env: Record<string, string>, leastShare: number): void {
  describe(name, () => {
    const memoryd = useServer({ env });
    const ids = new Map<string, string>();
    let foundInAll = 0;

    beforeAll(async () => {
      const memories = languages.flatMap((set) => set.memories);
      const stored = await memoryd.storeAll(memories.map(({ content }) => ({ content })));
      for (const [n, memory] of memories.entries()) ids.set(memory.id, stored[n] as string);
      await memoryd.embedded();
    });

    it.each(languages)('answers questions in $language', async ({ questions }) => {
      let found = 0;
      for (const { query, relevant } of questions) {
        const first = await memoryd.recalled(query, 'top_k=3');
        if (relevant.some((id) => first.includes(ids.get(id) as string))) found++;
      }
      foundInAll += found;
      expect(found / questions.length).toBeGreaterThanOrEqual(0.7);
    });

    it('answers nearly all of them', () => {
      const asked = languages.flatMap((set) => set.questions).length;
      expect(foundInAll / asked).toBeGreaterThanOrEqual(leastShare);
    });
  });
}

describeLanguages(
  'many languages in one namespace, by words and meaning',
  { SERVICE_SLEEP_INTERVAL_SECONDS: '0' },
  0.9,
);
describeLanguages('many languages in one namespace, by words alone', WORDS_ONLY, 0.94);
