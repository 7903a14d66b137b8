import type { Tier } from '@memoryd/contract';
import { type Connection, sql } from '../connection.ts';

/** What a write has to know of the memory that it changes. */
export interface Target {
  ordinal: number;
  id: string;
  tier: Tier;
  version: number;
  revision: number;
  /** The revision of the last text that consolidation gave it; null where it never did. */
  distilledRevision: number | null;
  expiresAt: number | null;
  evictedAt: number | null;
  mergedInto: string | null;
  supersedes: string | null;
  content: string;
  tags: string;
  metadata: string;
}

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

/** Whether a caller who has seen `versions` may write: any of them is the present one, or none was named. */
export function isCurrent(target: Target, versions: readonly number[] | undefined): boolean {
  return versions === undefined || versions.includes(target.version);
}
