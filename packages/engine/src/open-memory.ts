import { assertNamespace, DEFAULTS, type MemoryApi, type Scopable } from '@memoryd/contract';
import type { EngineSettings } from './engine.ts';
import { openEngine } from './open-engine.ts';

/** Options of `openMemory`. Absent or undefined options have the defaults of the server. */
export interface OpenMemoryOptions extends Partial<EngineSettings> {
  /** Namespace of the memories. If absent, `default`, which is the namespace of HTTP clients without a key. */
  namespace?: string | undefined;
}

/** The memories of one namespace in a database that is open in this process. */
export interface OpenMemory extends Scopable<MemoryApi> {
  /** Writes buffered data and closes the database. The process keeps running until the database is closed. */
  close(): Promise<void>;
}

/**
 * Opens a database in this process and returns the `MemoryApi` of one namespace, without a server. Consolidates in the
 * background, as a server does. For several namespaces, use `openEngine`, which opens the database and the model once.
 * Rejects with the errors of `openEngine`, and with INVALID_REQUEST for an invalid namespace.
 *
 * @param database the path of a file, which is created if it does not exist, or the address of a PostgreSQL database,
 * `postgres://…`
 */
export async function openMemory(database: string, options: OpenMemoryOptions = {}): Promise<OpenMemory> {
  if (typeof database !== 'string' || database === '') {
    throw new TypeError('database must be the path of a file or the address of a PostgreSQL database');
  }
  const { namespace = DEFAULTS.namespace, ...settings } = options;
  assertNamespace(namespace);
  const engine = await openEngine(database, settings);
  return { ...engine.namespace(namespace), close: () => engine.close() };
}
