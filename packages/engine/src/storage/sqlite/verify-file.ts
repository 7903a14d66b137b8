import { resolve } from 'node:path';
import type { Connection } from './connection.ts';
import { isDamage } from './file.ts';
import { attempt, unwrap } from './file-failure.ts';
import { contentProblems, pageProblems } from './file-integrity.ts';
import { isOfPresentSchema } from './migrate-file.ts';
import { openAsItIs } from './open-connection.ts';
import { IndexFollower, indexProblems } from './search/index-follower.ts';

/** What was found to be wrong with a database file, in words for an operator. */
export interface Verified {
  problems: string[];
  /** `pages`: only these were checked, since they are damaged or the file is of an earlier version. */
  checked: 'pages' | 'everything';
}

/** What is checked, in this order. */
export type VerifyStage = 'pages' | 'memories' | 'index';

/**
 * Checks a database file, whether or not a server uses it, as it is at one moment; it is only read. UNAVAILABLE where it is
 * no database of memoryd, or one of a newer memoryd.
 */
export function verifyFile(dbPath: string, onStage: (stage: VerifyStage) => void = () => {}): Verified {
  return unwrap(
    attempt(() => {
      const connection = openAsItIs(resolve(dbPath));
      try {
        // Ended by closing: of a damaged file, not even a transaction that wrote nothing can be committed.
        connection.exec('BEGIN');
        return verify(connection, onStage);
      } finally {
        connection.close();
      }
    }),
  );
}

function verify(connection: Connection, onStage: (stage: VerifyStage) => void): Verified {
  onStage('pages');
  const damaged = pageProblems(connection);
  // What stands on damaged pages cannot be read, and what an earlier version kept is not known here.
  if (damaged.length > 0 || !isOfPresentSchema(connection)) return { problems: damaged, checked: 'pages' };
  onStage('memories');
  const problems = contentProblems(connection);
  onStage('index');
  return {
    problems: [...problems, ...readIndexProblems(connection)],
    checked: 'everything',
  };
}

/** What is wrong with an index that is made of the file, or what keeps it from being made. */
function readIndexProblems(connection: Connection): string[] {
  try {
    return indexProblems(connection, new IndexFollower().follow(connection));
  } catch (error) {
    if (!isDamage(error)) throw error;
    return [`no index can be made of the file: ${error.message}`];
  }
}
