import type { ErrorCode, ErrorDetail, StoreBatchResult } from '@memoryd/contract';

/** Error codes, by HTTP status, for responses without an error code in the body, such as responses of a proxy. */
export const CODE_BY_STATUS: Readonly<Record<number, ErrorCode>> = {
  400: 'INVALID_REQUEST',
  401: 'UNAUTHORIZED',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  405: 'METHOD_NOT_ALLOWED',
  409: 'CONFLICT',
  412: 'PRECONDITION_FAILED',
  413: 'PAYLOAD_TOO_LARGE',
  415: 'UNSUPPORTED_MEDIA_TYPE',
  429: 'RATE_LIMITED',
  500: 'INTERNAL_ERROR',
  503: 'UNAVAILABLE',
  502: 'UNAVAILABLE',
  504: 'UNAVAILABLE',
};

/** Properties of an error, in addition to its code and message. */
export interface MemoryErrorOptions {
  status?: number | undefined;
  details?: ErrorDetail[] | undefined;
  requestId?: string | undefined;
  retryAfterSeconds?: number | undefined;
  results?: StoreBatchResult[] | undefined;
  cause?: unknown;
}

/**
 * The error that calls reject with, unless the caller's signal is aborted. Uses the error codes of the service.
 * UNAVAILABLE without a status: no response arrived, so a write may have been executed. INTERNAL_ERROR with a status
 * below 500: the response did not come from memoryd.
 */
export class MemoryError extends Error {
  override readonly name = 'MemoryError';
  readonly code: ErrorCode;
  /** HTTP status of the response; undefined if no response arrived. */
  readonly status: number | undefined;
  /** Problems in the request, with JSON Pointers to the fields. */
  readonly details: ErrorDetail[] | undefined;
  /** Id of the request in the service's log. */
  readonly requestId: string | undefined;
  /** Seconds after which to retry, from `Retry-After`. */
  readonly retryAfterSeconds: number | undefined;
  /**
   * Results of `Session.add` if a message could not be stored: for each message in order, the stored id or the error.
   */
  readonly results: StoreBatchResult[] | undefined;

  constructor(code: ErrorCode, message: string, options: MemoryErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.code = code;
    this.status = options.status;
    this.details = options.details;
    this.requestId = options.requestId;
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.results = options.results;
  }

  /** True if the request failed without a response of the service. */
  get isUnanswered(): boolean {
    return this.code === 'UNAVAILABLE' && this.status === undefined;
  }
}

/** Creates an INVALID_REQUEST error for a value that cannot be sent. `must` completes the sentence "field must …". */
export function createFieldError(field: string, must: string): MemoryError {
  const message = `${field} must ${must}`;
  return new MemoryError('INVALID_REQUEST', message, { details: [{ path: `/${field}`, message }] });
}

/** Advice for a response that memoryd would not have sent. */
const CHECK_ADDRESS = 'check the address of the service, and the proxy if there is one';

/** Converts a response with an error status to an error. `text` is the body of the response. */
export function toError(response: Response, text: string): MemoryError {
  const { status, statusText, headers } = response;
  const options = {
    status,
    requestId: headers.get('x-request-id') ?? undefined,
    retryAfterSeconds: parseRetryAfter(headers.get('retry-after')),
  };
  const { code, message, details } = parseErrorBody(text) ?? {};
  if (isErrorCode(code)) return new MemoryError(code, message ?? code, { ...options, details });
  const unknown = `the response ${status} ${statusText} is not a memoryd error; ${CHECK_ADDRESS}`.replace('  ', ' ');
  return new MemoryError(CODE_BY_STATUS[status] ?? 'INTERNAL_ERROR', unknown, options);
}

/** Creates the error for a successful response that memoryd would not have sent, such as the page of a proxy. */
export function toUnexpectedResponse({ status, headers }: Response, expected: string): MemoryError {
  const requestId = headers.get('x-request-id') ?? undefined;
  const message = `the response ${status} does not contain ${expected}; ${CHECK_ADDRESS}`;
  return new MemoryError('INTERNAL_ERROR', message, { status, requestId });
}

function parseErrorBody(text: string): { code?: unknown; message?: string; details?: ErrorDetail[] } | undefined {
  try {
    return JSON.parse(text)?.error;
  } catch {
    return undefined;
  }
}

function isErrorCode(code: unknown): code is ErrorCode {
  return Object.values(CODE_BY_STATUS).includes(code as ErrorCode);
}

// RFC 9110, section 10.2.3: a number of seconds, or a date.
function parseRetryAfter(retryAfter: string | null): number | undefined {
  if (!retryAfter) return undefined;
  const seconds = /^\d+$/.test(retryAfter) ? Number(retryAfter) : (Date.parse(retryAfter) - Date.now()) / 1000;
  return Number.isNaN(seconds) ? undefined : Math.max(0, seconds);
}
