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

/** Most that is told of one request. */
const MAX_REPORTED = 8;

type Extra = RequestHandlerExtra<ServerRequest | Request, ServerNotification | Notification>;
type Answer = ServerResult | Result;

/**
 * The SDK's server, which refuses parameters that do not fit a request as invalid (JSON-RPC 2.0, section 5.1) and says what
 * is wrong. The SDK alone answers them with an internal error, whose message is a list of what its schemas found.
 */
export class CheckedServer extends Server {
  override setRequestHandler<Schema extends AnyObjectSchema>(
    schema: Schema,
    handler: (request: SchemaOutput<Schema>, extra: Extra) => Answer | Promise<Answer>,
  ): void {
    super.setRequestHandler(refusing(schema), handler);
  }
}

/** What is used here of a request's schema; the types of the SDK allow for others than it has. */
interface RequestSchema {
  shape: { params: { catch(refuse: (refused: { error: { issues: Issue[] } }) => never): unknown } };
  extend(shape: { params: unknown }): unknown;
}

/** What a schema finds wrong. */
interface Issue {
  path: PropertyKey[];
  message: string;
  /** The kind of value that there should be. */
  expected?: string;
  /** The values that there may be. */
  values?: unknown[];
}

/** Schemas that refuse, made once: over HTTP each request has a server of its own. */
const REFUSING = new WeakMap<object, unknown>();

/** The schema of a request that throws the protocol's error: what the schema itself finds would go out as a defect. */
function refusing<Schema extends AnyObjectSchema>(schema: Schema): Schema {
  if (!REFUSING.has(schema)) {
    const request = schema as unknown as RequestSchema;
    REFUSING.set(schema, request.extend({ params: request.shape.params.catch(refuse) }));
  }
  return REFUSING.get(schema) as Schema;
}

function refuse({ error }: { error: { issues: Issue[] } }): never {
  throw protocolError(invalidRequest(error.issues.slice(0, MAX_REPORTED).map(getDetail)));
}

function getDetail(issue: Issue): ErrorDetail {
  const names = issue.path.map(String);
  const pointer = names.map((name) => `/${escapePointer(name)}`).join('');
  return { path: pointer, message: `${names.join('.') || 'params'}${wrong(issue)}` };
}

function wrong({ message, expected, values }: Issue): string {
  if (values) return ` must be one of ${values.join(', ')}`;
  if (expected === 'string') return ' must be a string';
  return expected === 'object' || expected === 'record' ? ' must be a JSON object' : `: ${message}`;
}
