import type { Page, PageRequest } from '../ports/page.ts';
import type { StoredMemory } from '../ports/storage-memories.ts';
import { jsonBytes, type MemoryRow, toMemory } from './memory-row.ts';

/** How rows become items: what they are, how many bytes of JSON at most, and after which place to go on. */
interface Paging<Row, Item, Place> {
  toItem(row: Row): Item;
  bytesOf(row: Row): number;
  placeOf(item: Item): Place;
}

/**
 * Takes rows into a page until its limit or size is reached. `rows` must be able to give one more than the limit, by
 * which it is known that another page follows.
 */
export function takePage<Row, Item, Place>(
  rows: Iterable<Row>,
  request: PageRequest<Place>,
  total: number,
  { toItem, bytesOf, placeOf }: Paging<Row, Item, Place>,
): Page<Item, Place> {
  const items: Item[] = [];
  let bytes = 0;
  for (const row of rows) {
    bytes += bytesOf(row);
    const last = items.at(-1);
    if (last && (items.length === request.limit || bytes > request.maxBytes)) {
      return { items, total, next: placeOf(last) };
    }
    items.push(toItem(row));
  }
  return { items, total };
}

/**
 * A page of memories.
 *
 * @param bytesOf bytes of JSON that one takes at most; all of it where absent
 */
export function takeMemories<Place>(
  rows: Iterable<MemoryRow>,
  request: PageRequest<Place>,
  total: number,
  { placeOf, bytesOf = jsonBytes }: { placeOf(memory: StoredMemory): Place; bytesOf?(row: MemoryRow): number },
): Page<StoredMemory, Place> {
  return takePage(rows, request, total, { toItem: toMemory, bytesOf, placeOf });
}
