import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { FairQueue, type Queries, raw, type Sql, sql, type Telemetry } from '@memoryd/core';
import { type Client, type ClientBase, type PoolClient, type QueryResult, TypeOverrides, types } from 'pg';
import { createClientClass } from './clients.ts';
import { DedicatedConnections, type DedicatedOptions } from './dedicated-connections.ts';
import type { OwnQueries, Transaction } from './dialect.ts';
import { createInsert, POSTGRES } from './dialect.ts';
import { CommitUnknown, isConflict, isLost, isResponseTimeout, toMemoryError } from './failure.ts';
import { createLockStatement, type Hold } from './locks.ts';
import type { StatementNames } from './pooled-clients.ts';
import { MAX_WAITING, PooledClients } from './pooled-clients.ts';
import { createRecallWriter } from './recall-entry.ts';
import { assertMayWriteBeside, WRITERS, type Writers } from './writers.ts';

/** Timeout for opening a connection, and for waiting for a connection of the pool. */
const CONNECT_TIMEOUT_MS = 5000;

/** Timeout of a statement, enforced by the server. */
const STATEMENT_TIMEOUT_MS = 30_000;

/**
 * Time in ms after which an idle connection is closed. The time is long, because a new connection must prepare all
 * statements of a recall.
 */
const IDLE_TIMEOUT_MS = 600_000;

/** Timeout for a response of the server. Longer than the server's own statement timeout. */
const RESPONSE_TIMEOUT_MS = STATEMENT_TIMEOUT_MS + 5000;

/** JIT compilation is disabled, because it takes longer than most reads. */
const BEGIN_SNAPSHOT = 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL jit = off';

/**
 * Writes read rows by their keys. Sequential scans are disabled, because the planner may choose one for each row while
 * its statistics are from a time when the tables were nearly empty. JIT compilation is disabled, too: the cost that the
 * planner adds to a sequential scan that it cannot avoid would start it.
 */
const BEGIN_WRITE = 'BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL enable_seqscan = off; SET LOCAL jit = off';

const WRITE_QUEUE_ERRORS = {
  full: 'too many requests are waiting for the database; retry later',
  timeout: 'the database cannot be used now: all connections for writing are in use; retry later',
};

/** Interval of the liveness check of a listening connection. */
const LIVENESS_INTERVAL_MS = 10_000;

/** Statement of the liveness check of a listening connection. */
const LIVENESS_CHECK = { text: 'SELECT 1', query_timeout: CONNECT_TIMEOUT_MS };

/** Maximum wait for an aborted statement to end. */
const TERMINATE_TIMEOUT_MS = 2000;

/** 1/`READ_RESERVE_DIVISOR` of the connections are reserved for reads, because writes may wait a long time for a lock. */
const READ_RESERVE_DIVISOR = 4;

/** Maximum attempts if a conflict occurs or a connection is lost. */
const MAX_ATTEMPTS = 5;

/** Average delay before the first retry. The delay doubles with each retry. */
const FIRST_RETRY_DELAY_MS = 50;

/**
 * A pool of connections to one database. A call is attempted up to five times if a conflict occurs or the connection is
 * lost before a commit, and then rejects with UNAVAILABLE. A statement outside a transaction may be executed twice if
 * its connection is lost.
 */
export interface Connection extends Queries {
  /** See `OwnQueries`. */
  readonly process: string;
  /** Runs reads in one snapshot of the database. `settings` are statements that apply only to this transaction. */
  snapshot<T>(read: (queries: Queries) => Promise<T>, settings?: string): Promise<T>;
  /** Like `snapshot`, but on a dedicated connection, for reads that take a long time. The signal aborts the reads. */
  dedicatedSnapshot<T>(read: (queries: Queries) => Promise<T>, signal?: AbortSignal): Promise<T>;
  /** Like `dedicatedSnapshot`, but without a statement timeout. */
  snapshotWithoutTimeout<T>(read: (queries: Queries) => Promise<T>): Promise<T>;
  /**
   * Runs work in a transaction. Retries may run the work several times, of which one is committed. Must not be called
   * within another `write`, because the calls could wait for each other.
   */
  write<T>(hold: Hold, work: (transaction: Transaction) => Promise<T>): Promise<T>;
  /**
   * Runs statements outside of a transaction, such as migrations or vacuums, on a dedicated connection without a
   * statement timeout. `script` runs several statements.
   */
  withoutTransaction<T>(work: (queries: Queries & { script(text: string): Promise<void> }) => Promise<T>): Promise<T>;
  /**
   * Listens for `NOTIFY` on a channel, on a dedicated connection. Resolves when the connection is lost or the signal is
   * aborted. Rejects if listening could not start.
   */
  listen(channel: Sql, listener: ChannelListener): Promise<void>;
  /** Rejects waiting writes, aborts the work on dedicated connections, and waits for the calls in progress. */
  close(): Promise<void>;
}

