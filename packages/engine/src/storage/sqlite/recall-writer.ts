import type { RecallWriter } from '../sql/transaction.ts';
import type { FileQueries } from './queries.ts';
import { enterRecall, leaveRecall, relabel } from './recall-entry.ts';
import { insertMemories } from './write/insert.ts';
import { askForPurge } from './write/purge.ts';

export function recallWriter(queries: FileQueries): RecallWriter {
  const { connection } = queries;
  return {
    insert: (memories, tier) => insertMemories(queries, memories, tier),
    enter: async (_namespace, ordinal) => enterRecall(connection, ordinal),
    relabel: async (_namespace, ordinal) => relabel(connection, ordinal),
    async remove(namespace, ordinals) {
      for (const ordinal of ordinals) leaveRecall(connection, namespace, ordinal);
    },
    noteErased: async () => askForPurge(connection),
  };
}
