import { type ErrorDetail, escapePointer, invalidRequest } from '@memoryd/contract';
import {
  CallToolRequestSchema,
  DiscoverRequestSchema,
  GetPromptRequestSchema,
  InitializeRequestSchema,
  ListPromptsRequestSchema,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListToolsRequestSchema,
  PingRequestSchema,
  ReadResourceRequestSchema,
  SetLevelRequestSchema,
} from '@modelcontextprotocol/core';
import {
  type JSONRPCMessage,
  type JSONRPCRequest,
  type Result,
  Server,
  type ServerContext,
  type Transport,
} from '@modelcontextprotocol/server';
import { protocolError } from './failures.ts';

/** Maximum number of invalid parameters that one error lists. */
const MAX_REPORTED = 8;

type Handler = (request: JSONRPCRequest, context: ServerContext) => Promise<Result>;

/**
 * The SDK's server, with a clear "invalid params" error (JSON-RPC 2.0, section 5.1) for parameters that do not match a
 * request's schema. The SDK itself returns an error whose message is a dump of the schema's issues.
 */
export class CheckedServer extends Server {
  /** Called with each message before it is sent. */
  onsend?: (message: JSONRPCMessage) => void;

  protected override _wrapHandler(method: string, handler: Handler): Handler {
    const checked = super._wrapHandler(method, handler);
    return (request, context) => checked(checkRequest(request), context);
  }

  override async connect(transport: Transport): Promise<void> {
    const send = transport.send.bind(transport);
    transport.send = (message, options) => {
      this.onsend?.(message);
      return send(message, options);
    };
    await super.connect(transport);
  }
}

/** The method of a parameter schema that this file uses. */
interface ParamsSchema {
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

/** Schemas of the parameters of each method. The SDK answers methods without a handler itself. */
const PARAMS = new Map<string, ParamsSchema>(
  [
    CallToolRequestSchema,
    DiscoverRequestSchema,
    GetPromptRequestSchema,
    InitializeRequestSchema,
    ListPromptsRequestSchema,
    ListResourcesRequestSchema,
    ListResourceTemplatesRequestSchema,
    ListToolsRequestSchema,
    PingRequestSchema,
    ReadResourceRequestSchema,
    SetLevelRequestSchema,
  ].map(({ shape }) => [shape.method.value, shape.params as ParamsSchema]),
);

/**
 * Returns a request without the parameters that are null, where null means that a parameter is absent.
 *
 * @throws a protocol error for invalid parameters
 */
function checkRequest(request: JSONRPCRequest): JSONRPCRequest {
  const schema = PARAMS.get(request.method);
  if (!schema || schema.safeParse(request.params).success) return request;
  return { ...request, params: parseNullable(schema, request.params) as NonNullable<JSONRPCRequest['params']> };
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
