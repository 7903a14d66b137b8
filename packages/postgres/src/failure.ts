import { MemoryError } from '@memoryd/contract/errors';

/*
 * What went wrong at the database. Codes are SQLSTATE (postgresql.org/docs/17/errcodes-appendix.html), or those that the
 * operating system gives a connection.
 */

/** Two transactions were in each other's way: the same work, done again, may well succeed. */
const IN_THE_WAY = /^(40001|40P01)$/;

/** The server or the way to it is gone, or it has become a replica that takes no writes. */
const LOST =
  /^(08...|57P0.|25006|ECONNREFUSED|ECONNRESET|ECONNABORTED|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN)$/;

/** The messages of a lost connection by which `pg` and its pool tell what has no code. */
const LOST_MESSAGE =
  /^(Connection terminated|Client has encountered a connection error|Client was closed|Query read timeout|timeout expired)/i;

/** What `pg` says where no answer came in time. */
const SILENT_MESSAGE = /^Query read timeout/;

/** What the pool says where every connection is in use for too long. */
const BUSY_MESSAGE = /^timeout exceeded when trying to connect/;

/** The server is there and cannot serve: out of space, memory or connections; a lock or statement that took too long;
 * a refused login, an unknown database, a damaged file. */
const UNAVAILABLE = /^(53...|54000|55P03|57...|58...|28...|3D000|42501|XX00[12])$/;

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}

/** Whether the same transaction should simply be tried once more. */
export function isInTheWay(error: unknown): boolean {
  return IN_THE_WAY.test(codeOf(error));
}

/** Whether the connection was lost, or is of no use any more. */
export function isLost(error: unknown): boolean {
  const code = codeOf(error);
  return LOST.test(code) || (code === '' && error instanceof Error && LOST_MESSAGE.test(error.message));
}

/** Whether a server that was there said nothing for as long as anything may take. */
export function isSilent(error: unknown): boolean {
  return codeOf(error) === '' && error instanceof Error && SILENT_MESSAGE.test(error.message);
}

/** Whether a caller was given the error because the database cannot serve, whatever was asked of it. */
export function isUnavailable(error: unknown): boolean {
  return error instanceof MemoryError && error.code === 'UNAVAILABLE';
}

/** The error that a caller is given: UNAVAILABLE where the database cannot serve, else the defect as it is. */
export function toCallersError(error: unknown): unknown {
  if (error instanceof MemoryError) return error;
  const code = codeOf(error);
  const isBusy = error instanceof Error && BUSY_MESSAGE.test(error.message);
  if (!isBusy && !isInTheWay(error) && !isLost(error) && !UNAVAILABLE.test(code)) return error;
  const why = isBusy ? 'all connections are in use' : code || 'the connection was lost';
  return new MemoryError('UNAVAILABLE', `the database cannot be used now (${why})`, { cause: error });
}

/** UNAVAILABLE for a commit whose answer was lost with the connection: nobody knows whether it happened. */
export class CommitUnknown extends MemoryError {
  constructor(cause: unknown) {
    const message = 'the connection to the database was lost during a commit, which may have happened';
    super('UNAVAILABLE', message, { cause, mayBeDone: true });
  }
}
