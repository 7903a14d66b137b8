import {
  type AgentMemory,
  createBatchStore,
  createIdempotencyKey,
  toStoreRequest,
  withTime,
} from '@memoryd/client/session';
import type { MemoryApi, StoreRequest } from '@memoryd/contract';
import { getDigest } from './digest.ts';

/** The user messages since the last answer, and the new answer. */
export interface Turn {
  /** Texts of all user and model messages before the answer. */
  all: readonly string[];
  /** Texts of the user messages after the last answer. */
  unanswered: readonly string[];
  /** Empty if no answer should be stored. */
  answer: string;
}

/**
 * Period in which the answer to a repeated turn supersedes the earlier answer. Equal to the lifetime of idempotency
 * keys in the service.
 */
const REPEAT_WINDOW_MS = 24 * 60 * 60 * 1000;

/**
 * Stores a turn of a conversation as messages of a session, in the background. Does not store the user messages if an
 * earlier call for the same turn has stored them. The answer supersedes an earlier answer to the same turn.
 */
export function storeTurn(agent: AgentMemory, sessionId: string, { all, unanswered, answer }: Turn): void {
  const toRequest = (role: string) => (content: string) => toStoreRequest({ role, content }, sessionId);
  const requests = withTime([
    ...unanswered.map(toRequest('user')),
    ...[answer].filter((text) => text !== '').map(toRequest('assistant')),
  ]);
  const questions = requests.slice(0, unanswered.length);
  const answerRequest = requests[unanswered.length];
  // A retry must send the same requests, so the answer is not changed after the first attempt to store it.
  let storeAnswer: ((memory: MemoryApi) => Promise<unknown>) | undefined;
  agent.store(sessionId, requests, async (memory) => {
    const turn = await getTurnId(sessionId, all);
    if (answerRequest)
      storeAnswer ??= createAnswerStore(answerRequest, turn, await findAnswer(memory, sessionId, turn));
    if (questions.length > 0) await storeQuestions(memory, questions, turn);
    await storeAnswer?.(memory);
  });
}

/** Returns a digest of all messages before an answer, so that any process recognizes a repeated call for the turn. */
function getTurnId(sessionId: string, texts: readonly string[]): Promise<string> {
  return getDigest([sessionId, ...texts]);
}

/** Returns the id of the newest answer to a turn within the repeat window. */
async function findAnswer(memory: MemoryApi, session_id: string, turn: string): Promise<string | undefined> {
  const since = new Date(Date.now() - REPEAT_WINDOW_MS).toISOString();
  const { memories } = await memory.memories({ session_id, metadata: { turn }, since, limit: 1 });
  return memories[0]?.id;
}

function createAnswerStore(request: StoreRequest, turn: string, earlier: string | undefined) {
  const supersedes = earlier === undefined ? {} : { supersedes: earlier };
  return createBatchStore([{ ...request, metadata: { turn }, ...supersedes }], {
    idempotencyKey: createIdempotencyKey(),
  });
}

/** Stores the user messages of a turn, unless an earlier call for the same turn has stored them. */
async function storeQuestions(memory: MemoryApi, questions: readonly StoreRequest[], turn: string): Promise<void> {
  try {
    await createBatchStore(questions, { idempotencyKey: `turn ${turn}` })(memory);
  } catch (error) {
    // The key names the texts, so the stored messages differ only in their time.
    if ((error as { code?: unknown }).code !== 'CONFLICT') throw error;
  }
}
