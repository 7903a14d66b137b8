import type { KeptMemory, WaitingLink } from '../ports/storage-kept.ts';

/** The links of a memory to others, as they wait for them. */
export function* linksOf(memory: KeptMemory, ordinal: number): Iterable<WaitingLink> {
  for (const kind of ['supersedes', 'supersededBy', 'mergedInto'] as const) {
    const id = memory[kind];
    if (id !== null) yield { ordinal, kind, id };
  }
  for (const id of memory.derivedFrom) yield { ordinal, kind: 'source', id };
  for (const id of memory.formerlyDerivedFrom) yield { ordinal, kind: 'formerSource', id };
}

/** Links that wait for a memory, by its id. */
export class WaitingLinks {
  readonly #byId = new Map<string, WaitingLink[]>();
  readonly #added = new Set<WaitingLink>();

  constructor(links: readonly WaitingLink[]) {
    for (const link of links) this.#put(link);
  }

  /** Those that were not there at first and wait still. */
  get added(): WaitingLink[] {
    return [...this.#added];
  }

  add(link: WaitingLink): void {
    this.#put(link);
    this.#added.add(link);
  }

  take(id: string): WaitingLink[] {
    const links = this.#byId.get(id) ?? [];
    this.#byId.delete(id);
    for (const link of links) this.#added.delete(link);
    return links;
  }

  #put(link: WaitingLink): void {
    const links = this.#byId.get(link.id);
    if (links) links.push(link);
    else this.#byId.set(link.id, [link]);
  }
}

/** What tells whether a memory is still the one that it was: what consolidation and use change of it is not looked at. */
type Identity = Pick<KeptMemory, 'content' | 'version' | 'storedAt'>;

/** Whether a memory that is there is the one that comes. */
export function isSame(there: Identity, coming: Identity): boolean {
  return there.content === coming.content && there.version === coming.version && there.storedAt === coming.storedAt;
}
