import { type DynamicStructuredTool, tool } from '@langchain/core/tools';
import { AgentMemory, type AgentMemoryOptions, type UserScope } from '@memoryd/client/session';
import { createTimeZone, type MemoryApi } from '@memoryd/contract';
import { MODEL_TOOLS, type Tool, toModelError, type View } from '@memoryd/contract/tools';

/** The user of the tools, the timeout of a call, and the time zone of the user. */
export interface MemoryToolsOptions extends UserScope, Pick<AgentMemoryOptions, 'timeoutMs' | 'timezone'> {}

/**
 * Creates LangChain tools for the memories of one user: `recall`, `store`, `update` and `forget`. The model reads a
 * result as text, with times in `timezone`, and the artifact is the response of the `MemoryApi`. If a tool throws, the
 * error message tells the model what to do, and the cause is the `MemoryError`. No tool has a user argument, so a model
 * cannot access other users.
 *
 * A call is tried once, a recall within `timeoutMs` and a write within 5 more seconds. After a failure of the service,
 * the tools fail at once for 30 seconds.
 *
 * @throws TypeError if `userId` is missing, and RangeError for an invalid `timeoutMs` or `timezone`
 */
export function memoryTools(api: MemoryApi, options: MemoryToolsOptions): DynamicStructuredTool[] {
  const agent = new AgentMemory(api, options);
  const memory = agent.getToolApi();
  const view = { zone: createTimeZone(agent.timezone) };
  return Object.values(MODEL_TOOLS).map((source: Tool) => toLangChainTool(source, memory, view));
}

function toLangChainTool(source: Tool, memory: MemoryApi, view: View): DynamicStructuredTool {
  const { name, description, input } = source;
  return tool(
    async (args: unknown, { signal }: { signal?: AbortSignal } = {}) => {
      try {
        source.check(args);
        const result = await source.call(memory, args, signal ? { signal } : {});
        return [source.text(result, view), result];
      } catch (error) {
        throw toModelError(error);
      }
    },
    // LangChain rejects invalid arguments before the call. Verbose errors tell the model which arguments are invalid.
    { name, description, schema: input, responseFormat: 'content_and_artifact', verboseParsingErrors: true },
  );
}
