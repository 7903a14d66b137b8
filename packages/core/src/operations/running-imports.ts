/** The imports that run in this process, so that none is undone while it stores memories. */
export class RunningImports {
  /** Number of runs by namespace and import. Two requests with the same content share an import. */
  readonly #counts = new Map<string, number>();

  has(namespace: string, importId: string): boolean {
    return this.#counts.has(toKey(namespace, importId));
  }

  /** Notes that an import runs, until the returned function is called. */
  enter(namespace: string, importId: string): () => void {
    const key = toKey(namespace, importId);
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
    return () => {
      const left = (this.#counts.get(key) ?? 1) - 1;
      if (left > 0) this.#counts.set(key, left);
      else this.#counts.delete(key);
    };
  }
}

function toKey(namespace: string, importId: string): string {
  return `${namespace}\0${importId}`;
}
