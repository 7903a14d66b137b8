import { formatMemories } from '../format.ts';
import { createStore } from '../store.ts';
import { createPageRecord } from './page-record.ts';

/** Time in which a forget can be undone, because it is not sent before. */
const FORGET_DELAY_MS = 10_000;

/** Maximum number of listed forgets. The oldest that has ended is dropped first. */
const MAX_LISTED = 20;

/** The memories of a forget, and how it is sent. */
export interface ForgetRequest {
  /** Ids of the memories; undefined for all memories that match a filter. */
  ids: readonly string[] | undefined;
  /** The memories, as in `3 memories`. */
  label: string;
  /** Sends the forget. Resolves with a message for the person. */
  run(): Promise<string>;
}

/**
 * `waiting`: can be undone. `sending`: sent, without a response yet. `sent`: done. `failed`: the service refused it or
 * did not respond. `unsent`: the page was closed before it was sent, or while it was.
 */
type ForgetState = 'waiting' | 'sending' | 'sent' | 'failed' | 'unsent';

export interface PendingForget extends Pick<ForgetRequest, 'ids' | 'label'> {
  key: string;
  state: ForgetState;
  /** Time at which the forget is sent, in ms since 1970. */
  dueAt: number;
  /** The outcome of a forget that was sent. */
  message?: string;
  /** The error of a failed forget. */
  error?: unknown;
  /** Whether an unsent forget may have forgotten some of its memories. */
  isBegun?: boolean;
}

/** A forget that was not sent. `count`: the number of memories, if it is known. `id`: the memory, if it is only one. */
interface UnsentForget extends Pick<PendingForget, 'isBegun'> {
  count?: number;
  id?: string;
}

const record = createPageRecord<UnsentForget>('memoryd-unfinished-forgets');
const runs = new Map<string, { run: ForgetRequest['run']; timer: ReturnType<typeof setTimeout> | undefined }>();
const store = createStore<readonly PendingForget[]>(
  record
    .take()
    .slice(-MAX_LISTED)
    .map((forget, i) => toUnsent({ ...forget, key: `unsent ${i}`, dueAt: 0 })),
);
let nextKey = 0;

/** Forgets memories in ten seconds, unless it is undone. Returns the key for `undoForget`. */
export function scheduleForget({ ids, label, run }: ForgetRequest): string {
  const key = String(nextKey++);
  runs.set(key, { run, timer: setTimeout(() => void send(key), FORGET_DELAY_MS) });
  const forgets = store.get();
  const ended = forgets.find((one) => !isUnfinished(one));
  const kept = forgets.length >= MAX_LISTED && ended ? forgets.filter((one) => one !== ended) : forgets;
  change([...kept, { key, ids, label, state: 'waiting', dueAt: Date.now() + FORGET_DELAY_MS }]);
  return key;
}

/** Undoes a forget that waits, or removes one that has ended from the list. Does nothing while it is being sent. */
export function dismissForget(key: string): void {
  if (findForget(key)?.state === 'sending') return;
  clearTimeout(runs.get(key)?.timer);
  runs.delete(key);
  change(store.get().filter((one) => one.key !== key));
}

/** Sends a failed forget again. */
export function retryForget(key: string): void {
  if (findForget(key)?.state === 'failed') void send(key);
}

const findForget = (key: string): PendingForget | undefined => store.get().find((one) => one.key === key);

/** Returns the forgets that wait, and those that have ended and were not dismissed, oldest first. */
export const useForgets = store.use;

/** Returns the forget of a memory that waits, is being sent or was sent; undefined if there is none. */
export function usePendingForget(id: string): PendingForget | undefined {
  return useForgets().findLast(({ ids, state }) => ids?.includes(id) && state !== 'failed' && state !== 'unsent');
}

async function send(key: string): Promise<void> {
  const entry = runs.get(key);
  if (!entry) return;
  update(key, { state: 'sending', error: undefined });
  try {
    const message = await entry.run();
    // One that was given up meanwhile is listed as unsent.
    if (runs.delete(key)) update(key, { state: 'sent', message });
  } catch (error) {
    if (runs.has(key)) update(key, { state: 'failed', error });
  }
}

function update(key: string, fields: Partial<PendingForget>): void {
  change(store.get().map((one) => (one.key === key ? { ...one, ...fields } : one)));
}

function change(changed: readonly PendingForget[]): void {
  store.set(changed);
  record.set(changed.filter(isUnfinished).map(toRecorded));
}

const isUnfinished = ({ state }: PendingForget): boolean => state === 'waiting' || state === 'sending';

// The ids of many memories could fill the storage.
const toRecorded = ({ ids, state }: PendingForget): UnsentForget => ({
  ...(state === 'sending' && { isBegun: true }),
  ...(ids && { count: ids.length }),
  ...(ids?.length === 1 && { id: ids[0] as string }),
});

function toUnsent({ count, id, ...rest }: UnsentForget & Pick<PendingForget, 'key' | 'dueAt'>): PendingForget {
  const label = count === undefined ? 'all memories that match a filter' : formatMemories(count);
  return { ...rest, ids: id === undefined ? undefined : [id], label, state: 'unsent' };
}

function withoutTexts(forget: PendingForget): PendingForget {
  // The label of one that was not sent contains no text.
  return forget.state === 'unsent' ? forget : toUnsent({ ...toRecorded(forget), key: forget.key, dueAt: forget.dueAt });
}

/**
 * Gives up the forgets that wait, and hides the texts in the list: call it when the person signs out.
 *
 * @param isClosing whether the page is being closed, so that the next page reports them
 */
export function abandonForgets({ isClosing = false } = {}): void {
  for (const { timer } of runs.values()) clearTimeout(timer);
  runs.clear();
  const unsent = store
    .get()
    .filter((forget) => isUnfinished(forget) || forget.state === 'unsent')
    .map(withoutTexts);
  if (isClosing) store.set(unsent);
  else change(unsent);
}

// A forget that waits when the page is closed is not sent, also if the browser shows the page again: another page may have
// reported it as not done.
globalThis.addEventListener?.('pagehide', () => abandonForgets({ isClosing: true }));
// Forgetting many takes several requests.
globalThis.addEventListener?.('beforeunload', (event) => {
  if (store.get().some(({ state }) => state === 'sending')) event.preventDefault();
});
