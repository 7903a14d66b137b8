import { MemoryClient } from '@memoryd/client';
import { Command } from 'commander';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { assertAllStored, splitIntoBatches } from '../batches.ts';
import { collectValue, parseInteger } from '../command-line.ts';
import { getContent, readDatasets, type Store } from '../dataset.ts';
import { waitForEmbeddings } from '../embedding-wait.ts';
import { runInterruptibly } from '../interruption.ts';
import { getPercentile } from '../percentile.ts';
import { assertHealthy, type RunningServer, withServer } from '../server-process.ts';
import { alignTable } from '../table.ts';
import { withTemporaryFolder } from '../temporary-folder.ts';

interface Options {
  data: string[];
  stores: number;
  questions: number;
}

const options = new Command('npm run bench:context --')
  .description('Compares the tokens of contexts with their budgets and with the estimate of memoryd.')
  .requiredOption('--data <folder>', 'a set, a store or a folder of sets; repeatable', collectValue)
  .option('--stores <number>', 'stores of each set', parseInteger(1, 10_000), 5)
  .option('--questions <number>', 'questions of each store', parseInteger(1, 100_000), 100)
  .parse()
  .opts<Options>();

const BUDGETS = [200, 800, 2000];

/** `query`: contexts of questions. `recent`: of questions, filled with recent statements, so that there is enough to tell. */
const KINDS = ['query', 'recent'] as const;

/** One context: its budget, the estimate in the response, and the tokens that o200k_base counts. */
interface Measured {
  kind: (typeof KINDS)[number];
  budget: number;
  estimated: number;
  counted: number;
}

await runInterruptibly(async (signal) => {
  const measured: Measured[] = [];
  for (const { stores } of options.data.flatMap((folder) => readDatasets(folder, options.stores))) {
    for (const store of stores) {
      await withTemporaryFolder((folder) => {
        const environment = { SERVICE_CONSOLIDATION_INTERVAL_SECONDS: '0' };
        return withServer({ folder, environment, connections: 1, signal, probe: assertHealthy }, async (server) => {
          measured.push(...(await measureStore(server, store, signal)));
        });
      });
    }
  }
  report(measured);
});

async function measureStore({ origin, client }: RunningServer, store: Store, signal: AbortSignal): Promise<Measured[]> {
  const memory = new MemoryClient({ url: origin });
  const requests = store.turns.map((turn) => ({
    content: getContent(turn),
    ...(turn.session !== null && { session_id: turn.session }),
    ...(turn.timestamp !== null && { created_at: turn.timestamp }),
  }));
  for (const batch of splitIntoBatches(requests)) assertAllStored(await memory.storeBatch(batch));
  await waitForEmbeddings(client, signal);
  const measured: Measured[] = [];
  for (const question of store.questions.slice(0, options.questions)) {
    for (const kind of KINDS) {
      for (const budget of BUDGETS) {
        const request = { query: question.text, budget, recent: kind === 'recent', track: false };
        const { text, tokens } = await memory.context(request);
        if (text !== '') measured.push({ kind, budget, estimated: tokens, counted: countTokens(text) });
      }
    }
  }
  return measured;
}

function report(measured: readonly Measured[]): void {
  const rows = KINDS.flatMap((kind) =>
    BUDGETS.map((budget) => {
      const contexts = measured.filter((each) => each.kind === kind && each.budget === budget);
      const toShare = (values: number[], percentile: number) => (100 * getPercentile(values, percentile)).toFixed(1);
      const ofBudget = contexts.map(({ counted }) => counted / budget);
      const estimates = contexts.map(({ estimated, counted }) => estimated / counted);
      return [
        ...[kind, String(budget), String(contexts.length)],
        ...[toShare(ofBudget, 50), toShare(ofBudget, 100)],
        ...[0, 50, 100].map((percentile) => getPercentile(estimates, percentile).toFixed(2)),
        String(contexts.filter(({ estimated }) => estimated > budget).length),
      ];
    }),
  );
  const header = [
    'context',
    'budget',
    'texts',
    '% used, median',
    'max',
    'estimate/o200k, min',
    'median',
    'max',
    'over',
  ];
  process.stdout.write(`${alignTable(header, rows)}\n`);
}
