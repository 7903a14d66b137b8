import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { MemoryClient } from '@memoryd/client';
import { Command } from 'commander';
import { parseInteger } from '../command-line.ts';
import { runInterruptibly } from '../interruption.ts';
import { getPercentile } from '../percentile.ts';
import { assertHealthy, withServer } from '../server-process.ts';
import { alignTable } from '../table.ts';
import { withTemporaryFolder } from '../temporary-folder.ts';
import { AGENTS, type CreateAgent } from './agents.ts';

interface Options {
  modelMs: number;
  rounds: number;
  later: number;
}

const options = new Command('npm run bench:turns --')
  .description('Measures turns of an agent with memory while the service is up, down and hanging.')
  .option('--model-ms <number>', 'time of one call of the model, in ms', parseInteger(1, 60_000), 200)
  .option('--rounds <number>', 'conversations of each row', parseInteger(1, 1000), 5)
  .option('--later <number>', 'turns of a conversation after the first turn', parseInteger(1, 100), 3)
  .parse()
  .opts<Options>();

const STEPS = [1, 5];
const MEMORIES = 1000;

/** Times of one row, in ms. */
interface Times {
  /** Turns without memory. */
  without: number[];
  /** First turns of a conversation, with a new client. */
  first: number[];
  /** Further turns of the same conversations. */
  later: number[];
}

await runInterruptibly((signal) =>
  withTemporaryFolder((folder) => {
    const environment = { SERVICE_CONSOLIDATION_INTERVAL_SECONDS: '0' };
    return withServer({ folder, environment, connections: 1, signal, probe: assertHealthy }, async ({ origin }) => {
      await fill(origin);
      const hanging = createServer(() => {}).listen(0, '127.0.0.1');
      await once(hanging, 'listening');
      const closed = createServer().listen(0, '127.0.0.1');
      await once(closed, 'listening');
      const urls = { up: origin, down: getUrl(closed.address()), hanging: getUrl(hanging.address()) };
      closed.close();
      try {
        await measureAll(urls, signal);
      } finally {
        hanging.close();
      }
    });
  }),
);

function getUrl(address: unknown): string {
  return `http://127.0.0.1:${(address as AddressInfo).port}`;
}

async function fill(url: string): Promise<void> {
  const memory = new MemoryClient({ url }).scope({ userId: 'ada' });
  const requests = Array.from({ length: MEMORIES }, (_, n) => ({ content: `Ada saw bird number ${n} near the mill` }));
  await memory.storeBatch(requests);
}

async function measureAll(urls: Record<string, string>, signal: AbortSignal): Promise<void> {
  const rows: string[][] = [];
  for (const [adapter, createAgent] of Object.entries(AGENTS)) {
    for (const steps of STEPS) {
      for (const [service, url] of Object.entries(urls)) {
        const { without, first, later } = await measure(createAgent, steps, url, signal);
        const median = getPercentile(without, 50);
        const ratios = { first: getPercentile(first, 50) / median, later: getPercentile(later, 50) / median };
        process.stdout.write(`${JSON.stringify({ adapter, steps, service, without_ms: median, ...ratios })}\n`);
        const figures = [median.toFixed(0), ratios.first.toFixed(2), ratios.later.toFixed(2)];
        rows.push([adapter, String(steps), service, ...figures]);
      }
    }
  }
  const header = ['adapter', 'steps', 'service', 'without memory, ms', 'first turn / without', 'later turns / without'];
  process.stderr.write(`${alignTable(header, rows)}\n`);
}

/** Runs conversations with memory, each with a new client. A turn without memory precedes each turn with memory. */
async function measure(createAgent: CreateAgent, steps: number, url: string, signal: AbortSignal): Promise<Times> {
  const times: Times = { without: [], first: [], later: [] };
  for (let round = 0; round < options.rounds; round++) {
    const memory = new MemoryClient({ url, onWarning: () => {} });
    const runWithout = createAgent(options.modelMs, '');
    const runWith = createAgent(options.modelMs, `conversation ${crypto.randomUUID()}`, memory);
    for (let turn = 0; turn <= options.later; turn++) {
      signal.throwIfAborted();
      const question = `Where did Ada see bird number ${round * 100 + turn}?`;
      times.without.push(await getTime(() => runWithout(question, steps)));
      times[turn === 0 ? 'first' : 'later'].push(await getTime(() => runWith(question, steps)));
    }
  }
  return times;
}

async function getTime(run: () => Promise<void>): Promise<number> {
  const start = performance.now();
  await run();
  return performance.now() - start;
}
