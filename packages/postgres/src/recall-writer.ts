import type { RecallWriter } from '@memoryd/engine/storage-kit';
import { enterAgain, enterNew, leaveRecall, relabel } from './recall-entry.ts';
import type { OwnQueries } from './transaction.ts';

export function recallWriter(queries: OwnQueries): RecallWriter {
  return {
    enterNew: (memories, vectors) => enterNew(queries, memories, vectors),
    enter: (namespace, ordinal) => enterAgain(queries, namespace, ordinal),
    relabel: (namespace, ordinal) => relabel(queries, namespace, ordinal),
    remove: (namespace, ordinals) => leaveRecall(queries, namespace, ordinals),
    // Vacuuming is asked for once the transaction is committed.
    noteErased: async () => {},
  };
}
