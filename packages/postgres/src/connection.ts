import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { FairQueue, type Queries, type Sql, sql } from '@memoryd/engine/storage-kit';
import { type Client, type ClientBase, type PoolClient, type QueryResult, TypeOverrides, types } from 'pg';
import { clientsFor } from './clients.ts';
import type { OwnQueries, Transaction } from './dialect.ts';
import { insertion, POSTGRES } from './dialect.ts';
import { CommitUnknown, isInTheWay, isLost, isSilent, toCallersError } from './failure.ts';
import { type Hold, takeLocks } from './locks.ts';
import { OwnConnections, type OwnWork } from './own-connections.ts';
import type { StatementNames } from './pooled-clients.ts';
import { PooledClients, WAITING_LIMIT } from './pooled-clients.ts';
import { recallWriter } from './recall-entry.ts';
import { assertMayWriteBeside, WRITERS, type Writers } from './writers.ts';

/** Longest that a connection may take to open, or to become free, and a statement to run. */
const CONNECT_TIMEOUT_MS = 5000;
const STATEMENT_TIMEOUT_MS = 30_000;

/** How long a connection that nobody uses is kept: a new one has every statement of a recall to prepare. */
const IDLE_TIMEOUT_MS = 600_000;

/** When a server that answers nothing is given up; later than the server itself gives a statement up. */
const SILENCE_TIMEOUT_MS = STATEMENT_TIMEOUT_MS + 5000;

/** Reads are too short for their statements to be compiled, which takes longer than most of them. */
const BEGIN_SNAPSHOT = 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL jit = off';

const WRITES_REFUSED = {
  full: 'too many calls wait for the database',
  late: 'the database cannot be used now: all connections for writing are in use',
};

/** How often it is looked whether a connection that only listens is still there, and how long that may take. */
const LOOKED_EVERY_MS = 10_000;
const STILL_THERE = { text: 'SELECT 1', query_timeout: CONNECT_TIMEOUT_MS };

/** How long it is waited for a statement to end that was given up. */
const TERMINATE_TIMEOUT_MS = 2000;

/** One connection in so many is for reads alone: writes may wait long for a namespace, and recall not for them. */
const ONE_FOR_READS_IN = 4;

/** How often work is begun again that others were in the way of, or that lost its connection, and how long between. */
const TRIES = 5;
const FIRST_REST_MS = 50;

/**
 * A pool of connections to one database. A statement outside a transaction may be done twice where its connection is
 * lost. What cannot be done now rejects with UNAVAILABLE; where others were in the way,
 * or a connection was lost before anything was committed, it is tried again a few times first.
 */
export interface Connection extends Queries {
  /** See `OwnQueries`. */
  readonly process: string;
  /** Does reads that see the database as it is at one moment. `settings` are statements that hold for these alone. */
  snapshot<T>(read: (queries: Queries) => Promise<T>, settings?: string): Promise<T>;
  /** As `snapshot`, on a connection of its own, for so many reads that others would wait; the signal gives them up. */
  apart<T>(read: (queries: Queries) => Promise<T>, signal?: AbortSignal): Promise<T>;
  /** As `apart`, for reads that take however long. */
  unhurried<T>(read: (queries: Queries) => Promise<T>): Promise<T>;
  /**
   * Does work in a transaction; it may be done several times over, of which one is committed. Not to be called within another,
   * which would wait for its turn.
   */
  write<T>(hold: Hold, work: (transaction: Transaction) => Promise<T>): Promise<T>;
  /**
   * Runs statements that begin transactions themselves or belong to none, such as those that change the schema or vacuum,
   * on a connection of its own, for however long they take. `script` runs several.
   */
  outside<T>(work: (queries: Queries & { script(text: string): Promise<void> }) => Promise<T>): Promise<T>;
  /**
   * Hears what `NOTIFY` says on a channel, on a connection of its own, until that is lost, which resolves too, or the
   * signal ends it. Rejects where it never heard.
   */
  listen(channel: Sql, listener: ChannelListener): Promise<void>;
  /** Gives up what has a connection of its own, and waits for the rest. */
  close(): Promise<void>;
}

