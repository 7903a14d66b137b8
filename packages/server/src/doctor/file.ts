import { getMessage } from '../error-text.ts';
import type { Finding } from './finding.ts';

const RESTORE = 'do not delete the file, and restore a backup to another path: memoryd restore COPY --db-path FILE';

/** Checks the database file for corruption. A missing file is no problem. */
export async function checkFile(dbPath: string): Promise<Finding> {
  const { hasDatabase, verifyDatabase } = await import('@memoryd/engine');
  if (!(await hasDatabase({ dbPath })))
    return { check: 'file', state: 'ok', found: `${dbPath} will be created on first use` };
  try {
    const { problems, checked } = await verifyDatabase({ dbPath });
    const [first] = problems;
    if (first === undefined) return { check: 'file', state: 'ok', found: `${dbPath} is intact (${checked} checked)` };
    const more = problems.length > 1 ? `, and ${problems.length - 1} more` : '';
    return { check: 'file', state: 'problem', found: `${first}${more}`, advice: RESTORE };
  } catch (error) {
    const message = getMessage(error);
    const found = message.includes(dbPath) ? message : `${dbPath}: ${message}`;
    return { check: 'file', state: 'problem', found, advice: `set --db-path to the right file; or ${RESTORE}` };
  }
}
