import { MemoryError } from '@memoryd/contract/errors';
import { DAMAGED } from '@memoryd/engine/storage-kit';

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

/**
 * What an operator is told of codes by which the database cannot serve: what is wrong and, where somebody has to do
 * something, what. The server's own words follow where they alone name what a right is missing for.
 */
const UNAVAILABLE: readonly [code: RegExp, sentence: string, isQuoted?: true][] = [
  [/^XX00[12]$/, DAMAGED],
  [/^25006$/, 'it is a standby, which takes no writes; point memoryd at the primary, or promote this one'],
  [
    /^(42501|3F000)$/,
    'the role of the address lacks a right; GRANT it, or make the role the owner of the schema',
    true,
  ],
  [/^28/, 'it refuses the login; check the user and the password of the address, and pg_hba.conf'],
  [/^3D000$/, 'there is no database of that name; make it with createdb, or correct the address'],
  [/^53100$/, 'its disk is full; free some space'],
  [/^53200$/, 'it is out of memory; give it more, or lower work_mem'],
  [/^53300$/, 'it has no connection left; lower SERVICE_DATABASE_CONNECTIONS, or raise max_connections'],
  [/^57P0[123]$/, 'it is starting or stopping'],
  [/^57014$/, 'a statement took too long'],
  [/^55P03$/, 'a lock was held for too long'],
  [/^58/, 'its disk failed; see its log'],
  [/^(40001|40P01)$/, 'too many transactions are in each other’s way; try again'],
  [/^(53|54000$|57)/, 'it is short of what it needs'],
  [/^08/, 'the connection failed'],
  [/^ECONNREFUSED$/, 'nothing listens at its address; start it, or correct the address'],
  [/^(ENOTFOUND|EAI_AGAIN)$/, 'the name of its host is not known; correct the address'],
  [/^(ETIMEDOUT|EHOSTUNREACH|ENETUNREACH)$/, 'its host cannot be reached'],
];

/** What others that use the server may give back. */
const NO_CONNECTION_LEFT = /^53300$/;

function getCode(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}

/** Whether the same transaction should simply be tried once more. */
export function isInTheWay(error: unknown): boolean {
  return IN_THE_WAY.test(getCode(error));
}

/** Whether the connection was lost, or is of no use any more. */
export function isLost(error: unknown): boolean {
  const code = getCode(error);
  return LOST.test(code) || (code === '' && error instanceof Error && LOST_MESSAGE.test(error.message));
}

/** Whether a server that was there said nothing for as long as anything may take. */
export function isSilent(error: unknown): boolean {
  return getCode(error) === '' && error instanceof Error && SILENT_MESSAGE.test(error.message);
}

/** Whether a caller was given the error because the database cannot serve, whatever was asked of it. */
export function isUnavailable(error: unknown): boolean {
  return error instanceof MemoryError && error.code === 'UNAVAILABLE';
}

/** The error that a caller is given: UNAVAILABLE where the database cannot serve, else the defect as it is. */
export function toCallersError(error: unknown): unknown {
  if (error instanceof MemoryError) return error;
  const why = whyUnavailable(error);
  if (why === undefined) return error;
  const message = why.startsWith(DAMAGED) ? why : `the database cannot be used now: ${why}`;
  return new MemoryError('UNAVAILABLE', message, {
    cause: error,
    isAway: isLost(error) || NO_CONNECTION_LEFT.test(getCode(error)),
  });
}

/** Returns why the database cannot serve, with the code where there is one; undefined where it can. */
function whyUnavailable(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  if (error instanceof WrongServer) return error.message;
  if (BUSY_MESSAGE.test(error.message)) return 'all connections are in use';
  const code = getCode(error);
  const found = UNAVAILABLE.find(([codes]) => codes.test(code));
  if (found) {
    const [, sentence, isQuoted] = found;
    return `${sentence} (${isQuoted ? `${code}: ${error.message}` : code})`;
  }
  return isLost(error) ? `the connection was lost${code && ` (${code})`}` : undefined;
}

/** A server that is not what `target_session_attrs` accepts. Another host may be: the code is that of a lost connection. */
export class WrongServer extends Error {
  readonly code = '25006';

  constructor(host: string, target: string) {
    super(`the server at ${host} is not what target_session_attrs=${target} accepts`);
  }
}

/** UNAVAILABLE for a commit whose answer was lost with the connection: nobody knows whether it happened. */
export class CommitUnknown extends MemoryError {
  constructor(cause: unknown) {
    const message = 'the connection to the database was lost during a commit, which may have happened';
    super('UNAVAILABLE', message, { cause, mayBeDone: true });
  }
}
