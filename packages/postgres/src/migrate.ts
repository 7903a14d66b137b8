import { MemoryError } from '@memoryd/contract/errors';
import { getProperty, type Queries, sql, type Telemetry } from '@memoryd/core';
import { type Connection, connect } from './connection.ts';
import { BLOCK_WRITERS, SCHEMA_LOCK } from './locks.ts';
import { MIGRATIONS, type SchemaStep } from './schema.ts';
import { assertMayWriteNow, OLDEST_WRITER, SCHEMA_VERSION } from './writers.ts';

/**
 * Migrates a database to the current schema, one transaction per step, while no other process migrates or writes.
 *
 * Throws UNAVAILABLE without changing anything in these cases: the database contains tables of another program; a newer
 * memoryd writes to the database in an unsupported format; the encoding is not UTF-8; the server lacks pgvector 0.8,
 * acknowledges commits before they are on disk, or is a standby; a pooler assigns sessions per transaction.
 *
 * @param steps other migrations, for tests
 */
export async function migrate(connection: Connection, steps: readonly SchemaStep[] = MIGRATIONS): Promise<void> {
  const version = await checkDatabase(connection);
  if (version >= steps.length) return;
  await connection.withoutTransaction(async (queries) => {
    for (const [from, step] of steps.entries()) {
      if (from < version) continue;
      // Read the version again under the lock: another process may have migrated in the meantime.
      await queries.script(`BEGIN; SELECT pg_advisory_xact_lock(${SCHEMA_LOCK}); ${BLOCK_WRITERS}`);
      try {
        if ((await getSchemaVersion(queries)) === from) await queries.script(createStepScript(from, step));
        await queries.script('COMMIT');
      } catch (error) {
        await queries.script('ROLLBACK');
        throw error;
      }
    }
  });
}

/** Returns the schema version of a database, 0 for an empty database. Changes nothing. Throws like `migrate`. */
async function checkDatabase(connection: Connection): Promise<number> {
  await assertSessionPooling(connection);
  await assertSafeSettings(connection);
  const version = await getSchemaVersion(connection);
  if (version > 0) await assertMayWriteNow(connection);
  return version;
}

function createStepScript(version: number, { script, mayOlderWrite }: SchemaStep): string {
  const prologue =
    version === 0
      ? `CREATE EXTENSION IF NOT EXISTS vector;
         CREATE TABLE property (name text PRIMARY KEY, value text NOT NULL);`
      : '';
  const properties = [SCHEMA_VERSION, ...(mayOlderWrite ? [] : [OLDEST_WRITER])];
  return `${prologue} ${script};
    INSERT INTO property VALUES ${properties.map((name) => `('${name}', '${version + 1}')`).join(', ')}
      ON CONFLICT (name) DO UPDATE SET value = excluded.value`;
}

/** Returns the schema version, 0 for a database without memoryd's tables. */
async function getSchemaVersion(queries: Pick<Connection, 'row'>): Promise<number> {
  const found = await queries.row<{ property: boolean; memory: boolean; vector: boolean }>(
    sql`SELECT to_regclass('property') IS NOT NULL AS property, to_regclass('memory') IS NOT NULL AS memory,
          EXISTS (
            SELECT 1 FROM pg_available_extensions
            WHERE name = 'vector' AND string_to_array(
              substring(coalesce(installed_version, default_version) FROM '^\\d+\\.\\d+'), '.')::integer[] >= '{0,8}') AS vector`,
  );
  if (!found?.vector)
    throw new MemoryError(
      'UNAVAILABLE',
      'the PostgreSQL server must have the extension pgvector in version 0.8 or newer; install or update pgvector',
    );
  const stored = found.property ? await getProperty(queries, SCHEMA_VERSION) : undefined;
  if (stored === undefined && (found.memory || found.property)) {
    throw new MemoryError(
      'UNAVAILABLE',
      'the database has tables of another program with the same names as memoryd’s tables; use another database or schema',
    );
  }
  return Number(stored ?? 0);
}

/**
 * Throws UNAVAILABLE if a pooler assigns sessions per transaction, because prepared statements, locks and `LISTEN`
 * belong to a session. Behind such a pooler, two connections share a session, or a connection changes its session.
 */
async function assertSessionPooling(connection: Connection): Promise<void> {
  const getSession = async (queries: Queries) =>
    (await queries.row<{ pid: number }>(sql`SELECT pg_backend_pid() AS pid`))?.pid;
  await connection.withoutTransaction(async (first) => {
    const before = [await getSession(first), await getSession(first)];
    const [other, after] = await connection.withoutTransaction(async (second) => {
      await second.script('BEGIN');
      const sessions = [await getSession(second), await getSession(first)];
      await second.script('ROLLBACK');
      return sessions;
    });
    if (new Set([...before, after]).size === 1 && other !== after) return;
    throw new MemoryError(
      'UNAVAILABLE',
      'the pooler in front of the database uses transaction pooling; set pool_mode=session, or connect to the server ' +
        'directly',
    );
  });
}

async function assertSafeSettings(connection: Connection): Promise<void> {
  const settings = await connection.row<{ commit: string; encoding: string; standby: boolean }>(
    sql`SELECT current_setting('synchronous_commit') AS commit, current_setting('server_encoding') AS encoding,
          pg_is_in_recovery() AS standby`,
  );
  if (settings?.standby) {
    throw new MemoryError(
      'UNAVAILABLE',
      'the server is a standby, which accepts no writes; connect memoryd to the primary, or promote the standby',
    );
  }
  if (settings?.commit === 'off') {
    throw new MemoryError(
      'UNAVAILABLE',
      'synchronous_commit is off for this database, so stored memories could be lost; turn synchronous_commit on',
    );
  }
  // Other encodings lack some characters. SQL_ASCII treats a text as bytes, so `left` could cut within a character.
  if (settings?.encoding !== 'UTF8') {
    throw new MemoryError(
      'UNAVAILABLE',
      `the database has the encoding ${settings?.encoding}, which cannot store every text; create a database with ENCODING 'UTF8'`,
    );
  }
}

/** Reads the schema versions of a database without changing it. Rejects with UNAVAILABLE for an unusable database. */
export async function inspectPostgres(url: string, telemetry?: Telemetry): Promise<{ at: number; last: number }> {
  const connection = connect({ url, connections: 1, telemetry });
  try {
    return { at: await checkDatabase(connection), last: MIGRATIONS.length };
  } finally {
    await connection.close();
  }
}
