import { DEFAULTS, type MemoryApi } from '@memoryd/contract';
import { assertNamespace } from './core/namespaces.ts';
import type { EngineSettings } from './engine.ts';
import { ENGINE_DEFAULTS } from './engine-defaults.ts';
import { openEngine } from './open-engine.ts';
import { databaseNamed } from './open-storage.ts';
import type { Telemetry } from './ports/runtime.ts';

/** What `openMemory` may be told beside the database; what is left out, or undefined, is as in a server without settings. */
export interface OpenMemoryOptions extends Partial<EngineSettings> {
  /** Whose memories; `default`, that of callers without a key, where absent. */
  namespace?: string;
}

/** The memories of one namespace of a database that is open in this process. */
export interface OpenMemory extends MemoryApi {
  /** Writes what was gathered and lets the database go, which keeps the process running until then. */
  close(): Promise<void>;
}

/**
 * Opens a database in this process: the `MemoryApi` without a server. Other processes, servers among them, may have the
 * same one open. It consolidates by itself, as a server does. Warnings and
 * errors become warnings of the process, unless `telemetry` takes them. Rejects as `openEngine`, with TypeError for a
 * database that is no text or named twice, and with INVALID_REQUEST for a namespace that no API key could be made for.
 *
 * @param database the path of a file, which is made where it is not there yet, or the address of a PostgreSQL database,
 *   `postgres://…`
 */
export async function openMemory(database: string, options: OpenMemoryOptions = {}): Promise<OpenMemory> {
  if (typeof database !== 'string' || database === '') {
    throw new TypeError('database must be the path of a file or the address of a PostgreSQL database');
  }
  const { namespace = DEFAULTS.namespace, ...engineOptions } = definedOf(options);
  for (const name of ['dbPath', 'databaseUrl']) {
    if (name in engineOptions) throw new TypeError(`${name} is no option: the first argument says which database`);
  }
  assertNamespace(namespace);
  const engine = await openEngine({
    ...ENGINE_DEFAULTS,
    telemetry: processWarnings,
    ...engineOptions,
    ...databaseNamed(database),
  });
  return { ...engine.namespace(namespace), close: () => engine.close() };
}

// Callers whose types say no more than that a property is optional, or that have none, may pass undefined for it.
function definedOf(options: OpenMemoryOptions): OpenMemoryOptions {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

const processWarnings: Telemetry = {
  report({ level, component, event, facts, error }) {
    if (level !== 'warn' && level !== 'error') return;
    const cause = error instanceof Error ? `: ${error.message}` : '';
    const detail = facts && JSON.stringify(facts);
    process.emitWarning(`memoryd: ${component} ${event}${cause}`, {
      type: 'MemorydWarning',
      ...(detail && { detail }),
    });
  },
};
