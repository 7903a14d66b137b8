import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { ENGINE_DEFAULTS, type OpenMemory, openMemory } from '@memoryd/engine';
import { Command } from 'commander';
import { assertAllStored } from '../batches.ts';
import { parseInteger } from '../command-line.ts';
import { runInterruptibly } from '../interruption.ts';
import type { Dialogue } from '../latency/dialogue.ts';
import { createGeneratedDialogue } from '../latency/generated-dialogue.ts';
import { startHashedEmbedder } from '../paired/hashed-embedder.ts';
import { type Comparison, compare, compareTails, type Pair } from '../paired/ratios.ts';
import { getSchemaUrl } from '../server-database.ts';
import { alignTable } from '../table.ts';
import { withTemporaryFolder } from '../temporary-folder.ts';

interface Options {
  users: number;
  each: number;
  plain: number;
  rounds: number;
  seed: number;
  databaseUrl?: string;
}

const MAX_COUNT = 1_000_000;

const options = new Command('npm run bench:users --')
  .description('Compares a namespace with many users to namespaces with few or no users, in one process.')
  .option('--users <number>', 'users of the namespace', parseInteger(2, MAX_COUNT), 10_000)
  .option('--each <number>', 'memories of each user', parseInteger(1, MAX_COUNT), 100)
  .option('--plain <number>', 'memories of the namespace without users', parseInteger(1, MAX_COUNT), 10_000)
  .option('--rounds <number>', 'rounds of the same work on both sides', parseInteger(2, 1000), 40)
  .option('--seed <number>', 'seed of the texts', parseInteger(0, 2 ** 31 - 1), 1)
  .option('--database-url <url>', 'store the memories on this PostgreSQL server instead of in files')
  .parse()
  .opts<Options>();

const BATCH_SIZE = 500;
/**
 * Index of the first turn whose text is used as a query. No query equals a stored text, because the index is far beyond
 * the stored turns.
 */
const FIRST_QUESTION = 50_000_000;
const RECALLS_PER_ROUND = 100;
const STORES_PER_ROUND = 40;
const CONSOLIDATED = 200;
/** Number of recalls on each database before the first round, because V8 is slower until frequent code is optimised. */
const WARM_UP_RECALLS = 500;

/** A database, and a function that returns the user of the memory at an index. */
interface Side {
  memory: OpenMemory;
  getUser(index: number): { user_id?: string };
}

await runInterruptibly((signal) =>
  withTemporaryFolder(async (folder) => {
    const model = await startHashedEmbedder();
    const opened: OpenMemory[] = [];
    const open = async (name: string, users: number): Promise<Side> => {
      const at = join(folder, name);
      const database = options.databaseUrl ? await getSchemaUrl(createFolder(at), options.databaseUrl) : `${at}.db`;
      const settings = { ...model.settings, consolidationIntervalSeconds: 0, workingMax: ENGINE_DEFAULTS.workingMax };
      const memory = await openMemory(database, settings);
      opened.push(memory);
      return { memory, getUser: (index) => (users === 0 ? {} : { user_id: `user ${index % users}` }) };
    };
    try {
      report(await measure(open, createGeneratedDialogue(options.seed), signal));
    } finally {
      for (const memory of opened) await memory.close();
      await model.close();
    }
  }),
);

type Open = (name: string, users: number) => Promise<Side>;

async function measure(open: Open, dialogue: Dialogue, signal: AbortSignal): Promise<Comparison[]> {
  const { users, each, plain } = options;
  const [many, none] = [await open('many', users), await open('none', 0)];
  await fill(many, dialogue, users * each, signal);
  await fill(none, dialogue, plain, signal);
  const recalls = await measureRecalls(none, many, dialogue, signal);
  const fewUsers = Math.max(2, Math.round(plain / each));
  const few = await open('few', fewUsers);
  await fill(few, dialogue, fewUsers * each, signal);
  const exports = await measureUsers(few, many, exportUser, signal);
  const writes = await measureWrites(none, few, dialogue, signal);
  // Measured last, because after the first forget, writes to a database file also record pages for the next purge.
  const forgetting = await measureUsers(few, many, ({ memory }, scope) => memory.forgetMany(scope), signal);
  return [
    compare(`recall p50: one of ${users} users, against ${plain} memories without users`, recalls),
    compareTails('recall p99: the same', recalls),
    compare(`store: ${fewUsers} users, against none`, writes.store),
    compare('store from 32 clients: users, against none', writes.many),
    compare('consolidation: users, against none', writes.consolidation),
    compare(`export: one of ${users} users, against one of ${fewUsers}`, exports),
    compare(`forget: one of ${users} users, against one of ${fewUsers}`, forgetting),
  ];
}

