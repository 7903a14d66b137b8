import { type DynamicStructuredTool, tool } from '@langchain/core/tools';
import { type OfUser, scopeToUser } from '@memoryd/client/session';
import type { MemoryApi } from '@memoryd/contract';
import { getFailure, MODEL_TOOLS, type Tool } from '@memoryd/contract/tools';

/**
 * The memories of one user as tools: `recall`, `store`, `update` and `forget`, to be bound to a model among others. The
 * model reads answers as text; the artifact is the answer of the `MemoryApi`. What fails throws an error that says in its
 * message what a model may do about it, with the `MemoryError` as its cause. No tool takes a user, so that no model can
 * choose one. Throws TypeError where no `userId` is given.
 */
export function memoryTools(all: MemoryApi, of: OfUser): DynamicStructuredTool[] {
  const memory = scopeToUser(all, of);
  return Object.values(MODEL_TOOLS).map((verb: Tool) => toTool(verb, memory));
}

function toTool(verb: Tool, memory: MemoryApi): DynamicStructuredTool {
  const { name, description, input } = verb;
  return tool(
    async (args: unknown, { signal }: { signal?: AbortSignal } = {}) => {
      try {
        verb.check(args);
        const answer = await verb.call(memory, args, signal ? { signal } : {});
        return [verb.text(answer), answer];
      } catch (error) {
        throw getFailure(error);
      }
    },
    // Arguments that do not fit the schema never get here: the model is to be told which, and why.
    { name, description, schema: input, responseFormat: 'content_and_artifact', verboseParsingErrors: true },
  );
}
