import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { useServer } from './under-test.ts';

interface LanguageSet {
  language: string;
  memories: { id: string; content: string }[];
  questions: { query: string; relevant: string[] }[];
}

/** Memories in many languages, and questions that use other forms of their words. */
const fixture = new URL('../../search/src/text/fixtures/languages.json', import.meta.url);
const languages = JSON.parse(readFileSync(fixture, 'utf8')) as LanguageSet[];

describe('recall by terms and embeddings in a namespace with many languages', () => {
  const memoryd = useServer({ env: { SERVICE_CONSOLIDATION_INTERVAL_SECONDS: '0' } });
  const ids = new Map<string, string>();
  let totalFound = 0;

  beforeAll(async () => {
    const memories = languages.flatMap((set) => set.memories);
    const stored = await memoryd.storeAll(memories.map(({ content }) => ({ content })));
    for (const [n, memory] of memories.entries()) ids.set(memory.id, stored[n] as string);
    await memoryd.embedded();
  });

  it.each(languages)('finds the answers to at least 70% of the questions in $language', async ({ questions }) => {
    let found = 0;
    for (const { query, relevant } of questions) {
      const first = await memoryd.recalled(query, 'top_k=3');
      if (relevant.some((id) => first.includes(ids.get(id) as string))) found++;
    }
    totalFound += found;
    expect(found / questions.length).toBeGreaterThanOrEqual(0.7);
  });

  it('finds the answers to at least 90% of the questions over all languages', () => {
    const asked = languages.flatMap((set) => set.questions).length;
    expect(totalFound / asked).toBeGreaterThanOrEqual(0.9);
  });
});
