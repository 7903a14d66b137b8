import { type OfUser, scopeToUser } from '@memoryd/client/session';
import type { MemoryApi } from '@memoryd/contract';
import { getFailure, type Tool as MemoryTool, MODEL_TOOLS } from '@memoryd/contract/tools';
import { jsonSchema, type Tool } from 'ai';
import { unlessAborted } from './within.ts';

type Verbs = typeof MODEL_TOOLS;
type ToTool<Verb> = Verb extends MemoryTool<string, infer Args, infer Answer> ? Tool<Args, Answer> : never;

/** What `memoryTools` gives; the keys are the names that the model sees. */
export type MemoryTools = { [Name in keyof Verbs]: ToTool<Verbs[Name]> };

/**
 * The memories of one user as tools of the AI SDK: `recall`, `store`, `update` and `forget`, to be given to a model among
 * others. Results are the answers of the `MemoryApi`; the model reads them as text. What fails becomes a tool error that
 * says in its message what a model may do about it, with the `MemoryError` as its cause. No tool takes a user, so that no
 * model can choose one. Throws TypeError where no `userId` is given.
 */
export function memoryTools(all: MemoryApi, of: OfUser): MemoryTools {
  const memory = scopeToUser(all, of);
  const { recall, store, update, forget } = MODEL_TOOLS;
  return {
    recall: toTool(recall, memory),
    store: toTool(store, memory),
    update: toTool(update, memory),
    forget: toTool(forget, memory),
  };
}

function toTool<Args, Answer>(verb: MemoryTool<string, Args, Answer>, memory: MemoryApi): Tool<Args, Answer> {
  const made: Tool<unknown, unknown> = {
    title: verb.title,
    description: verb.description,
    // The schema tells the model; `execute` checks, so that the model reads in our words what it did wrong.
    inputSchema: jsonSchema(verb.input),
    async execute(args, { abortSignal }) {
      try {
        verb.check(args);
        const answering = verb.call(memory, args as Args, abortSignal ? { signal: abortSignal } : {});
        // Not every verb, and not every memory, looks at the signal.
        return await unlessAborted(answering, abortSignal);
      } catch (error) {
        throw getFailure(error);
      }
    },
    toModelOutput: ({ output }) => ({ type: 'text', value: verb.text(output as Answer) }),
  };
  return made as Tool<Args, Answer>;
}
