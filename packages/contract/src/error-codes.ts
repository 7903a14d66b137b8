/** Every error code, its HTTP status and what it means: the only place that knows both. */
export const ERRORS = {
  INVALID_REQUEST: { status: 400, meaning: 'Malformed request.' },
  UNAUTHORIZED: { status: 401, meaning: 'The request needs an API key.' },
  FORBIDDEN: { status: 403, meaning: 'The caller may not do this.' },
  NOT_FOUND: { status: 404, meaning: 'Memory, consolidation or route not found.' },
  METHOD_NOT_ALLOWED: { status: 405, meaning: 'The path has other methods; see Allow.' },
  CONFLICT: {
    status: 409,
    meaning:
      'The idempotency key was used with another body, the consolidation cannot be undone, or the id is taken by another memory.',
  },
  PRECONDITION_FAILED: { status: 412, meaning: 'Another writer was first.' },
  PAYLOAD_TOO_LARGE: { status: 413, meaning: 'The request body is too large.' },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, meaning: 'The body has a Content-Encoding.' },
  RATE_LIMITED: { status: 429, meaning: 'Too many requests; see Retry-After.' },
  INTERNAL_ERROR: { status: 500, meaning: 'Server error; the request id finds the log record.' },
  UNAVAILABLE: { status: 503, meaning: 'The service cannot answer now; see Retry-After.' },
} as const satisfies Record<string, { status: number; meaning: string }>;
export type ErrorCode = keyof typeof ERRORS;
