import type { Metadata } from '@memoryd/contract';
import { fromJson } from '../../damage.ts';
import { ERASABLE_COLUMNS, type FoundMemory, TARGET } from '../../sql/find-memory.ts';
import type { Queries } from '../../sql/queries.ts';
import { type Sql, sql } from '../../sql/sql.ts';
import { memoriesBy } from '../row.ts';

export type Target = FoundMemory;

/** What erasing has to know of a memory; texts may be long, and of many memories together too long. */
export type Erasable = Omit<Target, 'content'>;

/** A condition: the rows of a memory and, where it was merged, of the twin that it was merged into. */
export function selfOrSurvivor(namespace: string, id: string): Sql {
  return sql`namespace = ${namespace}
    AND id IN (${id}, (SELECT merged_into FROM memory WHERE namespace = ${namespace} AND id = ${id}))`;
}

export function findTarget(queries: Queries, namespace: string, id: string): Promise<Target | undefined> {
  return queries.row<Target>(sql`${TARGET} WHERE namespace = ${namespace} AND id = ${id}`);
}

/** Those of some memories that are there. */
export function findErasable(queries: Queries, namespace: string, ordinals: readonly number[]): Promise<Erasable[]> {
  return queries.rows<Erasable>(sql`
    SELECT ${ERASABLE_COLUMNS} FROM unnest(${ordinals}::bigint[]) AS named(place)
    CROSS JOIN ${memoriesBy('m', sql`namespace = ${namespace} AND ordinal = named.place`)}`);
}

/** Memories and all their twins: those that they were merged into, and whatever was merged into these. Twins come last. */
export function findClusters(
  queries: Queries,
  namespace: string,
  memories: readonly Pick<Target, 'id' | 'mergedInto'>[],
): Promise<Erasable[]> {
  const survivors = memories.map(({ id, mergedInto }) => mergedInto ?? id);
  const ids = [...survivors, ...memories.map(({ id }) => id)];
  return queries.rows<Erasable>(sql`
    SELECT ${ERASABLE_COLUMNS} FROM (
      SELECT ordinal FROM memory WHERE namespace = ${namespace} AND id = ANY(${ids}::text[])
      UNION
      SELECT ordinal FROM memory WHERE namespace = ${namespace} AND merged_into = ANY(${survivors}::text[])
    ) AS named(place)
    CROSS JOIN ${memoriesBy('m', sql`namespace = ${namespace} AND ordinal = named.place`)}
    ORDER BY m.merged_into IS NOT NULL, m.ordinal`);
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
export function labelsOf({ namespace, ordinal, tags, metadata }: Erasable) {
  return { namespace, ordinal, tags: fromJson<string[]>(tags), metadata: fromJson<Metadata>(metadata) };
}
