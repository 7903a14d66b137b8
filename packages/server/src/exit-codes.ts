import type { ErrorCode } from '@memoryd/contract';

/** The exit codes of all commands. The reference page is generated from this table. */
export const EXIT_CODES = {
  done: { code: 0, meaning: 'Done.' },
  failed: { code: 1, meaning: 'The command failed, or a check found a problem.' },
  invalidUsage: {
    code: 2,
    meaning: 'An unknown command or option, or an invalid setting or request. Nothing was done.',
  },
  notFound: { code: 3, meaning: 'There is no such memory, consolidation, import, key or namespace.' },
  conflict: {
    code: 4,
    meaning: 'Conflict: the output file exists, another process is writing, or a newer consolidation exists.',
  },
  notAllowed: { code: 5, meaning: 'The API key is missing, invalid or lacks the scope, or a quota is exhausted.' },
  unavailable: { code: 6, meaning: 'The database, the service or a file is unavailable; retry later.' },
  interrupted: { code: 130, meaning: 'Interrupted by a signal.' },
  closedPipe: { code: 141, meaning: 'The reader of the output closed the pipe.' },
} as const;

/** Exit codes by the error code of the `MemoryApi`. */
const EXITS_BY_ERROR = {
  INVALID_REQUEST: 'invalidUsage',
  UNAUTHORIZED: 'notAllowed',
  FORBIDDEN: 'notAllowed',
  NOT_FOUND: 'notFound',
  METHOD_NOT_ALLOWED: 'invalidUsage',
  CONFLICT: 'conflict',
  PRECONDITION_FAILED: 'conflict',
  PAYLOAD_TOO_LARGE: 'invalidUsage',
  UNSUPPORTED_MEDIA_TYPE: 'invalidUsage',
  RATE_LIMITED: 'unavailable',
  INTERNAL_ERROR: 'failed',
  UNAVAILABLE: 'unavailable',
} as const satisfies Record<ErrorCode, keyof typeof EXIT_CODES>;

/** Returns the exit code for an error that a command rejected with. */
export function getExitCode(error: unknown): number {
  const { name, code } = error as { name?: unknown; code?: unknown };
  if (name === 'UsageError') return EXIT_CODES.invalidUsage.code;
  if (name === 'Interrupted') return EXIT_CODES.interrupted.code;
  if (code === 'EPIPE') return EXIT_CODES.closedPipe.code;
  // Compared by name because the client package has its own MemoryError class.
  if (name === 'MemoryError' && Object.hasOwn(EXITS_BY_ERROR, String(code))) {
    return EXIT_CODES[EXITS_BY_ERROR[code as ErrorCode]].code;
  }
  return EXIT_CODES.failed.code;
}
