import { DEFAULTS, type MemoryApi, type Scopable } from '@memoryd/contract';
import { assertNamespace } from './core/namespaces.ts';
import type { EngineSettings } from './engine.ts';
import { openEngine } from './open-engine.ts';

/** Options of `openMemory`. Absent or undefined options have the defaults of a server. */
export interface OpenMemoryOptions extends Partial<EngineSettings> {
  /** Namespace of the memories. `default`, the namespace of callers without a key, if absent. */
  namespace?: string | undefined;
}

/** The memories of one namespace in a database that is open in this process. */
export interface OpenMemory extends Scopable<MemoryApi> {
  /** Writes buffered data and closes the database. Until then the process keeps running. */
  close(): Promise<void>;
}

/**
 * Opens a database in this process and returns the `MemoryApi` of one namespace, without a server. Consolidates in the
 * background, as a server does. For several namespaces, use `openEngine`, which opens the database and the model once.
 * Rejects as `openEngine` does, and with INVALID_REQUEST for an invalid namespace.
 *
 * @param database the path of a file, which is created if it does not exist, or the address of a PostgreSQL database,
 *   `postgres://…`
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
