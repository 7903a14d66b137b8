import { waitForEmbeddings } from '../embedding-wait.ts';
import type { HttpClient } from '../http-client.ts';
import { getSchemaBytes } from '../server-database.ts';
import { assertHealthy, type RunningServer, type ServerOptions, withServer } from '../server-process.ts';
import {
  createConsolidationLoad,
  createWriter,
  EmbeddingBacklog,
  type Load,
  measureUnderLoad,
} from './background-load.ts';
import { withUnit } from './calibration.ts';
import { measureClientFloor } from './client-floor.ts';
import type { Dialogue } from './dialogue.ts';
import { measureDisk } from './disk.ts';
import { type Figures, roundFigure } from './figures.ts';
import { FILLING_CLIENTS, measureFilling } from './filling.ts';
import { getFolderBytes, readProcessMemory } from './footprint.ts';
import { withModelWait } from './model-wait.ts';
import { createQuestionSource, type QuestionSource } from './question-source.ts';
import { measureRecall, type RecallLoad, TOP_K } from './recall-load.ts';
import { measureStep, type OnStep } from './step.ts';
import { measureBatches, measureStore } from './store-load.ts';

export interface LatencyPlan {
  dialogue: Dialogue;
  seed: number;
  /** Number of memories to store. */
  count: number;
  /** Number of clients that store concurrently. */
  storeClients: number;
  /**
   * Number of recalls in each step with a single client; fewer if embedding ends during the step
   * `recall_beside_embedding`. The step with 16 clients makes four times as many recalls.
   */
  queries: number;
  /** Background stores per second. */
  writeRate: number;
  /** Environment variables of the server, in addition to those of this process. */
  environment: Record<string, string>;
  /** See `ServerOptions`. */
  databaseUrl?: string | undefined;
  /** Folder for the server's files. */
  folder: string;
  /** Whether the folder already contains a filled database. */
  isFilled: boolean;
  /** Called when the database is filled. */
  onFilled: () => void;
}

const RECALL_CLIENTS = 16;
// V8 optimises code only after a few thousand calls. The warm-up makes the figures valid for a long-running server.
const WARM_UP_QUERIES = 2000;
const MAX_BACKLOG = 5000;

/** Measures a server from an empty or filled database to its restart. Returns the server's version. */
export async function measureLatency(plan: LatencyPlan, signal: AbortSignal, onStep: OnStep): Promise<string> {
  const ask = createQuestionSource(plan.dialogue, plan.count, plan.seed);
  const server: Omit<ServerOptions, 'probe'> = {
    folder: plan.folder,
    environment: plan.environment,
    databaseUrl: plan.databaseUrl,
    connections: Math.max(plan.storeClients, FILLING_CLIENTS),
    signal,
  };
  onStep('client', await measureClientFloor(signal));
  const databaseFolder = await withServer({ ...server, probe: assertHealthy }, async (running) => {
    onStep('disk', measureDisk(running.databaseFolder));
    await fill(running, plan, signal, onStep);
    await measureRecalls(running, plan, ask, onStep);
    await waitForEmbeddings(running.client, signal);
    const filesMb = (await databaseBytes(running.databaseFolder, plan)) / 1e6;
    onStep('memory', { ...readProcessMemory(running.pid), files_running_mb: roundFigure(filesMb) });
    return running.databaseFolder;
  });
  return measureRestart({ ...server, databaseFolder, ask }, onStep);
}

async function databaseBytes(folder: string, { databaseUrl }: Pick<LatencyPlan, 'databaseUrl'>): Promise<number> {
  return databaseUrl === undefined ? getFolderBytes(folder) : getSchemaBytes(folder);
}

async function fill({ client }: RunningServer, plan: LatencyPlan, signal: AbortSignal, onStep: OnStep): Promise<void> {
  const { dialogue, count, storeClients: clients } = plan;
  if (plan.isFilled) return waitForEmbeddings(client, signal);
  await measureFilling(client, { dialogue, count, clients, signal }, onStep);
  plan.onFilled();
}

