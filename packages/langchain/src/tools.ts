import { type DynamicStructuredTool, ToolInputParsingException, tool } from '@langchain/core/tools';
import { AgentMemory, type AgentMemoryOptions, type UserScope } from '@memoryd/client/session';
import { createTimeZone, type MemoryApi } from '@memoryd/contract';
import { failureText, isMemoryError, MODEL_TOOLS, type Tool, toModelError, type View } from '@memoryd/contract/tools';

/** The user of the tools, the timeout of a call, and the time zone of the user. */
export interface MemoryToolsOptions extends UserScope, Pick<AgentMemoryOptions, 'timeoutMs' | 'timezone'> {}

/**
 * Creates LangChain tools for the memories of one user: `memory_store`, `memory_recall`, `memory_session`,
 * `memory_update` and `memory_forget`. The model reads a result as text, with times in `timezone`, and the artifact is
 * the response of the `MemoryApi`. If a tool throws, the error message tells the model what to do, and the cause is the
 * `MemoryError`. No tool has a user argument, so a model cannot access other users.
 *
 * A call is tried once, a read within `timeoutMs` and a write within 5 more seconds. After a failure of the service,
 * the tools fail at once for 30 seconds.
 *
 * @throws TypeError if `userId` is missing, and RangeError for an invalid `timeoutMs` or `timezone`
 */
export function memoryTools(api: MemoryApi, options: MemoryToolsOptions): DynamicStructuredTool[] {
  const agent = new AgentMemory(api, options);
  const memory = agent.getToolApi();
  const view = { zone: createTimeZone(agent.timezone) };
  return Object.values(MODEL_TOOLS).map((source) => toLangChainTool(source as Tool, memory, view));
}

function toLangChainTool(source: Tool, memory: MemoryApi, view: View): DynamicStructuredTool {
  const { name, description, input } = source;
  const created: DynamicStructuredTool = tool(
    async (args: unknown, { signal }: { signal?: AbortSignal } = {}) => {
      try {
        const result = await source.call(memory, args, { timezone: view.zone.name, ...(signal && { signal }) });
        return [source.text(result, view, args), result];
      } catch (error) {
        throw toModelError(error);
      }
    },
    { name, description, schema: input, responseFormat: 'content_and_artifact' },
  );
  const call = created.call.bind(created);
  // LangChain itself would reject a call that leaves out an optional argument, and its errors tell a model less.
  created.call = async (args, ...more) => call(toCompleteArguments(source, args), ...more);
  return created;
}

/** @throws ToolInputParsingException, the class of the errors about arguments that agents show a model */
function toCompleteArguments(source: Tool, args: unknown): Record<string, unknown> {
  try {
    source.check(args);
    return source.complete(args);
  } catch (error) {
    if (!isMemoryError(error)) throw error;
    const exception = new ToolInputParsingException(failureText(error), JSON.stringify(args));
    throw Object.assign(exception, { cause: error });
  }
}
