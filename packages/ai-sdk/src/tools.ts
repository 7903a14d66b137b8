import { AgentMemory, type AgentMemoryOptions, type UserScope } from '@memoryd/client/session';
import { createTimeZone, type MemoryApi } from '@memoryd/contract';
import { type Tool as MemoryTool, MODEL_TOOLS, toModelError, type View } from '@memoryd/contract/tools';
import { jsonSchema, type Tool } from 'ai';
import { withSignal } from './abort.ts';

type ModelTools = typeof MODEL_TOOLS;
type ToAiTool<Source> = Source extends MemoryTool<string, infer Args, infer Result> ? Tool<Args, Result> : never;

/** The tools of `memoryTools`, by the names that the model sees. */
export type MemoryTools = { [Name in keyof ModelTools]: ToAiTool<ModelTools[Name]> };

/** The user of the tools, the timeout of a call, and the time zone of the user. */
export interface MemoryToolsOptions extends UserScope, Pick<AgentMemoryOptions, 'timeoutMs' | 'timezone'> {}

/**
 * Creates AI SDK tools for the memories of one user: `recall`, `store`, `update` and `forget`. A tool returns the
 * response of the `MemoryApi`, and the model reads the response as text, with times in `timezone`. An error becomes a
 * tool error: the message tells the model what to do, and the cause is the `MemoryError`. No tool has a user argument,
 * so a model cannot access other users.
 *
 * A call is tried once, a recall within `timeoutMs` and a write within 5 more seconds. After a failure of the service,
 * the tools fail at once for 30 seconds.
 *
 * @throws TypeError if `userId` is missing, and RangeError for an invalid `timeoutMs` or `timezone`
 */
export function memoryTools(api: MemoryApi, options: MemoryToolsOptions): MemoryTools {
  const agent = new AgentMemory(api, options);
  const memory = agent.getToolApi();
  const view = { zone: createTimeZone(agent.timezone) };
  const { recall, store, update, forget } = MODEL_TOOLS;
  return {
    recall: toAiTool(recall, memory, view),
    store: toAiTool(store, memory, view),
    update: toAiTool(update, memory, view),
    forget: toAiTool(forget, memory, view),
  };
}

function toAiTool<Args, Result>(
  source: MemoryTool<string, Args, Result>,
  memory: MemoryApi,
  view: View,
): Tool<Args, Result> {
  const aiTool: Tool<unknown, unknown> = {
    title: source.title,
    description: source.description,
    // Without a validator: `execute` validates, so that the model reads the error messages of memoryd.
    inputSchema: jsonSchema(source.input),
    async execute(args, { abortSignal }) {
      try {
        source.check(args);
        const call = source.call(memory, args as Args, abortSignal ? { signal: abortSignal } : {});
        // Also rejects here on an abort, because some tools and some `MemoryApi` implementations ignore the signal.
        return await withSignal(call, abortSignal);
      } catch (error) {
        throw toModelError(error);
      }
    },
    toModelOutput: ({ output }) => ({ type: 'text', value: source.text(output as Result, view) }),
  };
  return aiTool as Tool<Args, Result>;
}
