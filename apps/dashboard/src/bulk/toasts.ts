import { createStore } from '../store.ts';
import { createPageRecord } from './page-record.ts';

/** A change that is not complete. Contains no texts. */
interface UnfinishedChange {
  /** As in `Tagging 3 memories`. */
  label: string;
  /** Ids with which the change can be undone. */
  ids: readonly string[];
}

/** A message about an action that goes on while the person works on. Each view shows it. */
export interface Toast {
  /** Identifies the action. A toast with the same key is replaced. */
  key: string;
  text: string;
  /** Whether the action has failed. */
  isError?: boolean;
  /** Buttons of the toast. */
  actions: readonly { label: string; act: () => void }[];
  /** Time after which the toast disappears, unless the pointer or the focus is on it. By default, it stays. */
  shownMs?: number;
  /** Called when the service has answered a poll, such as to continue what an outage has interrupted. */
  onAnswer?: (() => void) | undefined;
  /** Whether the action is not complete: the browser asks before it closes the page. */
  isUnfinished?: boolean;
  /** The change that the next page reports if this page is closed. */
  unfinished?: UnfinishedChange | undefined;
  /** Ends the action, because the person signs out. */
  abandon?: () => void;
}

/** Oldest first. */
export const toasts = createStore<readonly Toast[]>([]);

export const unfinishedChanges = createPageRecord<UnfinishedChange>('memoryd-unfinished-changes');

function change(changed: readonly Toast[]): void {
  toasts.set(changed);
  unfinishedChanges.set(changed.flatMap(({ unfinished }) => unfinished ?? []));
}

/** Shows a toast, or replaces the one with the same key. */
export function showToast(toast: Toast): void {
  const shown = toasts.get();
  const isReplaced = shown.some(({ key }) => key === toast.key);
  change(isReplaced ? shown.map((one) => (one.key === toast.key ? toast : one)) : [...shown, toast]);
}

export function removeToast(key: string): void {
  change(toasts.get().filter((one) => one.key !== key));
}

/** Removes all toasts, and ends their actions: call it when the person signs out. */
export function removeAllToasts(): void {
  for (const { abandon } of toasts.get()) abandon?.();
  change([]);
}

globalThis.addEventListener?.('beforeunload', (event) => {
  if (toasts.get().some(({ isUnfinished }) => isUnfinished)) event.preventDefault();
});
