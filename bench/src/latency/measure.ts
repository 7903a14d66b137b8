import { performance } from 'node:perf_hooks';
import { waitForEmbeddings } from '../embedding-wait.ts';
import { type Progress, showProgress } from '../progress.ts';
import { healthy, type RunningServer, type ServerOptions, withServer } from '../server-process.ts';
import type { Dialogue } from './dialogue.ts';
import { measureDisk } from './disk.ts';
import { withLoopDelay } from './event-loop.ts';
import { type Figures, rounded } from './figures.ts';
import { folderBytes, readProcessMemory } from './footprint.ts';
import { newQuestions } from './new-questions.ts';
import { measureRecall, TOP_K } from './recall-load.ts';
import { besideWriter, measureStore } from './store-load.ts';

export interface LatencyPlan {
  dialogue: Dialogue;
  seed: number;
  /** Memories to store. */
  count: number;
  /** Clients that store them at the same time. */
  storeClients: number;
  /** Recalls of the single client, at rest and beside the writer; many clients make four times as many. */
  queries: number;
  /** Stores a second of the writer. */
  writeRate: number;
  /** Variables that the server sees beside those of this process. */
  environment: Record<string, string>;
}

/** Told of each step as soon as it is measured. */
export type ReportStep = (step: string, version: string, figures: Figures) => void;

const recallClients = 16;
const warmUpQueries = 50;

/** Measures a server from an empty database to its restart on a filled one; everything happens in `folder`. */
export async function measureLatency(
  plan: LatencyPlan,
  folder: string,
  signal: AbortSignal,
  report: ReportStep,
): Promise<void> {
  const ask = newQuestions(plan.dialogue, plan.count, plan.seed);
  const server = {
    folder,
    environment: plan.environment,
    connections: Math.max(plan.storeClients, recallClients),
    signal,
  };
  const databaseFolder = await withServer({ ...server, firstAnswer: healthy }, async (running) => {
    const { version } = await running.client.root();
    const tell = (step: string, figures: Figures): void => report(step, version, figures);
    tell('disk', measureDisk(running.databaseFolder));
    await measureFilling(running, plan, signal, tell);
    await measureRecalls(running, plan, ask, tell);
    const filesMb = folderBytes(running.databaseFolder) / 1e6;
    tell('memory', { ...readProcessMemory(running.pid), files_running_mb: rounded(filesMb) });
    return running.databaseFolder;
  });
  await measureRestart({ ...server, databaseFolder, question: ask() }, report);
}

type TellStep = (step: string, figures: Figures) => void;

async function measureFilling(
  { client }: RunningServer,
  { dialogue, count, storeClients }: LatencyPlan,
  signal: AbortSignal,
  tell: TellStep,
): Promise<void> {
  const startMs = performance.now();
  const stored = await withProgress('storing', count, (progress) =>
    withLoopDelay(client, () => measureStore(client, dialogue, { count, clients: storeClients, progress })),
  );
  tell('store', stored);
  const { pending_embeddings: pending } = await client.stats();
  const pendingFromMs = performance.now();
  await withProgress('embedding', pending, (progress) =>
    waitForEmbeddings(client, signal, (embedded) => progress.advance(embedded)),
  );
  const { embedder } = await client.health();
  const waitS = (performance.now() - pendingFromMs) / 1000;
  tell('embed', {
    embedder,
    pending_after_store: pending,
    wait_s: rounded(waitS),
    pending_per_s: pending > 0 ? rounded(pending / waitS) : null,
    from_first_store_per_s: rounded((count * 1000) / (performance.now() - startMs)),
  });
}

async function measureRecalls(
  { client }: RunningServer,
  { dialogue, count, queries, writeRate }: LatencyPlan,
  ask: () => string,
  tell: TellStep,
): Promise<void> {
  const recalls = (label: string, load: { queries: number; clients: number }): Promise<Figures> =>
    withProgress(label, load.queries, (progress) =>
      withLoopDelay(client, () => measureRecall(client, ask, { ...load, progress })),
    );
  await recalls('warming up', { queries: warmUpQueries, clients: 1 });
  tell('recall', await recalls('recalling', { queries, clients: 1 }));
  tell('recall_clients', await recalls('recalling', { queries: 4 * queries, clients: recallClients }));
  const writer = { from: count, perSecond: writeRate };
  const besideWrites = await besideWriter(client, dialogue, writer, () =>
    recalls('recalling beside a writer', { queries, clients: 1 }),
  );
  tell('recall_beside_writer', besideWrites);
}

/** How soon a question is answered after the start of a process on the filled file, which the system has cached. */
async function measureRestart(
  options: Omit<ServerOptions, 'firstAnswer'> & { databaseFolder: string; question: string },
  report: ReportStep,
): Promise<void> {
  const fileMb = folderBytes(options.databaseFolder) / 1e6;
  let results = 0;
  const firstAnswer: ServerOptions['firstAnswer'] = async (client) => {
    results = (await client.recall(options.question, TOP_K)).total;
  };
  await withServer({ ...options, firstAnswer }, async ({ client, firstAnswerMs, pid }) => {
    const { version, working_count, episodic_count, semantic_count } = await client.root();
    const memories = working_count + episodic_count + semantic_count;
    report('file', version, {
      memories,
      file_mb: rounded(fileMb),
      bytes_per_memory: rounded((fileMb * 1e6) / memories),
    });
    report('restart', version, { first_answer_ms: rounded(firstAnswerMs), results, ...readProcessMemory(pid) });
  });
}

async function withProgress<T>(label: string, total: number, use: (progress: Progress) => Promise<T>): Promise<T> {
  const progress = showProgress(label, total);
  try {
    return await use(progress);
  } finally {
    progress.end();
  }
}
