import type { EmbedderState, RecallResult } from '@memoryd/contract';
import { closedLoop } from '../closed-loop.ts';
import { createRelevanceLookup, getContent, type Question, type Store, type Turn } from '../dataset.ts';
import { waitForEmbeddings } from '../embedding-wait.ts';
import type { HttpClient } from '../http-client.ts';
import type { Progress } from '../progress.ts';
import { assertHealthy, withServer } from '../server-process.ts';
import { withTemporaryFolder } from '../temporary-folder.ts';
import { type AnswerScores, FILTERS, getAnswerScores, MAX_ANSWER_RESULTS } from './answerable.ts';
import { RESULTS, type Scores, scoreRanking } from './metrics.ts';
import { getOrders, MAX_REORDERED } from './orders.ts';

const ASKING_CLIENTS = 3;

export interface AskOptions {
  /** See `ServerOptions`. */
  databaseUrl?: string | undefined;
  /** Environment variables of the server, in addition to those of this process. */
  environment: Record<string, string>;
  /** Whether to also score simple orders of the same results; see `getOrders`. */
  withOrders?: boolean;
  /** Whether to measure how well scores separate answered from unanswered questions. */
  withAnswerable?: boolean;
  signal: AbortSignal;
  progress: Progress;
}

export interface ScoredQuestion {
  question: Question;
  /** Null if the corpus contains no relevant memory. */
  scores: Scores | null;
  /** Scores of simple orders of the same results, by name. See `getOrders`. */
  orders?: Record<string, Scores>;
  answerable?: AnswerScores;
}

interface StoreScores {
  /** In the order of the store's questions. */
  asked: ScoredQuestion[];
  /** Scores of questions of another store, which the memories of this store do not answer. */
  ofAnother: AnswerScores[];
  version: string;
  /** State of the server's embedder after the questions. */
  embedder: EmbedderState;
}

/**
 * Loads a store into a new server and asks its questions, each when its turns have been stored. Progress advances by 1
 * for each turn and question.
 *
 * @param another store whose questions are asked too if `withAnswerable` is set
 */
export function measureStore(store: Store, options: AskOptions, another?: Store): Promise<StoreScores> {
  return withEmptyStore(options, async (client) => {
    const asked = await storeAndAsk(client, store, options);
    const ofAnother: AnswerScores[] = [];
    if (options.withAnswerable) {
      const questions = another?.questions ?? [];
      await closedLoop(questions.length, ASKING_CLIENTS, async (index) => {
        ofAnother.push(await askAnswerScores(client, (questions[index] as Question).text, () => false));
      });
    }
    const { version, embedder } = await client.health();
    return { asked, ofAnother, version, embedder };
  });
}

/**
 * Recalls for a question, once with each filter and once without a filter. `track=false` prevents these recalls from
 * affecting later scores.
 */
async function askAnswerScores(
  client: HttpClient,
  text: string,
  isRight: (id: string) => boolean,
): Promise<AnswerScores> {
  const ask = async (count: number, more: Record<string, string>) =>
    (await client.recall(text, count, { track: 'false', ...more })).results;
  const filtered: Record<string, RecallResult[]> = {};
  for (const [name, filter] of Object.entries(FILTERS)) filtered[name] = await ask(RESULTS, filter);
  return getAnswerScores(await ask(MAX_ANSWER_RESULTS, {}), filtered, isRight);
}

/**
 * Loads a store into a new server, waits for the embeddings and runs `work`. `contentById` has the content of each
 * memory by memory id.
 */
export function withStore<Result>(
  store: Store,
  options: AskOptions,
  work: (client: HttpClient, contentById: Map<string, string>) => Promise<Result>,
): Promise<Result> {
  return withEmptyStore(options, async (client) => {
    const contentById = await storeTurns(client, store.turns, options);
    return work(client, contentById);
  });
}

function withEmptyStore<Result>(
  { environment, databaseUrl, signal }: AskOptions,
  work: (client: HttpClient) => Promise<Result>,
): Promise<Result> {
  return withTemporaryFolder((folder) =>
    withServer(
      { folder, environment, databaseUrl, connections: ASKING_CLIENTS, signal, probe: assertHealthy },
      ({ client }) => work(client),
    ),
  );
}

/** Stores the turns and asks each question after its number of turns. Returns the questions in the order of the store. */
async function storeAndAsk(client: HttpClient, store: Store, options: AskOptions): Promise<ScoredQuestion[]> {
  const contentById = new Map<string, string>();
  const asked = new Map<Question, ScoredQuestion>();
  const getEnd = ({ at }: Question) => Math.min(at ?? store.turns.length, store.turns.length);
  const ends = [...new Set([...store.questions.map(getEnd), store.turns.length])].sort((left, right) => left - right);
  let from = 0;
  for (const end of ends) {
    for (const entry of await storeTurns(client, store.turns.slice(from, end), options)) contentById.set(...entry);
    const questions = store.questions.filter((question) => getEnd(question) === end);
    const scored = await askQuestions(client, { ...store, questions }, contentById, options);
    for (const entry of scored) asked.set(entry.question, entry);
    from = end;
  }
  return store.questions.map((question) => asked.get(question) as ScoredQuestion);
}

/**
 * Stores turns sequentially, because the order of storing determines the neighbors in a session, and waits for the
 * embeddings. Returns contents by memory id. Progress advances by 1 for each turn.
 */
async function storeTurns(
  client: HttpClient,
  turns: Turn[],
  { progress, signal }: Pick<AskOptions, 'progress' | 'signal'>,
): Promise<Map<string, string>> {
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
  await waitForEmbeddings(client, signal);
  return contentById;
}

/** Asks a store's questions and scores the results. Progress advances by 1 for each question. */
export async function askQuestions(
  client: HttpClient,
  store: Store,
  contentById: Map<string, string>,
  { progress, withOrders, withAnswerable }: Pick<AskOptions, 'progress' | 'withOrders' | 'withAnswerable'>,
): Promise<ScoredQuestion[]> {
  const relevantTo = createRelevanceLookup(store);
  const asked = store.questions.map((question): ScoredQuestion => ({ question, scores: null }));
  await closedLoop(asked.length, ASKING_CLIENTS, async (index) => {
    const entry = asked[index] as ScoredQuestion;
    const { text, askedAt } = entry.question;
    const relevant = relevantTo(entry.question);
    const time: Record<string, string> = askedAt === null ? {} : { asked_at: askedAt };
    // A result without a turn, such as a distilled memory, still occupies a rank.
    const score = (results: readonly RecallResult[]) =>
      scoreRanking(
        results.map(({ id }) => contentById.get(id) ?? ''),
        relevant,
      );
    if (relevant.size > 0) {
      entry.scores = score((await client.recall(text, RESULTS, time)).results);
      if (withOrders) {
        const { results } = await client.recall(text, MAX_REORDERED, {
          ...time,
          explain: 'true',
          track: 'false',
        });
        const orders = Object.entries(getOrders(results));
        entry.orders = Object.fromEntries(orders.map(([name, order]) => [name, score(order)]));
      }
      if (withAnswerable) {
        const isRight = (id: string) => relevant.has(contentById.get(id) ?? '');
        entry.answerable = await askAnswerScores(client, text, isRight);
      }
    }
    progress.advance();
  });
  return asked;
}
