import type { Scope } from '../access.ts';
import type { MemoryApi, StoreOptions, WriteCondition } from '../api.ts';
import Type, { type TObject, type TSchemaOptions } from '../typebox.ts';
import { assertValid, createCheck } from '../validate.ts';
import type { WholeAt } from './texts.ts';

/** Tells the caller how far a call is: a number that grows from one time to the next, and what it counts. */
export type Progress = (done: number, message: string) => Promise<void>;

/** What may be said of a call beside its arguments. */
export interface ToolCall extends StoreOptions, WriteCondition {
  /** Aborted when the caller wants no answer any more. */
  signal?: AbortSignal;
  /** There where the caller wants to be told. */
  progress?: Progress;
}

/** What programs that run tools for models are told of one. */
interface ToolHints {
  /** It changes nothing. */
  readOnly: boolean;
  /** What was there before may be lost. */
  destructive: boolean;
  /** Doing it twice does no more than once. */
  idempotent: boolean;
}

/** A JSON Schema (2020-12) of an object, which refers to nothing outside. */
interface ObjectSchema {
  type: 'object';
  properties: Record<string, object>;
  required?: string[];
  [keyword: string]: unknown;
}

/** A verb as models are given it, whichever protocol or framework brings it to them. */
export interface Tool<Name extends string = string, Args = unknown, Answer = unknown> {
  /** The verb of the `MemoryApi`. */
  name: Name;
  title: string;
  /** What a model has to know to use it well. */
  description: string;
  /** What a caller must be allowed to do. */
  scope: Scope;
  hints: ToolHints;
  input: ObjectSchema;
  output: ObjectSchema;
  /** Throws INVALID_REQUEST, naming every argument that is wrong. */
  check(args: unknown): void;
  /** Does the verb with arguments that `check` has passed. The lists in an answer hold 128 KiB. Errors as the verb. */
  call(api: MemoryApi, args: Args, call?: ToolCall): Promise<Answer>;
  /**
   * The answer, for a model to read.
   *
   * @param wholeAt where contents, which are then cut when they are long, can be read whole
   */
  text(answer: Answer, wholeAt?: WholeAt): string;
}

/** A tool by the contract's schemas. */
interface Definition<Name extends string, Input extends TObject, Output extends TObject>
  extends Omit<Tool<Name, Type.Static<Input>, Type.Static<Output>>, 'input' | 'output' | 'check'> {
  input: Input;
  output: Output;
}

export function tool<const Name extends string, Input extends TObject, Output extends TObject>(
  definition: Definition<Name, Input, Output>,
): Tool<Name, Type.Static<Input>, Type.Static<Output>> {
  const { output, description } = definition;
  const input = withoutScope(definition.input);
  const check = createCheck(input, 'arguments', ['memory_id']);
  return {
    ...definition,
    description: description.replaceAll('\n', ' '),
    input: plainSchema(input),
    output: plainSchema(output),
    check: (args) => assertValid(check, args),
  };
}

/** Arguments without whose memories: the connection says that, so that no model can choose. */
function withoutScope({ properties, required: _required, type: _type, ...options }: TObject): TObject {
  const { user_id, agent_id, shared, ...others } = properties;
  return Type.Object(others, options as TSchemaOptions);
}

/** A schema without what only our own messages and pages need. */
function plainSchema(schema: TObject): ObjectSchema {
  return JSON.parse(JSON.stringify(schema, (key, value) => (key.startsWith('x-') ? undefined : value)));
}
