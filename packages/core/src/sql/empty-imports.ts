import type { Owner } from '@memoryd/search';
import type { Queries } from './queries.ts';
import { raw, type Sql, sql } from './sql.ts';

/** Number of an owner's newest imports that are never deleted. Older ones are deleted once no memory belongs to them, or was last changed by them. */
const MIN_LISTED_IMPORTS = 1000;

/** Deletes the imports of an owner without memories, except the newest ones. */
export async function dropEmptyImports(queries: Queries, namespace: string, { userId, agentId }: Owner): Promise<void> {
  const isOwn = sql`namespace = ${namespace} AND user_id = ${userId} AND agent_id = ${agentId}`;
  await queries.run(sql`
    DELETE FROM import_run AS run WHERE ${isOwn}
      AND no < (SELECT no FROM import_run WHERE ${isOwn} ORDER BY no DESC LIMIT 1 OFFSET ${MIN_LISTED_IMPORTS - 1})
      AND ${hasNoMemories('run')}`);
}

/** Whether no memory belongs to an import, and none was changed by it last. Only then may its row be deleted. */
export function hasNoMemories(run: string): Sql {
  return raw(`NOT EXISTS (SELECT 1 FROM imported_memory i WHERE i.namespace = ${run}.namespace AND i.run = ${run}.no)
    AND NOT EXISTS (SELECT 1 FROM imported_memory i WHERE i.namespace = ${run}.namespace AND i.changed_by = ${run}.no)`);
}
