import { MemoryError } from '@memoryd/contract';
import { type Engine, type EngineOptions, openEngine, type Telemetry } from '@memoryd/engine';
import { cannotOpen, getDatabaseName } from '@memoryd/engine/defaults';
import { getMessage } from './error-text.ts';
import { engineSettings } from './settings/engine-settings.ts';
import type { Settings } from './settings/read.ts';

/**
 * Opens the database that the settings name.
 *
 * @throws MemoryError or Error with a one-sentence message that names the database
 */
export async function openDatabase(
  settings: Settings,
  telemetry: Telemetry,
  options: Pick<EngineOptions, 'keepModel'> = {},
): Promise<Engine> {
  try {
    return await openEngine({ ...engineSettings(settings), ...settings.database, ...options, telemetry });
  } catch (cause) {
    if (cause instanceof MemoryError) throw cannotOpen(settings.database, cause);
    throw new Error(`cannot open ${getDatabaseName(settings.database)}: ${getMessage(cause)}`, { cause });
  }
}
