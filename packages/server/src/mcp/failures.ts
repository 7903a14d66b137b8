import { type ErrorCode, MemoryError } from '@memoryd/contract';
import { failureText, isMemoryError } from '@memoryd/contract/tools';
import { type CallToolResult, ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';

/** Converts a thrown value to an error that callers may see. Anything but a MemoryError becomes INTERNAL_ERROR. */
export function toMemoryError(thrown: unknown): MemoryError {
  const error = thrown instanceof MemoryError ? thrown : fromClientError(thrown);
  if (error && error.code !== 'INTERNAL_ERROR') return error;
  return new MemoryError('INTERNAL_ERROR', 'server error; see the server log', { cause: thrown });
}

/** Converts an error of the client package, which has its own MemoryError class. */
function fromClientError(thrown: unknown): MemoryError | undefined {
  if (!isMemoryError(thrown)) return undefined;
  const { code, message, details } = thrown;
  return new MemoryError(code, message, { cause: thrown, ...(details && { details }) });
}

/** Returns the result of a failed call: text for the model, and the error under `_meta` for programs. */
export function failedCall({ body }: MemoryError): CallToolResult {
  return { isError: true, content: [{ type: 'text', text: failureText(body) }], _meta: { error: body } };
}

/** Converts an error to a JSON-RPC error, for requests whose results cannot express a failure. */
export function protocolError(error: MemoryError, data: Record<string, string> = {}): ProtocolError {
  return new ProtocolError(getProtocolCode(error.code), error.message, { ...data, error: error.body });
}

/** The codes of errors that the request causes, which include a missing resource (MCP 2026-07-28, resources). */
const INVALID_PARAMS = new Set<ErrorCode>(['INVALID_REQUEST', 'NOT_FOUND']);

function getProtocolCode(code: ErrorCode): ProtocolErrorCode {
  return INVALID_PARAMS.has(code) ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError;
}
