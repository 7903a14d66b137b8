import { join } from 'node:path';
import type { StoreRequest } from '@memoryd/contract';
import { Command } from 'commander';
import { parseInteger } from '../command-line.ts';
import type { HttpClient } from '../http-client.ts';
import { runInterruptibly } from '../interruption.ts';
import { createGeneratedDialogue } from '../latency/generated-dialogue.ts';
import { compare, type Pair } from '../paired/ratios.ts';
import { getPercentile } from '../percentile.ts';
import { assertHealthy, withServer } from '../server-process.ts';
import { alignTable } from '../table.ts';
import { withTemporaryFolder } from '../temporary-folder.ts';

interface Options {
  count: number;
  rounds: number;
  seed: number;
  old?: string;
  databaseUrl?: string;
}

const MAX_COUNT = 1_000_000;
const MAX_RATIO = 3;
/** Limit of the ratio of counts to a recall. */
const MAX_COUNT_RATIO = 5;
const BATCH_SIZE = 500;
const CLIENTS = 8;
const LIMIT = 50;
/** Page size on the way to a page in the middle of a list. */
const LONG_LIMIT = 10_000;
const WARM_UP_ROUNDS = 2;
/** Requests of each kind beside a loop of lists. */
const QUICK_REQUESTS = 300;
const LIST_CLIENTS = 4;
/** Index of the first turn whose text is used as a query, far beyond the stored turns. */
const FIRST_QUESTION = 50_000_000;

const options = new Command('npm run bench:lists --')
  .description('Compares lists with the list of the newest memories, and counts with a recall, on a server.')
  .option('--count <number>', 'memories of each database', parseInteger(1000, MAX_COUNT), 100_000)
  .option('--rounds <number>', 'requests of each list', parseInteger(2, 10_000), 15)
  .option('--seed <number>', 'seed of the texts', parseInteger(0, 2 ** 31 - 1), 1)
  .option('--old <folder>', 'measure the server of this checkout too, installed and built')
  .option('--database-url <url>', 'store the memories on this PostgreSQL server, each database in its own schema')
  .parse()
  .opts<Options>();

/** A distribution of memories over users, agents and sessions. */
interface Shape {
  name: string;
  getPlace(index: number): Pick<StoreRequest, 'user_id' | 'agent_id' | 'session_id'>;
}

const { count } = options;
const SHAPES: readonly Shape[] = [
  { name: 'one user and agent', getPlace: (i) => ({ ...OWNER, session_id: `session ${i % (count / 20)}` }) },
  {
    name: `${count / 10} users of 10 memories`,
    getPlace: (i) => ({ user_id: `user ${i % (count / 10)}`, agent_id: `agent ${i % 10}` }),
  },
  { name: `${count} sessions of 1 memory`, getPlace: (i) => ({ ...OWNER, session_id: `session ${i}` }) },
  { name: `10 sessions of ${count / 10} memories`, getPlace: (i) => ({ ...OWNER, session_id: `session ${i % 10}` }) },
  { name: `10 shared sessions of ${count / 10} memories`, getPlace: (i) => ({ session_id: `session ${i % 10}` }) },
];
const OWNER = { user_id: 'user 0', agent_id: 'agent 0' };
const FILTERS: readonly Record<string, string>[] = [
  {},
  { user_id: 'user 0' },
  { user_id: 'user 0', shared: 'true' },
  { agent_id: 'agent 0' },
  { agent_id: 'agent 0', shared: 'true' },
  { user_id: 'user 0', agent_id: 'agent 0' },
  { tier: 'working' },
  { source: 'api' },
  { since: '2000-01-01' },
  { tag: 'all' },
];

/** Lists of memories in another order, from another offset or by words. `count` memories have the tag `all`. */
const ORDERED: readonly Record<string, string>[] = [
  { dir: 'asc' },
  { offset: '10000' },
  ...['changed', 'importance', 'use', 'retention'].flatMap((order) => [
    { order },
    { order, dir: 'asc' },
    { order, offset: '10000' },
  ]),
  ...['the', 'the c', 'zanzibar'].map((q) => ({ q })),
  { q: 'the', offset: '10000' },
  { q: 'the', order: 'use' },
];
/** Numbers of memories of one page of the lists of memories. */
const ORDERED_LIMITS = [LIMIT, 1000];

/** Counts of memories, each compared with a recall. Each request has other parameters, since the service keeps counts. */
const COUNTS: readonly ((round: number) => string)[] = [
  ...['tag', 'tier', 'source', 'session_id', 'user_id'].map(
    (field) => (round: number) => `/facets?field=${field}&limit=${20 + round}`,
  ),
  (round) => `/facets?field=tag&q=the&limit=${20 + round}`,
  ...['month', 'day', 'month&field=tag', 'day&field=source', 'month&q=the'].map(
    (step) => (round: number) => `/growth?step=${step}&timezone=${getZone(round)}`,
  ),
];

/** A list or count, compared with `memoriesMs`: the list of the newest memories, or a recall. */
interface Row {
  checkout: string;
  shape: string;
  list: string;
  memoriesMs: number;
  listMs: number;
  ratio: number;
  /** 95 % interval of the ratio over rounds. */
  low: number;
  high: number;
  maxRatio: number;
}

