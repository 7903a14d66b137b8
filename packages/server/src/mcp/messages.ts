import {
  DEFAULT_NEGOTIATED_PROTOCOL_VERSION,
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResponse,
  type JSONRPCErrorResponse,
  type JSONRPCMessage,
  ProtocolErrorCode,
  type RequestId,
} from '@modelcontextprotocol/server';
import { MAX_BATCH_MESSAGES } from '../mcp-options.ts';

/** The only protocol version with batches. Over HTTP also the version of a request that names none. */
export const BATCH_VERSION = DEFAULT_NEGOTIATED_PROTOCOL_VERSION;

export function isMessage(value: unknown): value is JSONRPCMessage {
  return isJSONRPCRequest(value) || isJSONRPCNotification(value) || isJSONRPCResponse(value);
}

/**
 * Returns why a batch is refused; undefined if it is accepted.
 *
 * @param version the protocol version of the connection; undefined if none is negotiated
 */
export function findBatchProblem(batch: readonly unknown[], version: string | undefined): string | undefined {
  if (version !== BATCH_VERSION) {
    return `a batch needs protocol version ${BATCH_VERSION}; send each message on its own`;
  }
  if (batch.length === 0 || batch.length > MAX_BATCH_MESSAGES) {
    return `a batch must have 1 to ${MAX_BATCH_MESSAGES} messages`;
  }
  if (!batch.every(isMessage)) return 'each item of a batch must be a JSON-RPC 2.0 message';
  const initializes = batch.some((message) => 'method' in message && message.method === 'initialize');
  return initializes ? 'initialize must not be in a batch; send it on its own' : undefined;
}

/** Returns the id of a request, even if the request is invalid; undefined if the id cannot be read. */
export function getRequestId(message: unknown): RequestId | undefined {
  if (typeof message !== 'object' || message === null || !('id' in message)) return undefined;
  const { id } = message;
  return typeof id === 'string' || Number.isSafeInteger(id) ? (id as RequestId) : undefined;
}

/** Returns the error response to something that is no valid request. */
export function createInvalidRequest(message: string, id?: RequestId): JSONRPCErrorResponse {
  return {
    jsonrpc: '2.0',
    ...(id !== undefined && { id }),
    error: { code: ProtocolErrorCode.InvalidRequest, message },
  };
}
