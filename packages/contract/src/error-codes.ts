import Type from './typebox.ts';

/**
 * All error codes, each with its HTTP status and its meaning. Error responses and the OpenAPI document use this table.
 */
export const ERRORS = {
  INVALID_REQUEST: { status: 400, meaning: 'Malformed request.' },
  UNAUTHORIZED: { status: 401, meaning: 'The request needs a valid API key.' },
  FORBIDDEN: { status: 403, meaning: 'The API key does not permit this operation.' },
  NOT_FOUND: { status: 404, meaning: 'The memory, consolidation run or route does not exist.' },
  METHOD_NOT_ALLOWED: { status: 405, meaning: 'The path does not support this method; see the Allow header.' },
  CONFLICT: {
    status: 409,
    meaning:
      'The idempotency key was used with another body, the consolidation run cannot be undone, another memory has the id, or a memory would supersede itself.',
  },
  PRECONDITION_FAILED: { status: 412, meaning: 'The memory was changed by another client in the meantime.' },
  PAYLOAD_TOO_LARGE: { status: 413, meaning: 'The request body is too large.' },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, meaning: 'Content-Encoding is not supported; send the body uncompressed.' },
  RATE_LIMITED: { status: 429, meaning: 'Too many requests; see the Retry-After header.' },
  INTERNAL_ERROR: { status: 500, meaning: 'Internal server error. Search the log for the request id.' },
  UNAVAILABLE: { status: 503, meaning: 'The service is temporarily unavailable; see the Retry-After header.' },
} as const satisfies Record<string, { status: number; meaning: string }>;

export const ErrorCode = Type.Enum(Object.keys(ERRORS) as (keyof typeof ERRORS)[], {
  description: 'The kind of the error. Each code has one HTTP status.',
});
export type ErrorCode = keyof typeof ERRORS;
