import type { Metadata } from '@memoryd/contract';
import type { Target as WrittenMemory } from '../../target.ts';
import type { Queries } from '../connection.ts';
import { raw, type Sql, sql } from '../sql.ts';

/** As it is read here, with the namespace that every key begins with. */
export interface Target extends WrittenMemory {
  namespace: string;
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

/** Whether a memory counts in its tier. */
export function isInTier({ mergedInto, evictedAt }: Pick<Target, 'mergedInto' | 'evictedAt'>): boolean {
  return mergedInto === null && evictedAt === null;
}

/** What filters find a memory by. */
export function labelsOf({ namespace, ordinal, tags, metadata }: Target) {
  return { namespace, ordinal, tags: JSON.parse(tags) as string[], metadata: JSON.parse(metadata) as Metadata };
}