interface ChannelListener {
  /** From now on it hears. */
  listening(): void;
  heard(payload: string): void;
  signal: AbortSignal;
}

export interface ConnectionOptions {
  /** `postgres://user:password@host:port/database`, with the parameters of `pg`. */
  url: string;
  /** Most connections at a time, but for those that listen or do what takes long; writes have three quarters of them. */
  connections: number;
}

/** The types `smallint[]`, `integer[]`, `bigint[]` and `double precision[]`, which have no names in `types.builtins`. */
const NUMBER_ARRAYS = [1005, 1007, 1016, 1022];

const numbers = new TypeOverrides();
numbers.setTypeParser(types.builtins.INT8, Number);
for (const type of NUMBER_ARRAYS) {
  numbers.setTypeParser(type, (text) => (text === '{}' ? [] : text.slice(1, -1).split(',').map(Number)));
}

/** Opens no connection yet. */
export function connect({ url, connections }: ConnectionOptions): Connection {
  const process = randomUUID();
  const options = {
    application_name: 'memoryd',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: SILENCE_TIMEOUT_MS,
    keepAlive: true,
    idleTimeoutMillis: IDLE_TIMEOUT_MS,
    types: numbers,
  };
  const DatabaseClient = clientsFor(url, {
    statement_timeout: STATEMENT_TIMEOUT_MS,
    idle_in_transaction_session_timeout: STATEMENT_TIMEOUT_MS,
  });
  const clients = new PooledClients({ ...options, max: connections }, DatabaseClient);
  const writes = new FairQueue(
    { atOnce: mostWrites(connections), waiting: WAITING_LIMIT, waitingMs: CONNECT_TIMEOUT_MS },
    WRITES_REFUSED,
  );
  const own = new OwnConnections(
    (own) => new DatabaseClient({ ...options, ...own }),
    (backend) => terminate(clients, backend),
  );

  const named = (client: PoolClient) => toQueries(client, clients.names);
  const attempt = <T>(work: (client: PoolClient) => Promise<T>) => persistently(() => clients.use(work));
  const ownSnapshot = <T>(read: (queries: Queries) => Promise<T>, limits: OwnWork) =>
    persistently(() =>
      own.use((client) => inTransaction(client, BEGIN_SNAPSHOT, () => read(toQueries(client))), limits),
    );

  return {
    dialect: POSTGRES,
    process,
    rows: <Row>(statement: Sql) => attempt((client) => named(client).rows<Row>(statement)),
    row: <Row>(statement: Sql) => attempt((client) => named(client).row<Row>(statement)),
    run: (statement) => attempt((client) => named(client).run(statement)),
    insert: (...args) => attempt((client) => named(client).insert(...args)),
    snapshot: (read, settings = '') =>
      attempt((client) => inTransaction(client, `${BEGIN_SNAPSHOT}; ${settings}`, () => read(named(client)))),
    apart: (read, signal) => ownSnapshot(read, { statementTimeoutMs: STATEMENT_TIMEOUT_MS, signal }),
    unhurried: (read) => ownSnapshot(read, { statementTimeoutMs: 0 }),
    write(hold, work) {
      // Read under the locks, which keep a newer memoryd from changing them until this is done.
      const begin = `BEGIN ISOLATION LEVEL READ COMMITTED; ${takeLocks(hold)}; ${WRITERS}`;
      const once = (client: PoolClient) =>
        inTransaction(client, begin, (writers) => {
          assertMayWriteBeside(writers as Writers[]);
          return work(toTransaction({ ...named(client), process }));
        });
      return persistently(() => writes.run(() => clients.use(once)));
    },
    outside: (work) =>
      persistently(() =>
        own.use((client) => work({ ...toQueries(client), script: (text) => runScript(client, text) }), {
          statementTimeoutMs: 0,
        }),
      ),
    listen: (channel, listener) => listenTo(new DatabaseClient(options), channel, listener),
    async close() {
      writes.close('the database is being closed');
      await own.close();
      await clients.end();
    },
  };
}