async function measureRecalls(
  { client }: RunningServer,
  plan: LatencyPlan,
  ask: QuestionSource,
  onStep: OnStep,
): Promise<void> {
  const { dialogue, queries } = plan;
  const recall = (label: string, load: Omit<RecallLoad, 'progress'>, ...loads: Load[]): Promise<Figures> =>
    measureStep(client, label, load.queries, (progress) =>
      withModelWait(client, () => measureUnderLoad(loads, () => measureRecall(client, ask, { ...load, progress }))),
    );
  const one = { queries, clients: 1 };
  const writing = async (): Promise<Load> =>
    createWriter(client, dialogue, await countMemories(client), plan.writeRate);
  await recall('warming up', { queries: WARM_UP_QUERIES, clients: 1 });
  onStep('recall', await recall('recalling', one));
  onStep(
    'recall_clients',
    await recall('recalling from many clients', { queries: 4 * queries, clients: RECALL_CLIENTS }),
  );
  onStep('recall_beside_writer', await recall('recalling during stores', one, await writing()));
  const consolidating = [await writing(), createConsolidationLoad(client)];
  onStep('recall_beside_consolidation', await recall('recalling during consolidation', one, ...consolidating));
  await storeBacklog(client, plan);
  const backlog = new EmbeddingBacklog();
  const whileEmbedding = { ...one, isOver: backlog.isDone };
  onStep('recall_beside_embedding', await recall('recalling during embedding', whileEmbedding, backlog.load(client)));
}

/** Stores up to `MAX_BACKLOG` memories in batches, so that embeddings are pending in the next step. */
async function storeBacklog(client: HttpClient, { dialogue, count }: LatencyPlan): Promise<void> {
  const backlog = { from: await countMemories(client), count: Math.min(MAX_BACKLOG, Math.ceil(count / 2)) };
  await measureStep(client, 'storing memories to embed', backlog.count, async (progress) => {
    const batches = await measureBatches(client, dialogue, { ...backlog, progress });
    return batches ?? measureStore(client, dialogue, { ...backlog, clients: FILLING_CLIENTS, progress });
  });
}

async function countMemories(client: HttpClient): Promise<number> {
  const { working_count, episodic_count, semantic_count } = await client.root();
  return working_count + episodic_count + semantic_count;
}

/**
 * Measures the time from process start to the first recall on the filled database, whose files are in the system's
 * cache, and the resident memory after the first recall and after many recalls.
 */
async function measureRestart(
  options: Omit<ServerOptions, 'probe'> & { databaseFolder: string; ask: QuestionSource },
  onStep: OnStep,
): Promise<string> {
  const fileMb = (await databaseBytes(options.databaseFolder, options)) / 1e6;
  let version = '';
  let memories = 0;
  let results = 0;
  const probe: ServerOptions['probe'] = async (client) => {
    results = (await client.recall(options.ask(), TOP_K)).total;
  };
  const restart = await withUnit(() =>
    withServer({ ...options, probe }, async ({ client, firstResponseMs, pid }) => {
      version = (await client.root()).version;
      memories = await countMemories(client);
      const started = readProcessMemory(pid);
      await measureStep(client, 'recalling after the restart', WARM_UP_QUERIES, (progress) =>
        measureRecall(client, options.ask, { queries: WARM_UP_QUERIES, clients: RECALL_CLIENTS, progress }),
      );
      const { resident_mb } = readProcessMemory(pid);
      return {
        first_answer_ms: roundFigure(firstResponseMs),
        results,
        ...started,
        resident_recalling_mb: resident_mb ?? null,
      };
    }),
  );
  onStep('file', { memories, file_mb: roundFigure(fileMb), bytes_per_memory: roundFigure((fileMb * 1e6) / memories) });
  onStep('restart', restart);
  return version;
}
