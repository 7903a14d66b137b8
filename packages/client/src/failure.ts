import { MemoryError } from './memory-error.ts';

/** Codes of errors that the request causes, so that the same request fails again. */
const REQUEST_CODES: ReadonlySet<unknown> = new Set([
  ...['INVALID_REQUEST', 'FORBIDDEN', 'NOT_FOUND', 'CONFLICT', 'PRECONDITION_FAILED', 'PAYLOAD_TOO_LARGE'],
]);

/** Codes of errors that end by themselves, or when an operator mends the service or the API key. */
const OUTAGE_CODES: ReadonlySet<unknown> = new Set(['UNAVAILABLE', 'RATE_LIMITED', 'UNAUTHORIZED']);

/** The used fields of a `MemoryError` of the client or of the engine. */
type Failure = Partial<Pick<MemoryError, 'code' | 'status' | 'requestId' | 'retryAfterSeconds'>>;

/**
 * Returns true if the request causes the error, and false for an error of the service. The page of a proxy, which has
 * no request id, is an error of the service.
 */
export function isRequestError(error: unknown): boolean {
  const { code, status, requestId } = toFailure(error);
  return REQUEST_CODES.has(code) && (status === undefined || requestId !== undefined);
}

/** Returns true if the service cannot be used now, whatever the request is. */
export function isOutage(error: unknown): boolean {
  return OUTAGE_CODES.has(toFailure(error).code);
}

/** Returns the time in ms for which the service asks not to be called; 0 if it does not. */
export function getRetryAfterMs(error: unknown): number {
  return (toFailure(error).retryAfterSeconds ?? 0) * 1000;
}

/** Returns the fields of a `MemoryError`. Other errors have none of them. */
function toFailure(error: unknown): Failure {
  return error instanceof Error && error.name === 'MemoryError' ? (error as Failure) : {};
}

/** Returns an error with the same code and another message. The cause of the new error is `error`. */
export function withMessage(error: unknown, message: string): MemoryError {
  const { code = 'UNAVAILABLE', status, requestId } = toFailure(error);
  return new MemoryError(code, message, { status, requestId, cause: error });
}

/** Returns the message of an error. */
export function getMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