interface ChannelListener {
  /** Called when listening has started. */
  onListening(): void;
  onNotification(payload: string): void;
  signal: AbortSignal;
}

export interface ConnectionOptions {
  /** `postgres://user:password@host:port/database`, with the parameters of `pg`. */
  url: string;
  /** Maximum size of the pool, without dedicated connections. Writes can use three quarters of the pool. */
  connections: number;
  telemetry?: Telemetry | undefined;
}

/** OIDs of `smallint[]`, `integer[]`, `bigint[]` and `double precision[]`, which are missing in `types.builtins`. */
const NUMBER_ARRAYS = [1005, 1007, 1016, 1022];

const numbers = new TypeOverrides();
numbers.setTypeParser(types.builtins.INT8, Number);
for (const type of NUMBER_ARRAYS) {
  numbers.setTypeParser(type, (text) => (text === '{}' ? [] : text.slice(1, -1).split(',').map(Number)));
}

/** Creates a pool. Connections are opened on first use. */
export function connect({ url, connections, telemetry }: ConnectionOptions): Connection {
  const process = randomUUID();
  const options = {
    application_name: 'memoryd',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: RESPONSE_TIMEOUT_MS,
    keepAlive: true,
    idleTimeoutMillis: IDLE_TIMEOUT_MS,
    types: numbers,
  };
  const settings = {
    statement_timeout: STATEMENT_TIMEOUT_MS,
    idle_in_transaction_session_timeout: STATEMENT_TIMEOUT_MS,
  };
  const DatabaseClient = createClientClass(url, settings, (message) =>
    telemetry?.report({ level: 'warn', component: 'storage', event: 'database_hosts_failed', facts: { message } }),
  );
  const clients = new PooledClients({ ...options, max: connections }, DatabaseClient);
  const writes = new FairQueue(
    { maxRunning: getMaxWrites(connections), maxWaiting: MAX_WAITING, timeoutMs: CONNECT_TIMEOUT_MS },
    WRITE_QUEUE_ERRORS,
  );
  const dedicated = new DedicatedConnections(
    (overrides) => new DatabaseClient({ ...options, ...overrides }),
    (backend) => terminate(clients, backend),
  );

  const toNamedQueries = (client: PoolClient) => toQueries(client, clients.names);
  const attempt = <T>(work: (client: PoolClient) => Promise<T>) => withRetries(() => clients.use(work));
  const dedicatedSnapshot = <T>(read: (queries: Queries) => Promise<T>, dedicatedOptions: DedicatedOptions) =>
    withRetries(() =>
      dedicated.use((client) => inTransaction(client, BEGIN_SNAPSHOT, () => read(toQueries(client))), dedicatedOptions),
    );

  return {
    dialect: POSTGRES,
    process,
    rows: <Row>(statement: Sql) => attempt((client) => toNamedQueries(client).rows<Row>(statement)),
    row: <Row>(statement: Sql) => attempt((client) => toNamedQueries(client).row<Row>(statement)),
    run: (statement) => attempt((client) => toNamedQueries(client).run(statement)),
    insert: (...args) => attempt((client) => toNamedQueries(client).insert(...args)),
    insertMissing: (...args) => attempt((client) => toNamedQueries(client).insertMissing(...args)),
    snapshot: (read, settings = '') =>
      attempt((client) => inTransaction(client, `${BEGIN_SNAPSHOT}; ${settings}`, () => read(toNamedQueries(client)))),
    dedicatedSnapshot: (read, signal) => dedicatedSnapshot(read, { statementTimeoutMs: STATEMENT_TIMEOUT_MS, signal }),
    snapshotWithoutTimeout: (read) => dedicatedSnapshot(read, { statementTimeoutMs: 0 }),
    write(hold, work) {
      // Read `WRITERS` under the locks, so that no newer memoryd changes these requirements before the end of the
      // transaction.
      const begin = `${BEGIN_WRITE}; ${createLockStatement(hold)}; ${WRITERS}`;
      const once = (client: PoolClient) =>
        inTransaction(client, begin, (writers) => {
          assertMayWriteBeside(writers as Writers[]);
          return work(toTransaction({ ...toNamedQueries(client), process }));
        });
      return withRetries(() => writes.run(() => clients.use(once)));
    },
    withoutTransaction: (work) =>
      withRetries(() =>
        dedicated.use((client) => work({ ...toQueries(client), script: (text) => runScript(client, text) }), {
          statementTimeoutMs: 0,
        }),
      ),
    listen: (channel, listener) => listen(new DatabaseClient(options), channel, listener),
    async close() {
      writes.close('the database is being closed');
      await dedicated.close();
      await clients.end();
    },
  };
}

