import type { ErrorCode, ErrorDetail, StoreBatchResult } from '@memoryd/contract';

/** The code that an answer's status stands for where its body names none, as an answer of a proxy does not. */
export const CODE_OF_STATUS: Readonly<Record<number, ErrorCode>> = {
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

/** What is known of an error beside its code and message. */
export interface MemoryErrorOptions {
  status?: number | undefined;
  details?: ErrorDetail[] | undefined;
  requestId?: string | undefined;
  retryAfterSeconds?: number | undefined;
  results?: StoreBatchResult[] | undefined;
  cause?: unknown;
}

/**
 * The one error that calls reject with, other than the reason of a caller's own signal. Its codes are those of the
 * service. UNAVAILABLE without a status: no answer came, so that a write may or may not have been done. INTERNAL_ERROR
 * with a status below 500: what came is no answer of memoryd.
 */
export class MemoryError extends Error {
  override readonly name = 'MemoryError';
  readonly code: ErrorCode;
  /** HTTP status of the answer; undefined where none came. */
  readonly status: number | undefined;
  /** What is wrong with the request, by JSON pointers into it. */
  readonly details: ErrorDetail[] | undefined;
  /** Finds the request in the service's log. */
  readonly requestId: string | undefined;
  /** Seconds after which the service said to try again. */
  readonly retryAfterSeconds: number | undefined;
  /** Of several messages that were added together, what became of each, in their order: which are there, by which id. */
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

  /** Whether no answer came. */
  get isUnanswered(): boolean {
    return this.code === 'UNAVAILABLE' && this.status === undefined;
  }
}

/** INVALID_REQUEST for what cannot even be sent. */
export function unsendable(field: string, must: string): MemoryError {
  const message = `${field} must ${must}`;
  return new MemoryError('INVALID_REQUEST', message, { details: [{ path: `/${field}`, message }] });
}

/** The error that an answer tells. */
export function getError(response: Response, text: string): MemoryError {
  const { status, statusText, headers } = response;
  const known = {
    status,
    requestId: headers.get('x-request-id') ?? undefined,
    retryAfterSeconds: secondsUntil(headers.get('retry-after')),
  };
  const { code, message, details } = parsedError(text) ?? {};
  if (isCode(code)) return new MemoryError(code, message ?? code, { ...known, details });
  const foreign = `answered ${status} ${statusText}, not in the words of memoryd`.replace(' ,', ',');
  return new MemoryError(CODE_OF_STATUS[status] ?? 'INTERNAL_ERROR', foreign, known);
}

/** The error of an answer that is a success and yet none of memoryd, which would have given something else. */
export function notOurs({ status, headers }: Response, expected: string): MemoryError {
  const requestId = headers.get('x-request-id') ?? undefined;
  return new MemoryError('INTERNAL_ERROR', `answered ${status} without ${expected}`, { status, requestId });
}

function parsedError(text: string): { code?: unknown; message?: string; details?: ErrorDetail[] } | undefined {
  try {
    return JSON.parse(text)?.error;
  } catch {
    return undefined;
  }
}

function isCode(code: unknown): code is ErrorCode {
  return Object.values(CODE_OF_STATUS).includes(code as ErrorCode);
}

// RFC 9110, section 10.2.3: a number of seconds, or a date.
function secondsUntil(retryAfter: string | null): number | undefined {
  if (!retryAfter) return undefined;
  const seconds = /^\d+$/.test(retryAfter) ? Number(retryAfter) : (Date.parse(retryAfter) - Date.now()) / 1000;
  return Number.isNaN(seconds) ? undefined : Math.max(0, seconds);
}
