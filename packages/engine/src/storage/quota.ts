import type { NamespaceQuota } from '@memoryd/contract';
import type { KeptMemory, OverQuota, Quota } from '../ports/storage.ts';

/** What a namespace may hold and what it holds. */
export interface Room {
  quota: Quota;
  used: Quota;
}

/** What a namespace may hold: what its own quota says, or what all may. */
export function quotaOf(own: NamespaceQuota | undefined, ofAll: Quota): Quota {
  return { memories: own?.memories ?? ofAll.memories, bytes: own?.bytes ?? ofAll.bytes };
}

/** Which quota of a namespace would be exceeded by so much more; undefined where none would. */
export function overQuota({ quota, used }: Room, more: Quota): OverQuota | undefined {
  for (const of of ['memories', 'bytes'] as const) {
    const most = quota[of];
    if (most > 0 && more[of] > 0 && used[of] + more[of] > most) return { outcome: 'over-quota', of, most };
  }
  return undefined;
}

/** What a kept memory counts for: what clients gave it. */
export function takenBy({ tier, content, revision, distilledRevision, history }: KeptMemory): Quota {
  const texts = [...history, { revision, content }].filter((text) => text.revision > (distilledRevision ?? 0));
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text.content), 0);
  return { memories: tier === 'semantic' ? 0 : 1, bytes };
}
