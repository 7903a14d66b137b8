import type { StoredMemory } from '../../../ports/storage.ts';
import { type Connection, sql } from '../connection.ts';
import { jsonBytes, MEMORY_COLUMNS, MEMORY_TABLES, type MemoryRow, toMemory } from '../row.ts';

/** See `Storage.read`. */
export function readContents(
  connection: Connection,
  namespace: string,
  ordinals: readonly number[],
  maxBytes: number,
): { memories: StoredMemory[]; truncated: boolean } {
  const byOrdinal = sql(
    connection,
    `SELECT ${MEMORY_COLUMNS} FROM ${MEMORY_TABLES} WHERE m.ordinal = ? AND m.namespace = ?`,
  );
  const memories: StoredMemory[] = [];
  let bytes = 0;
  for (const ordinal of ordinals) {
    const row = byOrdinal.get(ordinal, namespace) as MemoryRow | undefined;
    if (!row) continue;
    bytes += jsonBytes(row);
    if (memories.length > 0 && bytes > maxBytes) return { memories, truncated: true };
    memories.push(toMemory(row));
  }
  return { memories, truncated: false };
}
