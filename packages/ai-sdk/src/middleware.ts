import {
  estimateTokens,
  type PromptRecallOptions,
  recallForPrompt,
  scopeToUser,
  type UserScope,
} from '@memoryd/client/session';
import type { MemoryApi, RecallResult } from '@memoryd/contract';
import type { LanguageModelMiddleware } from 'ai';
import { getText, TextCollector } from './model-output.ts';
import { addMemories, type CallOptions, formatMemory, getMessageTexts, PREFACE } from './prompt.ts';
import { withTimeout } from './timeout.ts';
import { Turns } from './turns.ts';

export interface MemoryMiddlewareOptions extends Pick<PromptRecallOptions, 'countTokens' | 'recall'>, UserScope {
  /** Id of the session in which the conversation is stored. */
  sessionId: string;
  /** Maximum tokens that are added to a prompt. Defaults to 1,000. */
  tokens?: number;
  /** Timeout in ms of the recall before a model call, and of the store after it. Defaults to 10,000. */
  timeoutMs?: number;
  /** Receives memory errors, which never fail the model call. Defaults to `console.warn`. */
  onError?: (error: unknown, operation: 'recall' | 'store') => void;
}

/**
 * Creates middleware that gives a language model the memory of one user.
 *
 * Before a model call, the middleware recalls memories for the last user message, from all sessions of the user unless
 * `recall` has a filter. The memories are added to the beginning of that message, within the token budget and without
 * texts that the prompt already contains. After the call, the middleware stores the user messages since the last
 * answer, and the text of the answer, as messages of the session. In a call with several tool steps, each message is
 * stored once.
 *
 * If a model is called again with the same conversation within a day, the user messages are not stored again, and the
 * new answer supersedes the previous one. Never stored: recalled memories, failed or truncated streams with their user
 * messages, answers in JSON, system messages, reasoning, files and tool results. An answer that ends at the model's
 * token limit is stored. A stream ends after its answer was stored.
 *
 * @throws TypeError if `userId` is missing
 * @example
 * wrapLanguageModel({ model, middleware: memoryMiddleware(memory, { userId, sessionId }) });
 */
export function memoryMiddleware(api: MemoryApi, options: MemoryMiddlewareOptions): LanguageModelMiddleware {
  const memory = scopeToUser(api, options);
  const { sessionId, tokens = 1000, timeoutMs = 10_000, onError = warn, recall = {} } = options;
  const countTokens = options.countTokens ?? estimateTokens;
  const turns = new Turns(memory, sessionId);

  /** Reports an error or timeout and resolves with undefined. Rejects only if the signal is aborted. */
  async function reportErrors<T>(
    operation: 'recall' | 'store',
    promise: Promise<T>,
    signal?: AbortSignal,
  ): Promise<T | undefined> {
    try {
      return await withTimeout(timeoutMs, promise, signal);
    } catch (error) {
      signal?.throwIfAborted();
      onError(error, operation);
      return undefined;
    }
  }

  async function recallFor({ prompt }: CallOptions): Promise<RecallResult[]> {
    const { last, all } = getMessageTexts(prompt);
    return recallForPrompt(memory, last, {
      // Null, because `memory` is already limited to the user.
      userId: null,
      recall,
      knownTexts: all,
      tokens: tokens - countTokens(PREFACE),
      countTokens,
      getLine: formatMemory,
      // One token for the line terminator of each memory.
      tokensPerItem: 1,
    });
  }

  async function storeTurn({ prompt, responseFormat }: CallOptions, answer: string | undefined): Promise<void> {
    if (answer === undefined) return;
    const { unanswered, all } = getMessageTexts(prompt);
    const turn = { all, unanswered, answer: responseFormat?.type === 'json' ? '' : answer };
    if (unanswered.length > 0 || turn.answer !== '') await reportErrors('store', turns.store(turn));
  }

  return {
    // AI SDK 6 requires 'v3', and AI SDK 7 accepts it. The code uses only features that are equal in v3 and v4.
    specificationVersion: 'v3',
    async transformParams({ params }) {
      const memories = await reportErrors('recall', recallFor(params), params.abortSignal);
      return memories ? { ...params, prompt: addMemories(params.prompt, memories) } : params;
    },
    async wrapGenerate({ doGenerate, params }) {
      const result = await doGenerate();
      await storeTurn(params, getText(result));
      return result;
    },
    async wrapStream({ doStream, params }) {
      const { stream, ...rest } = await doStream();
      const collector = new TextCollector();
      const storingStream: typeof stream = stream.pipeThrough(
        new TransformStream({
          transform(part, controller) {
            collector.add(part);
            controller.enqueue(part);
          },
          flush: () => storeTurn(params, collector.text),
        }),
      );
      return { ...rest, stream: storingStream };
    },
  };
}

function warn(error: unknown, operation: string): void {
  // biome-ignore lint/suspicious/noConsole: errors go to the console if no handler is set
  console.warn(`memory ${operation} failed`, error);
}