async function fill({ memory, getUser }: Side, dialogue: Dialogue, count: number, signal: AbortSignal): Promise<void> {
  for (let stored = 0; stored < count; stored += BATCH_SIZE) {
    signal.throwIfAborted();
    const size = Math.min(BATCH_SIZE, count - stored);
    const requests = Array.from({ length: size }, (_, i) => toRequest(dialogue, getUser, stored + i));
    assertAllStored(await memory.storeBatch(requests));
    if (stored % 50_000 === 0) process.stderr.write(`\r${stored} of ${count} stored `);
  }
  for (let left = 1; left > 0; left = (await memory.stats()).pending_embeddings) {
    signal.throwIfAborted();
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  process.stderr.write(`\r${count} stored          \n`);
}

function toRequest(dialogue: Dialogue, getUser: Side['getUser'], index: number) {
  const { content, sessionId } = dialogue.turn(index);
  return { content, session_id: sessionId, ...getUser(index) };
}

async function measureRecalls(plain: Side, many: Side, dialogue: Dialogue, signal: AbortSignal): Promise<Pair> {
  const times: Pair = { old: [], new: [] };
  let question = FIRST_QUESTION;
  const recall = ({ memory, getUser }: Side, index: number) =>
    measureMs(() => memory.recall({ query: toQuery(dialogue, index), ...getUser(index * 7919) }));
  for (let i = 0; i < WARM_UP_RECALLS; i++) {
    for (const side of [plain, many]) await recall(side, question);
    question++;
  }
  for (let round = 0; round < options.rounds; round++) {
    signal.throwIfAborted();
    for (let call = 0; call < RECALLS_PER_ROUND; call++, question++) {
      const order = [
        async () => times.old.push(await recall(plain, question)),
        async () => times.new.push(await recall(many, question)),
      ];
      for (const measureOne of call % 2 === 0 ? order : order.reverse()) await measureOne();
    }
  }
  return times;
}

function toQuery(dialogue: Dialogue, index: number): string {
  return dialogue.turn(index).content.split(': ').slice(1).join(': ');
}

/**
 * Measures `work` for one user after another, in a database with few users (`old`) and in a database with many users
 * (`new`). Returns times in ms.
 */
async function measureUsers(
  few: Side,
  many: Side,
  work: (side: Side, scope: { user_id?: string }) => Promise<unknown>,
  signal: AbortSignal,
): Promise<Pair> {
  const times = createPair();
  for (let user = 0; user < Math.min(options.rounds, 40); user++) {
    signal.throwIfAborted();
    for (const [name, side] of [
      ['old', few],
      ['new', many],
    ] as const) {
      times[name].push(await measureMs(() => work(side, side.getUser(user))));
    }
  }
  return times;
}

async function exportUser({ memory }: Side, scope: { user_id?: string }): Promise<void> {
  let lines = 0;
  for await (const _ of memory.exportMemories(scope)) lines++;
  if (lines !== options.each + 1)
    throw new Error(`the export of ${scope.user_id} must have ${options.each + 1} lines, but has ${lines}`);
}

async function measureWrites(plain: Side, few: Side, dialogue: Dialogue, signal: AbortSignal) {
  const measured = { store: createPair(), many: createPair(), consolidation: createPair() };
  let next = 2_000_000;
  const sides = [
    ['old', plain],
    ['new', few],
  ] as const;
  for (const { memory } of [plain, few]) await memory.consolidate();
  for (let round = 0; round < options.rounds; round++) {
    signal.throwIfAborted();
    const order = round % 2 === 0 ? sides : [...sides].reverse();
    for (const [name, { memory, getUser }] of order) {
      const store = (index: number) => memory.store(toRequest(dialogue, getUser, index));
      measured.store[name].push(
        await measureMs(async () => {
          for (let i = 0; i < STORES_PER_ROUND; i++) await store(next + i);
        }),
      );
      measured.many[name].push(
        await measureMs(async () => {
          for (let i = STORES_PER_ROUND; i < CONSOLIDATED; i += 32) {
            await Promise.all(Array.from({ length: 32 }, (_, client) => store(next + i + client)));
          }
        }),
      );
    }
    for (const [name, { memory }] of order) {
      measured.consolidation[name].push(await measureMs(() => memory.consolidate()));
    }
    next += 2 * CONSOLIDATED;
  }
  return measured;
}

function createFolder(path: string): string {
  mkdirSync(path);
  return path;
}

function createPair(): Pair {
  return { old: [], new: [] };
}

async function measureMs(work: () => Promise<unknown>): Promise<number> {
  const at = performance.now();
  await work();
  return performance.now() - at;
}

function report(comparisons: readonly Comparison[]): void {
  process.stdout.write(`${JSON.stringify({ ...options, databaseUrl: undefined, comparisons })}\n`);
  const rows = comparisons.map(({ what, old, new: now, ratio, low, high }) => [
    ...[what, old.toFixed(2), now.toFixed(2), ratio.toFixed(3)],
    low === undefined || high === undefined ? '' : `${low.toFixed(3)} to ${high.toFixed(3)}`,
  ]);
  process.stderr.write(`${alignTable(['', 'other', 'users', 'ratio', '95 % interval'], rows)}\n`);
}
