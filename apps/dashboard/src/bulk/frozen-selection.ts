import type { MemorySelection } from '@memoryd/client';
import { MAX_CHANGED_IDS } from '@memoryd/contract/limits';
import type { ListFilter } from '../filter.ts';
import type { Selected } from '../memories/selection.tsx';
import type { Memories } from '../service.tsx';

/** Memories of one page of a list whose ids are collected. */
const PAGE_MEMORIES = 1000;

/**
 * The selected memories as they were at one moment. Memories that are stored later, and memories that are changed later,
 * do not belong to it.
 */
export interface FrozenSelection {
  /** Number of selected memories. */
  count: number;
  /** Whether more are selected, which were not counted. */
  hasMore: boolean;
  /** Undefined if all memories that match the filter are selected. */
  ids: readonly string[] | undefined;
  /** The filter of the list, of memories that were not changed since. */
  filter: ListFilter;
  /** The condition that a memory was not changed since. */
  unchanged: { updated_at: { $lte: string } };
}

/** Returns the selection of all memories that match a filter now. */
export async function fetchAll(memory: Memories, filter: ListFilter, signal: AbortSignal) {
  const { memories, total, counted_count } = await memory.memories({ ...filter, limit: 1 }, { signal });
  return { kind: 'all', total, hasMore: counted_count !== undefined, until: memories[0]?.created_at } as const;
}

/** Returns a list without the memories that were stored after a time. */
export const getListUntil = (filter: ListFilter, until: string | undefined): ListFilter =>
  until === undefined ? filter : { ...filter, until };

/** Returns the list that has the selected memories. Memories that were selected one by one may no longer match the filter. */
const getSelectedList = (selected: Selected, filter: ListFilter): ListFilter =>
  selected.kind === 'ids' ? {} : getListUntil(filter, selected.until);

/** Records which memories are selected now. */
export async function freezeSelection(
  memory: Memories,
  selected: Selected,
  list: ListFilter,
): Promise<FrozenSelection> {
  const shown = getSelectedList(selected, list);
  // The time of the last change comes from the service, because the clocks may differ.
  const { memories, total, counted_count } = await memory.memories({ ...shown, order: 'changed', limit: 1 });
  const unchanged = { updated_at: { $lte: memories[0]?.updated_at ?? new Date(0).toISOString() } };
  return {
    count: selected.kind === 'ids' ? selected.ids.size : total,
    hasMore: selected.kind === 'all' && counted_count !== undefined,
    ids: selected.kind === 'ids' ? [...selected.ids] : undefined,
    filter: { ...shown, filter: { ...list.filter, ...unchanged } },
    unchanged,
  };
}

/** Returns the ids of the selected memories that were not changed since. */
export async function fetchIds(memory: Memories, { ids, filter }: FrozenSelection): Promise<readonly string[]> {
  if (ids) return ids;
  const found: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await memory.memories({ ...filter, limit: PAGE_MEMORIES, ...(cursor !== undefined && { cursor }) });
    found.push(...page.memories.map(({ id }) => id));
    cursor = page.next_cursor;
  } while (cursor !== undefined);
  return found;
}

/** Returns the selections of the changes that together change the selected memories. */
export async function getSelections(memory: Memories, frozen: FrozenSelection): Promise<MemorySelection[]> {
  const { current, as_of, ...conditions } = frozen.filter;
  // A change has no conditions of validity.
  const isById = frozen.ids !== undefined || current || as_of !== undefined;
  if (!isById) return [conditions];
  return toChunks(await fetchIds(memory, frozen), MAX_CHANGED_IDS).map((ids) => ({ ids }));
}

export function toChunks<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, i) => items.slice(i * size, (i + 1) * size));
}
