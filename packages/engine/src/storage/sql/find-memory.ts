import type { Target } from '../target.ts';
import type { Queries } from './queries.ts';
import { raw, sql } from './sql.ts';

/** The columns of `memory m` that erasing needs. */
export const ERASABLE_COLUMNS = raw(`m.namespace, m.ordinal, m.id, m.tier, m.version, m.revision,
  m.distilled_revision AS "distilledRevision", m.expires_at AS "expiresAt", m.evicted_at AS "evictedAt",
  m.merged_into AS "mergedInto", m.supersedes, m.tags, m.metadata`);

export const TARGET = sql`SELECT ${ERASABLE_COLUMNS}, m.content FROM memory m`;

/** A memory that a write changes, with its namespace. */
export interface FoundMemory extends Target {
  namespace: string;
}

export function findByOrdinal(queries: Queries, namespace: string, ordinal: number): Promise<FoundMemory | undefined> {
  return queries.row<FoundMemory>(sql`${TARGET} WHERE m.namespace = ${namespace} AND m.ordinal = ${ordinal}`);
}
