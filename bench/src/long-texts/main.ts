import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { OpenMemory } from '@memoryd/engine';
import { Command } from 'commander';
import { parseInteger } from '../command-line.ts';
import { runInterruptibly } from '../interruption.ts';
import type { Dialogue } from '../latency/dialogue.ts';
import { createGeneratedDialogue } from '../latency/generated-dialogue.ts';
import { type Comparison, compare } from '../paired/ratios.ts';
import { openEngineAt } from '../paired/side.ts';
import { getSchemaUrl } from '../server-database.ts';
import { alignTable } from '../table.ts';
import { withTemporaryFolder } from '../temporary-folder.ts';

interface Options {
  rounds: number;
  notes: number;
  seed: number;
  engine: string;
  databaseUrl?: string;
}

const options = new Command('npm run bench:long-texts --')
  .description('Measures how long a short note waits until recall finds it by meaning, alone and behind long texts.')
  .option('--rounds <number>', 'rounds of all situations, in alternating order', parseInteger(2, 1000), 6)
  .option('--notes <number>', 'short notes in each situation of a round', parseInteger(1, 1000), 10)
  .option('--seed <number>', 'seed of the texts', parseInteger(0, 2 ** 31 - 1), 1)
  .option(
    '--engine <folder>',
    'checkout to measure, installed and built',
    fileURLToPath(new URL('../../..', import.meta.url)),
  )
  .option('--database-url <url>', 'store the memories on this PostgreSQL server instead of in files')
  .parse()
  .opts<Options>();

/** The situations: numbers of long texts that another user has just stored, and their lengths in characters. */
const SITUATIONS = {
  alone: { texts: 0, chars: 0 },
  'behind 200,000 characters': { texts: 1, chars: 200_000 },
  'behind 1,000,000 characters': { texts: 1, chars: 1_000_000 },
  'behind ten texts of 1,000,000 characters': { texts: 10, chars: 1_000_000 },
};
type Situation = keyof typeof SITUATIONS;

/** Notes before the first measured note, because V8 is slower until frequent code is optimised. */
const WARM_UP_NOTES = 20;
/** Average pause between notes, so that notes arrive at different times of the model's work. */
const MEAN_PAUSE_MS = 50;
/** Similarity of a text with itself is 1. A memory without vectors has no similarity. */
const MIN_MEANING = 0.5;
const POLL_MS = 2;
const MAX_WAIT_MS = 300_000;
/** Index of the first turn of long texts, far beyond those of notes. */
const FIRST_LONG_TURN = 10_000_000;

const module = pathToFileURL(join(options.engine, 'packages/engine/dist/bundle/index.js')).href;

await runInterruptibly((signal) =>
  withTemporaryFolder(async (folder) => {
    const names = Object.keys(SITUATIONS) as Situation[];
    const times = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<Situation, number[]>;
    const dialogue = createGeneratedDialogue(options.seed);
    for (let round = 0; round < options.rounds; round++) {
      const order = round % 2 === 0 ? names : [...names].reverse();
      for (const name of order) {
        const at = join(folder, `${round}-${names.indexOf(name)}`);
        mkdirSync(at);
        times[name].push(...(await measure(at, SITUATIONS[name], dialogue, signal)));
        process.stderr.write(`\r${round + 1} of ${options.rounds} rounds, ${name}        `);
      }
    }
    report(names.slice(1).map((name) => compare(name, { old: times.alone, new: times[name] })));
  }),
);

/** Returns the waits of notes in a situation, in ms. Each call uses a new database. */
async function measure(
  folder: string,
  { texts, chars }: { texts: number; chars: number },
  dialogue: Dialogue,
  signal: AbortSignal,
): Promise<number[]> {
  const database = options.databaseUrl ? await getSchemaUrl(folder, options.databaseUrl) : join(folder, 'memory.db');
  const memory = await openEngineAt(module, database, { embedder: 'minilm' });
  try {
    for (let note = 0; note < WARM_UP_NOTES; note++) await measureNote(memory, `${dialogue.turn(note).content} `);
    const long = Array.from({ length: texts }, (_, i) => createLongText(dialogue, FIRST_LONG_TURN + i * 10_000, chars));
    const stored = Promise.all(long.map((content) => memory.store({ content, user_id: 'another' })));
    // The texts are stored and wait for their vectors.
    while (texts > 0 && (await memory.stats()).pending_embeddings < texts) await sleep(POLL_MS);
    const waits: number[] = [];
    for (let note = 0; note < options.notes; note++) {
      signal.throwIfAborted();
      await sleep(2 * MEAN_PAUSE_MS * Math.random());
      waits.push(await measureNote(memory, dialogue.turn(WARM_UP_NOTES + note).content));
    }
    await stored;
    return waits;
  } finally {
    await memory.close();
  }
}

/** Stores a note, and returns the time until recall finds it by meaning. */
async function measureNote(memory: OpenMemory, content: string): Promise<number> {
  const startedAt = performance.now();
  const { id } = await memory.store({ content, user_id: 'one' });
  const query = { query: content, user_id: 'one', explain: true, track: false };
  while (performance.now() - startedAt < MAX_WAIT_MS) {
    const waitedMs = performance.now() - startedAt;
    const { results } = await memory.recall(query);
    const meaning = results.find((result) => result.id === id)?.explanation?.evidence.meaning ?? 0;
    if (meaning > MIN_MEANING) return waitedMs;
    await sleep(POLL_MS);
  }
  throw new Error(`a note must be found by meaning within ${MAX_WAIT_MS / 1000} s; check the embedder`);
}

function createLongText(dialogue: Dialogue, firstTurn: number, chars: number): string {
  let text = '';
  for (let turn = firstTurn; text.length < chars; turn++) text += `${dialogue.turn(turn).content}\n`;
  return text.slice(0, chars);
}

function report(comparisons: readonly Comparison[]): void {
  const { rounds, notes } = options;
  process.stdout.write(`${JSON.stringify({ rounds, notes, comparisons })}\n`);
  const rows = comparisons.map(({ what, old: alone, new: behind, ratio, low = 0, high = 0 }) => [
    ...[what, alone.toFixed(1), behind.toFixed(1), ratio.toFixed(2)],
    `${low.toFixed(2)} to ${high.toFixed(2)}`,
  ]);
  process.stderr.write(`\n${alignTable(['wait, median ms', 'alone', 'behind', 'ratio', '95 % interval'], rows)}\n`);
}
