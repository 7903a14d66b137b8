import type { EmbedderState, RecallResult } from '@memoryd/contract';
import { closedLoop } from '../closed-loop.ts';
import { getContent, type Question, relevantContents, type Store, type Turn } from '../dataset.ts';
import { waitForEmbeddings } from '../embedding-wait.ts';
import type { HttpClient } from '../http-client.ts';
import type { Progress } from '../progress.ts';
import { healthy, withServer } from '../server-process.ts';
import { withTemporaryFolder } from '../temporary-folder.ts';
import { type AskedScores, FILTERS, LOOKED_THROUGH, readScores } from './answerable.ts';
import { RESULTS, type Scores, scoreRanking } from './metrics.ts';
import { REORDERED, reordered } from './orders.ts';

const ASKING_CLIENTS = 3;

export interface AskOptions {
  /** See `ServerOptions`. */
  databaseUrl?: string | undefined;
  /** Variables that the server sees beside those of this process. */
  environment: Record<string, string>;
  /** Whether simple orders of the same results are scored too. */
  withOrders?: boolean;
  /** Whether it is measured how well scores tell what is answered. */
  withAnswerable?: boolean;
  signal: AbortSignal;
  progress: Progress;
}

export interface AskedQuestion {
  question: Question;
  /** Null where no relevant memory is in the corpus, so that nothing could be found. */
  scores: Scores | null;
  /** The scores of simple orders of the same results, by name. See `reordered`. */
  orders?: Record<string, Scores>;
  answerable?: AskedScores;
}

interface AskedStore {
  /** In the order of the store's questions. */
  asked: AskedQuestion[];
  /** The scores of questions of another store, which this one does not answer. */
  ofAnother: AskedScores[];
  version: string;
  /** Whether meaning took part in the recall. */
  embedder: EmbedderState;
}

/**
 * Puts a store into a fresh server and asks its questions. Progress advances by one a turn and one a question.
 *
 * @param another its questions are asked too where it is measured what is answered
 */
export function askStore(store: Store, options: AskOptions, another?: Store): Promise<AskedStore> {
  return withStore(store, options, async (client, contentById) => {
    const asked = await askQuestions(client, store, contentById, options);
    const ofAnother: AskedScores[] = [];
    if (options.withAnswerable) {
      const questions = another?.questions ?? [];
      await closedLoop(questions.length, ASKING_CLIENTS, async (index) => {
        ofAnother.push(await askForScores(client, (questions[index] as Question).text, () => false));
      });
    }
    const { version, embedder } = await client.health();
    return { asked, ofAnother, version, embedder };
  });
}

/** No use is counted, so that it changes no score whether it is asked. */
async function askForScores(client: HttpClient, text: string, isRight: (id: string) => boolean): Promise<AskedScores> {
  const ask = async (count: number, more: Record<string, string>) =>
    (await client.recall(text, count, { track: 'false', ...more })).results;
  const filtered: Record<string, RecallResult[]> = {};
  for (const [name, filter] of Object.entries(FILTERS)) filtered[name] = await ask(RESULTS, filter);
  return readScores(await ask(LOOKED_THROUGH, {}), filtered, isRight);
}

/** Puts a store into a fresh server, which ends with the work; every turn has its vector, and its content by its id. */
export function withStore<Result>(
  store: Store,
  { environment, databaseUrl, signal, progress }: AskOptions,
  work: (client: HttpClient, contentById: Map<string, string>) => Promise<Result>,
): Promise<Result> {
  return withTemporaryFolder((folder) =>
    withServer(
      { folder, environment, databaseUrl, connections: ASKING_CLIENTS, signal, firstAnswer: healthy },
      async ({ client }) => {
        const contentById = await storeTurns(client, store.turns, progress);
        await waitForEmbeddings(client, signal);
        return work(client, contentById);
      },
    ),
  );
}

/**
 * Stores one turn after the other, since neighbours in a session are told by their order of arrival. Answers the
 * contents by their ids. Progress advances by one a turn.
 */
async function storeTurns(client: HttpClient, turns: Turn[], progress: Progress): Promise<Map<string, string>> {
  const contentById = new Map<string, string>();
  for (const turn of turns) {
    const content = getContent(turn);
    const { id } = await client.store({
      content,
      ...(turn.session !== null && { session_id: turn.session }),
      ...(turn.timestamp !== null && { created_at: turn.timestamp }),
    });
    contentById.set(id, content);
    progress.advance();
  }
  return contentById;
}

/** Asks a store's questions and scores the answers. Progress advances by one a question. */
export async function askQuestions(
  client: HttpClient,
  store: Store,
  contentById: Map<string, string>,
  { progress, withOrders, withAnswerable }: Pick<AskOptions, 'progress' | 'withOrders' | 'withAnswerable'>,
): Promise<AskedQuestion[]> {
  const relevantTo = relevantContents(store);
  const asked = store.questions.map((question): AskedQuestion => ({ question, scores: null }));
  await closedLoop(asked.length, ASKING_CLIENTS, async (index) => {
    const entry = asked[index] as AskedQuestion;
    const relevant = relevantTo(entry.question);
    // A result that no turn stands behind, such as a distilled memory, takes up a rank all the same.
    const score = (results: readonly RecallResult[]) =>
      scoreRanking(
        results.map(({ id }) => contentById.get(id) ?? ''),
        relevant,
      );
    if (relevant.size > 0) {
      entry.scores = score((await client.recall(entry.question.text, RESULTS)).results);
      if (withOrders) {
        const { results } = await client.recall(entry.question.text, REORDERED, { explain: 'true', track: 'false' });
        const orders = Object.entries(reordered(results));
        entry.orders = Object.fromEntries(orders.map(([name, order]) => [name, score(order)]));
      }
      if (withAnswerable) {
        const isRight = (id: string) => relevant.has(contentById.get(id) ?? '');
        entry.answerable = await askForScores(client, entry.question.text, isRight);
      }
    }
    progress.advance();
  });
  return asked;
}
