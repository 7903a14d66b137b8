import { type Memory, MemoryError } from '@memoryd/client';
import { createFileName, saveFile } from '../admin/download.ts';
import type { ListFilter } from '../filter.ts';
import { formatMemories, formatNumber } from '../format.ts';
import type { Selected } from '../memories/selection.tsx';
import type { Memories } from '../service.tsx';
import type { ExportFormat } from './export-formats.ts';
import { getMessage } from './many-changes.ts';
import { removeToast, showToast } from './toasts.ts';

/** Memories of one request. */
const PAGE_MEMORIES = 500;
/** Number of selected memories up to which each is read by itself, instead of being looked for in the list. */
const MAX_SINGLE = 50;
const DONE_SHOWN_MS = 8000;

let exportCount = 0;

/** Saves the selected memories as a file, newest first. A toast shows the progress, and can cancel. */
export function exportMemories(memory: Memories, selected: Selected, filter: ListFilter, format: ExportFormat): void {
  const key = `export ${exportCount++}`;
  const controller = new AbortController();
  const cancel = () => {
    controller.abort();
    removeToast(key);
  };
  const { total, hasMore } = selected.kind === 'ids' ? { total: selected.ids.size, hasMore: false } : selected;
  const show = (done: number) => {
    const text = `Exporting ${formatNumber(done)} of ${formatMemories(Math.max(total, done), hasMore)}…`;
    if (!controller.signal.aborted)
      showToast({ key, text, actions: [{ label: 'Cancel', act: cancel }], abandon: cancel, isUnfinished: true });
  };
  const run = async () => {
    let done = 0;
    async function* write(): AsyncGenerator<string> {
      yield format.begin(formatMemories(total, hasMore));
      for await (const memories of readPages(memory, selected, filter, controller.signal)) {
        yield memories.map(format.format).join('');
        done += memories.length;
        show(done);
      }
    }
    show(0);
    const dismiss = { label: 'Dismiss', act: () => removeToast(key) };
    try {
      await saveFile(createFileName('memories', format.extension), write(), () => undefined);
      const text = `Exported ${formatMemories(done)}.`;
      showToast({ key, text, actions: [dismiss], shownMs: DONE_SHOWN_MS });
    } catch (error) {
      if (controller.signal.aborted) return;
      const text = `Not exported: ${getMessage(error)}`;
      showToast({ key, text, isError: true, actions: [{ label: 'Try again', act: run }, dismiss] });
    }
  };
  void run();
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
  const until = selected.kind === 'all' ? selected.until : undefined;
  const list = { ...filter, ...(until !== undefined && { until }), limit: PAGE_MEMORIES };
  let left = ids?.size ?? Number.POSITIVE_INFINITY;
  let cursor: string | undefined;
  do {
    const page = await memory.memories({ ...list, ...(cursor !== undefined && { cursor }) }, { signal });
    const found = ids ? page.memories.filter(({ id }) => ids.has(id)) : page.memories;
    left -= found.length;
    yield found;
    cursor = page.next_cursor;
  } while (cursor !== undefined && left > 0);
}

/** Reads memories one after the other, and returns those that are left, newest first. */
async function readEach(memory: Memories, ids: ReadonlySet<string>, signal: AbortSignal): Promise<Memory[]> {
  const found: Memory[] = [];
  for (const id of ids) {
    const one = await memory.memory(id, { signal }).catch((error: unknown) => {
      if (error instanceof MemoryError && error.code === 'NOT_FOUND') return undefined;
      throw error;
    });
    if (one) found.push(one);
  }
  return found.sort((a, b) => Date.parse(b.created_at) - Date.parse(a.created_at));
}
