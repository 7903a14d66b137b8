import type { ErrorBody } from '../error-body.ts';
import { ERRORS, type ErrorCode } from '../error-codes.ts';
import { toLine } from './listing.ts';

/** Advice for the model, by error code. */
const NEXT_STEP: Record<ErrorCode, string> = {
  INVALID_REQUEST: 'Correct the arguments and call again.',
  UNAUTHORIZED: 'Ask the user for a valid API key.',
  FORBIDDEN: 'Do not try again; tell the user that the API key does not allow it.',
  NOT_FOUND: 'Copy the id from a result of memory_recall; the memory may also have been forgotten.',
  METHOD_NOT_ALLOWED: 'Do not try again.',
  CONFLICT: 'Read the current state, then call again.',
  PRECONDITION_FAILED: 'Read the current state, then call again.',
  PAYLOAD_TOO_LARGE: 'Split the text into several shorter memories.',
  UNSUPPORTED_MEDIA_TYPE: 'Do not try again.',
  RATE_LIMITED: 'Wait a few seconds and call again.',
  INTERNAL_ERROR: 'Call again once; if it fails again, tell the user that the log of memoryd has the cause.',
  // Waiting does not help against a full disk or an outdated version. Messages about these name the fix.
  UNAVAILABLE: 'If the message names a fix, tell the user; otherwise wait a few seconds and call again.',
};

/** Formats an error for a model on one line: the code, the problems, and the next step. */
export function failureText({ code, message, details = [] }: ErrorBody): string {
  const lines = details.length > 1 ? details.map((detail) => detail.message) : [message];
  return `${code}: ${toLine(lines.join('; '))}. ${NEXT_STEP[code]}`;
}

/**
 * Converts a `MemoryError` of this package or of the client to an error with a message for models, and sets the
 * original as its cause. Returns any other value unchanged.
 */
export function toModelError(thrown: unknown): unknown {
  if (!isMemoryError(thrown)) return thrown;
  return new Error(failureText(thrown), { cause: thrown });
}

/** Returns true for a `MemoryError` of this package or of the client, which has its own class of the same name. */
export function isMemoryError(thrown: unknown): thrown is Error & ErrorBody {
  if (!(thrown instanceof Error) || thrown.name !== 'MemoryError' || !('code' in thrown)) return false;
  return Object.hasOwn(ERRORS, String(thrown.code));
}
