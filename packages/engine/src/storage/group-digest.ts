import { hash } from 'node:crypto';

/** Stands for a group of memories with the texts that they have now, each as its id and revision, in any order. */
export function groupDigestOf(texts: readonly { id: string; revision: number }[]): Buffer {
  const named = texts.map(({ id, revision }) => `${id} ${revision}`);
  return hash('sha256', named.sort().join('\n'), 'buffer');
}
