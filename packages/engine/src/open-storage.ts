import { statSync } from 'node:fs';
import type { OpenDatabase, Telemetry } from '@memoryd/core';
import { getNamespaces, KeyRing, systemClock } from '@memoryd/core/operations';
import type { Administration, Quotas } from '@memoryd/core/ports';
import { hasLog, openSqlite, type Verified, type VerifyStage, verifyFile } from '@memoryd/sqlite';
import { inspectDatabase, loadPostgres } from './postgres-package.ts';

/**
 * The database to open: a file by its path, whose missing folders are created, or a PostgreSQL database by its address.
 */
export type DatabaseOptions =
  | { dbPath: string; databaseUrl?: never; databaseReadUrl?: never; databaseConnections?: never }
  | {
      dbPath?: never;
      /** `postgres://user:password@host:port/database`. */
      databaseUrl: string;
      /** Address of a replica for recall. */
      databaseReadUrl?: string;
      /** Maximum number of concurrent connections to the database, and to the replica; 10 if absent. */
      databaseConnections?: number;
    };

/** Names of the options in `DatabaseOptions`. */
export const DATABASE_OPTION_NAMES: readonly string[] = [
  'dbPath',
  'databaseUrl',
  'databaseReadUrl',
  'databaseConnections',
] satisfies (keyof DatabaseOptions)[];

type StorageOptions = DatabaseOptions & {
  /** Maximum number of working memories per namespace. */
  workingMax: number;
  /** Default quotas of namespaces and users; unlimited if absent. */
  quota?: Quotas;
  /** False: SQLite is opened without a recall index. True if absent. Ignored for PostgreSQL. */
  recalls?: boolean;
  /** See `EngineSettings`. Ignored for PostgreSQL. */
  tokenStatesCacheBytes?: number;
  /** See `EngineSettings`. Ignored for PostgreSQL. */
  searchThreads?: number;
  telemetry?: Telemetry;
};

/** Parses a database argument: the address of a PostgreSQL database, or the path of a file. */
export function parseDatabase(text: string): DatabaseOptions {
  return /^postgres(ql)?:\/\//i.test(text) ? { databaseUrl: text } : { dbPath: text };
}

/**
 * Returns whether a database exists: a file that is not empty, or a PostgreSQL database with memoryd's tables. Creates
 * and changes nothing. Returns true for a file that cannot be accessed. Rejects with UNAVAILABLE if a PostgreSQL
 * database cannot be used. See `inspectDatabase` for the telemetry.
 */
export async function hasDatabase({ dbPath, databaseUrl }: DatabaseOptions, telemetry?: Telemetry): Promise<boolean> {
  if (databaseUrl !== undefined) return (await inspectDatabase(databaseUrl, telemetry)).at > 0;
  try {
    // An empty file with a log was emptied by accident. Opening reports the error.
    return statSync(dbPath).size > 0 || hasLog(dbPath);
  } catch (error) {
    // Opening reports any other error.
    return (error as NodeJS.ErrnoException).code !== 'ENOENT';
  }
}

/** Opens a SQLite or PostgreSQL database. Rejects with UNAVAILABLE if the database cannot be used. */
export async function openStorage(options: StorageOptions): Promise<OpenDatabase> {
  const { workingMax, quota, recalls, tokenStatesCacheBytes, searchThreads, telemetry } = options;
  if (options.databaseUrl === undefined) {
    return openSqlite({
      path: options.dbPath,
      workingMax,
      ...(quota && { quota }),
      ...(recalls !== undefined && { recalls }),
      ...(tokenStatesCacheBytes !== undefined && { tokenStatesCacheBytes }),
      ...(searchThreads !== undefined && { searchThreads }),
      ...(telemetry && { telemetry }),
    });
  }
  const { openPostgres } = await loadPostgres();
  return openPostgres({
    url: options.databaseUrl,
    workingMax,
    ...(options.databaseReadUrl !== undefined && { readUrl: options.databaseReadUrl }),
    ...(options.databaseConnections !== undefined && { connections: options.databaseConnections }),
    ...(quota && { quota }),
    ...(telemetry && { telemetry }),
  });
}

/**
 * Opens a database for the administration of keys and namespaces, without a model, a recall index and consolidation.
 * Rejects with UNAVAILABLE if the database cannot be used.
 */
export async function openAdministration(database: DatabaseOptions): Promise<Administration> {
  const { storage, keys, notices } = await openStorage({
    ...database,
    workingMax: Number.MAX_SAFE_INTEGER,
    recalls: false,
  });
  return {
    keys: new KeyRing(keys, systemClock, { notices }),
    namespaces: getNamespaces(storage, systemClock),
    close: () => storage.close(),
  };
}

/** Opens a database and records the current time as the time of its last backup. */
export async function recordBackup(database: DatabaseOptions): Promise<void> {
  const { storage } = await openStorage({ ...database, workingMax: Number.MAX_SAFE_INTEGER, recalls: false });
  try {
    await storage.recordBackup(systemClock.now());
  } finally {
    await storage.close();
  }
}

/**
 * Checks the integrity of a database, even if a server uses the database. Rejects with UNAVAILABLE if the database
 * cannot be checked, for example because memoryd did not create it or because its schema is newer.
 */
export async function verifyDatabase(
  database: DatabaseOptions,
  onStage: (stage: VerifyStage) => void = () => {},
): Promise<Verified> {
  if (database.dbPath !== undefined) return verifyFile(database.dbPath, onStage);
  const { storage } = await openStorage({ ...database, workingMax: Number.MAX_SAFE_INTEGER, recalls: false });
  try {
    onStage('memories');
    return { problems: await storage.integrity(), checked: 'everything' };
  } finally {
    await storage.close();
  }
}
