import { once } from 'node:events';
import { copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { Command } from 'commander';
import { parseInteger } from '../command-line.ts';
import type { HttpClient } from '../http-client.ts';
import { runInterruptibly } from '../interruption.ts';
import { createGeneratedDialogue } from '../latency/generated-dialogue.ts';
import { startHashedEmbedder } from '../paired/hashed-embedder.ts';
import { getPercentile } from '../percentile.ts';
import { assertHealthy, DATABASE_FILE, withServer } from '../server-process.ts';
import { alignTable } from '../table.ts';
import { withTemporaryFolder } from '../temporary-folder.ts';
import type { View } from './page.ts';

interface Options {
  count: number;
  rounds: number;
  seconds: number;
  seed: number;
  database?: string;
}

const MAX_RATIO = 1.2;
const BATCH_SIZE = 500;
const TOP_K = 10;
const WARM_UP_RECALLS = 500;
const POLL_MS = 1000;
/** Index of the first turn whose text is used as a query, far beyond the stored turns. */
const FIRST_QUESTION = 50_000_000;
const VIEWS: readonly View[] = ['table', 'timeline', 'map'];
/** The parts of a round. The ratio of both times without a page is the noise of the machine. */
const SIDES = ['alone', 'beside', 'alone again'] as const;
type Times = Record<(typeof SIDES)[number], number[]>;

const options = new Command('npm run bench:dashboard --')
  .description('Compares recalls beside an open dashboard with recalls without one, on a server.')
  .option('--count <number>', 'memories of the database', parseInteger(1000, 1_000_000), 100_000)
  .option('--rounds <number>', 'rounds of each view', parseInteger(1, 1000), 5)
  .option('--seconds <number>', 'duration of each part of a round', parseInteger(1, 600), 10)
  .option('--seed <number>', 'seed of the texts', parseInteger(0, 2 ** 31 - 1), 1)
  .option(
    '--database <file>',
    'measure a copy of this database, with the built-in model, instead of generated memories',
  )
  .parse()
  .opts<Options>();
const dialogue = createGeneratedDialogue(options.seed);
let question = FIRST_QUESTION;

await runInterruptibly((signal) =>
  withTemporaryFolder(async (folder) => {
    const embedder = options.database === undefined ? await startHashedEmbedder() : undefined;
    if (options.database !== undefined) copyDatabase(options.database, folder);
    const environment = {
      ...(embedder && {
        SERVICE_EMBEDDER: embedder.settings.embedder,
        SERVICE_EMBEDDING_URL: embedder.settings.embeddingUrl,
      }),
      SERVICE_CONSOLIDATION_INTERVAL_SECONDS: '0',
      SERVICE_WORKING_MAX: '100000000',
    };
    const server = { folder, environment, connections: 1, signal, probe: assertHealthy };
    try {
      await withServer(server, async ({ client, origin }) => {
        if (options.database === undefined) await fill(client, signal);
        await waitForMap(client, signal);
        report(await measure(client, origin, signal));
      });
    } finally {
      await embedder?.close();
    }
  }),
);

/** Copies a database file to where the server looks for it. */
function copyDatabase(file: string, folder: string): void {
  const databaseFolder = join(folder, 'database');
  mkdirSync(databaseFolder);
  copyFileSync(file, join(databaseFolder, DATABASE_FILE));
}

/** Stores the memories. */
async function fill(client: HttpClient, signal: AbortSignal): Promise<void> {
  for (let stored = 0; stored < options.count; stored += BATCH_SIZE) {
    signal.throwIfAborted();
    const requests = Array.from({ length: Math.min(BATCH_SIZE, options.count - stored) }, (_, i) => {
      const { content, sessionId } = dialogue.turn(stored + i);
      return { content, session_id: sessionId };
    });
    await client.storeBatch(requests);
  }
  process.stderr.write('memories stored\n');
}

/** Waits for the vectors of all memories and their first map. */
async function waitForMap(client: HttpClient, signal: AbortSignal): Promise<void> {
  while ((await client.stats()).pending_embeddings > 0) await sleep(POLL_MS, undefined, { signal });
  while (((await client.get('/map')) as { is_changing: boolean }).is_changing) {
    await sleep(POLL_MS, undefined, { signal });
  }
}

async function measure(client: HttpClient, origin: string, signal: AbortSignal): Promise<Record<View, Times>> {
  const page = new Worker(new URL('page.js', import.meta.url), { workerData: { origin } });
  // A failed request of the page ends the measurement.
  page.on('error', (error) => {
    throw error;
  });
  for (let i = 0; i < WARM_UP_RECALLS; i++) await measureRecall(client);
  const createTimes = (): Times => ({ alone: [], beside: [], 'alone again': [] });
  const times = { table: createTimes(), timeline: createTimes(), map: createTimes() };
  try {
    for (let round = 0; round < options.rounds; round++) {
      for (const view of VIEWS) {
        // The sides take turns in being first.
        for (const side of [...SIDES.slice(round % SIDES.length), ...SIDES.slice(0, round % SIDES.length)]) {
          const measureSide = () => measureRecalls(client, signal);
          times[view][side].push(...(await (side === 'beside' ? withPage(page, view, measureSide) : measureSide())));
        }
      }
      process.stderr.write(`round ${round + 1} of ${options.rounds} measured\n`);
    }
  } finally {
    await page.terminate();
  }
  return times;
}

/** Runs a measurement while the page is open. */
async function withPage<T>(page: Worker, view: View, run: () => Promise<T>): Promise<T> {
  page.postMessage(view);
  const result = await run();
  page.postMessage('close');
  await once(page, 'message');
  return result;
}

async function measureRecalls(client: HttpClient, signal: AbortSignal): Promise<number[]> {
  const times: number[] = [];
  for (const endAt = performance.now() + options.seconds * 1000; performance.now() < endAt; ) {
    signal.throwIfAborted();
    times.push(await measureRecall(client));
  }
  return times;
}

async function measureRecall(client: HttpClient): Promise<number> {
  const { content } = dialogue.turn(question++);
  const at = performance.now();
  await client.recall(content, TOP_K);
  return performance.now() - at;
}

function report(times: Readonly<Record<View, Times>>): void {
  const getTimes = (side: keyof Times) => VIEWS.flatMap((view) => times[view][side]);
  const all = { alone: getTimes('alone'), beside: getTimes('beside'), 'alone again': getTimes('alone again') };
  const rows = Object.entries({ ...times, 'all views': all }).map(([view, one]) => {
    const alone = getPercentile([...one.alone, ...one['alone again']], 99);
    const beside = getPercentile(one.beside, 99);
    const noise = getPercentile(one['alone again'], 99) / getPercentile(one.alone, 99);
    const p50 = [getPercentile([...one.alone, ...one['alone again']], 50), getPercentile(one.beside, 50)];
    return { view, recalls: one.beside.length, p50, alone, beside, ratio: beside / alone, noise };
  });
  process.stdout.write(`${JSON.stringify({ ...options, rows })}\n`);
  const cells = rows.map(({ view, recalls, p50, alone, beside, ratio, noise }) => [
    ...[view, String(recalls), ...p50.map((ms) => ms.toFixed(2)), alone.toFixed(2), beside.toFixed(2)],
    ...[ratio.toFixed(2), noise.toFixed(2), ratio > MAX_RATIO ? `over ${MAX_RATIO}` : ''],
  ]);
  const header = ['', 'recalls', 'p50 alone', 'p50 beside', 'p99 alone', 'p99 beside', 'ratio', 'noise', ''];
  process.stderr.write(`${alignTable(header, cells)}\n`);
}
