import { resolve } from 'node:path';
import { type Connection, openAsItIs } from './connection.ts';
import { attempt, toFailure, unwrap } from './failure.ts';
import { isOfPresentSchema } from './migrate.ts';
import { contentProblems, pageProblems } from './read/integrity.ts';
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
  const damaged = readable(() => pageProblems(connection));
  // What stands on damaged pages cannot be read, and what an earlier version kept is not known here.
  if (damaged.length > 0 || !isOfPresentSchema(connection)) return { problems: damaged, checked: 'pages' };
  onStage('memories');
  const problems = contentProblems(connection);
  onStage('index');
  return {
    problems: [...problems, ...indexProblems(connection, new IndexFollower().follow(connection))],
    checked: 'everything',
  };
}

/** What a check says, or what keeps it from reading the pages at all. */
function readable(check: () => string[]): string[] {
  try {
    return check();
  } catch (error) {
    const { code, message } = toFailure(error);
    if (!/^SQLITE_(CORRUPT|NOTADB|IOERR)/.test(code)) throw error;
    return [message];
  }
}
