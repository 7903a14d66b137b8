import { type ErrorDetail, escapePointer, invalidRequest } from '@memoryd/contract';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import type { AnyObjectSchema, SchemaOutput } from '@modelcontextprotocol/sdk/server/zod-compat.js';
import type { RequestHandlerExtra } from '@modelcontextprotocol/sdk/shared/protocol.js';
import type {
  Notification,
  Request,
  Result,
  ServerNotification,
  ServerRequest,
  ServerResult,
} from '@modelcontextprotocol/sdk/types.js';
import { protocolError } from './failures.ts';

/** Maximum number of invalid parameters that one error lists. */
const MAX_REPORTED = 8;

type Extra = RequestHandlerExtra<ServerRequest | Request, ServerNotification | Notification>;
type HandlerResult = ServerResult | Result;

/**
 * The SDK's server, with a clear "invalid params" error (JSON-RPC 2.0, section 5.1) for parameters that do not match a
 * request's schema. The SDK itself returns an internal error whose message is a dump of the schema's issues.
 */
export class CheckedServer extends Server {
  override setRequestHandler<Schema extends AnyObjectSchema>(
    schema: Schema,
    handler: (request: SchemaOutput<Schema>, extra: Extra) => HandlerResult | Promise<HandlerResult>,
  ): void {
    super.setRequestHandler(toStrictSchema(schema), handler);
  }
}

/**
 * The methods of a request schema that this file uses. The SDK's schema type does not declare these methods, because
 * the type also covers schemas of other libraries.
 */
interface RequestSchema {
  shape: { params: ParamsSchema };
  extend(shape: { params: unknown }): unknown;
}

interface ParamsSchema {
  catch(replace: (refused: { value: unknown }) => unknown): unknown;
  safeParse(value: unknown): { success: true; data: unknown } | { success: false; error: { issues: Issue[] } };
}

/** A validation issue of a schema. */
interface Issue {
  path: PropertyKey[];
  message: string;
  /** The expected type. */
  expected?: string;
  /** The allowed values. */
  values?: unknown[];
}

/** Cache of strict schemas, because over HTTP each request creates a server. */
const STRICT_SCHEMAS = new WeakMap<object, unknown>();

/**
 * Returns a schema that throws a protocol error for invalid parameters. The SDK would report the schema's own error as
 * an internal error.
 */
function toStrictSchema<Schema extends AnyObjectSchema>(schema: Schema): Schema {
  if (!STRICT_SCHEMAS.has(schema)) {
    const request = schema as unknown as RequestSchema;
    const { params } = request.shape;
    STRICT_SCHEMAS.set(schema, request.extend({ params: params.catch(({ value }) => parseNullable(params, value)) }));
  }
  return STRICT_SCHEMAS.get(schema) as Schema;
}

/**
 * Parses parameters that the schema refuses as they are. Null means that a parameter is absent, and in a prompt, whose
 * arguments are texts, that an argument is absent.
 *
 * @throws a protocol error for parameters that are invalid also without null
 */
function parseNullable(schema: ParamsSchema, params: unknown): unknown {
  const given = isObject(params) ? dropNulls({ ...params, _meta: dropNulls(params._meta) }) : params;
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  const texts = schema.safeParse(isObject(given) ? { ...given, arguments: dropNulls(given.arguments) } : given);
  if (texts.success) return texts.data;
  throw protocolError(invalidRequest(parsed.error.issues.slice(0, MAX_REPORTED).map(toErrorDetail)));
}

function dropNulls(value: unknown): unknown {
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([, item]) => item !== null));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function toErrorDetail(issue: Issue): ErrorDetail {
  const names = issue.path.map(String);
  const pointer = names.map((name) => `/${escapePointer(name)}`).join('');
  return { path: pointer, message: `${names.join('.') || 'params'}${describeIssue(issue)}` };
}

function describeIssue({ message, expected, values }: Issue): string {
  if (values) return ` must be one of ${values.join(', ')}`;
  if (expected === 'string') return ' must be a string';
  return expected === 'object' || expected === 'record' ? ' must be a JSON object' : `: ${message}`;
}
