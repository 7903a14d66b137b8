import { existsSync } from 'node:fs';
import { getMessage } from '../message-of.ts';
import type { Finding } from './finding.ts';

const RESTORE = 'keep the file, and restore a backup elsewhere: memoryd restore COPY --db-path FILE';

/** Whether the database is whole; one that is not there yet is no problem. */
export async function checkFile(dbPath: string): Promise<Finding> {
  const { verifyDatabase } = await import('@memoryd/engine');
  if (!existsSync(dbPath))
    return { check: 'file', state: 'ok', found: `${dbPath} is made at the first store or start` };
  try {
    const { problems, checked } = await verifyDatabase({ dbPath });
    const [first] = problems;
    if (first === undefined) return { check: 'file', state: 'ok', found: `${dbPath} is sound (${checked} checked)` };
    const more = problems.length > 1 ? `, and ${problems.length - 1} more` : '';
    return { check: 'file', state: 'problem', found: `${first}${more}`, advice: RESTORE };
  } catch (error) {
    const found = `${dbPath}: ${getMessage(error)}`;
    return { check: 'file', state: 'problem', found, advice: `name the right file by --db-path; or ${RESTORE}` };
  }
}
