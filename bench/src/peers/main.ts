import { Command, Option } from 'commander';
import { collectValue, formatCommand, getFolderName, parseInteger } from '../command-line.ts';
import { type Dataset, readDatasets } from '../dataset.ts';
import { runInterruptibly } from '../interruption.ts';
import { describeMachine } from '../latency/machine.ts';
import { createRecombinedDialogue } from '../latency/recombined-dialogue.ts';
import { alignTable } from '../table.ts';
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
  .description('Compares memoryd with alternatives from npm: same work, same machine, same vectors.')
  .requiredOption('--data <folder>', 'a set, a store or a folder of sets; repeatable', collectValue)
  .option('--stores <number>', 'quality: only the first stores of each set', parseInteger(1, MAX_STORES))
  .option('--count <number>', 'times: memories to store', parseInteger(1, MAX_MEMORIES), 100_000)
  .option('--queries <number>', 'times: questions to each peer', parseInteger(1, MAX_QUERIES), 200)
  .option('--limit <seconds>', 'maximum time to fill a peer, and again to query it', parseInteger(1, MAX_LIMIT_S), 600)
  .option('--seed <number>', 'times: seed of the texts', parseInteger(0, MAX_SEED), 1)
  .addOption(new Option('--only <part>', 'run only one part').choices(['quality', 'times']))
  .option('--peer <name>', 'compare only with this peer; repeatable', collectValue)
  .parse()
  .opts<Options>();

type Line = Record<string, unknown>;

await runInterruptibly(async (signal) => {
  const sets = options.data.flatMap((folder) => readDatasets(folder, options.stores));
  installPackages();
  const embedder = await openSharedEmbedder();
  try {
    await measure(sets, { kinds: selectKinds(options), embedder, limitS: options.limit, signal });
  } finally {
    await embedder.close();
  }
});

function selectKinds({ peer: names }: Options): PeerKind[] {
  const others = [mem0(), ...serverMemory(), sqliteHybrid()];
  const unknown = names?.find((name) => others.every((kind) => kind.name !== name));
  if (unknown !== undefined) {
    throw new Error(`unknown peer ${unknown}; use one of ${others.map(({ name }) => name).join(', ')}`);
  }
  return [memoryd(), ...others.filter(({ name }) => names?.includes(name) ?? true)];
}

async function measure(sets: Dataset[], context: PeersContext): Promise<void> {
  const facts = { command: getCommand(options), machine: describeMachine() };
  const lines: Line[] = [];
  const onLine = (line: Line): void => {
    lines.push(line);
    process.stdout.write(`${JSON.stringify({ ...line, ...facts })}\n`);
  };
  if (options.only !== 'times') {
    for (const set of sets) for (const line of await measureQuality(set, context)) onLine(line);
  }
  if (options.only !== 'quality') {
    const { count, queries, seed, data } = options;
    // Uses all stores, so that the texts do not depend on --stores.
    const dialogue = createRecombinedDialogue(
      data.flatMap((folder) => readDatasets(folder)),
      seed,
    );
    await measureTimes({ dialogue, count, queries, seed }, context, onLine);
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
  if (rows.length > 0) process.stderr.write(`\n${alignTable(columns, rows, leftColumns)}\n`);
}

function getCommand({ data, stores, count, queries, limit, seed, only, peer = [] }: Options): string {
  return formatCommand('bench:peers', [
    ...data.map((folder) => ['--data', getFolderName(folder)] as const),
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
