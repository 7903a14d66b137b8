import { MemoryError } from '@memoryd/contract/errors';
import { CorruptDatabaseError } from '@memoryd/core';

/*
 * Classification of database errors. Codes are SQLSTATE (postgresql.org/docs/17/errcodes-appendix.html), or error codes
 * of the operating system for connections.
 */

/** Codes of a serialization failure and of a deadlock. A retry is likely to succeed. */
const CONFLICT = /^(40001|40P01)$/;

/** Codes of errors after which the connection is unusable: server or network down, or server now a standby. */
const LOST =
  /^(08...|57P0.|25006|ECONNREFUSED|ECONNRESET|ECONNABORTED|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN)$/;

/** Messages of `pg` and its pool for a lost connection, for errors without a code. */
const LOST_MESSAGE =
  /^(Connection terminated|Client has encountered a connection error|Client was closed|Query read timeout|timeout expired)/i;

/** Message of `pg` for a response timeout. */
const TIMEOUT_MESSAGE = /^Query read timeout/;

/** Message of the pool when no connection becomes free in time. */
const BUSY_MESSAGE = /^timeout exceeded when trying to connect/;

/**
 * Explanations for operators: the problem and, where possible, the fix. `isQuoted` appends the server's message, which
 * names the object of a missing privilege.
 */
const UNAVAILABLE: readonly [code: RegExp, explanation: string, isQuoted?: true][] = [
  [/^XX00[12]$/, CorruptDatabaseError.MESSAGE],
  [
    /^25006$/,
    'the server is a standby, which accepts no writes; connect memoryd to the primary, or promote the standby',
  ],
  [/^(42501|3F000)$/, 'the database role lacks a privilege; GRANT it, or make the role the owner of the schema', true],
  [/^28/, 'the login failed; check user and password in the address, and pg_hba.conf'],
  [/^3D000$/, 'the database does not exist; create it with createdb, or correct the address'],
  [/^53100$/, 'the disk of the server is full; free some space'],
  [/^53200$/, 'the server is out of memory; add memory, or lower work_mem'],
  [/^53300$/, 'the server has no free connection; lower SERVICE_DATABASE_CONNECTIONS, or raise max_connections'],
  [/^57P0[123]$/, 'the server is starting or stopping; retry later'],
  [/^57014$/, 'a statement timed out; retry later'],
  [/^55P03$/, 'a lock could not be acquired in time; retry later'],
  [/^58/, 'the server has an I/O error; see its log'],
  [/^(40001|40P01)$/, 'too many conflicting transactions; retry later'],
  [/^(53|54000$|57)/, 'the server lacks resources; see its log'],
  [/^08/, 'the connection failed; check the address, and the log of the server'],
  [/^ECONNREFUSED$/, 'no server listens at the address; start the server, or correct the address'],
  [/^(ENOTFOUND|EAI_AGAIN)$/, 'the host name cannot be resolved; correct the address'],
  [/^(ETIMEDOUT|EHOSTUNREACH|ENETUNREACH)$/, 'the host cannot be reached; check the address and the network'],
];

/** The server has no free connection (`too_many_connections`). Temporary, because other clients may disconnect. */
const NO_CONNECTION_LEFT = /^53300$/;

function getCode(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}

/** Returns true for a conflict with another transaction, which should be retried. */
export function isConflict(error: unknown): boolean {
  return CONFLICT.test(getCode(error));
}

/** Returns true if the connection was lost or is no longer usable. */
export function isLost(error: unknown): boolean {
  const code = getCode(error);
  return LOST.test(code) || (code === '' && error instanceof Error && LOST_MESSAGE.test(error.message));
}

/** Returns true if a connected server did not respond within the response timeout. */
export function isResponseTimeout(error: unknown): boolean {
  return getCode(error) === '' && error instanceof Error && TIMEOUT_MESSAGE.test(error.message);
}

export function isUnavailable(error: unknown): boolean {
  return error instanceof MemoryError && error.code === 'UNAVAILABLE';
}

/** Converts an error of the database to UNAVAILABLE if the database cannot be used. Returns other errors unchanged. */
export function toMemoryError(error: unknown): unknown {
  if (error instanceof MemoryError) return error;
  const reason = getUnavailableReason(error);
  if (reason === undefined) return error;
  const message = reason.startsWith(CorruptDatabaseError.MESSAGE)
    ? reason
    : `the database cannot be used now: ${reason}`;
  return new MemoryError('UNAVAILABLE', message, {
    cause: error,
    isDatabaseDown: isLost(error) || NO_CONNECTION_LEFT.test(getCode(error)),
  });
}

/** Returns why the database cannot be used, with the error code if present; undefined for other errors. */
function getUnavailableReason(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  if (error instanceof WrongServerError || error instanceof NoHostError) return error.message;
  if (BUSY_MESSAGE.test(error.message)) return 'all connections are in use; retry later';
  const code = getCode(error);
  const found = UNAVAILABLE.find(([codes]) => codes.test(code));
  if (found) {
    const [, explanation, isQuoted] = found;
    return `${explanation} (${isQuoted ? `${code}: ${error.message}` : code})`;
  }
  return isLost(error) ? `the connection was lost; retry later${code && ` (${code})`}` : undefined;
}

/** Returns what an error of one host says: why the host cannot be used, or the message of the error. */
export function explain(error: unknown): string {
  if (error instanceof WrongServerError) return error.finding;
  return getUnavailableReason(error) ?? (error instanceof Error ? error.message : String(error));
}

/**
 * The server does not match `target_session_attrs`. Has the code of a lost connection, because another host may match.
 */
export class WrongServerError extends Error {
  readonly code = '25006';
  /** The state of the server, such as "the server is a standby". */
  readonly finding: string;

  constructor(host: string, state: string, target: string) {
    super(
      `the server at ${host} is ${state}, which target_session_attrs=${target} excludes; correct target_session_attrs, or the hosts`,
    );
    this.finding = `the server is ${state}`;
  }
}

/** None of several hosts can be used. Has the code of a lost connection, because a host may soon work again. */
export class NoHostError extends Error {
  readonly code = '08001';

  constructor(hosts: number, cause: unknown) {
    super(`none of the ${hosts} hosts of the address can be used; retry later, and see the log for each host`, {
      cause,
    });
  }
}

/** UNAVAILABLE for a commit whose outcome is unknown, because the connection was lost before the response. */
export class CommitUnknown extends MemoryError {
  constructor(cause: unknown) {
    const message =
      'the connection to the database was lost during a commit, so the write may or may not have been stored';
    super('UNAVAILABLE', message, { cause, isOutcomeUnknown: true });
  }
}
