import type { KeptRecord } from '../ports/storage-kept.ts';

/** Characters (UTF-16 units) of what a record holds: a memory's text and those before it, or none. */
export function keptChars(record: KeptRecord): number {
  if (!('memory' in record)) return 0;
  const { content, history } = record.memory;
  return history.reduce((sum, text) => sum + text.content.length, content.length);
}
