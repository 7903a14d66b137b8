import type { Scope } from '../access.ts';
import type { MemoryApi, StoreOptions, WriteCondition } from '../api.ts';
import { withNullFields, withoutNullFields } from '../nulls.ts';
import Type, { type TObject, type TSchemaOptions } from '../typebox.ts';
import { assertValid, createCheck } from '../validate.ts';
import type { View } from './listing.ts';

/** Reports the progress of a call. `done` never decreases; `message` describes the current step. */
export type Progress = (done: number, message: string) => Promise<void>;

/** Options of a call, in addition to its arguments. */
export interface ToolCall extends StoreOptions, WriteCondition {
  /** Aborted when the caller cancels the call. */
  signal?: AbortSignal;
  /** Present if the caller wants progress reports. */
  progress?: Progress;
  /** Time zone (IANA name) of a recall whose arguments have none. Defaults to that of the service. */
  timezone?: string;
}

/** Hints about a tool, for the program that runs the tool. */
interface ToolHints {
  /** The tool changes nothing. */
  readOnly: boolean;
  /** The tool may delete or overwrite data. */
  destructive: boolean;
  /** A repeated call has no additional effect. */
  idempotent: boolean;
}

/** A self-contained JSON Schema (2020-12) of an object. */
interface ObjectSchema {
  type: 'object';
  properties: Record<string, object>;
  required?: string[];
  [keyword: string]: unknown;
}

/** A `MemoryApi` method as a tool for models, independent of protocol and framework. */
export interface Tool<Name extends string = string, Args = unknown, Result = unknown> {
  /** Name of the method of `MemoryApi`. */
  name: Name;
  title: string;
  /** Instructions for the model. */
  description: string;
  /** Scope that the API key of the caller needs. */
  scope: Scope;
  hints: ToolHints;
  /** Schema of the arguments. Null in an optional field means that the field is absent, unless null clears a value. */
  input: ObjectSchema;
  output: ObjectSchema;
  /** Throws INVALID_REQUEST if an argument is invalid, with one detail per invalid argument. */
  check(args: unknown): void;
  /**
   * Calls the method with arguments that `check` has accepted. A list in the result is at most 128 KiB as JSON, or has
   * a single item. Throws the errors of the method.
   */
  call(api: MemoryApi, args: Args, call?: ToolCall): Promise<Result>;
  /** Formats a result as text for a model. */
  text(result: Result, view: View): string;
}

/** Definition of a tool, with TypeBox schemas for its arguments and its result. */
interface Definition<Name extends string, Input extends TObject, Output extends TObject>
  extends Omit<Tool<Name, Type.Static<Input>, Type.Static<Output>>, 'input' | 'output' | 'check'> {
  input: Input;
  output: Output;
}

export function tool<const Name extends string, Input extends TObject, Output extends TObject>(
  definition: Definition<Name, Input, Output>,
): Tool<Name, Type.Static<Input>, Type.Static<Output>> {
  const { output, description } = definition;
  const input = toArguments(definition.input);
  const nullable = withNullFields(input);
  const check = createCheck(input, 'arguments', ['memory_id']);
  return {
    ...definition,
    description: description.replaceAll('\n', ' '),
    input: toPlainSchema(nullable),
    output: toPlainSchema(output),
    check: (args) => assertValid(check, withoutNullFields(nullable, args)),
    call: (api, args, options) =>
      definition.call(api, withoutNullFields(nullable, args) as Type.Static<Input>, options),
  };
}

/**
 * Returns the arguments of a tool for a request. The connection sets the scope, so that a model cannot choose another
 * user. Attachments contain data for programs.
 */
function toArguments({ properties, required: _required, type: _type, ...options }: TObject): TObject {
  const { user_id, agent_id, shared, attachment, attachments, ...others } = properties;
  return Type.Object(others, options as TSchemaOptions);
}

/** Removes the `x-` keywords, which only error messages and reference pages use. */
function toPlainSchema(schema: TObject): ObjectSchema {
  return JSON.parse(JSON.stringify(schema, (key, value) => (key.startsWith('x-') ? undefined : value)));
}
