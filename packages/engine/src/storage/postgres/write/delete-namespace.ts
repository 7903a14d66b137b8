import { deleteKeys } from '../../sql/api-keys.ts';
import { dropNamespace, eraseSome } from '../../sql/delete-namespace.ts';
import { lastOrdinal } from '../../sql/forget.ts';
import type { Connection } from '../connection.ts';
import type { VacuumRequests } from './vacuum.ts';

/** See `Storage.deleteNamespace`. Answers how many memories went. */
export async function deleteNamespace(
  connection: Connection,
  namespace: string,
  vacuum: VacuumRequests,
): Promise<number> {
  const arrivedUntil = await lastOrdinal(connection, namespace);
  await connection.write('keys', (transaction) => deleteKeys(transaction, namespace));
  const hold = { exclusive: namespace };
  const count = await vacuum.after(() =>
    connection.write(hold, (transaction) => eraseSome(transaction, namespace, arrivedUntil)),
  );
  await connection.write(hold, (transaction) => dropNamespace(transaction, namespace));
  return count;
}
