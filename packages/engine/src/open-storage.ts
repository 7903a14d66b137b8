import { getNamespaces } from './core/namespaces.ts';
import { KeyRing } from './keys/key-ring.ts';
import type { Administration } from './ports/administration.ts';
import type { Telemetry } from './ports/runtime.ts';
import type { OpenDatabase } from './ports/storage.ts';
import type { Quotas } from './ports/storage-namespaces.ts';
import { loadPostgres } from './postgres-package.ts';
import { openSqlite } from './storage/sqlite/open-sqlite.ts';
import { type Verified, type VerifyStage, verifyFile } from './storage/sqlite/verify-file.ts';
import { systemClock } from './system.ts';

/** Which database: a file by its path, whose folders are made, or one on a PostgreSQL server by its address. */
export type DatabaseOptions =
  | { dbPath: string; databaseUrl?: never; databaseReadUrl?: never; databaseConnections?: never }
  | {
      dbPath?: never;
      /** `postgres://user:password@host:port/database`. */
      databaseUrl: string;
      /** The address of a replica of it, for recall. */
      databaseReadUrl?: string;
      /** Most connections to it, and as many to the replica, at a time; 10 where absent. */
      databaseConnections?: number;
    };

/** What `DatabaseOptions` may say. */
export const DATABASE_OPTION_NAMES: readonly string[] = [
  'dbPath',
  'databaseUrl',
  'databaseReadUrl',
  'databaseConnections',
] satisfies (keyof DatabaseOptions)[];

type StorageOptions = DatabaseOptions & {
  /** Most working memories of a namespace. */
  workingMax: number;
  /** Quotas of the namespaces and users that have none of their own; any number where absent. */
  quota?: Quotas;
  /** Whether recall will be asked; it is where absent. */
  recalls?: boolean;
  telemetry?: Telemetry;
};

/** The database that a text names: an address of a PostgreSQL server, or else the path of a file. */
export function databaseNamed(text: string): DatabaseOptions {
  return /^postgres(ql)?:\/\//i.test(text) ? { databaseUrl: text } : { dbPath: text };
}

/** Opens a database of either kind. UNAVAILABLE when it cannot be used. */
export async function openStorage(options: StorageOptions): Promise<OpenDatabase> {
  const { workingMax, quota, recalls, telemetry } = options;
  if (options.databaseUrl === undefined) {
    return openSqlite({
      path: options.dbPath,
      workingMax,
      ...(quota && { quota }),
      ...(recalls !== undefined && { recalls }),
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
 * Opens a database for its keys and namespaces alone: no model is opened, no index is made and nothing consolidates.
 * Rejects with UNAVAILABLE when it cannot be used.
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

/** Notes in a database that a backup of it has just been made. */
export async function noteBackup(database: DatabaseOptions): Promise<void> {
  const { storage } = await openStorage({ ...database, workingMax: Number.MAX_SAFE_INTEGER, recalls: false });
  try {
    await storage.noteBackup(systemClock.now());
  } finally {
    await storage.close();
  }
}

/** Checks a database, whether or not a server uses it. UNAVAILABLE where it is none of memoryd, or of a newer one. */
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
