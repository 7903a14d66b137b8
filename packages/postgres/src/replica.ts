import { MemoryError } from '@memoryd/contract/errors';
import { type Sql, sql, type Telemetry } from '@memoryd/engine/storage-kit';
import type { Connection } from './connection.ts';
import type { Hold } from './locks.ts';

/** Namespaces of which it is remembered that they were written; beyond that, all are taken to be. */
const NAMESPACES = 10_000;

/** How far the replica may be behind, how often it is looked how far it is, and how long one that failed is let be. */
const MAX_LAG_MS = 10_000;
const LOOKED_EVERY_MS = 1000;
const REST_MS = 5000;

/** Longest that a start waits to learn where the replica's address leads. */
const START_WAITS_MS = 3000;

/** A place in the log of the database, in bytes. */
type Position = number;

/** Something written: what it is behind is asked for when somebody has to know. */
interface Written {
  position?: Position;
}

/** Stands for every namespace. */
const ALL = Symbol('all');

const WRITTEN_UNTIL = sql`pg_current_wal_insert_lsn()`;
const REPLAYED_UNTIL = sql`pg_last_wal_replay_lsn()`;

/** A replica that has replayed all that it received is not behind, however long ago the last transaction was. */
const LAG_SECONDS = sql`
  SELECT CASE WHEN pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn() THEN 0
    ELSE extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp())::float8 END AS seconds`;

export interface ReplicaOptions {
  telemetry?: Telemetry | undefined;
  /** Time since whenever, that only goes forward. */
  elapsedMs?: () => number;
}

/**
 * A replica that recall may ask: of a namespace that this process has written not before it has replayed that, and of
 * others while it is at most ten seconds behind. Otherwise, and where it fails, the database itself is asked.
 */
export class Replica {
  readonly #primary: Connection;
  readonly #replica: Connection;
  readonly #telemetry: Telemetry | undefined;
  readonly #elapsedMs: () => number;
  readonly #written = new Map<string | typeof ALL, Written>();
  /** Where the log was lately, and when; and the time of the last such place that the replica was seen to have reached. */
  #mark: { position: Position; at: number } | undefined;
  #reachedAt = Number.NEGATIVE_INFINITY;
  #failedAt = Number.NEGATIVE_INFINITY;
  #works = true;
  /** Whether it is known to be a replica of this database; to be learnt anew after a failure. */
  #isOurs = false;

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

  /** The primary's connection, by which the replica learns what this process writes. */
  watched(): Connection {
    return {
      ...this.#primary,
      write: async (hold, work) => {
        try {
          return await this.#primary.write(hold, work);
        } finally {
          // Of a commit that nobody heard of too.
          this.#note(hold);
        }
      },
    };
  }

  /**
   * Throws UNAVAILABLE where the replica's address leads to another database. One that does not answer yet is looked at
   * before it is first asked, and holds up nobody.
   */
  async check(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, START_WAITS_MS);
    });
    const looked = this.#learnWhetherOurs().catch((error: unknown) => {
      if (error instanceof OtherDatabase) throw error;
    });
    await Promise.race([looked, late]).finally(() => clearTimeout(timer));
  }

  /** Asks the replica about a namespace where that is right, else the database itself. */
  async ask<T>(namespace: string, read: (connection: Connection) => Promise<T>): Promise<T> {
    if (this.#elapsedMs() - this.#failedAt >= REST_MS) {
      try {
        if (await this.#mayBeAsked(namespace)) return this.#working(await read(this.#replica));
      } catch (error) {
        this.#fail(error);
      }
    }
    return read(this.#primary);
  }

  /** Returns how far the replica is behind; infinite while it does not answer. */
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

  #note(hold: Hold): void {
    for (const namespace of getNamespaces(hold)) this.#noteNamespace(namespace);
  }

  #noteNamespace(namespace: string | typeof ALL): void {
    if (this.#written.size >= NAMESPACES) {
      this.#written.clear();
      this.#written.set(ALL, {});
    }
    this.#written.set(namespace, {});
  }

  async #mayBeAsked(namespace: string): Promise<boolean> {
    if (!(this.#isOurs || (await this.#learnWhetherOurs()))) return false;
    await this.#takeMark();
    const replayed = await position(this.#replica, REPLAYED_UNTIL);
    if (this.#mark && replayed >= this.#mark.position) this.#reachedAt = this.#mark.at;
    if (this.#elapsedMs() - this.#reachedAt > MAX_LAG_MS) return false;
    return (await this.#hasReplayed(ALL, replayed)) && (await this.#hasReplayed(namespace, replayed));
  }

  /** Throws where it is another database; false where it has not replayed the tables yet. */
  async #learnWhetherOurs(): Promise<boolean> {
    const [ours, its] = await Promise.all([getPlace(this.#primary), getPlace(this.#replica)]);
    if (its.cluster !== ours.cluster || its.database !== ours.database) throw new OtherDatabase();
    if (its.table !== null && its.table !== ours.table) throw new OtherDatabase();
    this.#isOurs = its.table !== null;
    return this.#isOurs;
  }

  async #takeMark(): Promise<void> {
    const at = this.#elapsedMs();
    if (this.#mark && at - this.#mark.at < LOOKED_EVERY_MS) return;
    // One that the replica has not reached stays, or it would be behind a new one for ever.
    if (this.#mark && this.#reachedAt < this.#mark.at && at - this.#mark.at < MAX_LAG_MS) return;
    this.#mark = { position: await position(this.#primary, WRITTEN_UNTIL), at };
  }

  async #hasReplayed(namespace: string | typeof ALL, replayed: Position): Promise<boolean> {
    const written = this.#written.get(namespace);
    if (!written) return true;
    written.position ??= await position(this.#primary, WRITTEN_UNTIL);
    if (replayed < written.position) return false;
    // Unless it was written again meanwhile.
    if (this.#written.get(namespace) === written) this.#written.delete(namespace);
    return true;
  }

  #working<T>(answer: T): T {
    if (!this.#works) this.#report('info', 'replica_restored');
    this.#works = true;
    return answer;
  }

  #fail(error: unknown): void {
    this.#failedAt = this.#elapsedMs();
    this.#isOurs = false;
    if (this.#works) this.#report('warn', 'replica_unavailable', error);
    this.#works = false;
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

async function position(connection: Connection, place: Sql): Promise<Position> {
  const found = await connection.row<{ bytes: number | null }>(sql`
    SELECT pg_wal_lsn_diff(${place}, '0/0')::bigint AS bytes`);
  if (found?.bytes == null) throw new Error('the address for reading is not that of a replica');
  return found.bytes;
}

/** What an address leads to; the same for a database and its replicas. Schemas of one database differ by their tables. */
interface Place {
  cluster: string;
  database: string;
  table: number | null;
}

async function getPlace(connection: Connection): Promise<Place> {
  const place = await connection.row<Place>(sql`
    SELECT system_identifier::text AS cluster, current_database()::text AS database,
      to_regclass('property')::oid::bigint AS table
    FROM pg_control_system()`);
  return place as Place;
}

/** The replica's address leads to what is no replica of the database. */
class OtherDatabase extends MemoryError {
  constructor() {
    super(
      'UNAVAILABLE',
      'databaseReadUrl leads to another database than databaseUrl, of which it has to name a replica',
    );
  }
}
