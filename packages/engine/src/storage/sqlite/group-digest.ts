import { groupDigestOf } from '../group-digest.ts';
import { type Connection, sql } from './connection.ts';

/** Stands for a group of memories with the texts that they have now, in whatever order they are named. */
export function groupDigest(connection: Connection, ordinals: readonly number[]): Buffer {
  const textOf = sql(connection, 'SELECT id, revision FROM memory WHERE ordinal = ?');
  return groupDigestOf(ordinals.map((ordinal) => textOf.get(ordinal) as { id: string; revision: number }));
}
