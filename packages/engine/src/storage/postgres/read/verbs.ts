import type { Storage } from '../../../ports/storage.ts';
import type { Connection } from '../connection.ts';
import { isMigrating } from '../write/migration.ts';
import { history, textAt } from './history.ts';
import { integrity } from './integrity.ts';
import { memories, memory, session } from './memories.ts';
import { namespaceUsage } from './namespaces.ts';
import { secret } from './secret.ts';
import { sessions } from './sessions.ts';
import { namespaces, stats, totals } from './stats.ts';

/** What clients read of what is kept, recall apart. */
export function readVerbs(connection: Connection) {
  return {
    memory: (...args) => memory(connection, ...args),
    history: (...args) => connection.snapshot((queries) => history(queries, ...args)),
    textAt: (...args) => connection.snapshot((queries) => textAt(queries, ...args)),
    memories: (...args) => memories(connection, ...args),
    session: (...args) => session(connection, ...args),
    sessions: (...args) => sessions(connection, ...args),
    stats: (...args) => connection.snapshot((queries) => stats(queries, ...args)),
    totals: (...args) => connection.snapshot((queries) => totals(queries, ...args)),
    secret: () => secret(connection),
    usage: (now) => connection.snapshot((queries) => namespaceUsage(queries, now)),
    namespaces: () => namespaces(connection),
    integrity: () => connection.unhurried((queries) => integrity(queries)),
    isMigrating: () => isMigrating(connection),
  } satisfies Partial<Storage>;
}
