import type { Target } from '../../target.ts';
import { type Connection, sql } from '../connection.ts';

const TARGET = `SELECT ordinal, id, tier, version, revision,
  distilled_revision AS distilledRevision, expires_at AS expiresAt, evicted_at AS evictedAt,
  merged_into AS mergedInto, supersedes, content, tags, metadata FROM memory`;

/** The rows of a memory and, where it was merged, of the twin that it was merged into. */
export const SELF_OR_SURVIVOR =
  'id IN (@id, (SELECT merged_into FROM memory WHERE namespace = @namespace AND id = @id))';

export function findTarget(connection: Connection, namespace: string, id: string): Target | undefined {
  return sql(connection, `${TARGET} WHERE namespace = ? AND id = ?`).get(namespace, id) as Target | undefined;
}

export function findByOrdinal(connection: Connection, ordinal: number): Target | undefined {
  return sql(connection, `${TARGET} WHERE ordinal = ?`).get(ordinal) as Target | undefined;
}

/** The memories that were merged into this one. */
export function twinsOf(connection: Connection, namespace: string, id: string): Target[] {
  return sql(connection, `${TARGET} WHERE namespace = ? AND merged_into = ? ORDER BY ordinal`).all(
    namespace,
    id,
  ) as Target[];
}
