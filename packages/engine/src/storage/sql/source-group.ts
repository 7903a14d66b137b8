import type { GroupRequest, ReadGroup } from '../../ports/storage-distil.ts';
import { DISTILLABLE } from '../conditions.ts';
import { BLANKS, isWritten, MOST_SOURCE_CHARS } from '../sources.ts';
import { isDeclined } from './declined-groups.ts';
import { hasSettled } from './filters.ts';
import { findByOrdinal } from './find-memory.ts';
import type { Queries } from './queries.ts';
import { raw, sql } from './sql.ts';

/** See `Storage.readGroup`. To be asked in a snapshot. */
export async function readGroup(queries: Queries, request: GroupRequest): Promise<ReadGroup> {
  const { namespace, semantic, joining } = request;
  const sources = await queries.rows<ReadGroup['sources'][number]>(sql`
    SELECT m.ordinal, m.version, m.id, m.created_at AS "createdAt",
      substr(ltrim(m.content, ${BLANKS}), 1, ${MOST_SOURCE_CHARS}) AS content
    FROM (
      SELECT ordinal FROM ${queries.dialect.ordinals('joining', joining)}
      UNION SELECT source FROM memory_source WHERE namespace = ${namespace} AND semantic = ${semantic ?? null}) AS named
    CROSS JOIN memory m
    WHERE m.namespace = ${namespace} AND m.ordinal = named.ordinal AND m.tier <> 'semantic' AND ${raw(DISTILLABLE)} AND ${hasSettled(request)}
    ORDER BY m.created_at, m.ordinal`);
  const ordinals = sources.map((source) => source.ordinal);
  const memory = semantic === undefined ? undefined : await findByOrdinal(queries, namespace, semantic);
  const isOpen = semantic === undefined || (memory?.evictedAt === null && !isWritten(memory));
  return {
    sources,
    isClosed: !isOpen || (await isDeclined(queries, namespace, ordinals)),
    ...(memory && { semanticId: memory.id }),
  };
}
