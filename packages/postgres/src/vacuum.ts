import { BackgroundTask } from '@memoryd/core';
import type { Connection } from './connection.ts';

/** Minimum pause between two vacuums. */
const MIN_INTERVAL_MS = 60_000;

/** Delay before a requested vacuum starts. Further requests within the delay share the vacuum. */
const DEBOUNCE_MS = 1000;

/** Timeout of a vacuum. Large databases are left to autovacuum, which causes less load. */
const TIMEOUT_MS = 30_000;

/** Tables with texts or data derived from texts. */
const TABLES =
  'memory, memory_history, memory_attachment, memory_words, changed_memory, recall_entry, posting, memory_vector, token_states, attribute';

/**
 * Creates the background task that vacuums after forgetting. Deleted row versions remain in pages until a vacuum, in
 * the write-ahead log until it is recycled, and in archives and backups. The task only runs the vacuum earlier than
 * autovacuum would, and gives no guarantee. A vacuum keeps the keys of GIN indexes, so forgotten words stay in
 * `memory_words_by_word` until a REINDEX. Closing the connection ends a running vacuum.
 */
export function createVacuumTask(connection: Connection): BackgroundTask {
  return new BackgroundTask({
    async run() {
      // After a failure, autovacuum does the work later.
      await connection.withoutTransaction(vacuum).catch(() => {});
      return 'done';
    },
    debounceMs: DEBOUNCE_MS,
    restMs: MIN_INTERVAL_MS,
  });
}

async function vacuum(queries: { script(text: string): Promise<void> }): Promise<void> {
  await queries.script(`SET statement_timeout = ${TIMEOUT_MS}`);
  // Skip tables that are locked.
  await queries.script(`VACUUM (SKIP_LOCKED) ${TABLES}`);
}
