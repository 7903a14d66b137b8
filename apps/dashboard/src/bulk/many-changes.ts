import { type MemoryChanges, MemoryError, type MemorySelection } from '@memoryd/client';
import { isNotFound } from '../errors.ts';
import { formatMemories, formatNumber } from '../format.ts';
import type { Memories } from '../service.tsx';
import { isTransient } from '../watch.tsx';
import { type FrozenSelection, getSelections } from './frozen-selection.ts';
import { removeToast, showToast, type Toast, unfinishedChanges } from './toasts.ts';

/** Time for which Undo is shown. */
const UNDO_SHOWN_MS = 20_000;

/** A change of many memories, and the words for it. */
export interface ManyChange {
  changes: Omit<MemoryChanges, 'change_id'>;
  /** As in `Tagging 3 memories`. */
  doing: string;
  /** As in `Tagged 3 memories`. */
  done: string;
}

/** A part of a change: at most as many memories as one request can name. */
interface Part {
  /** Chosen here, so that a repeated request continues the change instead of beginning another one. */
  id: string;
  /** The counts of a part that is complete. */
  counts?: Counts;
}

interface Counts {
  updated: number;
  unchanged: number;
  refused: number;
}

/**
 * Changes the selected memories. A toast shows the state and offers Undo. A change that an outage interrupts continues
 * when the service responds again, and can be undone, also by the next page, so that nothing stays half done.
 */
export function changeMany(memory: Memories, frozen: FrozenSelection, { changes, doing, done }: ManyChange): void {
  const label = `${doing} ${formatMemories(frozen.count, frozen.hasMore)}`;
  const parts: (Part & { selection: MemorySelection })[] = [];
  const { show, undo, dismiss } = createChangeToast(memory, label, parts);
  const showMaking = () => show({ text: `${label}…`, actions: [], isUnfinished: true });

  const make = async () => {
    showMaking();
    try {
      if (parts.length === 0) {
        const selections = await getSelections(memory, frozen);
        parts.push(...selections.map((selection) => ({ selection, id: createId() })));
        // Records the ids before the change begins.
        showMaking();
      }
      for (const part of parts) part.counts ??= await makePart(memory, part, changes);
      show({ text: describe(done, parts), actions: [undo, dismiss], shownMs: UNDO_SHOWN_MS }, { isComplete: true });
    } catch (error) {
      showFailure(error);
    }
  };

  const showFailure = (error: unknown) => {
    const canContinue = isTransient(error);
    const hasBegun = canContinue || parts.some(({ counts }) => counts);
    const toast = {
      text: `${label} ${canContinue ? 'was interrupted' : 'has failed'}: ${getMessage(error)}`,
      isError: true,
      actions: [canContinue ? { label: 'Try again', act: make } : dismiss, ...(hasBegun ? [undo] : [])],
      onAnswer: canContinue ? make : undefined,
      isUnfinished: canContinue,
    };
    show(toast, { isComplete: !hasBegun });
  };

  void make();
}

/** Shows the changes that pages did not complete before they were closed, and offers Undo. */
export function showInterruptedChanges(memory: Memories): void {
  for (const { label, ids } of unfinishedChanges.take()) {
    const { show, undo, dismiss } = createChangeToast(
      memory,
      label,
      ids.map((id) => ({ id })),
    );
    const text = `${label} was interrupted, because the page was closed. Perhaps not all are changed.`;
    show({ text, isError: true, actions: [undo, dismiss] });
  }
}

/** Returns the toast of a change, and its actions. The next page reports a change that is not complete. */
function createChangeToast(memory: Memories, label: string, parts: readonly Part[]) {
  const key = createId();
  let isAbandoned = false;
  const show = (toast: Omit<Toast, 'key' | 'abandon' | 'unfinished'>, { isComplete = false } = {}) => {
    if (isAbandoned) return;
    const unfinished = isComplete || parts.length === 0 ? undefined : { label, ids: parts.map(({ id }) => id) };
    showToast({ ...toast, key, unfinished, abandon: () => (isAbandoned = true) });
  };
  const dismiss = { label: 'Dismiss', act: () => removeToast(key) };

  const undo = async () => {
    show({ text: `Undoing: ${label.toLowerCase()}…`, actions: [], isUnfinished: true });
    try {
      const text = describeUndo(await undoParts(memory, parts));
      show({ text, actions: [dismiss], shownMs: UNDO_SHOWN_MS }, { isComplete: true });
    } catch (error) {
      const canContinue = isTransient(error);
      show({
        text: `Not everything is undone. ${getMessage(error)}`,
        isError: true,
        actions: canContinue ? [{ label: 'Try again', act: undo }] : [dismiss],
        onAnswer: canContinue ? undo : undefined,
        isUnfinished: canContinue,
      });
    }
  };

  return { show, undo: { label: 'Undo', act: undo }, dismiss };
}

async function makePart(
  memory: Memories,
  { selection, id }: Part & { selection: MemorySelection },
  changes: ManyChange['changes'],
): Promise<Counts> {
  const made = await memory.updateMany(selection, { ...changes, change_id: id });
  return { updated: made.updated_count, unchanged: made.unchanged_count, refused: made.refused_count };
}

interface UndoCounts {
  restored: number;
  kept: number;
  /** Parts that the service has undone. */
  parts: number;
}

async function undoParts(memory: Memories, parts: readonly Part[]): Promise<UndoCounts> {
  const sum = { restored: 0, kept: 0, parts: 0 };
  for (const { id, counts } of parts.toReversed()) {
    try {
      const { restored_count, kept_count } = await memory.undoChange(id);
      sum.restored += restored_count;
      sum.kept += kept_count;
      sum.parts++;
    } catch (error) {
      // The service died before it began this part, so there is nothing to undo.
      if (counts || !isNotFound(error)) throw error;
    }
  }
  return sum;
}

function describeUndo({ restored, kept, parts }: UndoCounts): string {
  if (parts === 0) return 'Nothing to undo: the change had not begun, or began more than an hour ago.';
  const others = kept === 0 ? '' : ` Not undone: ${formatMemories(kept)} that changed meanwhile.`;
  return `Undone in ${formatMemories(restored)}.${others}`;
}

function describe(done: string, parts: readonly Part[]): string {
  const sum = { updated: 0, unchanged: 0, refused: 0 };
  for (const { counts } of parts) {
    sum.updated += counts?.updated ?? 0;
    sum.unchanged += counts?.unchanged ?? 0;
    sum.refused += counts?.refused ?? 0;
  }
  return [
    `${done} ${formatMemories(sum.updated)}.`,
    ...(sum.unchanged > 0 ? [`${formatNumber(sum.unchanged)} had this already.`] : []),
    ...(sum.refused > 0 ? [`Not changed: ${formatMemories(sum.refused)} that would have too many tags.`] : []),
  ].join(' ');
}

/** Returns the id of a new change. */
const createId = (): string =>
  Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(16).padStart(8, '0')).join('');

export const getMessage = (error: unknown): string => (error instanceof MemoryError ? error.message : String(error));
