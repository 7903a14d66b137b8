import { DEFAULTS, type MemoryApi, type Scopable } from '@memoryd/contract';
import { assertNamespace } from './core/namespaces.ts';
import type { EngineSettings } from './engine.ts';
import { openEngine } from './open-engine.ts';

/** What `openMemory` may be told beside the database; what is left out, or undefined, is as in a server without settings. */
export interface OpenMemoryOptions extends Partial<EngineSettings> {
  /** Whose memories; `default`, that of callers without a key, where absent. */
  namespace?: string | undefined;
}

/** The memories of one namespace of a database that is open in this process. */
export interface OpenMemory extends Scopable<MemoryApi> {
  /** Writes what was gathered and lets the database go, which keeps the process running until then. */
  close(): Promise<void>;
}

/**
 * Opens a database in this process: the `MemoryApi` without a server, of one namespace. It consolidates by itself, as a
 * server does. For several namespaces, `openEngine` opens the database and its model once. Rejects as `openEngine`, and with
 * INVALID_REQUEST for a namespace that no API key could be made for.
 *
 * @param database the path of a file, which is made where it is not there yet, or the address of a PostgreSQL database,
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
