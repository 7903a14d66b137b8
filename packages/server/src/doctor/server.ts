import type { Telemetry } from '@memoryd/engine';
import { getDatabaseName } from '@memoryd/engine/defaults';
import { getMessage } from '../error-text.ts';
import type { Finding } from './finding.ts';

/** Checks that a PostgreSQL database can be used, without changing it. */
export async function checkServer(databaseUrl: string): Promise<Finding> {
  const { inspectDatabase } = await import('@memoryd/engine');
  const name = getDatabaseName({ databaseUrl });
  const reasons: string[] = [];
  const telemetry: Telemetry = { report: ({ facts }) => void reasons.push(String(facts?.message)) };
  try {
    const { at, last } = await inspectDatabase(databaseUrl, telemetry);
    const change = at === 0 ? 'create the schema' : `migrate the schema from version ${at} to ${last}`;
    const found = at >= last ? `${name} responds` : `${name} responds; the next start will ${change}`;
    return { check: 'database', state: 'ok', found };
  } catch (error) {
    // The reasons of the hosts replace the message, which only says that no host can be used.
    const found = `${name}: ${reasons.at(-1) ?? getMessage(error)}`;
    return { check: 'database', state: 'problem', found, advice: 'see docs/guide/scaling.md for the requirements' };
  }
}
