import { MemoryError } from '@memoryd/contract/errors';
import { getProperty, type Queries, type SchemaSteps, sql } from '@memoryd/engine/storage-kit';
import { type Connection, connect } from './connection.ts';
import { KEEP_WRITERS_OUT, SCHEMA_LOCK } from './locks.ts';
import { MIGRATIONS, type SchemaStep } from './schema.ts';
import { assertMayWriteNow, OLDEST_WRITER, SCHEMA_VERSION } from './writers.ts';

/**
 * Takes a database to the present schema, or that of other steps, one transaction a step, while no other process migrates or
 * writes. Throws UNAVAILABLE, having changed nothing, for tables of another program, a database that a newer memoryd writes in
 * a way which this one does not know, a server without pgvector 0.8, one that would answer before what it acknowledges is on
 * disk, and a database that cannot hold every text.
 */
export async function migrate(connection: Connection, steps: readonly SchemaStep[] = MIGRATIONS): Promise<void> {
  const version = await usableSchema(connection);
  if (version >= steps.length) return;
  await connection.outside(async (queries) => {
    for (const [from, step] of steps.entries()) {
      if (from < version) continue;
      // The version is looked at again under the lock: another process may have migrated meanwhile.
      await queries.script(`BEGIN; SELECT pg_advisory_xact_lock(${SCHEMA_LOCK}); ${KEEP_WRITERS_OUT}`);
      try {
        if ((await schemaVersion(queries)) === from) await queries.script(stepFrom(from, step));
        await queries.script('COMMIT');
      } catch (error) {
        await queries.script('ROLLBACK');
        throw error;
      }
    }
  });
}

/** The version of a database's schema, 0 for an empty one; changes nothing. Throws as `migrate`. */
async function usableSchema(connection: Connection): Promise<number> {
  await assertSessions(connection);
  await assertKeepsTexts(connection);
  const version = await schemaVersion(connection);
  if (version > 0) await assertMayWriteNow(connection);
  return version;
}

function stepFrom(version: number, { script, mayOlderWrite }: SchemaStep): string {
  const begin =
    version === 0
      ? `CREATE EXTENSION IF NOT EXISTS vector;
         CREATE TABLE property (name text PRIMARY KEY, value text NOT NULL);`
      : '';
  const marks = [SCHEMA_VERSION, ...(mayOlderWrite ? [] : [OLDEST_WRITER])];
  return `${begin} ${script};
    INSERT INTO property VALUES ${marks.map((name) => `('${name}', '${version + 1}')`).join(', ')}
      ON CONFLICT (name) DO UPDATE SET value = excluded.value`;
}

/** 0 for a database without memoryd's tables. */
async function schemaVersion(queries: Pick<Connection, 'row'>): Promise<number> {
  const found = await queries.row<{ ours: boolean; memory: boolean; vector: boolean }>(
    sql`SELECT to_regclass('property') IS NOT NULL AS ours, to_regclass('memory') IS NOT NULL AS memory,
          EXISTS (
            SELECT 1 FROM pg_available_extensions
            WHERE name = 'vector' AND string_to_array(
              substring(coalesce(installed_version, default_version) FROM '^\\d+\\.\\d+'), '.')::integer[] >= '{0,8}') AS vector`,
  );
  if (!found?.vector)
    throw new MemoryError('UNAVAILABLE', 'the PostgreSQL server lacks the extension pgvector, of version 0.8 or newer');
  const stored = found.ours ? await getProperty(queries, SCHEMA_VERSION) : undefined;
  if (stored === undefined && (found.memory || found.ours)) {
    throw new MemoryError('UNAVAILABLE', 'the database has tables of another program under the names of memoryd’s');
  }
  return Number(stored ?? 0);
}

/**
 * Throws UNAVAILABLE where a pooler gives connections another session with each transaction: prepared statements, locks and
 * `LISTEN` belong to a session. It shows where a connection gets the session that another had, or loses its own.
 */
async function assertSessions(connection: Connection): Promise<void> {
  const getSession = async (queries: Queries) =>
    (await queries.row<{ pid: number }>(sql`SELECT pg_backend_pid() AS pid`))?.pid;
  await connection.outside(async (first) => {
    const before = [await getSession(first), await getSession(first)];
    const [other, after] = await connection.outside(async (second) => {
      await second.script('BEGIN');
      const sessions = [await getSession(second), await getSession(first)];
      await second.script('ROLLBACK');
      return sessions;
    });
    if (new Set([...before, after]).size === 1 && other !== after) return;
    throw new MemoryError(
      'UNAVAILABLE',
      'a pooler between memoryd and the database pools transactions; let it pool sessions (pool_mode=session), or ' +
        'connect to the server itself',
    );
  });
}

async function assertKeepsTexts(connection: Connection): Promise<void> {
  const settings = await connection.row<{ commit: string; encoding: string; standby: boolean }>(
    sql`SELECT current_setting('synchronous_commit') AS commit, current_setting('server_encoding') AS encoding,
          pg_is_in_recovery() AS standby`,
  );
  if (settings?.standby) {
    throw new MemoryError(
      'UNAVAILABLE',
      'the server is a standby, which takes no writes; point memoryd at the primary, or promote this one',
    );
  }
  if (settings?.commit === 'off') {
    throw new MemoryError(
      'UNAVAILABLE',
      'synchronous_commit is off for this database, so memories could be lost that were said to be kept; turn it on',
    );
  }
  // In another one a part of the texts is refused; or, where it has none, they are taken for bytes, and cut within characters.
  if (settings?.encoding !== 'UTF8') {
    throw new MemoryError(
      'UNAVAILABLE',
      `the database has the encoding ${settings?.encoding}, which cannot hold every text; make one with ENCODING 'UTF8'`,
    );
  }
}

/** Looks at a database without changing it. Rejects with UNAVAILABLE where memoryd could not use it. */
export async function inspectPostgres(url: string): Promise<SchemaSteps> {
  const connection = connect({ url, connections: 1 });
  try {
    return { at: await usableSchema(connection), last: MIGRATIONS.length };
  } finally {
    await connection.close();
  }
}
