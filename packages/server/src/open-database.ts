import { type DatabaseOptions, type Engine, openEngine, type Telemetry } from '@memoryd/engine';
import type { Settings } from './settings.ts';

/** Opens the database of the settings; what keeps it from opening is one sentence that names it. */
export async function openDatabase(settings: Settings, telemetry: Telemetry): Promise<Engine> {
  try {
    return await openEngine({ ...settings, ...settings.database, telemetry });
  } catch (cause) {
    throw new Error(`cannot open ${databaseName(settings.database)}: ${messageOf(cause)}`, { cause });
  }
}

/** What a database is called where others may read it: without the user, the password and whatever else is secret. */
export function databaseName({ dbPath, databaseUrl }: DatabaseOptions): string {
  if (databaseUrl === undefined) return dbPath;
  const { host, pathname } = new URL(databaseUrl);
  return `postgres://${host}${pathname}`;
}

/** What was thrown, as a sentence. */
export function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
