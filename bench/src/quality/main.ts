import type { EmbedderState } from '@memoryd/contract';
import { Command, Option } from 'commander';
import { collectPair, collectValue, formatCommand, getFolderName, parseInteger } from '../command-line.ts';
import { type Dataset, readDatasets } from '../dataset.ts';
import { runInterruptibly } from '../interruption.ts';
import { showProgress } from '../progress.ts';
import { formatScores, reportScores, type SetScores } from './answerable.ts';
import { type AskOptions, measureStore } from './measure-store.ts';
import { MIX_NAMES, type Mix, putIntoSessions } from './mixed-sessions.ts';
import { formatTable, reportLines, type SetRun, toJson } from './report.ts';
import { type QuestionScores, readSavedRun, saveRun } from './saved-run.ts';

interface Options {
  data: string[];
  stores?: number;
  mix?: Mix;
  env: Record<string, string>;
  databaseUrl?: string;
  orders?: true;
  answerable?: true;
  json?: true;
  save?: string;
  against?: string;
}

const MAX_STORES = 1_000_000;

interface MeasuredSet extends SetRun {
  set: string;
  stores: number;
  version: string;
  embedder: EmbedderState;
  answerable: SetScores;
}

const options = new Command('npm run bench:quality --')
  .description('Measures recall quality on conversations with questions.')
  .requiredOption('--data <folder>', 'a set, a store or a folder of sets; repeatable', collectValue)
  .option('--stores <number>', 'only the first stores of each set', parseInteger(1, MAX_STORES))
  .addOption(new Option('--mix <way>', 'put some turns without a session into sessions').choices(MIX_NAMES))
  .option('--env <KEY=VALUE>', 'a setting of the server; repeatable', collectPair, {})
  .option('--database-url <address>', 'store the memories on this PostgreSQL server instead of in files')
  .option('--orders', 'score simple orders of the same results too')
  .option('--answerable', 'measure how well scores separate answered from unanswered questions')
  .option('--json', 'print JSON lines instead of tables')
  .option('--save <file>', 'write the scores of each question')
  .option('--against <file>', 'compare nDCG@10 with scores written by --save')
  .parse()
  .opts<Options>();

await runInterruptibly((signal) => measure(options, signal));

async function measure(
  { data, stores, mix, env, databaseUrl, orders, answerable, json, save, against }: Options,
  signal: AbortSignal,
): Promise<void> {
  const saved = against === undefined ? undefined : readSavedRun(against);
  const sets = data
    .flatMap((folder) => readDatasets(folder, stores))
    .map((set) => (mix ? { ...set, stores: set.stores.map((store) => putIntoSessions(store, mix)) } : set));
  assertUniqueNames(sets);
  const measured = await measureSets(sets, {
    environment: env,
    databaseUrl,
    withOrders: orders === true,
    withAnswerable: answerable === true,
    signal,
  });
  if (save !== undefined)
    saveRun(
      save,
      measured.flatMap(({ scored }) => scored),
    );
  for (const run of measured) {
    process.stdout.write(json ? formatJson(run, saved) : formatText(run, saved));
  }
}

/** Rejects duplicate set names, because saved scores are identified by the name of their set. */
function assertUniqueNames(sets: Dataset[]): void {
  const names = sets.map(({ name }) => name);
  const repeated = names.find((name, index) => names.indexOf(name) !== index);
  if (repeated !== undefined) throw new Error(`two sets are named ${repeated}; rename one folder`);
}

async function measureSets(sets: Dataset[], options: Omit<AskOptions, 'progress'>): Promise<MeasuredSet[]> {
  const stores = sets.flatMap((set) => set.stores);
  const steps = stores.reduce((sum, store) => sum + store.turns.length + store.questions.length, 0);
  const progress = showProgress('starting', steps);
  try {
    const measured: MeasuredSet[] = [];
    for (const set of sets) measured.push(await measureSet(set, { ...options, progress }));
    return measured;
  } finally {
    progress.end();
  }
}

async function measureSet(set: Dataset, options: AskOptions): Promise<MeasuredSet> {
  const run: MeasuredSet = {
    set: set.name,
    stores: 0,
    version: '',
    embedder: 'off',
    scored: [],
    skipped: [],
    getOrders: [],
    answerable: { own: [], ofAnother: [] },
  };
  for (const [place, store] of set.stores.entries()) {
    options.progress.label(`${set.name}/${store.name}`);
    const another = set.stores.length > 1 ? set.stores[(place + 1) % set.stores.length] : undefined;
    const { asked, ofAnother, version, embedder } = await measureStore(store, options, another);
    run.answerable.ofAnother.push(...ofAnother);
    for (const { question, scores, orders, answerable } of asked) {
      if (answerable) run.answerable.own.push(answerable);
      const { id, category } = question;
      if (scores === null) run.skipped.push({ category });
      else run.scored.push({ set: set.name, store: store.name, id, category, ...scores });
      if (scores !== null && orders) run.getOrders.push(orders);
    }
    Object.assign(run, { version, embedder, stores: run.stores + 1 });
  }
  return run;
}

function formatJson(run: MeasuredSet, saved: QuestionScores[] | undefined): string {
  const { set, stores, version, embedder } = run;
  const command = getCommand(options);
  const lines = reportLines(run, saved).map((line) => ({ set, stores, ...toJson(line), version, embedder, command }));
  const answerable = options.answerable && { set, ...reportScores(run.answerable), version, command };
  return [...lines, ...(answerable ? [answerable] : [])].map((line) => `${JSON.stringify(line)}\n`).join('');
}

function formatText(run: MeasuredSet, saved: QuestionScores[] | undefined): string {
  const facts = `${run.stores} ${run.stores === 1 ? 'store' : 'stores'}, memoryd ${run.version}, embedder ${run.embedder}; scores x 100`;
  const answerable = options.answerable ? `\n${formatScores(run.set, reportScores(run.answerable))}\n` : '';
  return `\n${formatTable(run.set, reportLines(run, saved))}\n${facts}\n${answerable}`;
}

function getCommand({ data, stores, mix, env, databaseUrl, orders, answerable }: Options): string {
  return formatCommand('bench:quality', [
    ...data.map((folder) => ['--data', getFolderName(folder)] as const),
    ...(stores === undefined ? [] : [['--stores', stores] as const]),
    ...(mix === undefined ? [] : [['--mix', mix] as const]),
    ...(orders ? [['--orders'] as const] : []),
    ...(answerable ? [['--answerable'] as const] : []),
    ...Object.entries(env).map(([key, value]) => ['--env', `${key}=${value}`] as const),
    ...(databaseUrl === undefined ? [] : [['--database-url', 'postgres://…'] as const]),
  ]);
}
