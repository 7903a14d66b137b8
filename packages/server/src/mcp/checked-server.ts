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
  shape: { params: { catch(refuse: (refused: { error: { issues: Issue[] } }) => never): unknown } };
  extend(shape: { params: unknown }): unknown;
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
    STRICT_SCHEMAS.set(schema, request.extend({ params: request.shape.params.catch(refuse) }));
  }
  return STRICT_SCHEMAS.get(schema) as Schema;
}

function refuse({ error }: { error: { issues: Issue[] } }): never {
  throw protocolError(invalidRequest(error.issues.slice(0, MAX_REPORTED).map(toErrorDetail)));
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
