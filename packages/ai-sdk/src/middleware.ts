import {
  AgentMemory,
  type AgentMemoryOptions,
  type FlushOptions,
  getContext,
  type PromptContextOptions,
  type UserScope,
} from '@memoryd/client/session';
import type { MemoryApi } from '@memoryd/contract';
import type { LanguageModelMiddleware } from 'ai';
import { withSignal } from './abort.ts';
import { getDigest } from './digest.ts';
import { getText, hasToolCall, TextCollector } from './model-output.ts';
import { addMemories, type CallOptions, getMessageTexts } from './prompt.ts';
import { storeTurn } from './turns.ts';

export interface MemoryMiddlewareOptions
  extends PromptContextOptions,
    Pick<AgentMemoryOptions, 'timeoutMs' | 'timezone'>,
    UserScope {
  /** Id of the session in which the conversation is stored. */
  sessionId: string;
  /** Maximum tokens that are added to a prompt, from 50 to 20,000, estimated upwards. Defaults to 1,000. */
  tokens?: number;
  /**
   * Receives the first error of an outage, for recall and store, and the errors of messages that could not be stored.
   * Errors never fail the model call. Defaults to `console.warn`.
   */
  onError?: (error: unknown, operation: 'recall' | 'store') => void;
}

/** Middleware of the AI SDK with memory. */
export interface MemoryMiddleware extends LanguageModelMiddleware {
  /**
   * Waits until the messages of the session are stored. For programs that end. Rejects with UNAVAILABLE if some are not
   * stored in time; they still wait then.
   */
  flush(options?: FlushOptions): Promise<void>;
}

/**
 * Creates middleware that gives a language model the memory of one user.
 *
 * Before a model call, the middleware gets the context for the last user message, from all sessions of the user
 * unless `context` has a filter: standing notes, and what answers the message. Its text is added to the beginning of
 * that message, with dates in `timezone`, within the token budget. Texts of other messages of the prompt are left out,
 * unless the request with them is larger than the service accepts. All steps and retries of a turn use one context.
 *
 * After the call, the middleware stores the user messages since the last answer, and the text of the answer, as
 * messages of the session. In a call with several tool steps, each message is stored once.
 *
 * If a model is called again with the same conversation within a day, the user messages are not stored again, and the
 * new answer supersedes the previous one. Never stored: memories of the context, failed or truncated streams with
 * their user messages, answers in JSON, system messages, reasoning, files and tool results. An answer that ends at the
 * model's token limit is stored.
 *
 * Storing never delays an answer. While the service is unavailable, at most 1,000 messages or 8 MiB of all users wait in
 * memory, and the oldest are refused. The context is tried once, within `timeoutMs`. After a failure, models are called
 * without memories for 30 seconds.
 *
 * @throws TypeError if `userId` is missing, and RangeError for an invalid `timeoutMs` or `timezone`
 * @example
 * wrapLanguageModel({ model, middleware: memoryMiddleware(memory, { userId, sessionId }) });
 */
export function memoryMiddleware(api: MemoryApi, options: MemoryMiddlewareOptions): MemoryMiddleware {
  const { userId, agentId, sessionId, tokens = 1000, timeoutMs, timezone, onError, context = {} } = options;
  // The middleware makes no reads of transcripts, so the operation is `recall` or `store`.
  const agent = new AgentMemory(api, {
    ...{ userId, agentId, timeoutMs, timezone, onError: onError as AgentMemoryOptions['onError'] },
  });

  async function getContextText({ prompt }: CallOptions): Promise<string | undefined> {
    const { last, others } = getMessageTexts(prompt);
    const request = { context, budget: tokens, knownTexts: others };
    return (await agent.read('recall', (memory) => getContext(memory, last, request)))?.text;
  }

  /** Identifies the last user message by the session and the messages up to it. */
  function getMessageId({ prompt }: CallOptions): Promise<string> {
    return getDigest([sessionId, tokens, agent.timezone, context, getMessageTexts(prompt).asked]);
  }

  /** Returns the context for the last user message; undefined if the request failed. Never rejects. */
  async function getMemories(params: CallOptions): Promise<string | undefined> {
    try {
      return await agent.recallOnce(await getMessageId(params), () => getContextText(params));
    } catch (error) {
      agent.report(error, 'recall');
      return undefined;
    }
  }

  /** Starts to store the turn, and ends the turn unless the model has called a tool. Never throws. */
  async function endStep(params: CallOptions, answer: string | undefined, hasToolCalls: boolean): Promise<void> {
    if (answer === undefined) return;
    const { unanswered, all } = getMessageTexts(params.prompt);
    try {
      storeTurn(agent, sessionId, { all, unanswered, answer: params.responseFormat?.type === 'json' ? '' : answer });
      if (!hasToolCalls) agent.endTurn(await getMessageId(params));
    } catch (error) {
      agent.report(error, 'store');
    }
  }

  return {
    // AI SDK 6 requires 'v3', and AI SDK 7 accepts it. The code uses only features that are equal in v3 and v4.
    specificationVersion: 'v3',
    async transformParams({ params }) {
      const memories = await withSignal(getMemories(params), params.abortSignal);
      return memories ? { ...params, prompt: addMemories(params.prompt, memories) } : params;
    },
    async wrapGenerate({ doGenerate, params }) {
      const result = await doGenerate();
      // Not awaited: storing must not delay the answer.
      endStep(params, getText(result), hasToolCall(result.content));
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
          flush: () => void endStep(params, collector.text, collector.hasToolCall),
        }),
      );
      return { ...rest, stream: storingStream };
    },
    flush: (flushOptions) => agent.flush(sessionId, flushOptions),
  };
}
