import { systemClock } from './clock/system-clock.ts';
import { namespacesOf } from './core/namespaces.ts';
import type { Administration } from './engine.ts';
import { KeyRing } from './keys/key-ring.ts';
import { openStorage } from './open-storage.ts';

/**
 * Opens a database file for its keys and namespaces alone: no model is opened, no index is made and nothing consolidates.
 * Rejects with UNAVAILABLE when the file cannot be used.
 */
export async function openAdministration({ dbPath }: { dbPath: string }): Promise<Administration> {
  const { storage, keys } = await openStorage({ dbPath, workingMax: Number.MAX_SAFE_INTEGER, recalls: false });
  return {
    keys: new KeyRing(keys, systemClock),
    namespaces: namespacesOf(storage, systemClock),
    close: () => storage.close(),
  };
}
