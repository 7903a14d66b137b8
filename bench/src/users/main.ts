import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { ENGINE_DEFAULTS, type OpenMemory, openMemory } from '@memoryd/engine';
import { Command } from 'commander';
import { wholeNumber } from '../command-line.ts';
import { runInterruptibly } from '../interruption.ts';
import type { Dialogue } from '../latency/dialogue.ts';
import { generatedDialogue } from '../latency/generated-dialogue.ts';
import { startHashedEmbedder } from '../paired/hashed-embedder.ts';
import { type Comparison, compare, compareTails, type Pair } from '../paired/ratios.ts';
import { getSchema } from '../server-database.ts';
import { alignedTable } from '../table.ts';
import { withTemporaryFolder } from '../temporary-folder.ts';

interface Options {
  users: number;
  each: number;
  plain: number;
  rounds: number;
  seed: number;
  databaseUrl?: string;
}

const MAX = 1_000_000;

const options = new Command('npm run bench:users --')
  .description('Compares memories of many users in one namespace with as many, or fewer, of no user, in one process.')
  .option('--users <number>', 'users of the namespace', wholeNumber(2, MAX), 10_000)
  .option('--each <number>', 'memories of each user', wholeNumber(1, MAX), 100)
  .option('--plain <number>', 'memories of the namespace without users', wholeNumber(1, MAX), 10_000)
  .option('--rounds <number>', 'how often both do the same work in turn', wholeNumber(2, 1000), 40)
  .option('--seed <number>', 'decides the texts', wholeNumber(0, 2 ** 31 - 1), 1)
  .option('--database-url <url>', 'keep the memories on this PostgreSQL server instead of in files')
  .parse()
  .opts<Options>();

const BATCH = 500;
/** Questions lie far behind what is stored, so that none is the text of a memory. */
const FIRST_QUESTION = 50_000_000;
const RECALLS = 100;
const STORES = 40;
const CONSOLIDATED = 200;
/** Recalls of each side before the first round: V8 is slower until it has optimised what runs often. */
const WARM_UP = 500;

/** A namespace, and the user of each memory in it. */
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
      const database = options.databaseUrl ? await getSchema(newFolder(at), options.databaseUrl) : `${at}.db`;
      const settings = { ...model.settings, consolidationIntervalSeconds: 0, workingMax: ENGINE_DEFAULTS.workingMax };
      const memory = await openMemory(database, settings);
      opened.push(memory);
      return { memory, getUser: (index) => (users === 0 ? {} : { user_id: `user ${index % users}` }) };
    };
    try {
      report(await measure(open, generatedDialogue(options.seed), signal));
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
  const exports = await measurePeople(few, many, exported, signal);
  const writes = await measureWrites(none, few, dialogue, signal);
  // Last: after it a file notes what is written, for the next.
  const forgetting = await measurePeople(few, many, ({ memory }, scope) => memory.forgetMany(scope), signal);
  return [
    compare(`recall of one of ${users} users, of all ${plain} without: p50`, recalls),
    compareTails('the same: p99', recalls),
    compare(`store with ${fewUsers} users, without`, writes.store),
    compare('store of 32 clients with users, without', writes.many),
    compare('consolidation with users, without', writes.consolidation),
    compare(`export of one of ${users} users, of ${fewUsers}`, exports),
    compare(`forgetting one of ${users} users, of ${fewUsers}`, forgetting),
  ];
}

async function fill({ memory, getUser }: Side, dialogue: Dialogue, count: number, signal: AbortSignal): Promise<void> {
  for (let stored = 0; stored < count; stored += BATCH) {
    signal.throwIfAborted();
    const size = Math.min(BATCH, count - stored);
    const requests = Array.from({ length: size }, (_, i) => toRequest(dialogue, getUser, stored + i));
    const { failed_count } = await memory.storeBatch(requests);
    if (failed_count > 0) throw new Error('a memory of a batch was refused');
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
    timed(() => memory.recall({ query: toQuery(dialogue, index), ...getUser(index * 7919) }));
  for (let i = 0; i < WARM_UP; i++) {
    for (const side of [plain, many]) await recall(side, question);
    question++;
  }
  for (let round = 0; round < options.rounds; round++) {
    signal.throwIfAborted();
    for (let call = 0; call < RECALLS; call++, question++) {
      const inTurn = [
        async () => times.old.push(await recall(plain, question)),
        async () => times.new.push(await recall(many, question)),
      ];
      for (const measureOne of call % 2 === 0 ? inTurn : inTurn.reverse()) await measureOne();
    }
  }
  return times;
}

function toQuery(dialogue: Dialogue, index: number): string {
  return dialogue.turn(index).content.split(': ').slice(1).join(': ');
}

/** Times of doing something with one user after another, where there are few users and where there are many. */
async function measurePeople(
  few: Side,
  many: Side,
  work: (side: Side, scope: { user_id?: string }) => Promise<unknown>,
  signal: AbortSignal,
): Promise<Pair> {
  const times = newPair();
  for (let user = 0; user < Math.min(options.rounds, 40); user++) {
    signal.throwIfAborted();
    for (const [name, side] of [
      ['old', few],
      ['new', many],
    ] as const) {
      times[name].push(await timed(() => work(side, side.getUser(user))));
    }
  }
  return times;
}

async function exported({ memory }: Side, scope: { user_id?: string }): Promise<void> {
  let lines = 0;
  for await (const _ of memory.exportMemories(scope)) lines++;
  if (lines !== options.each + 1) throw new Error(`${lines} lines were exported`);
}

async function measureWrites(plain: Side, few: Side, dialogue: Dialogue, signal: AbortSignal) {
  const measured = { store: newPair(), many: newPair(), consolidation: newPair() };
  let next = 2_000_000;
  const sides = [
    ['old', plain],
    ['new', few],
  ] as const;
  for (const { memory } of [plain, few]) await memory.consolidate();
  for (let round = 0; round < options.rounds; round++) {
    signal.throwIfAborted();
    const inTurn = round % 2 === 0 ? sides : [...sides].reverse();
    for (const [name, { memory, getUser }] of inTurn) {
      const store = (index: number) => memory.store(toRequest(dialogue, getUser, index));
      measured.store[name].push(
        await timed(async () => {
          for (let i = 0; i < STORES; i++) await store(next + i);
        }),
      );
      measured.many[name].push(
        await timed(async () => {
          for (let i = STORES; i < CONSOLIDATED; i += 32) {
            await Promise.all(Array.from({ length: 32 }, (_, client) => store(next + i + client)));
          }
        }),
      );
    }
    for (const [name, { memory }] of inTurn) {
      measured.consolidation[name].push(await timed(() => memory.consolidate()));
    }
    next += 2 * CONSOLIDATED;
  }
  return measured;
}

function newFolder(path: string): string {
  mkdirSync(path);
  return path;
}

function newPair(): Pair {
  return { old: [], new: [] };
}

async function timed(work: () => Promise<unknown>): Promise<number> {
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
  process.stderr.write(`${alignedTable(['', 'other', 'users', 'ratio', '95 % interval'], rows)}\n`);
}
