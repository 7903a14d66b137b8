import type { ErrorBody, ErrorDetail } from './error-body.ts';
import type { ErrorCode } from './error-codes.ts';

interface MemoryErrorOptions {
  details?: ErrorDetail[];
  cause?: unknown;
  isOutcomeUnknown?: boolean;
  isDatabaseDown?: boolean;
}

/**
 * The only error class that the engine's `MemoryApi` throws on purpose. Any other error is a bug, which the server
 * reports as INTERNAL_ERROR.
 */
export class MemoryError extends Error {
  override readonly name = 'MemoryError';
  readonly code: ErrorCode;
  readonly details: ErrorDetail[] | undefined;
  /**
   * True if the operation may have taken effect although it failed. A retry may then conflict with the change of the
   * first attempt.
   */
  readonly isOutcomeUnknown: boolean;
  /** True if the database server is unreachable or still starting, so that waiting may help. */
  readonly isDatabaseDown: boolean;

  constructor(code: ErrorCode, message: string, options: MemoryErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.code = code;
    this.details = options.details;
    this.isOutcomeUnknown = options.isOutcomeUnknown ?? false;
    this.isDatabaseDown = options.isDatabaseDown ?? false;
  }

  /** The fields of the error that clients receive. */
  get body(): ErrorBody {
    const { code, message, details } = this;
    return { code, message, ...(details && { details }) };
  }
}