type Measured = Omit<Row, 'checkout' | 'shape'>;

interface QuickRow {
  checkout: string;
  request: string;
  aloneMs: [p50: number, p99: number];
  besideMs: [p50: number, p99: number];
}

await runInterruptibly((signal) =>
  withTemporaryFolder(async (folder) => {
    const rows: Row[] = [];
    const quick: QuickRow[] = [];
    const checkouts = [
      ...(options.old === undefined ? [] : [['old', options.old] as const]),
      ['new', undefined] as const,
    ];
    for (const [at, shape] of SHAPES.entries()) {
      for (const [name, checkout] of checkouts) {
        const server = {
          folder: join(folder, `${name} ${at}`),
          checkout,
          environment: {
            SERVICE_EMBEDDER: 'none',
            SERVICE_CONSOLIDATION_INTERVAL_SECONDS: '0',
            SERVICE_WORKING_MAX: '100000000',
          },
          databaseUrl: options.databaseUrl,
          connections: CLIENTS,
          signal,
          probe: assertHealthy,
        };
        await withServer(server, async ({ client }) => {
          await fill(client, shape, signal);
          const measured = [
            ...(at === 0 ? [...(await measureOrders(client, signal)), ...(await measureCounts(client, signal))] : []),
            ...(await measureLists(client, signal)),
          ];
          rows.push(...measured.map((row) => ({ checkout: name, shape: shape.name, ...row })));
          if (at === 0) quick.push(...(await measureQuick(client, signal)).map((row) => ({ checkout: name, ...row })));
        });
        process.stderr.write(`${name}: ${shape.name} measured\n`);
      }
    }
    report(rows, quick);
  }),
);

async function fill(client: HttpClient, { getPlace }: Shape, signal: AbortSignal): Promise<void> {
  const dialogue = createGeneratedDialogue(options.seed);
  for (let stored = 0; stored < count; stored += BATCH_SIZE) {
    signal.throwIfAborted();
    const size = Math.min(BATCH_SIZE, count - stored);
    const requests = Array.from({ length: size }, (_, i) => {
      const { content } = dialogue.turn(stored + i);
      return { content, tags: ['all'], ...getPlace(stored + i) };
    });
    if (!(await client.storeBatch(requests))) throw new Error('the server must have a batch route');
  }
}

async function measureLists(client: HttpClient, signal: AbortSignal): Promise<Measured[]> {
  const rows: Measured[] = [];
  for (const [list, filter] of [...FILTERS.map((filter) => ['sessions', filter] as const), ['users', {}] as const]) {
    const cursors = {
      list: await findMiddle(client, list, filter),
      memories: await findMiddle(client, 'memories', filter),
    };
    for (const page of ['first', 'middle'] as const) {
      if (page === 'middle' && (cursors.list === undefined || cursors.memories === undefined)) continue;
      const getPath = (name: string, cursor: string | undefined) =>
        `/${name}?${new URLSearchParams({ ...filter, limit: String(LIMIT), ...(page === 'middle' && cursor !== undefined && { cursor }) })}`;
      const times = await measurePair(
        client,
        getPath('memories', cursors.memories),
        getPath(list, cursors.list),
        signal,
      );
      rows.push(toRow(`/${list} ${new URLSearchParams(filter)} ${page}`, times));
    }
  }
  return rows;
}

/** Compares lists of memories with the list of the newest ones of the same length. */
async function measureOrders(client: HttpClient, signal: AbortSignal): Promise<Measured[]> {
  const rows: Measured[] = [];
  for (const limit of ORDERED_LIMITS) {
    for (const request of ORDERED) {
      const getPath = (fields: Record<string, string>) =>
        `/memories?${new URLSearchParams({ ...fields, limit: String(limit) })}`;
      const times = await measurePair(client, getPath({}), getPath(request), signal);
      rows.push(toRow(getPath(request), times));
    }
  }
  return rows;
}

/** Compares counts of memories with a recall. */
async function measureCounts(client: HttpClient, signal: AbortSignal): Promise<Measured[]> {
  const dialogue = createGeneratedDialogue(options.seed);
  let question = FIRST_QUESTION;
  const rows: Measured[] = [];
  for (const getPath of COUNTS) {
    let round = 0;
    const times = await measureAlternating(
      () => client.recall(dialogue.turn(question++).content, 10),
      () => client.get(getPath(round++)),
      signal,
    );
    rows.push(toRow(getPath(0), times, MAX_COUNT_RATIO));
  }
  return rows;
}

function toRow(list: string, times: Pair, maxRatio = MAX_RATIO): Measured {
  const { old: memoriesMs, new: listMs, ratio, low = ratio, high = ratio } = compare('', times);
  return { list, memoriesMs, listMs, ratio, low, high, maxRatio };
}

/** Returns the name of a zone with a constant offset of its own, so that all have the same cost. */
function getZone(round: number): string {
  return encodeURIComponent(`Etc/GMT${round % 2 === 0 ? '+' : '-'}${1 + (Math.floor(round / 2) % 12)}`);
}

