import { DEFAULTS, type MemoryApi } from '@memoryd/contract';
import type { EngineOptions } from './engine.ts';
import { ENGINE_DEFAULTS } from './engine-defaults.ts';
import { openEngine } from './open-engine.ts';
import type { Telemetry } from './ports/telemetry.ts';

/** What `openMemory` may be told beside the path; whatever is left out is as in a server without settings. */
export interface OpenMemoryOptions extends Partial<Omit<EngineOptions, 'dbPath'>> {
  /** Whose memories; `default`, that of callers without a key, where absent. */
  namespace?: string;
}

/** The memories of one namespace of a file that is open in this process. */
export interface OpenMemory extends MemoryApi {
  /** Writes what was gathered and lets the file go. The threads keep the process running until then. */
  close(): Promise<void>;
}

/**
 * Opens a database file, made where it is not there yet, in this process: the `MemoryApi` without a server. Other
 * processes, servers among them, may have the same file open. It consolidates by itself, as a server does. Warnings and
 * errors become warnings of the process, unless `telemetry` takes them. Rejects as `openEngine`.
 */
export async function openMemory(path: string, options: OpenMemoryOptions = {}): Promise<OpenMemory> {
  const { namespace = DEFAULTS.namespace, ...engineOptions } = options;
  const engine = await openEngine({ ...ENGINE_DEFAULTS, telemetry: processWarnings, ...engineOptions, dbPath: path });
  return { ...engine.namespace(namespace), close: () => engine.close() };
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
