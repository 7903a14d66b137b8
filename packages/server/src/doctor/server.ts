import { getDatabaseName } from '@memoryd/engine/defaults';
import { getMessage } from '../error-text.ts';
import type { Finding } from './finding.ts';

/** Checks that a PostgreSQL database can be used, without changing it. */
export async function checkServer(databaseUrl: string): Promise<Finding> {
  const { inspectDatabase } = await import('@memoryd/engine');
  const name = getDatabaseName({ databaseUrl });
  try {
    const { at, last } = await inspectDatabase(databaseUrl);
    const change = at === 0 ? 'create the schema' : `migrate the schema from version ${at} to ${last}`;
    const found = at >= last ? `${name} responds` : `${name} responds; the next start will ${change}`;
    return { check: 'database', state: 'ok', found };
  } catch (error) {
    const found = `${name}: ${getMessage(error)}`;
    return { check: 'database', state: 'problem', found, advice: 'see docs/guide/scaling.md for the requirements' };
  }
}
