import { AgentMemory, type AgentMemoryOptions, type UserScope } from '@memoryd/client/session';
import { createTimeZone, type MemoryApi } from '@memoryd/contract';
import { type Tool as MemoryTool, MODEL_TOOLS, toModelError, type View } from '@memoryd/contract/tools';
import { jsonSchema, type Tool } from 'ai';
import { withSignal } from './abort.ts';

type ModelTools = typeof MODEL_TOOLS;
/** Arguments as a model sends them: null leaves an optional argument out. */
type Nullable<Args> = { [Name in keyof Args]: undefined extends Args[Name] ? Args[Name] | null : Args[Name] };
type ToAiTool<Source> =
  Source extends MemoryTool<string, infer Args, infer Result> ? Tool<Nullable<Args>, Result> : never;

/** The tools of `memoryTools`, by the names that the model sees. */
export type MemoryTools = { [Name in keyof ModelTools]: ToAiTool<ModelTools[Name]> };

/** The user of the tools, the timeout of a call, and the time zone of the user. */
export interface MemoryToolsOptions extends UserScope, Pick<AgentMemoryOptions, 'timeoutMs' | 'timezone'> {}

/**
 * Creates AI SDK tools for the memories of one user: `memory_store`, `memory_recall`, `memory_session`, `memory_update`
 * and `memory_forget`. A tool returns the response of the `MemoryApi`, and the model reads the response as text, with
 * times in `timezone`. An error becomes a tool error: the message tells the model what to do, and the cause is the
 * `MemoryError`. No tool has a user argument, so a model cannot access other users.
 *
 * A call is tried once, a read within `timeoutMs` and a write within 5 more seconds. After a failure of the service,
 * the tools fail at once for 30 seconds.
 *
 * @throws TypeError if `userId` is missing, and RangeError for an invalid `timeoutMs` or `timezone`
 */
export function memoryTools(api: MemoryApi, options: MemoryToolsOptions): MemoryTools {
  const agent = new AgentMemory(api, options);
  const memory = agent.getToolApi();
  const view = { zone: createTimeZone(agent.timezone) };
  const tools = Object.entries(MODEL_TOOLS).map(([name, source]) => [
    name,
    toAiTool(source as MemoryTool, memory, view),
  ]);
  return Object.fromEntries(tools);
}

function toAiTool(source: MemoryTool, memory: MemoryApi, view: View): Tool<unknown, unknown> {
  return {
    title: source.title,
    description: source.description,
    // Without a validator: `execute` validates, so that the model reads the error messages of memoryd.
    inputSchema: jsonSchema(source.input),
    async execute(args, { abortSignal }) {
      try {
        source.check(args);
        const call = source.call(memory, args, {
          timezone: view.zone.name,
          ...(abortSignal && { signal: abortSignal }),
        });
        // Also rejects here on an abort, because some tools and some `MemoryApi` implementations ignore the signal.
        return await withSignal(call, abortSignal);
      } catch (error) {
        throw toModelError(error);
      }
    },
    toModelOutput: ({ input, output }) => ({ type: 'text', value: source.text(output, view, input) }),
  };
}
