import { MemoryError } from '@memoryd/contract/errors';
import { type Sql, sql, type Telemetry } from '@memoryd/core';
import type { Connection } from './connection.ts';
import type { Hold } from './locks.ts';

/**
 * Maximum number of namespaces whose recent writes are tracked separately. Above the maximum, a recent write is assumed
 * for every namespace.
 */
const MAX_TRACKED_NAMESPACES = 10_000;

/** Maximum lag of a replica that is used for reads. */
const MAX_LAG_MS = 10_000;

/** Minimum interval between two marks (see `#mark`). */
const MARK_INTERVAL_MS = 1000;

/** Time for which the replica is not used after a failure. */
const FAILURE_PAUSE_MS = 5000;

/** Timeout of the check at startup. */
const STARTUP_TIMEOUT_MS = 3000;

/** A position in the write-ahead log, in bytes. */
type Position = number;

/** A write of this process. The log position is absent until `read` needs the position and fetches it. */
interface RecentWrite {
  position?: Position;
}

/** Key of `#writes` that represents all namespaces. */
const ALL = Symbol('all');

const WRITE_POSITION = sql`pg_current_wal_insert_lsn()`;
const REPLAY_POSITION = sql`pg_last_wal_replay_lsn()`;

/**
 * SQL: lag of the replica in seconds. The lag is 0 if the replica has replayed everything that it received, even if the
 * last transaction was long ago.
 */
const LAG_SECONDS = sql`
  SELECT CASE WHEN pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn() THEN 0
    ELSE extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp())::float8 END AS seconds`;

export interface ReplicaOptions {
  telemetry?: Telemetry | undefined;
  /** Monotonic clock, in ms. */
  elapsedMs?: () => number;
}

/**
 * A replica for recall. The replica is used while its lag is at most 10 seconds. For a namespace that this process has
 * written, the replica must also have replayed the writes. Otherwise, and on failures, the primary is used.
 */
export class Replica {
  readonly #primary: Connection;
  readonly #replica: Connection;
  readonly #telemetry: Telemetry | undefined;
  readonly #elapsedMs: () => number;
  readonly #writes = new Map<string | typeof ALL, RecentWrite>();
  /**
   * `#mark`: a log position of the primary, with the time of reading the position. `#reachedAt`: the time of the newest
   * mark that the replica has replayed.
   */
  #mark: { position: Position; at: number } | undefined;
  #reachedAt = Number.NEGATIVE_INFINITY;
  #failedAt = Number.NEGATIVE_INFINITY;
  #isWorking = true;
  /** Whether the server was verified to be a replica of the primary. Verified again after a failure. */
  #isVerified = false;

  constructor(
    primary: Connection,
    replica: Connection,
    { telemetry, elapsedMs = () => performance.now() }: ReplicaOptions = {},
  ) {
    this.#primary = primary;
    this.#replica = replica;
    this.#telemetry = telemetry;
    this.#elapsedMs = elapsedMs;
  }

  /** Returns a connection to the primary that records writes, so that `read` knows which writes must be replayed. */
  getTrackedPrimary(): Connection {
    return {
      ...this.#primary,
      write: async (hold, work) => {
        try {
          return await this.#primary.write(hold, work);
        } finally {
          // In `finally`, because a commit with an unknown outcome may have written.
          this.#trackWrite(hold);
        }
      },
    };
  }

