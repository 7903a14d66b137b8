import { type ErrorCode, MemoryError } from '@memoryd/contract';
import { failureText, isMemoryError } from '@memoryd/contract/tools';
import { type CallToolResult, ErrorCode as JsonRpcCode } from '@modelcontextprotocol/sdk/types.js';

/** The protocol's code for a missing resource (MCP 2025-11-25, resources, error handling). */
const RESOURCE_NOT_FOUND = -32002;

/** A JSON-RPC error. The SDK's own class adds the code to the message, and clients add it again. */
export class ProtocolError extends Error {
  override readonly name = 'ProtocolError';
  readonly code: number;
  readonly data: Record<string, unknown> | undefined;

  constructor(code: number, message: string, data?: Record<string, unknown>) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

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

function getProtocolCode(code: ErrorCode): number {
  if (code === 'NOT_FOUND') return RESOURCE_NOT_FOUND;
  return code === 'INVALID_REQUEST' ? JsonRpcCode.InvalidParams : JsonRpcCode.InternalError;
}
