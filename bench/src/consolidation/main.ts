import { Command } from 'commander';
import { collectPair, collectValue, formatCommand, getFolderName, parseInteger } from '../command-line.ts';
import { readDatasets, type Store } from '../dataset.ts';
import { runInterruptibly } from '../interruption.ts';
import { showProgress } from '../progress.ts';
import { alignTable } from '../table.ts';
import { type ConsolidationResult, measureStore, RUNS } from './measure-store.ts';
import { createUnrelatedFacts } from './unrelated-facts.ts';

interface Options {
  data: string[];
  stores?: number;
  env: Record<string, string>;
}

const MAX_STORES = 1_000_000;

const options = new Command('npm run bench:consolidation --')
  .description(`Measures recall before and after ${RUNS} consolidation runs, on facts and conversations.`)
  .option('--data <folder>', 'a set, a store or a folder of sets; repeatable', collectValue, [])
  .option('--stores <number>', 'only the first stores of each set', parseInteger(1, MAX_STORES))
  .option('--env <KEY=VALUE>', 'a setting of the server; repeatable', collectPair, {})
  .parse()
  .opts<Options>();

await runInterruptibly((signal) => measure(options, signal));

async function measure({ data, stores: maxStores, env: environment }: Options, signal: AbortSignal): Promise<void> {
  const stores: Store[] = [
    createUnrelatedFacts(),
    ...data
      .flatMap((folder) => readDatasets(folder, maxStores))
      .flatMap(({ name, stores }) => stores.map((store) => ({ ...store, name: `${name}/${store.name}` }))),
  ];
  const steps = stores.reduce((sum, { turns, questions }) => sum + turns.length + 2 * questions.length, 0);
  const progress = showProgress('starting', steps);
  const consolidated: [Store, ConsolidationResult][] = [];
  try {
    for (const store of stores) {
      progress.label(store.name);
      consolidated.push([store, await measureStore(store, { environment, signal, progress })]);
      process.stdout.write(`${JSON.stringify(getLine(...(consolidated.at(-1) as [Store, ConsolidationResult])))}\n`);
    }
  } finally {
    progress.end();
  }
  process.stderr.write(`\n${getTable(consolidated)}\nscores x 100\n`);
}

function getLine(store: Store, { before, after, ...facts }: ConsolidationResult): Record<string, unknown> {
  return {
    store: store.name,
    memories: store.turns.length,
    runs: RUNS,
    ...facts,
    before: { 'any@5': before['any@5'], 'nDCG@10': before['nDCG@10'] },
    after: { 'any@5': after['any@5'], 'nDCG@10': after['nDCG@10'] },
    command: getCommand(options),
  };
}

function getTable(consolidated: readonly [Store, ConsolidationResult][]): string {
  const header = ['store', 'memories', 'questions', 'promoted+distilled', 'evicted', 'semantic'];
  const compared = ['hit@5 before', 'after', '+/-', 'nDCG@10 before', 'after', '+/-'];
  const rows = consolidated.map(([store, { questions, before, after, consolidated, evicted, semantic }]) => [
    store.name,
    ...[store.turns.length, questions, consolidated, evicted, semantic].map(String),
    ...(['any@5', 'nDCG@10'] as const).flatMap((metric) => [
      formatScore(before[metric]),
      formatScore(after[metric]),
      formatScore(after[metric] - before[metric]),
    ]),
  ]);
  return alignTable([...header, ...compared], rows);
}

function formatScore(score: number): string {
  return (100 * score).toFixed(2);
}

function getCommand({ data, stores, env }: Options): string {
  return formatCommand('bench:consolidation', [
    ...data.map((folder) => ['--data', getFolderName(folder)] as const),
    ...(stores === undefined ? [] : [['--stores', stores] as const]),
    ...Object.entries(env).map(([key, value]) => ['--env', `${key}=${value}`] as const),
  ]);
}
