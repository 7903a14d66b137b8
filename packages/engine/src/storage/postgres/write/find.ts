import type { Metadata, Tier } from '@memoryd/contract';
import type { Queries } from '../connection.ts';
import { raw, type Sql, sql } from '../sql.ts';

/** What a write has to know of the memory that it changes. */
export interface Target {
  namespace: string;
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

const TARGET = raw(`SELECT namespace, ordinal, id, tier, version, revision,
  distilled_revision AS "distilledRevision", expires_at AS "expiresAt", evicted_at AS "evictedAt",
  merged_into AS "mergedInto", supersedes, content, tags, metadata FROM memory`);

/** A condition: the rows of a memory and, where it was merged, of the twin that it was merged into. */
export function selfOrSurvivor(namespace: string, id: string): Sql {
  return sql`namespace = ${namespace}
    AND id IN (${id}, (SELECT merged_into FROM memory WHERE namespace = ${namespace} AND id = ${id}))`;
}

export function findTarget(queries: Queries, namespace: string, id: string): Promise<Target | undefined> {
  return queries.row<Target>(sql`${TARGET} WHERE namespace = ${namespace} AND id = ${id}`);
}

export function findByOrdinal(queries: Queries, namespace: string, ordinal: number): Promise<Target | undefined> {
  return queries.row<Target>(sql`${TARGET} WHERE namespace = ${namespace} AND ordinal = ${ordinal}`);
}

/** The memories that were merged into this one. */
export function twinsOf(queries: Queries, namespace: string, id: string): Promise<Target[]> {
  return queries.rows<Target>(sql`${TARGET} WHERE namespace = ${namespace} AND merged_into = ${id} ORDER BY ordinal`);
}

/** Whether a caller who has seen `versions` may write: any of them is the present one, or none was named. */
export function isCurrent(target: Target, versions: readonly number[] | undefined): boolean {
  return versions === undefined || versions.includes(target.version);
}

/** Whether a memory counts in its tier. */
export function isInTier({ mergedInto, evictedAt }: Pick<Target, 'mergedInto' | 'evictedAt'>): boolean {
  return mergedInto === null && evictedAt === null;
}

/** What filters find a memory by. */
export function labelsOf({ namespace, ordinal, tags, metadata }: Target) {
  return { namespace, ordinal, tags: JSON.parse(tags) as string[], metadata: JSON.parse(metadata) as Metadata };
}
