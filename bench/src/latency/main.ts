import { Command } from 'commander';
import { commandLine, folderName, gather, gatherPair, wholeNumber } from '../command-line.ts';
import { readDatasets } from '../dataset.ts';
import { runInterruptibly } from '../interruption.ts';
import { alignedTable } from '../table.ts';
import { withTemporaryFolder } from '../temporary-folder.ts';
import type { Dialogue } from './dialogue.ts';
import type { Figures } from './figures.ts';
import { generatedDialogue } from './generated-dialogue.ts';
import { describeMachine } from './machine.ts';
import { measureLatency, type ReportStep } from './measure.ts';
import { recombinedDialogue } from './recombined-dialogue.ts';

interface Options {
  count: number;
  clients: number;
  data: string[];
  queries: number;
  writeRate: number;
  seed: number;
  env: Record<string, string>;
}

const mostMemories = 10_000_000;
const mostClients = 1024;
const mostQueries = 1_000_000;
const mostWritesPerS = 1000;
const mostSeed = 2 ** 31 - 1;

const options = new Command('npm run bench:latency --')
  .description('Measures how fast a server stores and recalls, and what it takes in memory and on disk.')
  .requiredOption('--count <number>', 'memories to store', wholeNumber(1, mostMemories))
  .option('--data <folder>', 'recombine the text of these conversations; may be given several times', gather, [])
  .option('--clients <number>', 'clients that store at the same time', wholeNumber(1, mostClients), 32)
  .option('--queries <number>', 'recalls of a single client', wholeNumber(1, mostQueries), 1000)
  .option('--write-rate <number>', 'stores a second beside recalls', wholeNumber(1, mostWritesPerS), 50)
  .option('--seed <number>', 'decides the texts', wholeNumber(0, mostSeed), 1)
  .option('--env <KEY=VALUE>', 'a setting for the server; may be given several times', gatherPair, {})
  .parse()
  .opts<Options>();

await runInterruptibly(async (signal) => {
  const { count, clients, queries, writeRate, seed, env } = options;
  const plan = {
    dialogue: dialogueOf(options),
    count,
    storeClients: clients,
    queries,
    writeRate,
    seed,
    environment: env,
  };
  const facts = { command: commandOf(options), machine: describeMachine() };
  const rows: string[][] = [];
  const report: ReportStep = (step, version, figures) => {
    process.stdout.write(`${JSON.stringify({ step, count, ...figures, version, ...facts })}\n`);
    rows.push(...rowsOf(step, figures));
  };
  await withTemporaryFolder((folder) => measureLatency(plan, folder, signal, report));
  process.stderr.write(`\n${alignedTable(['step', 'figure', 'value'], rows, 2)}\n`);
});

function dialogueOf({ data, seed }: Options): Dialogue {
  return data.length === 0
    ? generatedDialogue(seed)
    : recombinedDialogue(
        data.flatMap((folder) => readDatasets(folder)),
        seed,
      );
}

function rowsOf(step: string, figures: Figures): string[][] {
  return Object.entries(figures).map(([name, figure], index) => [
    index === 0 ? step : '',
    name,
    String(figure ?? 'n/a'),
  ]);
}

function commandOf({ count, clients, data, queries, writeRate, seed, env }: Options): string {
  return commandLine('bench:latency', [
    ['--count', count],
    ...data.map((folder) => ['--data', folderName(folder)] as const),
    ['--clients', clients],
    ['--queries', queries],
    ['--write-rate', writeRate],
    ['--seed', seed],
    ...Object.entries(env).map(([key, value]) => ['--env', `${key}=${value}`] as const),
  ]);
}
