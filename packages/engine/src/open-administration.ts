import { namespacesOf } from './core/namespaces.ts';
import { KeyRing } from './keys/key-ring.ts';
import { type DatabaseOptions, openStorage } from './open-storage.ts';
import type { Administration } from './ports/administration.ts';
import { systemClock } from './system.ts';

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
    namespaces: namespacesOf(storage, systemClock),
    close: () => storage.close(),
  };
}
