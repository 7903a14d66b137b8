import { openSqlite } from '../../engine/src/storage/sqlite/open.ts';

/** What is wrong with a database file, and with an index in memory made of it; other processes may be using the file. */
export async function integrityOf(dbPath: string): Promise<string[]> {
  const { storage } = await openSqlite({ path: dbPath, workingMax: 10_000 });
  try {
    return await storage.integrity();
  } finally {
    await storage.close();
  }
}