function toTransaction(queries: OwnQueries): Transaction {
  return {
    ...queries,
    recall: recallWriter(queries),
    async nextOrdinals(count) {
      const next = sql`SELECT nextval('memory_ordinal') AS ordinal FROM generate_series(1, ${count}::integer)`;
      return (await queries.rows<{ ordinal: number }>(next)).map(({ ordinal }) => ordinal);
    },
  };
}

/** Most writes that have a connection at a time; of a single one, nothing can be left to reads. */
function mostWrites(connections: number): number {
  return Math.max(1, connections - Math.ceil(connections / ONE_FOR_READS_IN));
}

/** Ends what the server does for another connection; in vain where that is gone, or has this one's session. */
async function terminate(clients: PooledClients, backend: number): Promise<void> {
  const text = `SELECT pg_terminate_backend(${backend}, ${TERMINATE_TIMEOUT_MS}) WHERE pg_backend_pid() <> ${backend}`;
  const statement = { text, query_timeout: CONNECT_TIMEOUT_MS };
  await clients.use((client) => client.query(statement)).catch(() => {});
}

/** Does work between statements that begin a transaction, the rows of the last of which it is given, and the commit. */
async function inTransaction<T>(client: ClientBase, begin: string, work: (rows: unknown[]) => Promise<T>): Promise<T> {
  let result: T;
  try {
    // The type says nothing of several statements, which have a result each.
    const begun: QueryResult | QueryResult[] = await client.query(begin);
    result = await work([begun].flat().at(-1)?.rows ?? []);
  } catch (error) {
    if (!isLost(error)) await client.query('ROLLBACK').catch(() => {});
    throw error;
  }
  try {
    await client.query('COMMIT');
  } catch (error) {
    throw isLost(error) ? new CommitUnknown(error) : error;
  }
  return result;
}

async function runScript(client: ClientBase, text: string): Promise<void> {
  await client.query(text);
}

async function listenTo(client: Client, channel: Sql, { listening, heard, signal }: ChannelListener): Promise<void> {
  let leave = () => {};
  const lost = new Promise<void>((resolve) => {
    leave = () => resolve();
  });
  client.on('error', leave);
  client.on('end', leave);
  signal.addEventListener('abort', leave);
  client.on('notification', ({ payload = '' }) => heard(payload));
  let looking: NodeJS.Timeout | undefined;
  try {
    await client.connect();
    const { rows } = await client.query(`SELECT ${channel.text} AS name`);
    await client.query(`LISTEN ${client.escapeIdentifier(rows[0].name)}`);
    listening();
    // Whoever only listens learns otherwise of a server that is gone when the system gives it up, after many minutes.
    const look = () => client.query(STILL_THERE).catch(() => client.end().catch(() => {}));
    looking = setInterval(look, LOOKED_EVERY_MS).unref();
    await lost;
  } finally {
    clearInterval(looking);
    signal.removeEventListener('abort', leave);
    // Of a server that does not answer, no end is waited for.
    void client.end().catch(() => {});
  }
}

/**
 * Tries again what others were in the way of, and what lost its connection before it could change anything; but not where
 * nothing came for as long as anything may take, since other connections to the same server would be as silent.
 */
async function persistently<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      const isWorthTrying = isInTheWay(error) || (isLost(error) && !isSilent(error));
      if (tries === TRIES || !isWorthTrying) throw toCallersError(error);
      // Of two that were in each other's way, one is to come first.
      await sleep(FIRST_REST_MS * 2 ** (tries - 1) * (0.5 + Math.random()));
    }
  }
}

/** Asks by a connection; without `names`, by one that is there for one work alone, nothing has to stay prepared. */
function toQueries(client: ClientBase, names?: StatementNames): Queries {
  const query = ({ text, values }: Sql) => {
    const name = names?.getName(text, client);
    return client.query({ text, values: [...values], ...(name && { name }) });
  };
  return {
    dialect: POSTGRES,
    rows: async <Row>(statement: Sql) => (await query(statement)).rows as Row[],
    row: async <Row>(statement: Sql) => (await query(statement)).rows[0] as Row | undefined,
    run: async (statement) => (await query(statement)).rowCount ?? 0,
    async insert(...args) {
      if (args[2].length > 0) await query(insertion(...args));
    },
  };
}
