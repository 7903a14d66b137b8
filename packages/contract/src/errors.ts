import type { ErrorBody, ErrorDetail } from './error-body.ts';
import type { ErrorCode } from './error-codes.ts';

interface MemoryErrorOptions {
  details?: ErrorDetail[];
  cause?: unknown;
  mayBeDone?: boolean;
  isAway?: boolean;
}

/** The one error that a caller of the MemoryApi sees; anything else is a defect and becomes INTERNAL_ERROR. */
export class MemoryError extends Error {
  override readonly name = 'MemoryError';
  readonly code: ErrorCode;
  readonly details: ErrorDetail[] | undefined;
  /** Whether what was asked for may have been done all the same, so that asking again may meet one's own change. */
  readonly mayBeDone: boolean;
  /** Whether the server of the database is not there, or not yet, so that waiting may help. */
  readonly isAway: boolean;

  constructor(code: ErrorCode, message: string, options: MemoryErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.code = code;
    this.details = options.details;
    this.mayBeDone = options.mayBeDone ?? false;
    this.isAway = options.isAway ?? false;
  }

  /** What a caller is told of it. */
  get body(): ErrorBody {
    const { code, message, details } = this;
    return { code, message, ...(details && { details }) };
  }
}
