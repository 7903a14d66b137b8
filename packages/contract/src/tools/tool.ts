import type { Scope } from '../access.ts';
import type { MemoryApi, StoreOptions, WriteCondition } from '../api.ts';
import { createTimeZone } from '../time-zone.ts';
import type Type from '../typebox.ts';
import type { TObject } from '../typebox.ts';
import { type Check, createCheck, invalidRequest } from '../validate.ts';
import { type ObjectSchema, toGivenArguments, toPlainSchema, toStrictSchema } from './arguments.ts';
import type { View } from './listing.ts';

/** Reports the progress of a call. `done` never decreases; `message` describes the current step. */
export type Progress = (done: number, message: string) => Promise<void>;

/** Options of a call, in addition to its arguments. */
export interface ToolCall extends StoreOptions, WriteCondition {
  /** Aborted when the caller cancels the call. */
  signal?: AbortSignal;
  /** Present if the caller wants progress reports. */
  progress?: Progress;
  /**
   * Time zone of the user (IANA name), for dates in a query, which default to the zone of the service, and for times
   * without an offset, which default to UTC.
   */
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

/** A `MemoryApi` method as a tool for models, independent of protocol and framework. */
export interface Tool<Name extends string = string, Args = unknown, Result = unknown> {
  /** `memory_` and the name of the method of `MemoryApi`. */
  name: Name;
  title: string;
  /** Instructions for the model. */
  description: string;
  /** Scope that the API key of the caller needs. */
  scope: Scope;
  hints: ToolHints;
  /**
   * Schema of the arguments for models, within OpenAI's strict mode: all are required, and null leaves an optional one
   * out. `check` is more lenient (see `toGivenArguments`).
   */
  input: ObjectSchema;
  output: ObjectSchema;
  /** Throws INVALID_REQUEST if an argument is invalid, with one detail per invalid argument. */
  check(args: unknown): void;
  /** Returns arguments that `check` has accepted in the form of `input`, for programs that validate them. */
  complete(args: unknown): Record<string, unknown>;
  /**
   * Calls the method with arguments that `check` has accepted. A list in the result is at most 128 KiB as JSON, or has
   * a single item. Throws the errors of the method.
   */
  call(api: MemoryApi, args: Args, call?: ToolCall): Promise<Result>;
  /**
   * Formats a result as text for a model.
   *
   * @param args the arguments of the call, which the text may explain
   */
  text(result: Result, view: View, args: Args): string;
}

/** Definition of a tool, with TypeBox schemas for its arguments and its result. */
interface Definition<Name extends string, Input extends TObject, Output extends TObject>
  extends Omit<Tool<Name, Type.Static<Input>, Type.Static<Output>>, 'input' | 'output' | 'check' | 'complete'> {
  input: Input;
  output: Output;
}

export function tool<const Name extends string, Input extends TObject, Output extends TObject>(
  definition: Definition<Name, Input, Output>,
): Tool<Name, Type.Static<Input>, Type.Static<Output>> {
  const { name, input, output, description } = definition;
  const check = createCheck(input, 'arguments', ['memory_id']);
  const strict = toStrictSchema(input);
  const toGiven = (args: unknown, timezone = 'UTC') =>
    toGivenArguments(input, args, createTimeZone(timezone)) as Type.Static<Input>;
  return {
    ...definition,
    description: description.replaceAll('\n', ' '),
    input: strict,
    output: toPlainSchema(output),
    check: (args) => assertArguments(name, strict, check, toGiven(args)),
    complete: (args) => {
      const given = toGivenArguments(input, args) as Record<string, unknown>;
      return Object.fromEntries(Object.keys(strict.properties).map((field) => [field, given[field] ?? null]));
    },
    call: (api, args, options) => definition.call(api, toGiven(args, options?.timezone), options),
    text: (result, view, args) => definition.text(result, view, toGiven(args, view.zone.name)),
  };
}

/** Throws INVALID_REQUEST if arguments are invalid. The first detail of an unknown argument lists the known ones. */
function assertArguments(name: string, { properties }: ObjectSchema, check: Check, args: unknown): void {
  const details = check(args);
  const unknown = details.find(({ path }) => path !== '' && !Object.hasOwn(properties, path.split('/')[1] ?? ''));
  const known = Object.keys(properties).join(', ') || 'none';
  if (details.length === 0) return;
  throw invalidRequest(
    details.map((detail) =>
      detail === unknown ? { ...detail, message: `${detail.message}; the arguments of ${name} are ${known}` } : detail,
    ),
  );
}
