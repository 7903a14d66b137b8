import { openAsBlob, statSync } from 'node:fs';
import { join } from 'node:path';
import type { FileImportResponse } from '@memoryd/contract';
import { Command } from 'commander';
import { splitIntoBatches } from '../batches.ts';
import { parseInteger } from '../command-line.ts';
import { runInterruptibly } from '../interruption.ts';
import { readProcessMemory } from '../latency/footprint.ts';
import { createGeneratedDialogue } from '../latency/generated-dialogue.ts';
import { compare, type Pair } from '../paired/ratios.ts';
import { getPercentile } from '../percentile.ts';
import { assertHealthy, type RunningServer, withServer } from '../server-process.ts';
import { alignTable } from '../table.ts';
import { withTemporaryFolder } from '../temporary-folder.ts';
import { getChatMemories, writeChatExport } from './chat-export.ts';

interface Options {
  count: number;
  rounds: number;
  seed: number;
  embedder: string;
  databaseUrl?: string;
}

const MAX_COUNT = 1_000_000;
const SAMPLE_INTERVAL_MS = 50;
/** Recalls search a database with this many memories. Their queries come from turns with this index and higher. */
const KNOWN = { memories: 5000, firstQuestion: 50_000_000 };
const RECALLS_ALONE = 500;

const options = new Command('npm run bench:imports --')
  .description('Compares the import of a ChatGPT export with batches of the same memories, on a server.')
  .option('--count <number>', 'messages of the export', parseInteger(1000, MAX_COUNT), 100_000)
  .option('--rounds <number>', 'pairs of a batch store and an import', parseInteger(2, 100), 3)
  .option('--seed <number>', 'seed of the texts', parseInteger(0, 2 ** 31 - 1), 1)
  .option('--embedder <name>', 'SERVICE_EMBEDDER of the server', 'none')
  .option('--database-url <url>', 'store the memories on this PostgreSQL server, each database in its own schema')
  .parse()
  .opts<Options>();

/** The time of a load in ms, and the peak of the server's resident memory during the load in MB. */
interface Load {
  ms: number;
  peakMb: number;
}

type Kind = 'batches' | 'import' | 'repeat' | 'import of a quarter';

await runInterruptibly((signal) =>
  withTemporaryFolder(async (folder) => {
    const { count, seed } = options;
    const files = { whole: join(folder, 'conversations.json'), quarter: join(folder, 'quarter.json') };
    await writeChatExport(files.whole, count, seed);
    await writeChatExport(files.quarter, Math.floor(count / 4), seed);
    const loads: Record<Kind, Load[]> = { batches: [], import: [], repeat: [], 'import of a quarter': [] };
    for (let round = 0; round < options.rounds; round++) {
      const kinds = ['batches', 'import'] as const;
      for (const kind of round % 2 === 0 ? kinds : [...kinds].reverse()) {
        await onServer(join(folder, `${kind} ${round}`), signal, async (server) => {
          if (kind === 'batches') loads.batches.push(await measure(server, () => storeBatches(server)));
          else {
            loads.import.push(await measure(server, () => importFile(server, files.whole, count)));
            loads.repeat.push(await measure(server, () => importFile(server, files.whole, 0)));
          }
        });
      }
      await onServer(join(folder, `quarter ${round}`), signal, async (server) => {
        const load = await measure(server, () => importFile(server, files.quarter, Math.floor(count / 4)));
        loads['import of a quarter'].push(load);
      });
      process.stderr.write(`round ${round + 1} of ${options.rounds} done\n`);
    }
    const recalls = await onServer(join(folder, 'recalls'), signal, (server) => measureRecalls(server, files.whole));
    report(loads, recalls, statSync(files.whole).size);
  }),
);

function onServer<T>(folder: string, signal: AbortSignal, use: (server: RunningServer) => Promise<T>): Promise<T> {
  const environment = {
    SERVICE_EMBEDDER: options.embedder,
    SERVICE_CONSOLIDATION_INTERVAL_SECONDS: '0',
    SERVICE_WORKING_MAX: '100000000',
  };
  const { databaseUrl } = options;
  return withServer({ folder, environment, databaseUrl, connections: 2, signal, probe: assertHealthy }, use);
}

