import type { ForgetSelection, OnForgotten } from '../../../ports/storage-memories.ts';
import { forgetSome, lastOrdinal } from '../../sql/forget.ts';
import type { Connection } from '../connection.ts';
import type { VacuumRequests } from './vacuum.ts';

/** See `Storage.forgetMany`. */
export async function forgetMany(
  connection: Connection,
  namespace: string,
  selection: ForgetSelection,
  { vacuum, onForgotten }: { vacuum: VacuumRequests; onForgotten?: OnForgotten | undefined },
): Promise<{ count: number; embedding: boolean; purged: boolean }> {
  // What is stored from now on is not meant, however long this takes.
  const arrivedUntil = await lastOrdinal(connection, namespace);
  let embedding = false;
  const count = await vacuum.after(async () => {
    const some = await connection.write({ exclusive: namespace }, (transaction) =>
      forgetSome(transaction, namespace, selection, arrivedUntil),
    );
    if (some.count > 0) onForgotten?.(some);
    embedding ||= some.embedding;
    return some.count;
  });
  return { count, embedding, purged: count === 0 };
}
