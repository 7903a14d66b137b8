import { databaseNamed, openStorage } from '../../engine/src/open-storage.ts';

/** What is wrong with a database, and with an index in memory made of a file; other processes may be using it. */
export async function checkIntegrity(database: string): Promise<string[]> {
  const { storage } = await openStorage({ ...databaseNamed(database), workingMax: 10_000 });
  try {
    return await storage.integrity();
  } finally {
    await storage.close();
  }
}
