import { waitForEmbeddings } from '../embedding-wait.ts';
import type { HttpClient } from '../http-client.ts';
import { schemaBytes } from '../server-database.ts';
import { healthy, type RunningServer, type ServerOptions, withServer } from '../server-process.ts';
import { beside, consolidation, EmbeddingBacklog, type Load, writer } from './beside.ts';
import { withUnit } from './calibration.ts';
import { measureClientFloor } from './client-floor.ts';
import type { Dialogue } from './dialogue.ts';
import { measureDisk } from './disk.ts';
import { type Figures, rounded } from './figures.ts';
import { FILLING_CLIENTS, measureFilling } from './filling.ts';
import { folderBytes, readProcessMemory } from './footprint.ts';
import { withModelWait } from './model-wait.ts';
import { type NewQuestions, newQuestions } from './new-questions.ts';
import { measureRecall, type RecallLoad, TOP_K } from './recall-load.ts';
import { measured, type TellStep } from './step.ts';
import { measureBatches, measureStore } from './store-load.ts';

export interface LatencyPlan {
  dialogue: Dialogue;
  seed: number;
  /** Memories to store. */
  count: number;
  /** Clients that store them at the same time. */
  storeClients: number;
  /** Recalls of the single client in each step; many clients make four times as many. */
  queries: number;
  /** Stores a second of the writer. */
  writeRate: number;
  /** Variables that the server sees beside those of this process. */
  environment: Record<string, string>;
  /** See `ServerOptions`. */
  databaseUrl?: string | undefined;
  /** Where the server's files go. */
  folder: string;
  /** Whether the folder holds a database that was filled before. */
  isFilled: boolean;
  /** Told when the database is filled. */
  onFilled: () => void;
}

const RECALL_CLIENTS = 16;
// V8 optimises what ran some thousand times; a service runs for longer than a measurement.
const WARM_UP_QUERIES = 2000;
const MAX_BACKLOG = 5000;

/** Measures a server from an empty, or a filled, database to its restart. Answers the server's version. */
export async function measureLatency(plan: LatencyPlan, signal: AbortSignal, tell: TellStep): Promise<string> {
  const ask = newQuestions(plan.dialogue, plan.count, plan.seed);
  const server: Omit<ServerOptions, 'firstAnswer'> = {
    folder: plan.folder,
    environment: plan.environment,
    databaseUrl: plan.databaseUrl,
    connections: Math.max(plan.storeClients, FILLING_CLIENTS),
    signal,
  };
  tell('client', await measureClientFloor(signal));
  const databaseFolder = await withServer({ ...server, firstAnswer: healthy }, async (running) => {
    tell('disk', measureDisk(running.databaseFolder));
    await fill(running, plan, signal, tell);
    await measureRecalls(running, plan, ask, tell);
    await waitForEmbeddings(running.client, signal);
    const filesMb = (await databaseBytes(running.databaseFolder, plan)) / 1e6;
    tell('memory', { ...readProcessMemory(running.pid), files_running_mb: rounded(filesMb) });
    return running.databaseFolder;
  });
  return measureRestart({ ...server, databaseFolder, ask }, tell);
}

async function databaseBytes(folder: string, { databaseUrl }: Pick<LatencyPlan, 'databaseUrl'>): Promise<number> {
  return databaseUrl === undefined ? folderBytes(folder) : schemaBytes(folder);
}

async function fill({ client }: RunningServer, plan: LatencyPlan, signal: AbortSignal, tell: TellStep): Promise<void> {
  const { dialogue, count, storeClients: clients } = plan;
  if (plan.isFilled) return waitForEmbeddings(client, signal);
  await measureFilling(client, { dialogue, count, clients, signal }, tell);
  plan.onFilled();
}

async function measureRecalls(
  { client }: RunningServer,
  plan: LatencyPlan,
  ask: NewQuestions,
  tell: TellStep,
): Promise<void> {
  const { dialogue, queries } = plan;
  const recall = (label: string, load: Omit<RecallLoad, 'progress'>, ...loads: Load[]): Promise<Figures> =>
    measured(client, label, load.queries, (progress) =>
      withModelWait(client, () => beside(loads, () => measureRecall(client, ask, { ...load, progress }))),
    );
  const one = { queries, clients: 1 };
  const writing = async (): Promise<Load> => writer(client, dialogue, await countMemories(client), plan.writeRate);
  await recall('warming up', { queries: WARM_UP_QUERIES, clients: 1 });
  tell('recall', await recall('recalling', one));
  tell(
    'recall_clients',
    await recall('recalling from many clients', { queries: 4 * queries, clients: RECALL_CLIENTS }),
  );
  tell('recall_beside_writer', await recall('recalling beside a writer', one, await writing()));
  const consolidating = [await writing(), consolidation(client)];
  tell('recall_beside_consolidation', await recall('recalling beside consolidations', one, ...consolidating));
  await storeBacklog(client, plan);
  const backlog = new EmbeddingBacklog();
  const whileEmbedding = { ...one, isOver: backlog.isDone };
  tell('recall_beside_embedding', await recall('recalling beside embedding', whileEmbedding, backlog.load(client)));
}

/** Stores more memories than the embedder can take at once. */
async function storeBacklog(client: HttpClient, { dialogue, count }: LatencyPlan): Promise<void> {
  const backlog = { from: await countMemories(client), count: Math.min(MAX_BACKLOG, Math.ceil(count / 2)) };
  await measured(client, 'storing what is to be embedded', backlog.count, async (progress) => {
    const batches = await measureBatches(client, dialogue, { ...backlog, progress });
    return batches ?? measureStore(client, dialogue, { ...backlog, clients: FILLING_CLIENTS, progress });
  });
}

async function countMemories(client: HttpClient): Promise<number> {
  const { working_count, episodic_count, semantic_count } = await client.root();
  return working_count + episodic_count + semantic_count;
}

/**
 * How soon a question is answered after the start of a process on the filled file, which the system has cached, and how
 * much memory that process holds then, and when it has answered many.
 */
async function measureRestart(
  options: Omit<ServerOptions, 'firstAnswer'> & { databaseFolder: string; ask: NewQuestions },
  tell: TellStep,
): Promise<string> {
  const fileMb = (await databaseBytes(options.databaseFolder, options)) / 1e6;
  let version = '';
  let memories = 0;
  let results = 0;
  const firstAnswer: ServerOptions['firstAnswer'] = async (client) => {
    results = (await client.recall(options.ask(), TOP_K)).total;
  };
  const restart = await withUnit(() =>
    withServer({ ...options, firstAnswer }, async ({ client, firstAnswerMs, pid }) => {
      version = (await client.root()).version;
      memories = await countMemories(client);
      const started = readProcessMemory(pid);
      await measured(client, 'recalling after the restart', WARM_UP_QUERIES, (progress) =>
        measureRecall(client, options.ask, { queries: WARM_UP_QUERIES, clients: RECALL_CLIENTS, progress }),
      );
      const { resident_mb } = readProcessMemory(pid);
      return {
        first_answer_ms: rounded(firstAnswerMs),
        results,
        ...started,
        resident_recalling_mb: resident_mb ?? null,
      };
    }),
  );
  tell('file', { memories, file_mb: rounded(fileMb), bytes_per_memory: rounded((fileMb * 1e6) / memories) });
  tell('restart', restart);
  return version;
}
