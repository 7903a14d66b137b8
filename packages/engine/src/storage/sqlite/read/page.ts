import type { Page, PageRequest, StoredMemory } from '../../../ports/storage.ts';
import { jsonBytes, type MemoryRow, toMemory } from '../row.ts';

/**
 * Takes rows into a page until its limit or size is reached. `rows` must be able to give one more than the limit, by
 * which it is known that another page follows.
 */
export function takePage<Place>(
  rows: Iterable<MemoryRow>,
  request: PageRequest<Place>,
  total: number,
  placeOf: (memory: StoredMemory) => Place,
): Page<StoredMemory, Place> {
  const items: StoredMemory[] = [];
  let bytes = 0;
  for (const row of rows) {
    bytes += jsonBytes(row);
    const last = items.at(-1);
    if (last && (items.length === request.limit || bytes > request.maxBytes)) {
      return { items, total, next: placeOf(last) };
    }
    items.push(toMemory(row));
  }
  return { items, total };
}
