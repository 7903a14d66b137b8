import { hash } from 'node:crypto';
import { type Connection, sql } from './connection.ts';

/** Stands for a group of memories with the texts that they have now, in whatever order they are named. */
export function groupDigest(connection: Connection, ordinals: readonly number[]): Buffer {
  const textOf = sql(connection, "SELECT id || ' ' || revision FROM memory WHERE ordinal = ?").pluck();
  const texts = ordinals.map((ordinal) => textOf.get(ordinal) as string);
  return hash('sha256', texts.sort().join('\n'), 'buffer');
}

/** Whether a client has forgotten what was distilled from this group, as it is now. */
export function isDeclined(connection: Connection, namespace: string, ordinals: readonly number[]): boolean {
  const declined = sql(connection, 'SELECT 1 FROM declined_group WHERE namespace = ? AND digest = ?');
  return declined.get(namespace, groupDigest(connection, ordinals)) !== undefined;
}