/** Returns the cursor of a page in the middle of a list; undefined if the list has few pages. */
async function findMiddle(
  client: HttpClient,
  list: string,
  filter: Record<string, string>,
): Promise<string | undefined> {
  let cursor: string | undefined;
  for (let seen = 0, total = 1; seen < total / 2; ) {
    const limit = String(Math.max(LIMIT, Math.min(LONG_LIMIT, Math.ceil(total / 2 - seen))));
    const query = new URLSearchParams({
      ...filter,
      limit: seen === 0 ? String(LIMIT) : limit,
      ...(cursor !== undefined && { cursor }),
    });
    const page = (await client.get(`/${list}?${query}`)) as { total: number; next_cursor?: string };
    if (page.next_cursor === undefined) return undefined;
    seen += Number(query.get('limit'));
    ({ total, next_cursor: cursor } = page);
  }
  return cursor;
}

/** Requests both paths in each round, alternating in going first. Returns times in ms: `old` for the first path. */
function measurePair(client: HttpClient, one: string, other: string, signal: AbortSignal): Promise<Pair> {
  return measureAlternating(
    () => client.get(one),
    () => client.get(other),
    signal,
  );
}

/** Sends both requests in each round, alternating in going first. Returns times in ms: `old` for the first request. */
async function measureAlternating(
  one: () => Promise<unknown>,
  other: () => Promise<unknown>,
  signal: AbortSignal,
): Promise<Pair> {
  const times: Pair = { old: [], new: [] };
  for (let round = -WARM_UP_ROUNDS; round < options.rounds; round++) {
    signal.throwIfAborted();
    const order = [
      ['old', one],
      ['new', other],
    ] as const;
    for (const [side, send] of round % 2 === 0 ? order : [...order].reverse()) {
      const ms = await measureMs(send);
      if (round >= 0) times[side].push(ms);
    }
  }
  return times;
}

/** Measures quick requests alone, and beside clients that request lists and counts one after the other. */
async function measureQuick(client: HttpClient, signal: AbortSignal): Promise<Omit<QuickRow, 'checkout'>[]> {
  const dialogue = createGeneratedDialogue(options.seed);
  const { memories } = (await client.get('/memories?limit=1')) as { memories: [{ id: string }] };
  let question = FIRST_QUESTION;
  const requests: Record<string, () => Promise<unknown>> = {
    recall: () => client.recall(dialogue.turn(question++).content, 10),
    'GET /health': () => client.health(),
    'GET /memories/{id}': () => client.get(`/memories/${memories[0].id}`),
    'GET /stats': () => client.stats(),
  };
  const measureAll = async () => {
    const times = Object.fromEntries(Object.keys(requests).map((name) => [name, [] as number[]]));
    for (let i = 0; i < QUICK_REQUESTS; i++) {
      signal.throwIfAborted();
      for (const [name, send] of Object.entries(requests)) times[name]?.push(await measureMs(send));
    }
    return times;
  };
  await measureAll();
  const alone = await measureAll();
  let isDone = false;
  const lists = [
    '/users',
    '/sessions',
    '/sessions?tier=working',
    '/memories?tag=all',
    `/memories?growth_at=${new Date().toISOString()}`,
  ];
  const listing = Array.from({ length: LIST_CLIENTS }, async (_, at) => {
    for (let i = at; !isDone; i++) await client.get(lists[i % lists.length] as string);
  });
  const beside = await measureAll().finally(() => {
    isDone = true;
  });
  await Promise.all(listing);
  const getTails = (values: number[] = []): [number, number] => [getPercentile(values, 50), getPercentile(values, 99)];
  return Object.keys(requests).map((request) => ({
    request,
    aloneMs: getTails(alone[request]),
    besideMs: getTails(beside[request]),
  }));
}

async function measureMs(work: () => Promise<unknown>): Promise<number> {
  const at = performance.now();
  await work();
  return performance.now() - at;
}

function report(rows: readonly Row[], quick: readonly QuickRow[]): void {
  process.stdout.write(`${JSON.stringify({ ...options, databaseUrl: undefined, rows, quick })}\n`);
  const lists = rows.map(({ checkout, shape, list, memoriesMs, listMs, ratio, low, high, maxRatio }) => [
    ...[checkout, shape, list, memoriesMs.toFixed(2), listMs.toFixed(2), ratio.toFixed(2)],
    `${low.toFixed(2)} to ${high.toFixed(2)}`,
    ratio > maxRatio ? `over ${maxRatio}` : '',
  ]);
  const columns = ['', 'memories', 'list', '/memories or recall ms', 'list ms', 'ratio', '95 %', ''];
  process.stderr.write(`${alignTable(columns, lists)}\n\n`);
  const tails = quick.map(({ checkout, request, aloneMs, besideMs }) => [
    ...[checkout, request, ...[...aloneMs, ...besideMs].map((ms) => ms.toFixed(2))],
  ]);
  process.stderr.write(`${alignTable(['', 'request', 'p50 alone', 'p99', 'p50 beside lists', 'p99'], tails)}\n`);
}
