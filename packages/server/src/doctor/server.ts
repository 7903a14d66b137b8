import { databaseName } from '../database-name.ts';
import { getMessage } from '../message-of.ts';
import type { Finding } from './finding.ts';

/** Whether a database on a server can be used, which it is not changed by. */
export async function checkServer(databaseUrl: string): Promise<Finding> {
  const { inspectDatabase } = await import('@memoryd/engine');
  const name = databaseName({ databaseUrl });
  try {
    const { at, last } = await inspectDatabase(databaseUrl);
    const change = at === 0 ? 'is made ready' : `is taken from schema ${at} to ${last}`;
    const found = at >= last ? `${name} answers` : `${name} answers, and ${change} at the next start`;
    return { check: 'database', state: 'ok', found };
  } catch (error) {
    const found = `${name}: ${getMessage(error)}`;
    return { check: 'database', state: 'problem', found, advice: 'see docs/guide/scaling.md for what it has to have' };
  }
}
