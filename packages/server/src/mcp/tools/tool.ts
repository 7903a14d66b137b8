import type { TObject, Type } from '@fastify/type-provider-typebox';
import {
  assertValid,
  checkOf,
  type MemoryApi,
  MemoryError,
  type Scope,
  type StoreOptions,
  type WriteCondition,
} from '@memoryd/contract';
import type { Tool as ListedTool, ToolAnnotations } from '@modelcontextprotocol/sdk/types.js';

/** Tells the caller how far a call is: a number that grows from one time to the next, and what it counts. */
export type Progress = (done: number, message: string) => Promise<void>;

/** One call of a tool. */
export interface Call {
  /** Aborted when the caller wants no answer any more. */
  signal: AbortSignal;
  /** There where the caller wants to be told. */
  progress?: Progress;
  /** For the verbs that take them. */
  options: StoreOptions & WriteCondition;
}

interface ToolDefinition<Input extends TObject, Output extends TObject> {
  /** The verb of the `MemoryApi`. */
  name: string;
  title: string;
  /** What a model has to know to use it well. */
  description: string;
  scope: Scope;
  annotations: ToolAnnotations;
  input: Input;
  output: Output;
  call(api: MemoryApi, args: Type.Static<Input>, call: Call): Promise<Type.Static<Output>>;
  /** The answer, for a model to read. */
  text(answer: Type.Static<Output>): string;
}

/** A verb as models see it. */
export interface Tool {
  scope: Scope;
  /** How it is listed, with schemas that refer to nothing outside. */
  listed: ListedTool;
  /**
   * Does the verb.
   *
   * @param maxBytes most that the arguments may take as JSON, as the body of a request may
   * @throws MemoryError as the verb does, INVALID_REQUEST for arguments that the schema refuses, PAYLOAD_TOO_LARGE
   */
  answer(
    api: MemoryApi,
    args: unknown,
    call: Call,
    maxBytes: number,
  ): Promise<{ structured: Record<string, unknown>; text: string }>;
}

export function tool<Input extends TObject, Output extends TObject>(definition: ToolDefinition<Input, Output>): Tool {
  const { name, title, description, annotations, scope, input, output } = definition;
  const check = checkOf(input, 'arguments');
  return {
    scope,
    listed: {
      name,
      title,
      description,
      // Nothing is reached but the memories.
      annotations: { ...annotations, openWorldHint: false },
      inputSchema: plainSchema(input),
      outputSchema: plainSchema(output),
    },
    async answer(api, args, call, maxBytes) {
      // First, since JSON.stringify would exhaust the stack on what is too deep.
      assertValid(check, args);
      if (Buffer.byteLength(JSON.stringify(args)) > maxBytes) {
        throw new MemoryError('PAYLOAD_TOO_LARGE', `the arguments may take ${maxBytes} bytes as JSON`);
      }
      const answer = await definition.call(api, args as Type.Static<Input>, call);
      return { structured: answer as Record<string, unknown>, text: definition.text(answer) };
    },
  };
}

/** A schema without what only our own messages and pages need. */
function plainSchema(schema: TObject): ListedTool['inputSchema'] {
  return JSON.parse(JSON.stringify(schema, (key, value) => (key.startsWith('x-') ? undefined : value)));
}
