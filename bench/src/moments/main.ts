import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RecallRequest } from '@memoryd/contract';
import { ENGINE_DEFAULTS, type OpenMemory, openMemory } from '@memoryd/engine';
import { Command } from 'commander';
import { parseInteger } from '../command-line.ts';
import { runInterruptibly } from '../interruption.ts';
import { createGeneratedDialogue } from '../latency/generated-dialogue.ts';
import { startHashedEmbedder } from '../paired/hashed-embedder.ts';
import { type Comparison, compare, type Pair } from '../paired/ratios.ts';
import { getSchemaUrl } from '../server-database.ts';
import { alignTable } from '../table.ts';
import { withTemporaryFolder } from '../temporary-folder.ts';

interface Options {
  count: number;
  rounds: number;
  seed: number;
  databaseUrl?: string;
}

const options = new Command('npm run bench:moments --')
  .description(
    'Compares recalls of an earlier time to recalls of the present, and a store with similar to store and recall.',
  )
  .option('--count <number>', 'memories, of which a tenth changes later', parseInteger(1000, 1_000_000), 100_000)
  .option('--rounds <number>', 'recalls or stores of each kind', parseInteger(2, 10_000), 100)
  .option('--seed <number>', 'seed of the texts', parseInteger(0, 2 ** 31 - 1), 1)
  .option('--database-url <url>', 'store the memories on this PostgreSQL server instead of in a file')
  .parse()
  .opts<Options>();

const dialogue = createGeneratedDialogue(options.seed);
const BATCH_SIZE = 500;
const MAX_RATIO = 2;
const CLIENTS = 32;
const WARM_UP_RECALLS = 50;
/** Index of the first turn whose text is used as a query, far beyond the stored turns. */
const FIRST_QUESTION = 50_000_000;
/** Index of the first turn whose text is stored during the measurement. */
const FIRST_STORED = 60_000_000;

const SIMILAR_COUNT = 3;
const SIMILAR = `store with similar=${SIMILAR_COUNT}, against store and recall`;

/** One memory in CHANGED_EACH changes, and another one is superseded, after the time that recalls ask about. */
const CHANGED_EACH = 10;

await runInterruptibly((signal) =>
  withTemporaryFolder(async (folder) => {
    const model = await startHashedEmbedder();
    const path = join(folder, 'database');
    if (options.databaseUrl) mkdirSync(path);
    const database = options.databaseUrl ? await getSchemaUrl(path, options.databaseUrl) : `${path}.db`;
    const settings = { ...model.settings, consolidationIntervalSeconds: 0, workingMax: ENGINE_DEFAULTS.workingMax };
    const memory = await openMemory(database, settings);
    try {
      report(await measure(memory, signal));
    } finally {
      await memory.close();
      await model.close();
    }
  }),
);

async function measure(memory: OpenMemory, signal: AbortSignal): Promise<Comparison[]> {
  const time = await fill(memory, signal);
  const kinds: readonly { what: string; plain: Partial<RecallRequest>; asked: Partial<RecallRequest> }[] = [
    { what: 'current', plain: {}, asked: { current: true } },
    { what: 'as_of', plain: {}, asked: { as_of: time } },
    { what: 'known_at', plain: {}, asked: { known_at: time } },
    { what: 'known_at and as_of', plain: {}, asked: { known_at: time, as_of: time } },
    { what: 'known_at and a tag', plain: {}, asked: { known_at: time, tag: ['even'] } },
    { what: 'known_at and as_of, against as_of', plain: { as_of: time }, asked: { known_at: time, as_of: time } },
    { what: 'known_at and a tag, against a tag', plain: { tag: ['even'] }, asked: { known_at: time, tag: ['even'] } },
  ];
  const comparisons: Comparison[] = [];
  for (const { what, plain, asked } of kinds) {
    const recall = (fields: Partial<RecallRequest>) => (round: number) =>
      memory.recall({ query: getQuery(FIRST_QUESTION + round), track: false, ...fields });
    comparisons.push(compare(what, await measurePair({ old: recall(plain), new: recall(asked) }, signal)));
  }
  comparisons.push(compare(SIMILAR, await measurePair(createStores(memory), signal)));
  return comparisons;
}