  /**
   * Throws UNAVAILABLE if the replica's address leads to another database. A replica that does not respond within the
   * startup timeout is verified before its first use.
   */
  async check(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, STARTUP_TIMEOUT_MS);
    });
    const verification = this.#verify().catch((error: unknown) => {
      if (error instanceof OtherDatabaseError) throw error;
    });
    await Promise.race([verification, timeout]).finally(() => clearTimeout(timer));
  }

  /** Reads from the replica if it is up to date for the namespace, otherwise from the primary. */
  async read<T>(namespace: string, read: (connection: Connection) => Promise<T>): Promise<T> {
    if (this.#elapsedMs() - this.#failedAt >= FAILURE_PAUSE_MS) {
      try {
        if (await this.#isUpToDate(namespace)) return this.#succeed(await read(this.#replica));
      } catch (error) {
        this.#fail(error);
      }
    }
    return read(this.#primary);
  }

  /** Returns the lag of the replica in seconds; Infinity while the replica does not respond. */
  async lagSeconds(): Promise<number> {
    try {
      const lag = await this.#replica.row<{ seconds: number | null }>(LAG_SECONDS);
      return lag?.seconds ?? 0;
    } catch {
      return Number.POSITIVE_INFINITY;
    }
  }

  close(): Promise<void> {
    return this.#replica.close();
  }

  #trackWrite(hold: Hold): void {
    for (const namespace of getNamespaces(hold)) this.#trackNamespace(namespace);
  }

  #trackNamespace(namespace: string | typeof ALL): void {
    if (this.#writes.size >= MAX_TRACKED_NAMESPACES) {
      this.#writes.clear();
      this.#writes.set(ALL, {});
    }
    this.#writes.set(namespace, {});
  }

  async #isUpToDate(namespace: string): Promise<boolean> {
    if (!(this.#isVerified || (await this.#verify()))) return false;
    await this.#updateMark();
    const replayed = await getPosition(this.#replica, REPLAY_POSITION);
    if (this.#mark && replayed >= this.#mark.position) this.#reachedAt = this.#mark.at;
    if (this.#elapsedMs() - this.#reachedAt > MAX_LAG_MS) return false;
    return (await this.#hasReplayed(ALL, replayed)) && (await this.#hasReplayed(namespace, replayed));
  }

  /**
   * Throws if the server contains another database. Returns false if the replica has not replayed the creation of the
   * tables yet.
   */
  async #verify(): Promise<boolean> {
    const [primary, replica] = await Promise.all([getIdentity(this.#primary), getIdentity(this.#replica)]);
    if (replica.cluster !== primary.cluster || replica.database !== primary.database) throw new OtherDatabaseError();
    if (replica.table !== null && replica.table !== primary.table) throw new OtherDatabaseError();
    this.#isVerified = replica.table !== null;
    return this.#isVerified;
  }

  async #updateMark(): Promise<void> {
    const at = this.#elapsedMs();
    if (this.#mark && at - this.#mark.at < MARK_INTERVAL_MS) return;
    // Keep a mark until the replica has replayed it. A lagging replica might never reach a mark that is replaced each
    // time.
    if (this.#mark && this.#reachedAt < this.#mark.at && at - this.#mark.at < MAX_LAG_MS) return;
    this.#mark = { position: await getPosition(this.#primary, WRITE_POSITION), at };
  }

  async #hasReplayed(namespace: string | typeof ALL, replayed: Position): Promise<boolean> {
    const write = this.#writes.get(namespace);
    if (!write) return true;
    write.position ??= await getPosition(this.#primary, WRITE_POSITION);
    if (replayed < write.position) return false;
    // Keep the newer write if the namespace was written again in the meantime.
    if (this.#writes.get(namespace) === write) this.#writes.delete(namespace);
    return true;
  }

  #succeed<T>(result: T): T {
    if (!this.#isWorking) this.#report('info', 'replica_restored');
    this.#isWorking = true;
    return result;
  }

  #fail(error: unknown): void {
    this.#failedAt = this.#elapsedMs();
    this.#isVerified = false;
    if (this.#isWorking) this.#report('warn', 'replica_unavailable', error);
    this.#isWorking = false;
  }

  #report(level: 'info' | 'warn', event: string, error?: unknown): void {
    this.#telemetry?.report({ level, component: 'storage', event, ...(error !== undefined && { error }) });
  }
}

function getNamespaces(hold: Hold): readonly (string | typeof ALL)[] {
  if (hold === 'keys') return [];
  if (hold === 'model') return [ALL];
  return 'exclusive' in hold ? [hold.exclusive] : [...hold.exclusiveNamespaces, ...hold.shared];
}

async function getPosition(connection: Connection, lsn: Sql): Promise<Position> {
  const found = await connection.row<{ bytes: number | null }>(sql`
    SELECT pg_wal_lsn_diff(${lsn}, '0/0')::bigint AS bytes`);
  if (found?.bytes == null)
    throw new Error('databaseReadUrl must be the address of a replica, but the server is a primary');
  return found.bytes;
}

/**
 * Identity of a database; equal for a primary and its replicas. `table`, the OID of a table, distinguishes schemas of
 * one database.
 */
interface DatabaseIdentity {
  cluster: string;
  database: string;
  table: number | null;
}

async function getIdentity(connection: Connection): Promise<DatabaseIdentity> {
  const identity = await connection.row<DatabaseIdentity>(sql`
    SELECT system_identifier::text AS cluster, current_database()::text AS database,
      to_regclass('property')::oid::bigint AS table
    FROM pg_control_system()`);
  return identity as DatabaseIdentity;
}

/** The server at `databaseReadUrl` is not a replica of the database. */
class OtherDatabaseError extends MemoryError {
  constructor() {
    super(
      'UNAVAILABLE',
      'databaseReadUrl leads to another database than databaseUrl; set databaseReadUrl to the address of a replica',
    );
  }
}
