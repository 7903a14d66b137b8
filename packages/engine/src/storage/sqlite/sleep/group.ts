import type { GroupRequest, ReadGroup } from '../../../ports/storage-distil.ts';
import { DISTILLABLE } from '../../conditions.ts';
import { aheadFrom } from '../../settling.ts';
import { BLANKS, isWritten, MOST_SOURCE_CHARS } from '../../sources.ts';
import { type Connection, sql } from '../connection.ts';
import { isDeclined } from '../group-digest.ts';
import { findByOrdinal } from '../write/find.ts';
import { OLD_ENOUGH } from './settle.ts';

/** See `Storage.readGroup`. */
export function readGroup(connection: Connection, request: GroupRequest): ReadGroup {
  const { namespace, semantic, settledUntil } = request;
  const sources = sql(
    connection,
    `SELECT m.ordinal, m.version, m.id, m.created_at AS createdAt, substr(ltrim(m.content, @blanks), 1, ${MOST_SOURCE_CHARS}) AS content
     FROM (SELECT value AS ordinal FROM json_each(@joining)
           UNION SELECT source FROM memory_source WHERE semantic = @semantic)
     CROSS JOIN memory m USING (ordinal)
     WHERE m.namespace = @namespace AND ${DISTILLABLE}
       AND (m.tier = 'episodic' OR m.tier = 'working' AND ${OLD_ENOUGH})
     ORDER BY m.created_at, m.ordinal`,
  ).all({
    namespace,
    blanks: BLANKS,
    joining: JSON.stringify(request.joining),
    semantic: semantic ?? null,
    settledUntil,
    aheadFrom: aheadFrom(request),
  }) as ReadGroup['sources'];
  const ordinals = sources.map((source) => source.ordinal);
  const memory = semantic === undefined ? undefined : findByOrdinal(connection, semantic);
  const isOpen = semantic === undefined || (memory?.evictedAt === null && !isWritten(memory));
  return {
    sources,
    isClosed: !isOpen || isDeclined(connection, namespace, ordinals),
    ...(memory && { semanticId: memory.id }),
  };
}
