import { randomUUID } from 'node:crypto';
import { PGlite } from '@electric-sql/pglite';
import { vector } from '@electric-sql/pglite-pgvector';
import { PGLiteSocketServer } from '@electric-sql/pglite-socket';
import { Pool } from 'pg';

const { TEST_DATABASE_URL, TEST_EVERY_DATABASE } = process.env;

/**
 * Whether PGlite stands in for a server, because none is named, or is asked for beside it. The adapter's contract runs by it
 * in any case: it has one connection for everything.
 */
export const PGLITE_STANDS_IN = !TEST_DATABASE_URL || TEST_EVERY_DATABASE !== undefined;

/** A database server for tests. */
export interface DatabaseServer {
  /** Most connections that it serves at a time. */
  connections: number;
  /** Makes what looks like an empty database, and answers its address. */
  create(): Promise<string>;
  /** To be called before a database is opened once more, which nobody has open then. */
  reopening(url: string): Promise<void>;
  /** Whether any row of any table holds a text. */
  holds(url: string, text: string): Promise<boolean>;
  /** To be called when nobody has the database open any more. */
  drop(url: string): Promise<void>;
  close(): Promise<void>;
}

/**
 * PGlite, a PostgreSQL in this process, behind a socket. All its connections are one session, which keeps what it has
 * prepared and set when the next opens; so every database that is open beside others is one of its own.
 */
export async function startPglite(): Promise<DatabaseServer> {
  const all = [await startOne()];
  const taken = new Set<string>();
  return {
    connections: 1,
    async create() {
      let one = all.find(({ url }) => !taken.has(url));
      if (!one) {
        one = await startOne();
        all.push(one);
      }
      taken.add(one.url);
      await one.empty();
      return one.url;
    },
    async reopening(url) {
      await all.find((one) => one.url === url)?.forgetSession();
    },
    holds: async (url, text) => all.find((one) => one.url === url)?.holds(text) ?? false,
    async drop(url) {
      taken.delete(url);
    },
    async close() {
      for (const one of all) await one.close();
    },
  };
}

async function startOne() {
  const database = await PGlite.create({ extensions: { vector } });
  keepStatementsWhole(database);
  const socket = new PGLiteSocketServer({ db: database, host: '127.0.0.1', port: 0, maxConnections: 8 });
  await socket.start();
  await database.exec('CREATE EXTENSION vector');
  const forgetSession = async () => {
    await database.exec('DEALLOCATE ALL');
  };
  return {
    url: `postgres://postgres:postgres@${socket.getServerConn()}/postgres`,
    /** The extension stays: making it takes longer than most tests. */
    async empty() {
      await database.exec('DROP SCHEMA IF EXISTS test CASCADE; CREATE SCHEMA test; SET search_path = test, public');
      await forgetSession();
    },
    forgetSession,
    holds: (text: string) => anyRowHolds(database, 'test', text),
    async close() {
      await socket.stop();
      await database.close();
    },
  };
}

/** The message that ends a statement of several, and the types of those before it: Parse, Bind, Describe, Execute, Close. */
const SYNC = 'S'.charCodeAt(0);
const OF_A_STATEMENT = new Set([...'PBDEC'].map((type) => type.charCodeAt(0)));

/**
 * Lets the statements of connections take turns, where the socket lets their messages do so: in one session, those of two
 * would bind and run what the other has parsed. Within a transaction the socket keeps to the connection that began it.
 */
function keepStatementsWhole(database: PGlite): void {
  let isWithin = false;
  const isInTransaction = database.isInTransaction.bind(database);
  const run = database.execProtocolRawStream.bind(database);
  database.isInTransaction = () => isWithin || isInTransaction();
  database.execProtocolRawStream = async (message, options) => {
    const [type = SYNC] = message;
    isWithin = OF_A_STATEMENT.has(type);
    await run(message, options);
  };
}

/** Schemas of their own on the PostgreSQL server at an address: making databases takes seconds. */
export async function usePostgres(address: string): Promise<DatabaseServer> {
  // Tests beside each other take turns at its connection.
  const pool = new Pool({ connectionString: address, max: 1 });
  // One after the other: two that create it at once fail, as IF NOT EXISTS holds nothing.
  await pool.query('SELECT pg_advisory_xact_lock(1); CREATE EXTENSION IF NOT EXISTS vector');
  return {
    connections: 4,
    async create() {
      const schema = `test_${randomUUID().replaceAll('-', '')}`;
      await pool.query(`CREATE SCHEMA ${schema}`);
      const url = new URL(address);
      url.searchParams.set('options', `-c search_path=${schema},public`);
      url.searchParams.set('application_name', schema);
      return url.href;
    },
    reopening: async () => {},
    holds: (url, text) => anyRowHolds(pool, schemaOf(url), text),
    async drop(url) {
      await pool.query(`DROP SCHEMA ${schemaOf(url)} CASCADE`);
    },
    close: () => pool.end(),
  };
}

function schemaOf(url: string): string {
  const [schema] = /test_[0-9a-f]+/.exec(url) ?? [];
  if (schema === undefined) throw new Error(`${url} names no schema of a test`);
  return schema;
}

interface Queryable {
  query(sql: string, values?: unknown[]): Promise<{ rows: unknown[] }>;
}

async function anyRowHolds(database: Queryable, schema: string, text: string): Promise<boolean> {
  const { rows: tables } = await database.query('SELECT tablename AS name FROM pg_tables WHERE schemaname = $1', [
    schema,
  ]);
  for (const { name } of tables as { name: string }[]) {
    const { rows } = await database.query(
      `SELECT 1 FROM ${schema}.${name} row WHERE strpos(row::text, $1) > 0 LIMIT 1`,
      [text],
    );
    if (rows.length > 0) return true;
  }
  return false;
}
