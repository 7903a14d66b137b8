import { type ErrorCode, MemoryError } from '@memoryd/contract';
import { type CallToolResult, ErrorCode as JsonRpcCode, McpError } from '@modelcontextprotocol/sdk/types.js';

/** What a model best does next. */
const NEXT_STEP: Record<ErrorCode, string> = {
  INVALID_REQUEST: 'Correct the arguments and call again.',
  UNAUTHORIZED: 'Ask the user for a valid API key.',
  FORBIDDEN: 'Do not try again; tell the user that the API key does not allow it.',
  NOT_FOUND: 'Recall it again to learn its id; it may have been forgotten or have expired.',
  CONFLICT: 'Look at what is there now, and then call again.',
  PRECONDITION_FAILED: 'Look at what is there now, and then call again.',
  PAYLOAD_TOO_LARGE: 'Make several shorter memories of it.',
  RATE_LIMITED: 'Wait a few seconds and call again.',
  INTERNAL_ERROR: 'Call again once; if it fails again, tell the user that the log of memoryd says why.',
  UNAVAILABLE: 'Wait a few seconds and call again.',
};

/** The protocol's code for a resource that is not there (MCP 2025-11-25, resources, error handling). */
const RESOURCE_NOT_FOUND = -32002;

/** The error that a caller may see of whatever was thrown: what is no MemoryError is a defect, and shows nothing. */
export function toMemoryError(thrown: unknown): MemoryError {
  if (thrown instanceof MemoryError && thrown.code !== 'INTERNAL_ERROR') return thrown;
  return new MemoryError('INTERNAL_ERROR', 'server error', { cause: thrown });
}

/** A failed call as a model reads it: the code, what is wrong and what to do; for programs, the error under `_meta`. */
export function failedCall({ body }: MemoryError): CallToolResult {
  const { code, message, details = [] } = body;
  const lines = details.length > 1 ? details.map((detail) => detail.message) : [message];
  return {
    isError: true,
    content: [{ type: 'text', text: `${code}: ${lines.join('; ')}. ${NEXT_STEP[code]}` }],
    _meta: { error: body },
  };
}

/** The failure of a request for which the protocol has no other place than an error of its own. */
export function protocolError(error: MemoryError, data: Record<string, string> = {}): McpError {
  return new McpError(protocolCode(error.code), error.message, { ...data, error: error.body });
}

function protocolCode(code: ErrorCode): number {
  if (code === 'NOT_FOUND') return RESOURCE_NOT_FOUND;
  return code === 'INVALID_REQUEST' ? JsonRpcCode.InvalidParams : JsonRpcCode.InternalError;
}
