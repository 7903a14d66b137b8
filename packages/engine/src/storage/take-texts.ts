import type { Page, PageRequest } from '../ports/page.ts';
import type { MemoryText } from '../ports/storage-memories.ts';
import { takePage } from './page.ts';

/** A text that a memory has or had, as both adapters select it. */
export type TextRow = Omit<MemoryText, 'heldFrom'>;

/**
 * A page of a memory's texts, each held from when the one before it was replaced. A place is a revision.
 *
 * @param heldFrom from when the first of them held
 */
export function takeTexts(
  rows: Iterable<TextRow>,
  request: PageRequest<number>,
  total: number,
  heldFrom: number,
): Page<MemoryText, number> {
  let from = heldFrom;
  return takePage(rows, request, total, {
    toItem: (row) => {
      const text = { ...row, heldFrom: from };
      from = row.heldUntil ?? from;
      return text;
    },
    bytesOf: ({ content }) => Buffer.byteLength(JSON.stringify(content)),
    placeOf: ({ revision }) => revision,
  });
}
