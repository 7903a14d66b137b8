import type { DatabaseOptions } from '@memoryd/engine';
import { databaseName } from '../database-name.ts';
import type { Finding } from './finding.ts';

/** Whether a database on a server can be opened, which readies an empty one as a start does. */
export async function checkServer(database: DatabaseOptions): Promise<Finding> {
  const { openAdministration } = await import('@memoryd/engine');
  const name = databaseName(database);
  try {
    const administration = await openAdministration(database);
    await administration.close();
    return { check: 'database', state: 'ok', found: `${name} answers` };
  } catch (error) {
    const found = `${name}: ${error instanceof Error ? error.message : String(error)}`;
    return { check: 'database', state: 'problem', found, advice: 'see docs/guide/scaling.md for what it has to have' };
  }
}