type Act = (round: number) => Promise<unknown>;

/** Returns the times of two acts, which alternate in pairs. */
async function measurePair(acts: Record<keyof Pair, Act>, signal: AbortSignal): Promise<Pair> {
  const times: Pair = { old: [], new: [] };
  for (let round = -WARM_UP_RECALLS; round < options.rounds; round++) {
    signal.throwIfAborted();
    const sides = ['old', 'new'] as const;
    for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
      const at = performance.now();
      await acts[side](round);
      if (round >= 0) times[side].push(performance.now() - at);
    }
  }
  return times;
}

/** Stores a new text and recalls with it, or stores another one with `similar`, so that no vector is cached. */
function createStores(memory: OpenMemory): Record<keyof Pair, Act> {
  return {
    async old(round) {
      const content = getQuery(FIRST_STORED + 2 * round);
      await memory.store({ content });
      await memory.recall({ query: content, track: false, top_k: SIMILAR_COUNT, current: true });
    },
    new: (round) => memory.store({ content: getQuery(FIRST_STORED + 2 * round + 1) }, { similar: SIMILAR_COUNT }),
  };
}

function getQuery(index: number): string {
  return dialogue.turn(index).content.split(': ').slice(1).join(': ');
}

/** Stores the memories, and changes a tenth of them. Returns a time before the changes. */
async function fill(memory: OpenMemory, signal: AbortSignal): Promise<string> {
  const { count } = options;
  const ids: string[] = [];
  for (let stored = 0; stored < count; stored += BATCH_SIZE) {
    signal.throwIfAborted();
    const size = Math.min(BATCH_SIZE, count - stored);
    const requests = Array.from({ length: size }, (_, i) => {
      const { content, sessionId } = dialogue.turn(stored + i);
      return { content, session_id: sessionId, tags: [(stored + i) % 2 === 0 ? 'even' : 'odd'] };
    });
    const { results } = await memory.storeBatch(requests);
    for (const result of results) {
      if (!('id' in result)) throw new Error(`not stored: ${result.error.message}`);
      ids.push(result.id);
    }
    if (stored % 50_000 === 0) process.stderr.write(`\r${stored} of ${count} stored `);
  }
  for (let left = 1; left > 0; left = (await memory.stats()).pending_embeddings)
    await sleep(200, undefined, { signal });
  const time = new Date().toISOString();
  await sleep(10);
  const changed = ids.filter((_, i) => i % CHANGED_EACH === 0);
  for (let from = 0; from < changed.length; from += CLIENTS) {
    signal.throwIfAborted();
    await Promise.all(
      changed.slice(from, from + CLIENTS).map(async (id, i) => {
        await memory.update(id, { tags: ['changed'], valid_to: '2999-01-01T00:00:00Z' });
        if (i % 10 === 0) await memory.store({ content: `a correction of ${id}`, supersedes: id });
      }),
    );
  }
  for (let left = 1; left > 0; left = (await memory.stats()).pending_embeddings)
    await sleep(200, undefined, { signal });
  process.stderr.write(`\r${count} stored, ${changed.length} changed\n`);
  return time;
}

function report(comparisons: readonly Comparison[]): void {
  process.stdout.write(`${JSON.stringify({ ...options, databaseUrl: undefined, comparisons })}\n`);
  const rows = comparisons.map(({ what, old, new: now, ratio, low = 0, high = 0 }) => [
    ...[what, old.toFixed(2), now.toFixed(2), ratio.toFixed(3), `${low.toFixed(3)} to ${high.toFixed(3)}`],
    ratio > MAX_RATIO ? `more than ${MAX_RATIO}` : '',
  ]);
  process.stderr.write(`${alignTable(['', 'plain ms', 'asked ms', 'ratio', '95 % interval', ''], rows)}\n`);
  if (comparisons.some(({ ratio }) => ratio > MAX_RATIO)) process.exitCode = 1;
}
