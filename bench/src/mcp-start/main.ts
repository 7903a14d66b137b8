import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import { parseInteger } from '../command-line.ts';
import { waitForEmbeddings } from '../embedding-wait.ts';
import { runInterruptibly } from '../interruption.ts';
import { createGeneratedDialogue } from '../latency/generated-dialogue.ts';
import { type Comparison, compare } from '../paired/ratios.ts';
import { assertHealthy, withServer } from '../server-process.ts';
import { alignTable } from '../table.ts';
import { withTemporaryFolder } from '../temporary-folder.ts';
import { measureStart, type Start } from './measure.ts';

interface Options {
  rounds: number;
  count: number;
}

const options = new Command('npm run bench:mcp-start --')
  .description('Compares starts of `memoryd mcp` with starts of Node.')
  .option('--rounds <number>', 'starts of each kind', parseInteger(2, 1000), 10)
  .option('--count <number>', 'memories of the database', parseInteger(1, 100_000), 100)
  .parse()
  .opts<Options>();

const MEMORYD = fileURLToPath(new URL('../../../packages/server/bin/memoryd.mjs', import.meta.url));
/** Responds to each request with its id, and imports nothing of ours. */
const BARE_SERVER = `require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id } = JSON.parse(line);
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, result: {} }));
})`;
const ENVIRONMENT = { SERVICE_CONSOLIDATION_INTERVAL_SECONDS: '0' };
const WARM_UP_ROUNDS = 1;
/** The measured times, and how the table names them. */
const TIMES = { initializeMs: 'initialize', toolsListMs: 'tools/list', exitMs: 'SIGINT to exit' } as const;

/** A kind of start, by name: returns the arguments of Node. */
type Kinds = Record<string, () => string[]>;

await runInterruptibly((signal) =>
  withTemporaryFolder(async (folder) => {
    const server = { folder, environment: ENVIRONMENT, connections: 1, signal, probe: assertHealthy };
    await withServer(server, async ({ client, origin, databaseFolder }) => {
      const dialogue = createGeneratedDialogue(1);
      await client.storeBatch(Array.from({ length: options.count }, (_, n) => ({ content: dialogue.turn(n).content })));
      await waitForEmbeddings(client, signal);
      const openFile = (path: string) => [MEMORYD, 'mcp', '--db-path', path];
      const kinds: Kinds = {
        node: () => ['-e', BARE_SERVER],
        // The server has this file open too, as when a person uses the dashboard beside an agent.
        'existing file': () => openFile(join(databaseFolder, 'bench.db')),
        'missing file': () => openFile(join(mkdtempSync(join(folder, 'missing-')), 'memory.db')),
        url: () => [MEMORYD, 'mcp', '--url', origin],
      };
      report(await measureRounds(kinds, signal));
    });
  }),
);

/** Starts every kind in each round, each time in another order. Returns the starts by kind, in order of the rounds. */
async function measureRounds(kinds: Kinds, signal: AbortSignal): Promise<Map<string, Start[]>> {
  const names = Object.keys(kinds);
  const starts = new Map<string, Start[]>(names.map((name) => [name, []]));
  for (let round = -WARM_UP_ROUNDS; round < options.rounds; round++) {
    const first = (round + WARM_UP_ROUNDS) % names.length;
    for (const name of [...names.slice(first), ...names.slice(0, first)]) {
      signal.throwIfAborted();
      const start = await measureStart(kinds[name]?.() ?? [], ENVIRONMENT, signal);
      if (round >= 0) starts.get(name)?.push(start);
    }
  }
  return starts;
}

function report(starts: Map<string, Start[]>): void {
  const [[, node = []] = [], ...others] = starts;
  const characters = others.map(([, [start]]) => start?.toolsListCharacters);
  const comparisons = others.flatMap(([name, measured]) =>
    Object.entries(TIMES).map(([time, what]) => {
      const getTimes = (list: readonly Start[]) => list.map((start) => start[time as keyof typeof TIMES]);
      return { start: name, ...compare(what, { old: getTimes(node), new: getTimes(measured) }) };
    }),
  );
  process.stdout.write(
    `${JSON.stringify({ ...options, tools_list_characters: characters, comparisons: comparisons.map(toLine) })}\n`,
  );
  const header = ['memoryd mcp', '', 'node, ms', 'memoryd, ms', 'memoryd / node', '95 % interval'];
  const rows = comparisons.map(({ start, what, old, new: now, ratio, low, high }) => [
    ...[start, what, old.toFixed(0), now.toFixed(0), ratio.toFixed(2)],
    `${low?.toFixed(2)} to ${high?.toFixed(2)}`,
  ]);
  process.stderr.write(`${alignTable(header, rows, 2)}\n`);
  process.stderr.write(`tools/list: ${[...new Set(characters)].join(', ')} characters\n`);
}

function toLine({ start, what, old, new: now, ratio, low, high }: Comparison & { start: string }) {
  return { start, what, node_ms: old, memoryd_ms: now, ratio, low, high };
}
