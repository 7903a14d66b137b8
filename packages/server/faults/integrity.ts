import { parseDatabase } from '@memoryd/engine';
import { openStorage } from '../../engine/src/open-storage.ts';

/** Returns the integrity problems of a database, and of the in-memory index of a file. Other processes may have it open. */
export async function checkIntegrity(database: string): Promise<string[]> {
  const { storage } = await openStorage({ ...parseDatabase(database), workingMax: 10_000 });
  try {
    return await storage.integrity();
  } finally {
    await storage.close();
  }
}
