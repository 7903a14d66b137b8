import { resolve } from 'node:path';
import type { Connection } from './connection.ts';
import { attempt, unwrap } from './failure.ts';
import { isCorruption } from './file.ts';
import { contentProblems, pageProblems } from './integrity.ts';
import { isCurrentSchema } from './migrate.ts';
import { openWithoutMigrating } from './open-connection.ts';
import { IndexFollower, indexProblems } from './search/index-follower.ts';

/** The result of a verification. `problems` are messages for an operator. */
export interface Verified {
  problems: string[];
  /** `pages` if only the pages were checked, because a page is corrupted or the file has an older schema version. */
  checked: 'pages' | 'everything';
}

/** The stages of a verification, in order. */
export type VerifyStage = 'pages' | 'memories' | 'index';

/**
 * Verifies a database file in one snapshot, even if a server uses the file. Only reads the file. Throws UNAVAILABLE if
 * the file is not a memoryd database, or is from a newer memoryd.
 */
export function verifyFile(dbPath: string, onStage: (stage: VerifyStage) => void = () => {}): Verified {
  return unwrap(
    attempt(() => {
      const connection = openWithoutMigrating(resolve(dbPath), dbPath);
      try {
        // Closing ends the transaction. SQLite rejects a commit after reading a corrupted page, even if nothing was
        // written.
        connection.exec('BEGIN');
        return verify(connection, onStage);
      } finally {
        connection.close();
      }
    }),
    dbPath,
  );
}

function verify(connection: Connection, onStage: (stage: VerifyStage) => void): Verified {
  onStage('pages');
  const corrupt = pageProblems(connection);
  // The contents of corrupted pages cannot be read. The contents of files with an older version have another schema.
  if (corrupt.length > 0 || !isCurrentSchema(connection)) return { problems: corrupt, checked: 'pages' };
  onStage('memories');
  const problems = contentProblems(connection);
  onStage('index');
  return {
    problems: [...problems, ...findIndexProblems(connection)],
    checked: 'everything',
  };
}

/** Builds an index from the file, and returns the differences between the index and the file. */
function findIndexProblems(connection: Connection): string[] {
  try {
    return indexProblems(connection, new IndexFollower().follow(connection));
  } catch (error) {
    if (!isCorruption(error)) throw error;
    return [`the index cannot be built from the file: ${error.message}`];
  }
}
