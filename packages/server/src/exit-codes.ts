import type { ErrorCode } from '@memoryd/contract';

/** Every exit code of the commands and what it means: the one table, which the reference page is made from. */
export const EXIT_CODES = {
  done: { code: 0, meaning: 'Done.' },
  failed: { code: 1, meaning: 'Not done, or something is wrong with what was looked at.' },
  misspelt: {
    code: 2,
    meaning: 'An unknown command or option, or a setting or a request that cannot be used. Nothing was done.',
  },
  notFound: { code: 3, meaning: 'There is no such memory, consolidation, key or namespace.' },
  inTheWay: {
    code: 4,
    meaning: 'What is there stands in the way: a file that is not overwritten, another writer, a newer consolidation.',
  },
  notAllowed: { code: 5, meaning: 'The API key is missing, wrong or not enough, or a quota is used up.' },
  unavailable: { code: 6, meaning: 'The database, the service or a file cannot be used now.' },
  interrupted: { code: 130, meaning: 'Interrupted by a signal.' },
  unread: { code: 141, meaning: 'Whoever read the output has gone.' },
} as const;

/** What the command line ends with where the `MemoryApi` refuses. */
const OF_ERRORS = {
  INVALID_REQUEST: 'misspelt',
  UNAUTHORIZED: 'notAllowed',
  FORBIDDEN: 'notAllowed',
  NOT_FOUND: 'notFound',
  METHOD_NOT_ALLOWED: 'misspelt',
  CONFLICT: 'inTheWay',
  PRECONDITION_FAILED: 'inTheWay',
  PAYLOAD_TOO_LARGE: 'misspelt',
  UNSUPPORTED_MEDIA_TYPE: 'misspelt',
  RATE_LIMITED: 'unavailable',
  INTERNAL_ERROR: 'failed',
  UNAVAILABLE: 'unavailable',
} as const satisfies Record<ErrorCode, keyof typeof EXIT_CODES>;

/** The exit code for what a command rejected with. */
export function getExitCode(error: unknown): number {
  const { name, code } = error as { name?: unknown; code?: unknown };
  if (name === 'UsageError') return EXIT_CODES.misspelt.code;
  if (name === 'Interrupted') return EXIT_CODES.interrupted.code;
  if (code === 'EPIPE') return EXIT_CODES.unread.code;
  // By name: the client has a class of its own.
  if (name === 'MemoryError' && Object.hasOwn(OF_ERRORS, String(code))) {
    return EXIT_CODES[OF_ERRORS[code as ErrorCode]].code;
  }
  return EXIT_CODES.failed.code;
}
