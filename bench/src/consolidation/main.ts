import { Command } from 'commander';
import { commandLine, folderName, gather, gatherPair, wholeNumber } from '../command-line.ts';
import { readDatasets, type Store } from '../dataset.ts';
import { runInterruptibly } from '../interruption.ts';
import { showProgress } from '../progress.ts';
import { alignedTable } from '../table.ts';
import { type ConsolidatedStore, consolidateStore, RUNS } from './consolidate-store.ts';
import { unrelatedFacts } from './unrelated-facts.ts';

interface Options {
  data: string[];
  stores?: number;
  env: Record<string, string>;
}

const MAX_STORES = 1_000_000;

const options = new Command('npm run bench:consolidation --')
  .description(`Measures recall before and after ${RUNS} runs of consolidation, on facts and conversations.`)
  .option('--data <folder>', 'a set, a store or a folder of sets; may be given several times', gather, [])
  .option('--stores <number>', 'only the first stores of each set', wholeNumber(1, MAX_STORES))
  .option('--env <KEY=VALUE>', 'a setting for the server; may be given several times', gatherPair, {})
  .parse()
  .opts<Options>();

await runInterruptibly((signal) => measure(options, signal));

async function measure({ data, stores: most, env: environment }: Options, signal: AbortSignal): Promise<void> {
  const stores: Store[] = [
    unrelatedFacts(),
    ...data
      .flatMap((folder) => readDatasets(folder, most))
      .flatMap(({ name, stores }) => stores.map((store) => ({ ...store, name: `${name}/${store.name}` }))),
  ];
  const steps = stores.reduce((sum, { turns, questions }) => sum + turns.length + 2 * questions.length, 0);
  const progress = showProgress('starting', steps);
  const consolidated: [Store, ConsolidatedStore][] = [];
  try {
    for (const store of stores) {
      progress.label(store.name);
      consolidated.push([store, await consolidateStore(store, { environment, signal, progress })]);
      process.stdout.write(`${JSON.stringify(getLine(...(consolidated.at(-1) as [Store, ConsolidatedStore])))}\n`);
    }
  } finally {
    progress.end();
  }
  process.stderr.write(`\n${getTable(consolidated)}\nscores x 100\n`);
}

function getLine(store: Store, { before, after, ...facts }: ConsolidatedStore): Record<string, unknown> {
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

function getTable(consolidated: readonly [Store, ConsolidatedStore][]): string {
  const header = ['store', 'memories', 'questions', 'promoted+distilled', 'left recall', 'semantic'];
  const compared = ['hit@5 before', 'after', '+/-', 'nDCG@10 before', 'after', '+/-'];
  const rows = consolidated.map(([store, { questions, before, after, consolidated, evicted, semantic }]) => [
    store.name,
    ...[store.turns.length, questions, consolidated, evicted, semantic].map(String),
    ...(['any@5', 'nDCG@10'] as const).flatMap((metric) => [
      hundredfold(before[metric]),
      hundredfold(after[metric]),
      hundredfold(after[metric] - before[metric]),
    ]),
  ]);
  return alignedTable([...header, ...compared], rows);
}

function hundredfold(score: number): string {
  return (100 * score).toFixed(2);
}

function getCommand({ data, stores, env }: Options): string {
  return commandLine('bench:consolidation', [
    ...data.map((folder) => ['--data', folderName(folder)] as const),
    ...(stores === undefined ? [] : [['--stores', stores] as const]),
    ...Object.entries(env).map(([key, value]) => ['--env', `${key}=${value}`] as const),
  ]);
}
