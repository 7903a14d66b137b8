import type { RecallWriter } from '../sql/transaction.ts';
import type { FileQueries } from './queries.ts';
import { enterNew, enterRecall, leaveRecall, relabel } from './recall-entry.ts';
import { askForPurge } from './write/purge.ts';

export function recallWriter(queries: FileQueries): RecallWriter {
  const { connection } = queries;
  return {
    enterNew: async (memories) => enterNew(connection, memories),
    enter: async (_namespace, ordinal) => enterRecall(connection, ordinal),
    relabel: async (_namespace, ordinal) => relabel(connection, ordinal),
    async remove(namespace, ordinals) {
      for (const ordinal of ordinals) leaveRecall(connection, namespace, ordinal);
    },
    noteErased: async () => askForPurge(connection),
  };
}
