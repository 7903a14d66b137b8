import { Command, Option } from 'commander';
import { commandLine, folderName, gather, wholeNumber } from '../command-line.ts';
import { type Dataset, readDatasets } from '../dataset.ts';
import { runInterruptibly } from '../interruption.ts';
import { describeMachine } from '../latency/machine.ts';
import { recombinedDialogue } from '../latency/recombined-dialogue.ts';
import { alignedTable } from '../table.ts';
import { mem0 } from './mem0.ts';
import { memoryd } from './memoryd.ts';
import { installPackages } from './packages.ts';
import type { PeerKind } from './peer.ts';
import { measureQuality, type PeersContext } from './quality.ts';
import { serverMemory } from './server-memory.ts';
import { openSharedEmbedder } from './shared-embedder.ts';
import { sqliteHybrid } from './sqlite-hybrid.ts';
import { measureTimes } from './times.ts';

interface Options {
  data: string[];
  stores?: number;
  count: number;
  queries: number;
  limit: number;
  seed: number;
  only?: 'quality' | 'times';
  peer?: string[];
}

const MAX_STORES = 1_000_000;
const MAX_MEMORIES = 10_000_000;
const MAX_QUERIES = 1_000_000;
const MAX_LIMIT_S = 86_400;
const MAX_SEED = 2 ** 31 - 1;

const QUALITY_COLUMNS = ['set', 'peer', 'questions', 'limited', 'nDCG@10', 'r@10', 'any@5'];
const TIMES_COLUMNS = [
  'peer',
  'count',
  'queries',
  'limited',
  'stores_per_s',
  'p50_ms',
  'p99_ms',
  'p50_ratio',
  'p99_ratio',
];

const options = new Command('npm run bench:peers --')
  .description('Measures memoryd beside what one could take instead from npm: same work, same machine, same vectors.')
  .requiredOption('--data <folder>', 'a set, a store or a folder of sets; may be given several times', gather)
  .option('--stores <number>', 'quality: only the first stores of each set', wholeNumber(1, MAX_STORES))
  .option('--count <number>', 'times: memories to store', wholeNumber(1, MAX_MEMORIES), 100_000)
  .option('--queries <number>', 'times: questions to each', wholeNumber(1, MAX_QUERIES), 200)
  .option('--limit <seconds>', 'most time to fill one, and again to ask it', wholeNumber(1, MAX_LIMIT_S), 600)
  .option('--seed <number>', 'times: decides the texts', wholeNumber(0, MAX_SEED), 1)
  .addOption(new Option('--only <part>', 'only one part').choices(['quality', 'times']))
  .option('--peer <name>', 'only this one beside memoryd; may be given several times', gather)
  .parse()
  .opts<Options>();

type Line = Record<string, unknown>;

await runInterruptibly(async (signal) => {
  const sets = options.data.flatMap((folder) => readDatasets(folder, options.stores));
  installPackages();
  const embedder = await openSharedEmbedder();
  try {
    await measure(sets, { kinds: chosenKinds(options), embedder, limitS: options.limit, signal });
  } finally {
    await embedder.close();
  }
});

function chosenKinds({ peer: names }: Options): PeerKind[] {
  const others = [mem0(), ...serverMemory(), sqliteHybrid()];
  const unknown = names?.find((name) => others.every((kind) => kind.name !== name));
  if (unknown !== undefined) {
    throw new Error(`there is no ${unknown}, only ${others.map(({ name }) => name).join(', ')}`);
  }
  return [memoryd(), ...others.filter(({ name }) => names?.includes(name) ?? true)];
}

async function measure(sets: Dataset[], context: PeersContext): Promise<void> {
  const facts = { command: getCommand(options), machine: describeMachine() };
  const lines: Line[] = [];
  const tell = (line: Line): void => {
    lines.push(line);
    process.stdout.write(`${JSON.stringify({ ...line, ...facts })}\n`);
  };
  if (options.only !== 'times') {
    for (const set of sets) for (const line of await measureQuality(set, context)) tell(line);
  }
  if (options.only !== 'quality') {
    const { count, queries, seed, data } = options;
    // All stores, whatever --stores says, so that the text does not depend on it.
    const dialogue = recombinedDialogue(
      data.flatMap((folder) => readDatasets(folder)),
      seed,
    );
    await measureTimes({ dialogue, count, queries, seed }, context, tell);
  }
  showTables(lines);
}

function showTables(lines: Line[]): void {
  showTable(
    QUALITY_COLUMNS,
    lines.filter(({ part }) => part === 'quality'),
    2,
  );
  showTable(
    TIMES_COLUMNS,
    lines.filter(({ part }) => part === 'times'),
    1,
  );
}

function showTable(columns: string[], lines: Line[], leftColumns: number): void {
  const rows = lines.map((line) => columns.map((column) => String(line[column] ?? '–')));
  if (rows.length > 0) process.stderr.write(`\n${alignedTable(columns, rows, leftColumns)}\n`);
}

function getCommand({ data, stores, count, queries, limit, seed, only, peer = [] }: Options): string {
  return commandLine('bench:peers', [
    ...data.map((folder) => ['--data', folderName(folder)] as const),
    ...(stores === undefined ? [] : [['--stores', stores] as const]),
    ...(only === 'quality'
      ? []
      : ([
          ['--count', count],
          ['--queries', queries],
          ['--seed', seed],
        ] as const)),
    ['--limit', limit],
    ...(only === undefined ? [] : [['--only', only] as const]),
    ...peer.map((name) => ['--peer', name] as const),
  ]);
}
