import type { Memory } from '@memoryd/client';
import { createFileName } from '../admin/download.ts';
import { isNotFound } from '../errors.ts';
import type { ListFilter } from '../filter.ts';
import { formatCount, formatMemories, formatNumber } from '../format.ts';
import type { Selected } from '../memories/selection.tsx';
import type { Memories } from '../service.tsx';
import { download } from './download-toast.ts';
import type { ExportFormat } from './export-formats.ts';
import { getListUntil } from './frozen-selection.ts';

/** Memories of one request. */
const PAGE_MEMORIES = 500;
/** Number of selected memories up to which each is read by itself, instead of being looked for in the filtered list. */
const MAX_SINGLE = 50;

let exportCount = 0;

/** Saves the selected memories as a file, newest first. */
export function exportMemories(memory: Memories, selected: Selected, filter: ListFilter, format: ExportFormat): void {
  const { total, hasMore } = selected.kind === 'ids' ? { total: selected.ids.size, hasMore: false } : selected;
  let done = 0;
  void download({
    key: `export ${exportCount++}`,
    name: createFileName('memories', format.extension),
    async *read(signal, show) {
      done = 0;
      yield format.begin(formatMemories(total, hasMore));
      for await (const memories of readPages(memory, selected, filter, signal)) {
        yield memories.map(format.format).join('');
        done += memories.length;
        show();
      }
    },
    describe: () => `Exporting ${formatNumber(done)} of ${formatMemories(Math.max(total, done), hasMore)}…`,
    describeSaved() {
      const missing = selected.kind === 'ids' ? total - done : 0;
      const lost = missing > 0 ? ` ${formatCount(missing, 'memory was', 'memories were')} forgotten meanwhile.` : '';
      return `Exported ${formatMemories(done)}.${lost}`;
    },
  });
}

async function* readPages(
  memory: Memories,
  selected: Selected,
  filter: ListFilter,
  signal: AbortSignal,
): AsyncGenerator<Memory[]> {
  const ids = selected.kind === 'ids' ? selected.ids : undefined;
  if (ids && ids.size <= MAX_SINGLE) {
    yield await readEach(memory, ids, signal);
    return;
  }
  const list = { ...getListUntil(filter, selected.kind === 'all' ? selected.until : undefined), limit: PAGE_MEMORIES };
  const missing = new Set(ids);
  let cursor: string | undefined;
  do {
    const page = await memory.memories({ ...list, ...(cursor !== undefined && { cursor }) }, { signal });
    const found = ids ? page.memories.filter(({ id }) => ids.has(id)) : page.memories;
    for (const { id } of found) missing.delete(id);
    yield found;
    cursor = page.next_cursor;
  } while (cursor !== undefined && (!ids || missing.size > 0));
  // These no longer match the filter.
  if (missing.size > 0) yield await readEach(memory, missing, signal);
}

/** Reads memories one after the other, and returns those that are left, newest first. */
async function readEach(memory: Memories, ids: ReadonlySet<string>, signal: AbortSignal): Promise<Memory[]> {
  const found: Memory[] = [];
  for (const id of ids) {
    const one = await memory.memory(id, { signal }).catch((error: unknown) => {
      if (isNotFound(error)) return undefined;
      throw error;
    });
    if (one) found.push(one);
  }
  return found.sort((a, b) => Date.parse(b.created_at) - Date.parse(a.created_at));
}
