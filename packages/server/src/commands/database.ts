import { existsSync } from 'node:fs';
import { DEFAULTS, type MemoryApi } from '@memoryd/contract';
import { openEngine } from '@memoryd/engine';
import { Option } from 'commander';
import { type Environment, readSettings, settingOptions } from '../settings.ts';

/** The option that names the database. */
export const DB_PATH_OPTIONS = settingOptions(['dbPath']);

/** The option that names a namespace of it. */
export const NAMESPACE_OPTION = new Option('--namespace <name>', 'Namespace of the memories.').default(
  DEFAULTS.namespace,
);

/** What the options above were given. */
export interface DatabaseFlags {
  dbPath?: string;
}

/** The path of the database that flags and environment name. */
export function dbPathOf(flags: DatabaseFlags, env: Environment): string {
  return readSettings({ ...(flags.dbPath !== undefined && { dbPath: flags.dbPath }) }, env).dbPath;
}

/** As `dbPathOf`, of a database that is there. */
export function existingDbPath(flags: DatabaseFlags, env: Environment): string {
  const path = dbPathOf(flags, env);
  if (!existsSync(path)) throw new Error(`there is no database at ${path}`);
  return path;
}

/** Does work with a namespace of a database file, whether or not a server uses it: nothing is embedded or consolidated. */
export async function withMemories<T>(
  { flags, env, namespace }: { flags: DatabaseFlags; env: Environment; namespace: string },
  work: (api: MemoryApi) => Promise<T>,
): Promise<T> {
  const dbPath = dbPathOf(flags, env);
  const settings = { ...readSettings({}, env), dbPath, embedder: 'none', sleepIntervalSeconds: 0 };
  const engine = await openEngine({ ...settings, telemetry: { report: () => {} } });
  try {
    return await work(engine.namespace(namespace));
  } finally {
    await engine.close();
  }
}