function toTransaction(queries: OwnQueries): Transaction {
  return {
    ...queries,
    recall: createRecallWriter(queries),
    async nextOrdinals(count) {
      const next = sql`SELECT nextval('memory_ordinal') AS ordinal FROM generate_series(1, ${count}::integer)`;
      return (await queries.rows<{ ordinal: number }>(next)).map(({ ordinal }) => ordinal);
    },
  };
}

/** Returns the maximum number of concurrent writes, at least 1. */
function getMaxWrites(connections: number): number {
  return Math.max(1, connections - Math.ceil(connections / READ_RESERVE_DIVISOR));
}

/** Terminates the server process `backend` of another connection. Never rejects, even if the process has ended. */
async function terminate(clients: PooledClients, backend: number): Promise<void> {
  const text = `SELECT pg_terminate_backend(${backend}, ${TERMINATE_TIMEOUT_MS}) WHERE pg_backend_pid() <> ${backend}`;
  const statement = { text, query_timeout: CONNECT_TIMEOUT_MS };
  await clients.use((client) => client.query(statement)).catch(() => {});
}

/** Runs work between `begin` and a commit. `work` receives the rows of the last statement in `begin`. */
async function inTransaction<T>(client: ClientBase, begin: string, work: (rows: unknown[]) => Promise<T>): Promise<T> {
  let result: T;
  try {
    // The type of `query` lacks the results of several statements.
    const results: QueryResult | QueryResult[] = await client.query(begin);
    result = await work([results].flat().at(-1)?.rows ?? []);
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

async function listen(
  client: Client,
  channel: Sql,
  { onListening, onNotification, signal }: ChannelListener,
): Promise<void> {
  let onEnd = () => {};
  const ended = new Promise<void>((resolve) => {
    onEnd = () => resolve();
  });
  client.on('error', onEnd);
  client.on('end', onEnd);
  signal.addEventListener('abort', onEnd);
  client.on('notification', ({ payload = '' }) => onNotification(payload));
  let livenessTimer: NodeJS.Timeout | undefined;
  try {
    await client.connect();
    const { rows } = await client.query(`SELECT ${channel.text} AS name`);
    await client.query(`LISTEN ${client.escapeIdentifier(rows[0].name)}`);
    onListening();
    // Without traffic, the operating system would detect a dead server only after many minutes.
    const check = () => client.query(LIVENESS_CHECK).catch(() => client.end().catch(() => {}));
    livenessTimer = setInterval(check, LIVENESS_INTERVAL_MS).unref();
    await ended;
  } finally {
    clearInterval(livenessTimer);
    signal.removeEventListener('abort', onEnd);
    // Not awaited, because the server may not respond.
    void client.end().catch(() => {});
  }
}

/**
 * Retries work after conflicts, and after a connection was lost before a commit. Does not retry after a response
 * timeout, because other connections to the same server would probably time out as well.
 */
async function withRetries<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      const isRetryable = isConflict(error) || (isLost(error) && !isResponseTimeout(error));
      if (attempt === MAX_ATTEMPTS || !isRetryable) throw toMemoryError(error);
      // The jitter prevents two conflicting transactions from colliding again.
      await sleep(FIRST_RETRY_DELAY_MS * 2 ** (attempt - 1) * (0.5 + Math.random()));
    }
  }
}

/** Creates queries on a connection. Without `names`, as on a dedicated connection, statements are not prepared. */
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
      if (args[2].length > 0) await query(createInsert(...args));
    },
    async insertMissing(table, columns, rows) {
      if (rows.length === 0) return [];
      const returned = Object.keys(columns).join(', ');
      return (await query(createInsert(table, columns, rows, raw(`ON CONFLICT DO NOTHING RETURNING ${returned}`))))
        .rows;
    },
  };
}
