import { estimateTokens, type OfUser, type RecallingOptions, recalled, scopeToUser } from '@memoryd/client/session';
import type { MemoryApi, RecallResult } from '@memoryd/contract';
import type { LanguageModelMiddleware } from 'ai';
import { getText, StreamedText } from './answer.ts';
import { type CallOptions, memoryLine, PREFACE, saidIn, withMemories } from './prompt.ts';
import { Turns } from './turns.ts';
import { within } from './within.ts';

export interface MemoryMiddlewareOptions extends Pick<RecallingOptions, 'countTokens' | 'recall'>, OfUser {
  /** The conversation: what is said in it is stored as the session of this id. */
  sessionId: string;
  /** Most tokens of what is put into a prompt; 1,000 where absent. */
  tokens?: number;
  /** Milliseconds for which a call of the model waits for memory, once before it and once after; 10,000 where absent. */
  timeoutMs?: number;
  /** Told of failures of memory, which never fail the call of the model; `console.warn` where absent. */
  onError?: (error: unknown, doing: 'recall' | 'store') => void;
}

/**
 * Gives a language model the memory of one user, for whom it is wrapped, which costs nothing:
 * `wrapLanguageModel({ model, middleware: memoryMiddleware(memory, { userId, sessionId }) })`. Throws TypeError where no
 * `userId` is given.
 *
 * Before a call it recalls what the last user message asks for, from all sessions of the user unless `recall` has a
 * filter, and puts what fits into the budget, and the prompt does not say already, at the beginning of that message.
 * After a call it stores what users said since the last answer, and the text of the answer, as messages of the session;
 * of a call with several steps of tools, each once. A call with the same conversation again, within a day, is for another
 * answer: what users said is not stored twice, and the new answer supersedes the one before. What it recalled itself is
 * never stored, and neither are answers that failed and streams that broke off, with what they answer, answers in JSON,
 * which are for programs, system messages, reasoning, files and what tools say. An answer that ends at the model's limit
 * of tokens was given, and is kept. A stream ends when its answer is stored.
 */
export function memoryMiddleware(all: MemoryApi, options: MemoryMiddlewareOptions): LanguageModelMiddleware {
  const memory = scopeToUser(all, options);
  const { sessionId, tokens = 1000, timeoutMs = 10_000, onError = warn, recall = {} } = options;
  const countTokens = options.countTokens ?? estimateTokens;
  const turns = new Turns(memory, sessionId);

  /** What `doing` comes to; nothing where it fails or takes too long. Rejects where the caller wants no answer any more. */
  async function unfailing<T>(
    doing: 'recall' | 'store',
    done: Promise<T>,
    signal?: AbortSignal,
  ): Promise<T | undefined> {
    try {
      return await within(timeoutMs, done, signal);
    } catch (error) {
      signal?.throwIfAborted();
      onError(error, doing);
      return undefined;
    }
  }

  async function recalledFor({ prompt }: CallOptions): Promise<RecallResult[]> {
    const { last, all: said } = saidIn(prompt);
    return recalled(memory, last, {
      // The memory is that of the user already.
      userId: null,
      recall,
      said,
      tokens: tokens - countTokens(PREFACE),
      countTokens,
      getLine: memoryLine,
      // The line's end.
      tokensPerItem: 1,
    });
  }

  async function storeTurn({ prompt, responseFormat }: CallOptions, answer: string | undefined): Promise<void> {
    if (answer === undefined) return;
    const { unanswered, all } = saidIn(prompt);
    const turn = { all, unanswered, answer: responseFormat?.type === 'json' ? '' : answer };
    if (unanswered.length > 0 || turn.answer !== '') await unfailing('store', turns.store(turn));
  }

  return {
    // AI SDK 6 requires 'v3' and AI SDK 7 accepts it. This code uses only the parts of calls and answers that v3 and v4 share.
    specificationVersion: 'v3',
    async transformParams({ params }) {
      const memories = await unfailing('recall', recalledFor(params), params.abortSignal);
      return memories ? { ...params, prompt: withMemories(params.prompt, memories) } : params;
    },
    async wrapGenerate({ doGenerate, params }) {
      const result = await doGenerate();
      await storeTurn(params, getText(result));
      return result;
    },
    async wrapStream({ doStream, params }) {
      const { stream, ...rest } = await doStream();
      const streamed = new StreamedText();
      const storing: typeof stream = stream.pipeThrough(
        new TransformStream({
          transform(part, controller) {
            streamed.take(part);
            controller.enqueue(part);
          },
          flush: () => storeTurn(params, streamed.text),
        }),
      );
      return { ...rest, stream: storing };
    },
  };
}

function warn(error: unknown, doing: string): void {
  // biome-ignore lint/suspicious/noConsole: where nobody listens, a warning belongs on the console
  console.warn(`memory failed to ${doing}`, error);
}
