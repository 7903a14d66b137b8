import { isNotFound } from '../errors.ts';
import type { Memories } from '../service.tsx';

/** Maximum texts in memory, and requests at the same time. */
const MAX_TEXTS = 500;
const MAX_REQUESTS = 4;

/** The text of a memory; null if the memory is not visible or was forgotten, undefined until it is loaded. */
type Text = string | null | undefined;

/** The texts of the memories that a list shows. Loads a few at once, and drops the texts of changed memories. */
export class MemoryTexts {
  readonly #memory: Memories;
  readonly #texts = new Map<string, string | null>();
  readonly #wanted = new Set<string>();
  readonly #running = new Map<string, AbortController>();
  readonly #listeners = new Set<() => void>();

  constructor(memory: Memories) {
    this.#memory = memory;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  get(id: string): Text {
    return this.#texts.get(id);
  }

  /** Loads a text, if it is neither loaded nor being loaded. */
  want(id: string): void {
    if (this.#texts.has(id) || this.#running.has(id)) return;
    this.#wanted.add(id);
    this.#loadNext();
  }

  /** Cancels a text that is no longer shown, unless its request has begun. */
  leave(id: string): void {
    this.#wanted.delete(id);
  }

  /** Drops the texts of changed memories; shown ones are loaded again. */
  drop(ids: Iterable<string>): void {
    for (const id of ids) {
      this.#running.get(id)?.abort();
      this.#running.delete(id);
      this.#texts.delete(id);
    }
    this.#notify();
  }

  /** Drops the texts of forgotten memories for good. */
  forget(ids: Iterable<string>): void {
    const all = [...ids];
    this.drop(all);
    for (const id of all) this.#set(id, null);
    this.#notify();
  }

  dropAll(): void {
    this.drop([...this.#texts.keys(), ...this.#running.keys()]);
  }

  close(): void {
    this.#wanted.clear();
    for (const controller of this.#running.values()) controller.abort();
    this.#running.clear();
  }

  #loadNext(): void {
    for (const id of this.#wanted) {
      if (this.#running.size >= MAX_REQUESTS) return;
      this.#wanted.delete(id);
      void this.#load(id);
    }
  }

  async #load(id: string): Promise<void> {
    const controller = new AbortController();
    this.#running.set(id, controller);
    const text = await this.#memory.memory(id, { signal: controller.signal }).then(
      ({ content }) => content,
      // After any other error, the text is loaded with the next rendering of the list.
      (error) => (isNotFound(error) ? null : undefined),
    );
    // Otherwise the memory changed meanwhile.
    if (!controller.signal.aborted) {
      this.#running.delete(id);
      if (text !== undefined) {
        this.#set(id, text);
        this.#notify();
      }
    }
    this.#loadNext();
  }

  #set(id: string, text: string | null): void {
    this.#texts.set(id, text);
    const [oldest] = this.#texts.keys();
    if (this.#texts.size > MAX_TEXTS && oldest !== undefined) this.#texts.delete(oldest);
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }
}
