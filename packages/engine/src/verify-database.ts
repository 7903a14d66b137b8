import { type DatabaseOptions, openStorage } from './open-storage.ts';
import { type Verified, type VerifyStage, verifyFile } from './storage/sqlite/verify-file.ts';

/** Checks a database, whether or not a server uses it. UNAVAILABLE where it is none of memoryd, or of a newer one. */
export async function verifyDatabase(
  database: DatabaseOptions,
  onStage: (stage: VerifyStage) => void = () => {},
): Promise<Verified> {
  if (database.dbPath !== undefined) return verifyFile(database.dbPath, onStage);
  const { storage } = await openStorage({ ...database, workingMax: Number.MAX_SAFE_INTEGER, recalls: false });
  try {
    onStage('memories');
    return { problems: await storage.integrity(), checked: 'everything' };
  } finally {
    await storage.close();
  }
}
