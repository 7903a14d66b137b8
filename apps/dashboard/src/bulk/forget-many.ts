import { MemoryError } from '@memoryd/client';
import { formatCount, formatMemories } from '../format.ts';
import type { Memories } from '../service.tsx';
import { type FrozenSelection, fetchIds, toChunks } from './frozen-selection.ts';
import { scheduleForget } from './pending-forgets.ts';

/** Ids of one request, in its URL. A proxy may refuse longer URLs. */
const MAX_IDS = 100;

/**
 * Forgets the selected memories in ten seconds, unless it is undone. Memories that were stored or changed since they
 * were selected stay.
 */
export function forgetMany(memory: Memories, frozen: FrozenSelection): void {
  let left: string[][] | undefined;
  let selectedCount = 0;
  let forgottenCount = 0;
  let isUnsure = false;
  const run = async (): Promise<string> => {
    if (!left) {
      const ids = await fetchIds(memory, frozen);
      selectedCount = ids.length;
      left = toChunks(ids, MAX_IDS);
    }
    for (let ids = left[0]; ids; ids = left[0]) {
      try {
        const { forgotten_count } = await memory.forgetMany({ id: ids, filter: frozen.unchanged });
        forgottenCount += forgotten_count;
      } catch (error) {
        // The service may have forgotten them; a repeated request ignores those that do not exist.
        isUnsure ||= error instanceof MemoryError && error.isUnanswered;
        throw error;
      }
      left.shift();
    }
    return isUnsure ? 'The selected memories are forgotten.' : describe(forgottenCount, selectedCount);
  };
  scheduleForget({ ids: frozen.ids, label: formatMemories(frozen.count, frozen.hasMore), run });
}

function describe(forgotten: number, selected: number): string {
  const text = `${formatMemories(forgotten)} forgotten`;
  if (forgotten > selected) return `${text}, with duplicates and summaries.`;
  if (forgotten === selected) return `${text}.`;
  return `${text}. ${formatCount(selected - forgotten, 'memory was', 'memories were')} changed or forgotten meanwhile.`;
}
