import { Command } from 'commander';
import { collectValue, formatCommand, getFolderName, parseInteger } from '../command-line.ts';
import { readDatasets } from '../dataset.ts';
import { runInterruptibly } from '../interruption.ts';
import { createGeneratedDialogue } from '../latency/generated-dialogue.ts';
import { createRecombinedDialogue } from '../latency/recombined-dialogue.ts';
import { assertHealthy, type RunningServer, withServer } from '../server-process.ts';
import { withTemporaryFolder } from '../temporary-folder.ts';
import { checkPrompts } from './check.ts';
import { measureHookLatency } from './latency.ts';
import { measureQuality } from './quality.ts';
import { reportCheck, reportLatency, reportQuality } from './report.ts';

interface QualityOptions {
  data: string[];
  stores: number;
  questions: number;
  prompts: number;
}

interface LatencyOptions {
  data: string[];
  count: number;
  rounds: number;
  pause: number;
  seed: number;
}

const MAX_SEED = 2 ** 31 - 1;
const ENVIRONMENT = { SERVICE_CONSOLIDATION_INTERVAL_SECONDS: '0' };

const command = new Command('npm run bench:hooks --').description(
  'Measures what the hooks of agent programs give and cost.',
);
command
  .command('quality')
  .description('Reports questions as prompts, and scores what their hooks give.')
  .option('--data <folder>', 'a set, a store or a folder of sets; repeatable', collectValue, [])
  .option('--stores <number>', 'stores of each set', parseInteger(1, 10_000), 5)
  .option('--questions <number>', 'questions of each store', parseInteger(1, 100_000), 100_000)
  .option('--prompts <number>', 'prompts of the check of storing and giving', parseInteger(1, 100_000), 500)
  .action((options: QualityOptions) => runInterruptibly((signal) => runQuality(options, signal)));
command
  .command('latency')
  .description('Compares hooks with recalls and with starts of Node, in turns.')
  .option('--data <folder>', 'recombine the sentences of these conversations; repeatable', collectValue, [])
  .option('--count <number>', 'memories of the database', parseInteger(100, 1_000_000), 10_000)
  .option('--rounds <number>', 'rounds, each with one call of each kind', parseInteger(2, 100_000), 1000)
  .option('--pause <number>', 'pause before each round, in ms', parseInteger(0, 60_000), 0)
  .option('--seed <number>', 'seed of the texts and of the prompts', parseInteger(0, MAX_SEED), 1)
  .action((options: LatencyOptions) => runInterruptibly((signal) => runLatency(options, signal)));
await command.parseAsync();

function withEmptyServer<T>(
  signal: AbortSignal,
  use: (server: RunningServer, folder: string) => Promise<T>,
): Promise<T> {
  return withTemporaryFolder((folder) =>
    withServer({ folder, environment: ENVIRONMENT, connections: 2, signal, probe: assertHealthy }, (server) =>
      use(server, folder),
    ),
  );
}

async function runQuality({ data, stores, questions, prompts }: QualityOptions, signal: AbortSignal): Promise<void> {
  if (data.length > 0) {
    const sets = data.flatMap((folder) => readDatasets(folder, stores));
    reportQuality(await measureQuality(sets, questions, (use) => withEmptyServer(signal, use), signal));
  }
  reportCheck(await withEmptyServer(signal, (server) => checkPrompts(server, prompts, signal)));
}

async function runLatency({ data, ...plan }: LatencyOptions, signal: AbortSignal): Promise<void> {
  const { count, rounds, pause, seed } = plan;
  const sets = data.flatMap((folder) => readDatasets(folder));
  const dialogue = sets.length === 0 ? createGeneratedDialogue(seed) : createRecombinedDialogue(sets, seed);
  const measured = await withEmptyServer(signal, (server, folder) =>
    measureHookLatency(server, { dialogue, ...plan, folder, signal }),
  );
  const command = formatCommand('bench:hooks', [
    ['latency'],
    ...data.map((folder) => ['--data', getFolderName(folder)] as const),
    ...Object.entries({ count, rounds, pause, seed }).map(([name, value]) => [`--${name}`, value] as const),
  ]);
  reportLatency(command, measured);
}
