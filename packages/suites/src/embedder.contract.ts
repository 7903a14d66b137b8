import type { Embedder, Embedding, EmbedPurpose } from '@memoryd/core/models';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { embedVectors } from './embedder.fixture.ts';

const PURPOSES: EmbedPurpose[] = ['query', 'memory'];

/** Texts far apart in length, language and subject. */
const TEXTS = [
  'ok',
  'The ferry to the island leaves at seven in the morning.',
  'const sum = (a, b) => a + b;',
  'Die Fähre zur Insel legt um sieben Uhr ab.',
  '🎉 at last 🎉',
  'She keeps bees on the roof of the town hall and sells the honey at the market. '.repeat(4),
];

/** Longer than the window of any model. */
const LONG_TEXT = Array.from({ length: 60 }, (_, i) => `Entry ${i} of the harbour log says that it rained.`).join(' ');

function cosine(a: Float32Array | undefined, b: Float32Array | undefined): number {
  if (!a || !b || a.length !== b.length) return Number.NaN;
  return a.reduce((sum, value, i) => sum + value * (b[i] as number), 0);
}

/**
 * Contract tests of the `Embedder` port. `open` opens a new embedder on each call.
 *
 * @returns a getter of the embedder that these tests share, for further tests
 */
export function embedderContract(open: () => Promise<Embedder>): () => Embedder {
  let embedder: Embedder;

  beforeAll(async () => {
    embedder = await open();
  });
  afterAll(() => embedder.close());

  it('an embedder has a model id, a vector length and a maximum batch size', () => {
    expect(embedder.modelId).toMatch(/\S/);
    expect(embedder.dimensions).toBeGreaterThan(0);
    expect(embedder.maxBatchSize).toBeGreaterThan(0);
  });

  it('an embedder has the same model id each time it is opened', async () => {
    const another = await open();
    expect(another.modelId).toBe(embedder.modelId);
    await another.close();
  });

  it.each(PURPOSES)(
    'returns for each %s, in order, a unit vector with the number of dimensions of the model',
    async (purpose) => {
      const lists = await embedVectors(embedder, TEXTS, purpose);
      expect(lists).toHaveLength(TEXTS.length);
      for (const [i, list] of lists.entries()) {
        const [alone] = await embedVectors(embedder, [TEXTS[i] as string], purpose);
        expect(list).toHaveLength(1);
        expect(list[0]).toHaveLength(embedder.dimensions);
        expect(cosine(list[0], list[0])).toBeCloseTo(1, 4);
        expect(cosine(list[0], alone?.[0])).toBeGreaterThan(0.99);
      }
    },
  );

  it('returns vectors with a higher cosine for related texts than for unrelated texts', async () => {
    const [[near], [query], [far]] = (await embedVectors(
      embedder,
      ['The boat sails at dawn.', 'When does the boat depart?', 'He is allergic to walnuts.'],
      'memory',
    )) as [[Float32Array], [Float32Array], [Float32Array]];
    expect(cosine(near, query)).toBeGreaterThan(cosine(far, query) + 0.1);
  });

  it.each(PURPOSES)('returns at most one vector for a %s without content', async (purpose) => {
    const texts = ['', ' \n\t', '\u0001\u200b', '𒀀'];
    const lists = await embedVectors(embedder, texts, purpose);
    expect(lists).toHaveLength(texts.length);
    for (const list of lists) {
      expect(list.length).toBeLessThanOrEqual(1);
      for (const vector of list) expect(cosine(vector, vector)).toBeCloseTo(1, 4);
    }
  });

  it('returns an empty list for an empty list of texts', async () => {
    expect(await embedVectors(embedder, [], 'memory')).toEqual([]);
  });

  it('accepts a batch of the maximum size and rejects a larger one', async () => {
    const texts = Array.from({ length: embedder.maxBatchSize }, (_, i) => `memory ${i}`);
    expect(await embedVectors(embedder, texts, 'memory')).toHaveLength(texts.length);
    await expect(embedder.embed([...texts, 'one more'], 'memory')).rejects.toThrow(RangeError);
  });

  it('returns several vectors for a long memory, and one vector for a long query', async () => {
    const [[ofMemory], [ofQuery]] = await Promise.all([
      embedVectors(embedder, [LONG_TEXT], 'memory'),
      embedVectors(embedder, [LONG_TEXT], 'query'),
    ]);
    expect(ofMemory?.length).toBeGreaterThan(1);
    for (const vector of ofMemory ?? []) expect(cosine(vector, vector)).toBeCloseTo(1, 4);
    expect(ofQuery).toHaveLength(1);
    expect(cosine(ofQuery?.[0], ofQuery?.[0])).toBeCloseTo(1, 4);
  });

  it.each([1, 3])(
    'returns the vectors of the whole text if a long memory is embedded %i parts at a time',
    async (maxParts) => {
      const text = `${LONG_TEXT}${' '.repeat(9000)}${LONG_TEXT} 🎉`;
      const [whole] = await embedder.embed([text], 'memory');
      const joined: Embedding = { vectors: [] };
      let pieces = 0;
      for (let from: number | undefined = 0; from !== undefined; pieces++) {
        const [piece] = (await embedder.embed([text.slice(from)], 'memory', maxParts)) as [Embedding];
        expect(piece.vectors.length).toBeLessThanOrEqual(maxParts);
        joined.vectors.push(...piece.vectors);
        if (piece.states) joined.states = [...(joined.states ?? []), ...piece.states];
        if (piece.next !== undefined) expect(piece.next).toBeGreaterThan(0);
        from = piece.next === undefined ? undefined : from + piece.next;
      }
      expect(pieces).toBeGreaterThan(2);
      expect(whole).not.toHaveProperty('next');
      expect(joined).toEqual(whole);
    },
  );

  it('embeds a query before the last of the memories that are already queued', async () => {
    const completed: string[] = [];
    // The maximum number of waiting calls, and more than any adapter embeds at once: in order of arrival, the query
    // would come last.
    const text = LONG_TEXT.slice(0, 1500);
    const memories = Array.from({ length: 8 }, () =>
      embedder.embed([text], 'memory').then(() => completed.push('memory')),
    );
    await embedVectors(embedder, ['What does the log say?'], 'query').then(() => completed.push('query'));
    await Promise.all(memories);
    expect(completed.at(-1)).toBe('memory');
  });

  it('rejects queued calls when it is closed, and all calls after that', async () => {
    const closing = await open();
    const waiting = [closing.embed([LONG_TEXT], 'memory'), closing.embed([LONG_TEXT], 'memory')];
    const outcomes = Promise.allSettled(waiting);
    await closing.close();
    expect((await outcomes).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await expect(closing.embed(['too late'], 'query')).rejects.toThrow();
  });

  return () => embedder;
}
