import { LRUCache } from 'lru-cache';

/** Most statements of a database that have a name, and most that a connection keeps prepared. */
const NAMED_LIMIT = 256;
const PREPARED_LIMIT = 2 * NAMED_LIMIT;

/**
 * The names under which connections to one database keep statements prepared: of those asked lately, and more than once, for
 * filters make statements of many shapes. A name stands for one text for ever.
 */
export class StatementNames {
  readonly #asked = new LRUCache<string, { name?: string }>({ max: NAMED_LIMIT });
  readonly #prepared = new WeakMap<object, Set<string>>();
  #given = 0;

  /** The name of a statement that a connection is about to be asked, if it has one. */
  nameOf(text: string, connection: object): string | undefined {
    const before = this.#asked.get(text);
    if (!before) this.#asked.set(text, {});
    else before.name ??= `memoryd_${this.#given++}`;
    if (before?.name) this.#preparedOn(connection).add(before.name);
    return before?.name;
  }

  /** Whether a connection keeps so many, most of them of no use any more, that a new one is better. */
  isFull(connection: object): boolean {
    return this.#preparedOn(connection).size >= PREPARED_LIMIT;
  }

  #preparedOn(connection: object): Set<string> {
    const prepared = this.#prepared.get(connection) ?? new Set();
    this.#prepared.set(connection, prepared);
    return prepared;
  }
}
