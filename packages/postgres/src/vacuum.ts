import { BackgroundTask } from '@memoryd/engine/storage-kit';
import type { Connection } from './connection.ts';

/** Least time between two vacuums that forgetting asks for, and between a request and the vacuum that serves it. */
const APART_MS = 60_000;
const AFTER_MS = 1000;

/** Longest that a vacuum may take: a large database is left to autovacuum, which spares others. */
const MAX_MS = 30_000;

/** The tables that hold texts, or what is made of them. */
const TABLES = 'memory, memory_history, recall_entry, posting, memory_vector, token_states, attribute';

/**
 * Asks the database, now and then, to free what forgetting left behind. Old versions of rows stay in its pages until it
 * has been vacuumed, in its log until that is recycled, and in whatever archives and copies it has; so this hastens what
 * autovacuum does anyway, and promises nothing. A vacuum that is under way ends with the connection.
 */
export function vacuumTask(connection: Connection): BackgroundTask {
  return new BackgroundTask({
    async run() {
      // Where it fails, autovacuum comes by in its own time.
      await connection.outside(vacuum).catch(() => {});
      return 'done';
    },
    debounceMs: AFTER_MS,
    restMs: APART_MS,
  });
}

async function vacuum(queries: { script(text: string): Promise<void> }): Promise<void> {
  await queries.script(`SET statement_timeout = ${MAX_MS}`);
  // Past tables that are being worked on.
  await queries.script(`VACUUM (SKIP_LOCKED) ${TABLES}`);
}
