import { type DynamicStructuredTool, tool } from '@langchain/core/tools';
import { scopeToUser, type UserScope } from '@memoryd/client/session';
import type { MemoryApi } from '@memoryd/contract';
import { MODEL_TOOLS, type Tool, toModelError } from '@memoryd/contract/tools';

/**
 * Creates LangChain tools for the memories of one user: `recall`, `store`, `update` and `forget`. The model reads a
 * result as text, and the artifact is the response of the `MemoryApi`. If a tool throws, the error message tells the
 * model what to do, and the cause is the `MemoryError`. No tool has a user argument, so a model cannot access other
 * users.
 *
 * @throws TypeError if `userId` is missing
 */
export function memoryTools(api: MemoryApi, scope: UserScope): DynamicStructuredTool[] {
  const memory = scopeToUser(api, scope);
  return Object.values(MODEL_TOOLS).map((source: Tool) => toLangChainTool(source, memory));
}

function toLangChainTool(source: Tool, memory: MemoryApi): DynamicStructuredTool {
  const { name, description, input } = source;
  return tool(
    async (args: unknown, { signal }: { signal?: AbortSignal } = {}) => {
      try {
        source.check(args);
        const result = await source.call(memory, args, signal ? { signal } : {});
        return [source.text(result), result];
      } catch (error) {
        throw toModelError(error);
      }
    },
    // LangChain rejects invalid arguments before the call. Verbose errors tell the model which arguments are invalid.
    { name, description, schema: input, responseFormat: 'content_and_artifact', verboseParsingErrors: true },
  );
}
