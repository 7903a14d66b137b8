import type { ErrorBody, ErrorDetail } from './error-body.ts';

/** Every error code, its HTTP status and what it means: the only place that knows both. */
export const ERRORS = {
  INVALID_REQUEST: { status: 400, meaning: 'Malformed request.' },
  UNAUTHORIZED: { status: 401, meaning: 'The request needs an API key.' },
  FORBIDDEN: { status: 403, meaning: 'The caller may not do this.' },
  NOT_FOUND: { status: 404, meaning: 'Memory, consolidation or route not found.' },
  CONFLICT: {
    status: 409,
    meaning:
      'The idempotency key was used with another body, the consolidation cannot be undone, or the id is taken by another memory.',
  },
  PRECONDITION_FAILED: { status: 412, meaning: 'Another writer was first.' },
  PAYLOAD_TOO_LARGE: { status: 413, meaning: 'The request body is too large.' },
  RATE_LIMITED: { status: 429, meaning: 'Too many requests; see Retry-After.' },
  INTERNAL_ERROR: { status: 500, meaning: 'Server error; the request id finds the log record.' },
  UNAVAILABLE: { status: 503, meaning: 'The service cannot answer now; see Retry-After.' },
} as const satisfies Record<string, { status: number; meaning: string }>;
export type ErrorCode = keyof typeof ERRORS;

interface MemoryErrorOptions {
  details?: ErrorDetail[];
  cause?: unknown;
  mayBeDone?: boolean;
}

/** The one error that a caller of the MemoryApi sees; anything else is a defect and becomes INTERNAL_ERROR. */
export class MemoryError extends Error {
  override readonly name = 'MemoryError';
  readonly code: ErrorCode;
  readonly details: ErrorDetail[] | undefined;
  /** Whether what was asked for may have been done all the same, so that asking again may meet one's own change. */
  readonly mayBeDone: boolean;

  constructor(code: ErrorCode, message: string, options: MemoryErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.code = code;
    this.details = options.details;
    this.mayBeDone = options.mayBeDone ?? false;
  }

  /** What a caller is told of it. */
  get body(): ErrorBody {
    const { code, message, details } = this;
    return { code, message, ...(details && { details }) };
  }
}
