import { appendFileSync } from 'node:fs';
import { Command, InvalidArgumentError, Option } from 'commander';
import { collectPair, collectValue, formatCommand, getFolderName, parseInteger } from '../command-line.ts';
import { readDatasets } from '../dataset.ts';
import { runInterruptibly } from '../interruption.ts';
import { keepSchemas } from '../server-database.ts';
import { withTemporaryFolder } from '../temporary-folder.ts';
import { formatComparison, readBaseline, type SizeLine } from './baseline.ts';
import type { Dialogue } from './dialogue.ts';
import type { Figures } from './figures.ts';
import { createGeneratedDialogue } from './generated-dialogue.ts';
import { describeMachine } from './machine.ts';
import { type LatencyPlan, measureLatency } from './measure.ts';
import { createRecombinedDialogue } from './recombined-dialogue.ts';
import { createDatabaseFolder, type Filling, getFilledFolder, markFilled } from './saved-database.ts';

interface Options {
  count: number[];
  clients: number;
  data: string[];
  queries: number;
  writeRate: number;
  seed: number;
  env: Record<string, string>;
  databaseUrl?: string;
  save?: string;
  baseline?: string | true;
  keep?: string;
  reuse?: string;
}

const MAX_MEMORIES = 10_000_000;
const MAX_CLIENTS = 1024;
const MAX_QUERIES = 1_000_000;
const MAX_WRITES_PER_S = 1000;
const MAX_SEED = 2 ** 31 - 1;
const OWN_BASELINE = 'bench/baselines/latency.jsonl';
// Turns scheduled consolidation off, because consolidation must run only in the step that measures it.
const environment = { SERVICE_CONSOLIDATION_INTERVAL_SECONDS: '0' };

const options = new Command('npm run bench:latency --')
  .description('Measures store and recall latency, throughput, memory and disk size of a server.')
  .requiredOption('--count <numbers>', 'memories to store; several sizes separated by commas', sizes)
  .option('--data <folder>', 'recombine the sentences of these conversations; repeatable', collectValue, [])
  .option('--clients <number>', 'concurrent storing clients', parseInteger(1, MAX_CLIENTS), 32)
  .option('--queries <number>', 'recalls of a single client', parseInteger(1, MAX_QUERIES), 1000)
  .option('--write-rate <number>', 'background stores per second during recalls', parseInteger(1, MAX_WRITES_PER_S), 50)
  .option('--seed <number>', 'seed of the texts', parseInteger(0, MAX_SEED), 1)
  .option('--env <KEY=VALUE>', 'a setting of the server; repeatable', collectPair, {})
  .option('--database-url <address>', 'store the memories on this PostgreSQL server instead of in a file')
  .option('--save <file>', 'append the lines to this file')
  .option('--baseline [file]', `compare with lines written by --save; ${OWN_BASELINE} if no file is given`)
  .option('--keep <folder>', 'create the databases in this folder and do not remove them')
  .addOption(new Option('--reuse <folder>', 'measure databases that --keep created').conflicts('keep'))
  .parse()
  .opts<Options>();

await runInterruptibly(async (signal) => {
  const { save, baseline } = options;
  const baselines = baseline === undefined ? [] : readBaseline(baseline === true ? OWN_BASELINE : baseline);
  const dialogue = createDialogue(options);
  for (const count of options.count) {
    const line = await measureSize(count, dialogue, signal);
    const text = `${JSON.stringify(line)}\n`;
    process.stdout.write(text);
    if (save !== undefined) appendFileSync(save, text);
    for (const before of baselines.filter((other) => other.count === count)) {
      process.stderr.write(`\n${formatComparison(before, line)}`);
    }
  }
});

async function measureSize(count: number, dialogue: Dialogue, signal: AbortSignal): Promise<SizeLine> {
  const { clients, queries, writeRate, seed, env, databaseUrl } = options;
  const steps: Record<string, Figures> = {};
  const onStep = (step: string, figures: Figures): void => {
    steps[step] = figures;
    process.stderr.write(`${count} ${step}: ${formatFigures(figures)}\n`);
  };
  const version = await withDatabaseFolder(getFilling(count), (database) => {
    const plan = { dialogue, count, storeClients: clients, queries, writeRate, seed, databaseUrl, ...database };
    return measureLatency({ ...plan, environment: { ...environment, ...env } }, signal, onStep);
  });
  return { count, version, steps, command: getCommand(count), machine: describeMachine() };
}

type DatabaseFolder = Pick<LatencyPlan, 'folder' | 'isFilled' | 'onFilled'>;

function withDatabaseFolder<T>(filling: Filling, use: (database: DatabaseFolder) => Promise<T>): Promise<T> {
  const { keep, reuse } = options;
  if (reuse !== undefined) return use({ folder: getFilledFolder(reuse, filling), isFilled: true, onFilled: () => {} });
  if (keep === undefined) return withTemporaryFolder((folder) => use({ folder, isFilled: false, onFilled: () => {} }));
  const folder = createDatabaseFolder(keep, filling);
  const onFilled = () => {
    markFilled(folder, filling);
    keepSchemas();
  };
  return use({ folder, isFilled: false, onFilled });
}

function getFilling(count: number): Filling {
  return { count, seed: options.seed, data: options.data.map(getFolderName) };
}

function sizes(text: string): number[] {
  const numbers = text.split(',').map(parseInteger(1, MAX_MEMORIES));
  if (new Set(numbers).size < numbers.length) throw new InvalidArgumentError('Give each size once.');
  return numbers;
}

function createDialogue({ data, seed }: Options): Dialogue {
  return data.length === 0
    ? createGeneratedDialogue(seed)
    : createRecombinedDialogue(
        data.flatMap((folder) => readDatasets(folder)),
        seed,
      );
}

function formatFigures(figures: Figures): string {
  return Object.entries(figures)
    .map(([name, figure]) => `${name} ${figure ?? 'n/a'}`)
    .join(', ');
}

function getCommand(count: number): string {
  const { clients, data, queries, writeRate, seed, env, databaseUrl, reuse } = options;
  return formatCommand('bench:latency', [
    ['--count', count],
    ...data.map((folder) => ['--data', getFolderName(folder)] as const),
    ['--clients', clients],
    ['--queries', queries],
    ['--write-rate', writeRate],
    ['--seed', seed],
    ...Object.entries(env).map(([key, value]) => ['--env', `${key}=${value}`] as const),
    ...(databaseUrl === undefined ? [] : [['--database-url', 'postgres://…'] as const]),
    ...(reuse === undefined ? [] : [['--reuse', getFolderName(reuse)] as const]),
  ]);
}
