import type { ErrorBody } from '../error-body.ts';
import { ERRORS, type ErrorCode } from '../error-codes.ts';

/** What a model best does next. */
const NEXT_STEP: Record<ErrorCode, string> = {
  INVALID_REQUEST: 'Correct the arguments and call again.',
  UNAUTHORIZED: 'Ask the user for a valid API key.',
  FORBIDDEN: 'Do not try again; tell the user that the API key does not allow it.',
  NOT_FOUND: 'Recall it again to learn its id; it may have been forgotten or have expired.',
  METHOD_NOT_ALLOWED: 'Do not try again.',
  CONFLICT: 'Look at what is there now, and then call again.',
  PRECONDITION_FAILED: 'Look at what is there now, and then call again.',
  PAYLOAD_TOO_LARGE: 'Make several shorter memories of it.',
  UNSUPPORTED_MEDIA_TYPE: 'Do not try again.',
  RATE_LIMITED: 'Wait a few seconds and call again.',
  INTERNAL_ERROR: 'Call again once; if it fails again, tell the user that the log of memoryd says why.',
  UNAVAILABLE: 'Wait a few seconds and call again.',
};

/** An error as a model reads it: the code, what is wrong and what to do. */
export function failureText({ code, message, details = [] }: ErrorBody): string {
  const lines = details.length > 1 ? details.map((detail) => detail.message) : [message];
  return `${code}: ${lines.join('; ')}. ${NEXT_STEP[code]}`;
}

/**
 * What was thrown as an error that a model may read, with it as its cause. What is no `MemoryError`, of this package or of
 * the client, is returned as it is.
 */
export function getFailure(thrown: unknown): unknown {
  if (!isMemoryError(thrown)) return thrown;
  return new Error(failureText(thrown), { cause: thrown });
}

/** Whether something thrown is an error of the table, of this package or of the client, whose class is its own. */
export function isMemoryError(thrown: unknown): thrown is Error & ErrorBody {
  if (!(thrown instanceof Error) || thrown.name !== 'MemoryError' || !('code' in thrown)) return false;
  return Object.hasOwn(ERRORS, String(thrown.code));
}
