import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command, Option } from 'commander';
import { parseInteger } from '../command-line.ts';
import { runInterruptibly } from '../interruption.ts';
import { createGeneratedDialogue } from '../latency/generated-dialogue.ts';
import { alignTable } from '../table.ts';
import { withTemporaryFolder } from '../temporary-folder.ts';
import { startHashedEmbedder } from './hashed-embedder.ts';
import { type Comparison, compare, compareTails } from './ratios.ts';
import { measureRounds } from './rounds.ts';
import { openSide, type Side } from './side.ts';
import { measureStarts } from './starts.ts';

interface Options {
  old: string;
  count: number;
  rounds: number;
  starts: number;
  seed: number;
  embedder: 'hashed' | 'minilm' | 'none';
}

const MAX_COUNT = 1_000_000;
const MAX_ROUNDS = 1000;
const MAX_SEED = 2 ** 31 - 1;
const OWN_CHECKOUT = fileURLToPath(new URL('../../..', import.meta.url));

const options = new Command('npm run bench:paired --')
  .description('Compares the engine of another checkout with this one, alternating in one process.')
  .requiredOption('--old <folder>', 'checkout to compare with, installed and built')
  .option('--count <number>', 'memories in each database before the first round', parseInteger(1, MAX_COUNT), 10_000)
  .option('--rounds <number>', 'rounds of the same work on both engines', parseInteger(2, MAX_ROUNDS), 30)
  .option('--starts <number>', 'measured process starts of each engine', parseInteger(2, MAX_ROUNDS), 7)
  .option('--seed <number>', 'seed of the texts', parseInteger(0, MAX_SEED), 1)
  .addOption(
    new Option('--embedder <kind>', 'source of vectors; hashed: hashed words from a server in this process')
      .choices(['hashed', 'minilm', 'none'])
      .default('hashed'),
  )
  .parse()
  .opts<Options>();

await runInterruptibly((signal) =>
  withTemporaryFolder(async (folder) => {
    const model = options.embedder === 'hashed' ? await startHashedEmbedder() : undefined;
    try {
      await comparePair(folder, model?.settings ?? { embedder: options.embedder }, signal);
    } finally {
      await model?.close();
    }
  }),
);

async function comparePair(folder: string, settings: object, signal: AbortSignal): Promise<void> {
  const dialogue = createGeneratedDialogue(options.seed);
  const sides = [
    await openSide('old', options.old, join(folder, 'old.db'), settings),
    await openSide('new', OWN_CHECKOUT, join(folder, 'new.db'), settings),
  ] as const;
  const plan = { dialogue, count: options.count, rounds: options.rounds };
  const measured = await measureRounds(sides, plan, signal);
  const comparisons = Object.entries(measured).map(([step, times]) => compare(`${step} p50`, times));
  comparisons.push(compareTails('recall p99', measured.recall ?? { old: [], new: [] }));
  for (const side of sides) await side.memory.close();
  const starts = await measureStarts(sides, settings, options.starts, signal);
  for (const [what, values] of Object.entries(starts)) comparisons.push(compare(what, values));
  report(sides, comparisons);
}

function report(sides: readonly Side[], comparisons: readonly Comparison[]): void {
  const { count, rounds, embedder } = options;
  process.stdout.write(`${JSON.stringify({ count, rounds, embedder, comparisons })}\n`);
  const header = ['', ...sides.map(({ name }) => name), 'new / old', '95 % interval'];
  const rows = comparisons.map(({ what, old, new: now, ratio, low, high }) => [
    ...[what, old.toFixed(2), now.toFixed(2), ratio.toFixed(3)],
    low === undefined || high === undefined ? '' : `${low.toFixed(3)} to ${high.toFixed(3)}`,
  ]);
  process.stderr.write(`${alignTable(header, rows)}\n`);
}
