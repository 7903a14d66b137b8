import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { loadModel } from '@memoryd/minilm';
import { BUILT_FOLDER, MODEL_FILES } from '@memoryd/minilm/files';
import type { EmbeddedPart } from '@memoryd/minilm/parts';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Synonym } from '../ranking/query-terms.ts';
import { getCloseness, getNearest, readVocabulary } from './build/vocabulary.ts';
import { english, MAX_SYNONYMS, packTable, SynonymTable } from './table.ts';

const REBUILD = 'the synonym table does not match the model: run npm run synonyms';

/** Interval of terms that are verified with their synonyms. */
const SAMPLE_INTERVAL = 400;

/** Error of eight bits and of CPUs that round differently. */
const MAX_ERROR = 0.02;

const getTerm = ({ term }: Synonym) => term;

/** Returns the vectors of the words that represent terms. */
async function getVectors(terms: readonly string[]): Promise<Map<string, Float32Array>> {
  const words = await readVocabulary(join(BUILT_FOLDER, MODEL_FILES.tokenizer));
  const model = await loadModel(BUILT_FOLDER);
  const different = [...new Set(terms)];
  const parts = await model(
    different.map((term) => words.get(term) ?? ''),
    async () => {},
  );
  return new Map(different.map((term, i) => [term, (parts[i] as EmbeddedPart).vector]));
}

describe('English synonym table', () => {
  const file = readFileSync(createRequire(import.meta.url).resolve('@memoryd/search/synonyms/english'));
  const table = new SynonymTable(file);

  it('contains the words of the bundled model', async () => {
    const words = await readVocabulary(join(BUILT_FOLDER, MODEL_FILES.tokenizer));
    expect([...words.keys()], REBUILD).toEqual(table.terms);
  });

  it('contains the nearest words of each word according to the bundled model', async () => {
    const sample = table.terms.filter((_, place) => place % SAMPLE_INTERVAL === 0);
    const vectors = await getVectors([...sample, ...sample.flatMap((term) => table.getSynonyms(term).map(getTerm))]);
    for (const term of sample) {
      const synonyms = table.getSynonyms(term);
      const closenessByTerm = new Map(synonyms.map((synonym) => [synonym.term, synonym.closeness]));
      const last = synonyms.length < MAX_SYNONYMS ? 0 : (synonyms.at(-1)?.closeness as number);
      for (const [other, vector] of vectors) {
        if (other === term) continue;
        const closeness = getCloseness(vectors.get(term) as Float32Array, vector);
        const expected = closenessByTerm.get(other) ?? Math.min(last, closeness);
        expect(Math.abs(closeness - expected), `${term} and ${other}: ${REBUILD}`).toBeLessThan(MAX_ERROR);
      }
    }
  }, 60_000);

  it('returns the synonyms of a stem, closest first', () => {
    const synonyms = english.getSynonyms('doctor');
    expect(synonyms[0]?.term).toBe('physician');
    expect(synonyms.map(({ closeness }) => closeness)).toEqual(
      synonyms.map(({ closeness }) => closeness).toSorted((a, b) => b - a),
    );
    expect(english.getSynonyms('doctors')).toEqual([]);
    expect(english.getSynonyms('')).toEqual([]);
  });
});

describe('synonym table', () => {
  const anyVectors = fc
    .array(fc.array(fc.double({ min: -1, max: 1, noNaN: true }), { minLength: 3, maxLength: 3 }), { maxLength: 40 })
    .map((all) => all.map((values) => Float32Array.from(values, (value) => value / (Math.hypot(...values) || 1))));

  it('returns the stored synonyms, with a closeness that is accurate to 1/255', () => {
    fc.assert(
      fc.property(anyVectors, (vectors) => {
        const terms = vectors.map((_, place) => `${'ab'.repeat(place)}c`);
        const neighbors = [...getNearest(vectors)];
        const table = new SynonymTable(packTable(terms, neighbors));
        expect(table.terms).toEqual(terms);
        for (const [place, { places, closeness }] of neighbors.entries()) {
          const synonyms = table.getSynonyms(terms[place] as string);
          expect(places.length).toBeLessThanOrEqual(MAX_SYNONYMS);
          // Synonyms whose closeness rounds to 0 are omitted.
          expect(synonyms.map(({ term }) => term)).toEqual(places.map((near) => terms[near]).slice(0, synonyms.length));
          for (const [i, value] of closeness.entries()) {
            expect(Math.abs((synonyms[i]?.closeness ?? 0) - value)).toBeLessThanOrEqual(0.5 / 255 + 1e-9);
          }
        }
      }),
    );
  });
});
