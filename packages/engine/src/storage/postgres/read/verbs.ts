import type { Storage } from '../../../ports/storage.ts';
import { memories, memory, session } from '../../sql/memory-pages.ts';
import { isMigrating } from '../../sql/migration-mark.ts';
import { namespaces, namespaceUsage } from '../../sql/namespace-usage.ts';
import type { Queries } from '../../sql/queries.ts';
import { secret } from '../../sql/secret.ts';
import { sessions } from '../../sql/session-summaries.ts';
import { sql } from '../../sql/sql.ts';
import { stats, totals } from '../../sql/stats-query.ts';
import { history, textAt } from '../../sql/text-history.ts';
import type { Connection } from '../connection.ts';
import { integrity } from './integrity.ts';

/** What clients read of what is kept, recall apart. */
export function readVerbs(connection: Connection) {
  const snapshot = <T>(read: (queries: Queries) => Promise<T>) => connection.snapshot(read);
  return {
    memory: (...args) => memory(connection, ...args),
    history: (...args) => snapshot((queries) => history(queries, ...args)),
    textAt: (...args) => snapshot((queries) => textAt(queries, ...args)),
    memories: (...args) => snapshot((queries) => memories(queries, ...args)),
    session: (...args) => snapshot((queries) => session(queries, ...args)),
    sessions: (...args) => snapshot((queries) => sessions(queries, ...args)),
    stats: (...args) => snapshot(async (queries) => ({ ...(await stats(queries, ...args)), ...(await size(queries)) })),
    totals: (...args) =>
      snapshot(async (queries) => ({ ...(await totals(queries, ...args)), ...(await size(queries)) })),
    secret: () => secret(connection),
    usage: (now) => snapshot((queries) => namespaceUsage(queries, now)),
    namespaces: () => namespaces(connection),
    integrity: () => connection.unhurried((queries) => integrity(queries)),
    isMigrating: () => isMigrating(connection),
  } satisfies Partial<Storage>;
}

/** Returns the size of the whole database, whatever else is in it. */
async function size(queries: Queries): Promise<{ sizeBytes: number }> {
  const row = await queries.row<{ sizeBytes: number }>(sql`SELECT pg_database_size(current_database()) AS "sizeBytes"`);
  return row as NonNullable<typeof row>;
}
