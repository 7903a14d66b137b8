import Type from 'typebox';

/** Every error code, its HTTP status and what it means: the only place that knows both. */
export const ERRORS = {
  INVALID_REQUEST: { status: 400, meaning: 'Malformed request.' },
  UNAUTHORIZED: { status: 401, meaning: 'The request needs an API key.' },
  FORBIDDEN: { status: 403, meaning: 'The caller may not do this.' },
  NOT_FOUND: { status: 404, meaning: 'Memory or route not found.' },
  CONFLICT: { status: 409, meaning: 'The idempotency key was used with another body.' },
  PRECONDITION_FAILED: { status: 412, meaning: 'Another writer was first.' },
  PAYLOAD_TOO_LARGE: { status: 413, meaning: 'The request body is too large.' },
  RATE_LIMITED: { status: 429, meaning: 'Too many requests; see Retry-After.' },
  INTERNAL_ERROR: { status: 500, meaning: 'Server error; the request id finds the log record.' },
  UNAVAILABLE: { status: 503, meaning: 'The service cannot answer now; see Retry-After.' },
} as const satisfies Record<string, { status: number; meaning: string }>;
export type ErrorCode = keyof typeof ERRORS;

/** One thing that is wrong with a request: a JSON pointer into it, and a sentence. */
export const ErrorDetail = Type.Object({ path: Type.String(), message: Type.String() });
export type ErrorDetail = Type.Static<typeof ErrorDetail>;

const errorFields = {
  code: Type.Enum(Object.keys(ERRORS) as [ErrorCode, ...ErrorCode[]]),
  message: Type.String(),
  details: Type.Optional(Type.Array(ErrorDetail)),
};

/** Why something was not done. */
export const ErrorBody = Type.Object(errorFields);
export type ErrorBody = Type.Static<typeof ErrorBody>;

export const ErrorResponse = Type.Object({ error: Type.Object({ ...errorFields, request_id: Type.String() }) });
export type ErrorResponse = Type.Static<typeof ErrorResponse>;

/** The one error that a caller of the MemoryApi sees; anything else is a defect and becomes INTERNAL_ERROR. */
export class MemoryError extends Error {
  override readonly name = 'MemoryError';
  readonly code: ErrorCode;
  readonly details: ErrorDetail[] | undefined;

  constructor(code: ErrorCode, message: string, options: { details?: ErrorDetail[]; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.code = code;
    this.details = options.details;
  }

  /** What a caller is told of it. */
  get body(): ErrorBody {
    const { code, message, details } = this;
    return { code, message, ...(details && { details }) };
  }
}
