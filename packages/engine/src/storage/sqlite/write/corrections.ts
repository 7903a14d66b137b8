import { type Connection, sql } from '../connection.ts';
import { awaitDistilling } from '../recall-entry.ts';

/** The ids of the memories that rank below another. */
export function correctedBy(connection: Connection, namespace: string, by: string): string[] {
  return sql(connection, 'SELECT id FROM memory WHERE namespace = ? AND superseded_by = ?')
    .pluck()
    .all(namespace, by) as string[];
}

/** Lets memories be corrected by the newest that names them or a twin merged into them, or by none. */
export function correctAnew(connection: Connection, namespace: string, ids: readonly string[]): void {
  const correct = sql(
    connection,
    `UPDATE memory AS m SET superseded_by = newest.id
     FROM (SELECT (
       SELECT newer.id FROM memory newer WHERE newer.namespace = @namespace AND newer.supersedes IN (
         SELECT @id UNION ALL SELECT twin.id FROM memory twin WHERE twin.namespace = @namespace AND twin.merged_into = @id)
       ORDER BY newer.ordinal DESC LIMIT 1) AS id) AS newest
     WHERE m.namespace = @namespace AND m.id = @id AND m.superseded_by IS NOT newest.id RETURNING ordinal`,
  ).pluck();
  for (const id of ids) {
    // It may be a source again of what it left when it was corrected.
    for (const ordinal of correct.all({ namespace, id }) as number[]) awaitDistilling(connection, ordinal);
  }
}
