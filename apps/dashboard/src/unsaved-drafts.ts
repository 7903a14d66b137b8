import { getStored, setStored } from './browser-storage.ts';
import type { UnsavedDraft } from './draft.ts';

const STORAGE_NAME = 'memoryd-drafts';

/** Maximum number of stored drafts. The draft that was edited least recently is dropped first. */
const MAX_DRAFTS = 100;

/** The use of a draft: an edit of a memory, or the text of a new memory that supersedes it. */
export type DraftKind = 'edit' | 'correction';

/**
 * The unsaved drafts of a tab, by kind and memory id. They survive a reload and a new sign-in, and end with the tab and
 * on sign-out.
 */
export class UnsavedDrafts {
  readonly #drafts: Map<string, UnsavedDraft>;

  constructor() {
    const text = getStored('sessionStorage', STORAGE_NAME);
    this.#drafts = new Map(text === undefined ? [] : JSON.parse(text));
  }

  get(kind: DraftKind, id: string): UnsavedDraft | undefined {
    return this.#drafts.get(`${kind} ${id}`);
  }

  /** Stores a draft; undefined discards it. */
  set(kind: DraftKind, id: string, draft: UnsavedDraft | undefined): void {
    this.#drafts.delete(`${kind} ${id}`);
    if (draft) this.#drafts.set(`${kind} ${id}`, draft);
    const [oldest] = this.#drafts.keys();
    if (this.#drafts.size > MAX_DRAFTS && oldest !== undefined) this.#drafts.delete(oldest);
    this.#save();
  }

  /** Shows the drafts only with their memories from now on: call it when the API key changes. */
  lock(): void {
    for (const draft of this.#drafts.values()) draft.isLocked = true;
    this.#save();
  }

  clear(): void {
    this.#drafts.clear();
    this.#save();
  }

  #save(): void {
    setStored('sessionStorage', STORAGE_NAME, this.#drafts.size === 0 ? undefined : JSON.stringify([...this.#drafts]));
  }
}