/** Runs a load, and samples the memory of the server meanwhile. */
async function measure({ pid }: RunningServer, load: () => Promise<void>): Promise<Load> {
  let peakMb = 0;
  const sample = () => {
    peakMb = Math.max(peakMb, Number(readProcessMemory(pid).resident_mb));
  };
  const timer = setInterval(sample, SAMPLE_INTERVAL_MS);
  const at = performance.now();
  await load().finally(() => clearInterval(timer));
  return { ms: performance.now() - at, peakMb };
}

async function storeBatches({ client }: RunningServer): Promise<void> {
  for (const batch of splitIntoBatches([...getChatMemories(options.count, options.seed)])) {
    if (!(await client.storeBatch(batch))) throw new Error('the server must have a batch route');
  }
}

/** Imports a file. Throws unless exactly `newCount` memories are new. */
async function importFile({ origin }: RunningServer, path: string, newCount: number): Promise<void> {
  const body = await openAsBlob(path);
  const response = await fetch(`${origin}/import?from=chatgpt`, { method: 'POST', body });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`POST /import returned ${response.status}: ${text}`);
  const { imported_count: imported, refused_count: refused } = JSON.parse(text) as FileImportResponse;
  if (imported === newCount && refused === 0) return;
  throw new Error(`the import must store ${newCount} memories, but stored ${imported} and refused ${refused}`);
}

interface Recalls {
  alone: number[];
  beside: number[];
}

/** Measures recalls alone and beside an import, in ms. */
async function measureRecalls(server: RunningServer, path: string): Promise<Recalls> {
  const dialogue = createGeneratedDialogue(options.seed + 1);
  const known = Array.from({ length: KNOWN.memories }, (_, i) => ({ content: dialogue.turn(i).content }));
  for (const batch of splitIntoBatches(known)) await server.client.storeBatch(batch);
  let question = KNOWN.firstQuestion;
  const recall = async () => {
    const at = performance.now();
    await server.client.recall(dialogue.turn(question++).content, 10);
    return performance.now() - at;
  };
  const alone: number[] = [];
  for (let i = 0; i < RECALLS_ALONE; i++) alone.push(await recall());
  const beside: number[] = [];
  let isDone = false;
  const importing = importFile(server, path, options.count).finally(() => {
    isDone = true;
  });
  while (!isDone) beside.push(await recall());
  await importing;
  return { alone, beside };
}

function report(loads: Record<Kind, Load[]>, recalls: Recalls, fileBytes: number): void {
  const times: Pair = { old: loads.batches.map(({ ms }) => ms), new: loads.import.map(({ ms }) => ms) };
  const { ratio, low, high } = compare('', times);
  process.stdout.write(
    `${JSON.stringify({ ...options, databaseUrl: undefined, fileBytes, loads, ratio, low, high })}\n`,
  );
  const rows = (Object.entries(loads) as [Kind, Load[]][]).map(([kind, values]) => {
    const ms = getPercentile(
      values.map((load) => load.ms),
      50,
    );
    const texts = kind === 'import of a quarter' ? options.count / 4 : options.count;
    const peak = getPercentile(
      values.map((load) => load.peakMb),
      50,
    );
    return [kind, (ms / 1000).toFixed(1), Math.round(texts / (ms / 1000)).toString(), peak.toFixed(0)];
  });
  process.stderr.write(`${alignTable(['', 's', 'texts/s', 'peak MB'], rows)}\n`);
  const bounds = low === undefined || high === undefined ? '' : ` (${low.toFixed(2)} to ${high.toFixed(2)})`;
  process.stderr.write(`\ntime of the import to batches: ${ratio.toFixed(2)}${bounds}\n\n`);
  const tails = Object.entries(recalls).map(([name, ms]: [string, number[]]) => [
    ...[`recall ${name}`, getPercentile(ms, 50).toFixed(1), getPercentile(ms, 99).toFixed(1), String(ms.length)],
  ]);
  process.stderr.write(`${alignTable(['', 'p50 ms', 'p99', 'recalls'], tails)}\n`);
}
