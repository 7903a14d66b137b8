import type { Tier } from '@memoryd/contract';
import type { ImportOutcome, KeptMemory, WaitingLink } from '../ports/storage-kept.ts';
import { type Rooms, takenBy } from './quota.ts';
import { hasOwnText } from './sources.ts';
import { isSame, linksOf, WaitingLinks } from './waiting-links.ts';

/** A memory that is there, as far as imports look at it; of those that only links name, no text. */
export interface Present {
  ordinal: number;
  tier: Tier;
  version: number;
  storedAt: number;
  content: string;
  /** Whether a memory was distilled from it. */
  isSource: boolean;
}

/** A link whose memory is there, at `target`. */
export type FoundLink = WaitingLink & { target: number };

/** Where memories come to. */
interface Place {
  namespace: string;
  /** What is there of those that come and of what they name, by id. */
  present: Map<string, Present>;
  rooms: Rooms;
  /** Links that came before and wait. */
  links: readonly WaitingLink[];
  /** Lets a memory in without its links; answers its ordinal. */
  letIn(memory: KeptMemory): number;
}

/** Ids of those that are looked for before memories come: their own and those that they name. */
export function lookedFor(memories: readonly KeptMemory[]): { own: string[]; named: string[] } {
  const named = memories.flatMap((memory) => Array.from(linksOf(memory, 0), ({ id }) => id));
  return { own: memories.map(({ id }) => id), named };
}

/**
 * Memories that come one after the other, as they were kept elsewhere, to those that are there: what becomes of each, and
 * what is to be done about its links once all are in.
 */
export class KeptArrivals {
  /** The links that find their memories, in their order. */
  readonly links: FoundLink[] = [];
  /** Links to what memories that were there already corrected, and may correct again. */
  readonly corrections: FoundLink[] = [];
  /** Ordinals of memories that were there already and may be merged again. */
  readonly merging: number[] = [];
  readonly #place: Place;
  readonly #waiting: WaitingLinks;

  constructor(place: Place) {
    this.#place = place;
    this.#waiting = new WaitingLinks(place.links);
  }

  /** Links that came with these and still wait. */
  get waiting(): WaitingLink[] {
    return this.#waiting.added;
  }

  take(memory: KeptMemory): ImportOutcome {
    const { namespace, present, rooms } = this.#place;
    const there = present.get(memory.id);
    if (there) return this.#meetAgain(memory, there);
    if (memory.tier === 'semantic' && !hasOwnText(memory) && !this.#hasRoots(memory)) return 'rootless';
    const over = rooms.take(namespace, takenBy(memory));
    if (over) return over;
    const ordinal = this.#place.letIn(memory);
    present.set(memory.id, { ...memory, ordinal, isSource: false });
    for (const link of linksOf(memory, ordinal)) this.#link(link);
    for (const link of this.#waiting.take(memory.id)) this.#link(link);
    return 'imported';
  }

  /** What becomes of a memory whose id is there. */
  #meetAgain(memory: KeptMemory, there: Present): ImportOutcome {
    if (!isSame(there, memory)) return 'different';
    for (const link of linksOf(memory, there.ordinal)) {
      const target = this.#place.present.get(link.id);
      if (!target) this.#waiting.add(link);
      else this.#linkAgain(link, target);
    }
    return 'unchanged';
  }

  // Most links were set when the second of the two came; but that may have been refused then, or forgotten since.
  #linkAgain(link: WaitingLink, target: Present): void {
    if (link.kind === 'supersedes') this.corrections.push({ ...link, target: target.ordinal });
    else if (link.kind === 'mergedInto') this.merging.push(link.ordinal);
    else if (link.kind !== 'supersededBy') this.#link(link);
  }

  // A source that is another's by now would be quoted without a link, and its words stay when it is forgotten.
  #hasRoots({ derivedFrom }: KeptMemory): boolean {
    const sources = derivedFrom.flatMap((id) => this.#place.present.get(id) ?? []);
    return sources.length > 0 && sources.every(canBeSource);
  }

  #link(link: WaitingLink): void {
    const target = this.#place.present.get(link.id);
    if (!target) this.#waiting.add(link);
    else if (makesSense(link, target)) {
      if (link.kind === 'source') target.isSource = true;
      this.links.push({ ...link, target: target.ordinal });
    }
  }
}

function makesSense({ kind }: WaitingLink, target: Present): boolean {
  if (kind === 'source') return canBeSource(target);
  return kind !== 'formerSource' || target.tier !== 'semantic';
}

function canBeSource({ tier, isSource }: Present): boolean {
  return tier !== 'semantic' && !isSource;
}
