import type { ImportCopy, ImportedCopy } from '../ports/storage-imports.ts';
import type { Queries } from './queries.ts';
import { raw, sql } from './sql.ts';

/** See `Storage.importCopies`. */
export function importCopies(queries: Queries, namespace: string, after: number, limit: number): Promise<ImportCopy[]> {
  return queries.rows<ImportCopy>(sql`
    SELECT no, id, user_id AS "userId", agent_id AS "agentId", format, name, content_digest AS "contentDigest",
      started_at AS "startedAt", ended_at AS "endedAt", undoing, imported_count AS "importedCount"
    FROM import_run WHERE namespace = ${namespace} AND no > ${after} ORDER BY no LIMIT ${limit}`);
}

/** See `Storage.importedCopies`. */
export function importedCopies(
  queries: Queries,
  namespace: string,
  after: number,
  limit: number,
): Promise<ImportedCopy[]> {
  return queries.rows<ImportedCopy>(sql`
    SELECT i.ordinal, m.id AS "memoryId", run.id AS "importId", i.digest, i.version, (
      SELECT later.id FROM import_run later WHERE later.namespace = i.namespace AND later.no = i.changed_by) AS "changedBy"
    FROM imported_memory i CROSS JOIN memory m CROSS JOIN import_run run
    WHERE i.namespace = ${namespace} AND i.ordinal > ${after} AND m.namespace = i.namespace AND m.ordinal = i.ordinal
      AND run.namespace = i.namespace AND run.no = i.run
    ORDER BY i.ordinal LIMIT ${limit}`);
}

const RUN_COLUMNS = {
  namespace: 'text',
  id: 'text',
  user_id: 'text',
  agent_id: 'text',
  format: 'text',
  name: 'text',
  content_digest: 'text',
  started_at: 'bigint',
  ended_at: 'bigint',
  undoing: 'integer',
  imported_count: 'bigint',
} as const;

const COPY = { memoryId: 'text', importId: 'text', changedBy: 'text', digest: 'text', version: 'integer' } as const;

/** See `Storage.restoreImports`. */
export async function restoreImports(
  transaction: Queries,
  namespace: string,
  imports: readonly ImportCopy[],
  memories: readonly ImportedCopy[],
): Promise<void> {
  const rows = imports.map((copy) => ({
    namespace,
    id: copy.id,
    user_id: copy.userId,
    agent_id: copy.agentId,
    format: copy.format,
    name: copy.name,
    content_digest: copy.contentDigest,
    started_at: copy.startedAt,
    ended_at: copy.endedAt,
    undoing: copy.undoing,
    imported_count: copy.importedCount,
  }));
  await transaction.insert('import_run', RUN_COLUMNS, rows, raw('ON CONFLICT DO NOTHING'));
  if (memories.length === 0) return;
  const { records, joinMemory } = transaction.dialect;
  const key = { namespace: sql`${namespace}`, id: raw('copy."memoryId"') };
  await transaction.run(sql`
    INSERT INTO imported_memory (namespace, ordinal, run, changed_by, digest, version)
    SELECT m.namespace, m.ordinal, run.no,
      (SELECT later.no FROM import_run later WHERE later.namespace = m.namespace AND later.id = copy."changedBy"),
      copy.digest, copy.version
    FROM ${records('copy', COPY, memories)} ${joinMemory('m', key, 'memory_by_id')} CROSS JOIN import_run run
    WHERE run.namespace = m.namespace AND run.id = copy."importId"
    ON CONFLICT DO NOTHING`);
}
