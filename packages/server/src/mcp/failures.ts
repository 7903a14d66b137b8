import { type ErrorCode, MemoryError } from '@memoryd/contract';
import { failureText, isMemoryError } from '@memoryd/contract/tools';
import { type CallToolResult, ErrorCode as JsonRpcCode } from '@modelcontextprotocol/sdk/types.js';

/** The protocol's code for a resource that is not there (MCP 2025-11-25, resources, error handling). */
const RESOURCE_NOT_FOUND = -32002;

/** An error of the protocol itself. The SDK's own writes its code into the message, where clients write it again. */
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

/** The error that a caller may see of whatever was thrown: what is no MemoryError is a defect, and shows nothing. */
export function toMemoryError(thrown: unknown): MemoryError {
  const error = thrown instanceof MemoryError ? thrown : fromClient(thrown);
  if (error && error.code !== 'INTERNAL_ERROR') return error;
  return new MemoryError('INTERNAL_ERROR', 'server error', { cause: thrown });
}

/** What the client of a service rejects with, whose class is its own. */
function fromClient(thrown: unknown): MemoryError | undefined {
  if (!isMemoryError(thrown)) return undefined;
  const { code, message, details } = thrown;
  return new MemoryError(code, message, { cause: thrown, ...(details && { details }) });
}

/** A failed call as a model reads it; for programs, the error under `_meta`. */
export function failedCall({ body }: MemoryError): CallToolResult {
  return { isError: true, content: [{ type: 'text', text: failureText(body) }], _meta: { error: body } };
}

/** The failure of a request for which the protocol has no other place than an error of its own. */
export function protocolError(error: MemoryError, data: Record<string, string> = {}): ProtocolError {
  return new ProtocolError(protocolCode(error.code), error.message, { ...data, error: error.body });
}

function protocolCode(code: ErrorCode): number {
  if (code === 'NOT_FOUND') return RESOURCE_NOT_FOUND;
  return code === 'INVALID_REQUEST' ? JsonRpcCode.InvalidParams : JsonRpcCode.InternalError;
}
