import type { RecallWriter } from '../sql/transaction.ts';
import { enterAgain, leaveRecall, relabel } from './recall-entry.ts';
import type { OwnQueries } from './transaction.ts';
import { insertMemories } from './write/insert.ts';

export function recallWriter(queries: OwnQueries): RecallWriter {
  return {
    insert: (memories, tier) => insertMemories(queries, memories, tier),
    enter: (namespace, ordinal) => enterAgain(queries, namespace, ordinal),
    relabel: (namespace, ordinal) => relabel(queries, namespace, ordinal),
    remove: (namespace, ordinals) => leaveRecall(queries, namespace, ordinals),
    // Vacuuming is asked for once the transaction is committed.
    noteErased: async () => {},
  };
}
