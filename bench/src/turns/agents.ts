import { setTimeout as sleep } from 'node:timers/promises';
import { AIMessage, HumanMessage } from '@langchain/core/messages';
import { memoryMiddleware } from '@memoryd/ai-sdk';
import { session } from '@memoryd/client/session';
import type { MemoryApi } from '@memoryd/contract';
import { MemoryChatHistory, MemoryRetriever } from '@memoryd/langchain';
import { generateText, isStepCount, jsonSchema, wrapLanguageModel } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';

/** Runs one turn with this number of steps. */
type RunTurn = (question: string, steps: number) => Promise<void>;

/** Creates an agent for a new conversation: with memory, or without if `memory` is absent. */
export type CreateAgent = (modelMs: number, sessionId: string, memory?: MemoryApi) => RunTurn;

const USER = { userId: 'ada' };
/** The outage is part of the measurement, so its warnings are not printed. */
const onError = (): void => {};
const ANSWER = 'That is all I know.';

type GenerateResult = Awaited<ReturnType<MockLanguageModelV4['doGenerate']>>;

function createResult(content: GenerateResult['content'], unified: 'stop' | 'tool-calls'): GenerateResult {
  const inputTokens = { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 };
  const usage = { inputTokens, outputTokens: { total: 1, text: 1, reasoning: 0 } };
  return { content, finishReason: { unified, raw: undefined }, usage, warnings: [] };
}

/** Creates a model that takes `modelMs` per step, and calls a tool in each step but the last. */
function createModel(modelMs: number, steps: number): MockLanguageModelV4 {
  let step = 0;
  return new MockLanguageModelV4({
    doGenerate: async () => {
      await sleep(modelMs);
      step++;
      if (step === steps) return createResult([{ type: 'text', text: ANSWER }], 'stop');
      return createResult(
        [{ type: 'tool-call', toolCallId: `call ${step}`, toolName: 'look', input: '{}' }],
        'tool-calls',
      );
    },
  });
}

const look = { inputSchema: jsonSchema<object>({ type: 'object' }), execute: async () => 'a view' };

const middleware: CreateAgent = (modelMs, sessionId, memory) => async (prompt, steps) => {
  const model = createModel(modelMs, steps);
  // A new middleware for each turn, as in a web server.
  const wrapped = memory
    ? wrapLanguageModel({ model, middleware: memoryMiddleware(memory, { ...USER, sessionId, onError }) })
    : model;
  await generateText({ model: wrapped, prompt, tools: { look }, stopWhen: isStepCount(steps) });
};

const sessionHelper: CreateAgent = (modelMs, sessionId, memory) => {
  const talk = memory && session(memory, sessionId, { ...USER, onError });
  return async (question, steps) => {
    talk?.add([{ role: 'user', content: question }]);
    for (let step = 1; step <= steps; step++) {
      await talk?.context(question, { tokens: 2000 });
      await sleep(modelMs);
      talk?.add([{ role: step === steps ? 'assistant' : 'tool', content: ANSWER }]);
    }
  };
};

const langChain: CreateAgent = (modelMs, sessionId, memory) => {
  const parts = memory && {
    retriever: new MemoryRetriever({ ...USER, memory, onError }),
    history: new MemoryChatHistory({ ...USER, memory, sessionId, onError }),
  };
  return async (question, steps) => {
    await parts?.history.addMessage(new HumanMessage(question));
    for (let step = 1; step <= steps; step++) {
      await Promise.all([parts?.history.getMessages(), parts?.retriever.invoke(question)]);
      await sleep(modelMs);
    }
    await parts?.history.addMessage(new AIMessage(ANSWER));
  };
};

/** Agents by the name of their adapter. */
export const AGENTS: Readonly<Record<string, CreateAgent>> = {
  'AI SDK middleware': middleware,
  'session helper': sessionHelper,
  'LangChain retriever and history': langChain,
};
