import { type MemoryAccess, recordAccess } from '@memoryd/engine/storage-kit';
import type { Connection } from '../connection.ts';

/** Namespaces that one transaction writes of: each is a lock, of which a server has room for some thousands. */
const NAMESPACES_AT_ONCE = 256;

/** See `Storage.recordAccess`. */
export async function recordAccesses(connection: Connection, accesses: readonly MemoryAccess[]): Promise<void> {
  const namespaces = [...new Set(accesses.map((access) => access.namespace))];
  for (let from = 0; from < namespaces.length; from += NAMESPACES_AT_ONCE) {
    const some = new Set(namespaces.slice(from, from + NAMESPACES_AT_ONCE));
    const these = accesses.filter((access) => some.has(access.namespace));
    await connection.write({ exclusiveOf: [], shared: [...some] }, (transaction) => recordAccess(transaction, these));
  }
}
