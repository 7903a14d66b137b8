import type { Storage } from '../../../ports/storage.ts';
import type { Connection, Queries } from '../connection.ts';
import { isMigrating } from '../write/migration.ts';
import { history, textAt } from './history.ts';
import { integrity } from './integrity.ts';
import { memories, memory, session } from './memories.ts';
import { namespaces, namespaceUsage } from './namespaces.ts';
import { secret } from './secret.ts';
import { sessions } from './sessions.ts';
import { stats, totals } from './stats.ts';

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
    stats: (...args) => snapshot((queries) => stats(queries, ...args)),
    totals: (...args) => snapshot((queries) => totals(queries, ...args)),
    secret: () => secret(connection),
    usage: (now) => snapshot((queries) => namespaceUsage(queries, now)),
    namespaces: () => namespaces(connection),
    integrity: () => connection.unhurried((queries) => integrity(queries)),
    isMigrating: () => isMigrating(connection),
  } satisfies Partial<Storage>;
}
