import { DEFAULTS } from '@memoryd/contract/limits';
import { getLabel, queryWords } from '@memoryd/search';
import { DISTIL_LIMITS } from './bounds.ts';

/** A memory that is similar to a candidate. */
interface Neighbor {
  ordinal: number;
  /** Cosine of the nearest parts of both memories, from -1 to 1. */
  cosine: number;
  /**
   * Number of content words that occur in both memories, and in at most `getMaxRareWordFrequency` memories of their
   * owner.
   */
  sharedRareWords: number;
}

/** A memory to group. */
export interface GroupCandidate {
  ordinal: number;
  neighbors: readonly Neighbor[];
}

/** The existing groups, and the typical similarity of memories. */
export interface GroupsBefore {
  /** The semantic memory of each source. A memory is the source of at most one semantic memory. */
  semanticBySource: ReadonlyMap<number, number>;
  /** The number of sources of each semantic memory in `semanticBySource`. */
  groupSizes: ReadonlyMap<number, number>;
  /** Typical cosine of unrelated memories of the owner, from -1 to 1. See `Storage.backgroundCosine`. */
  background: number;
}

/** The groups to distil. Groups and sources are sorted by ordinal. */
export interface Grouping {
  /** Sources of each new semantic memory: 3 to 12 memories that are in no other group. */
  made: number[][];
  /** Sources to add to a semantic memory, up to a total of 12. */
  grown: { semantic: number; joining: number[] }[];
}

/**
 * Minimum nearness of two memories in a group, as a fraction of the way from the background cosine to 1. The cosine of
 * unrelated texts depends on the model (.1 for all-MiniLM-L6-v2, .75 for e5) and on the owner: the cosine is .3 to .4
 * for turns of one conversation, and more than .57 to .64 for turns about one topic.
 */
const MIN_NEARNESS = 0.4;

/**
 * Minimum rare words that two tied memories share. Texts that share no name, number or rare word are similar in tone
 * only: thanks, greetings, weather.
 */
const MIN_SHARED_WORDS = 1;

/**
 * Minimum sources of a group that a joining memory must be tied to. A memory that joins a group with fewer sources must
 * be tied to all of them. If one tie were enough, groups would drift from topic to topic.
 */
const MIN_TIES = 2;

/**
 * Groups memories that belong together. Two memories are tied if their cosine is at least .4 of the way from the
 * background to 1 and they share a rare word. A memory that is tied to two sources of a semantic memory joins their
 * group, or the nearest of several such groups; the nearest memories join first. The remaining memories are grouped in
 * stars (Aslam, Pelekhov and Rus, "The star clustering algorithm for static and dynamic information organization", JGAA
 * 8, 2004): the memory with the most ties, and the nearest memories that it is tied to. Further memories then join the
 * new group by the rule above. A star cannot drift as a chain can, since all its members are tied to its center.
 *
 * The result does not depend on the order of the input. Sources never leave their group, and grouping again changes
 * nothing. Neighbors must not be semantic memories. The time is at worst quadratic in the number of candidates, so a
 * call should have a few hundred candidates at most.
 */
export function groupMemories(candidates: readonly GroupCandidate[], before: GroupsBefore): Grouping {
  const ties = getTies(candidates, before.background + MIN_NEARNESS * (1 - before.background));
  const groups = new Groups(ties, before);
  groups.grow(ties.keys());
  for (let star = groups.addStar(); star.length > 0; star = groups.addStar())
    groups.grow(star.flatMap((one) => groups.getTied(one)));
  return groups.grouping;
}

/** A memory that another memory is tied to. */
interface Tie {
  ordinal: number;
  cosine: number;
}

/** The ties of each memory, nearest first; memories are sorted by ordinal. */
type Ties = ReadonlyMap<number, readonly Tie[]>;

/**
 * Returns the ties between candidates and their neighbors, always in both directions. A list of neighbors is bounded,
 * so it may omit one direction.
 */
function getTies(candidates: readonly GroupCandidate[], minCosine: number): Ties {
  const ties = new Map<number, Map<number, number>>();
  function addTie(from: number, to: number, cosine: number): void {
    const existing = ties.get(from) ?? new Map<number, number>();
    existing.set(to, Math.max(cosine, existing.get(to) ?? -1));
    ties.set(from, existing);
  }
  for (const { ordinal, neighbors } of candidates) {
    for (const { ordinal: other, cosine, sharedRareWords } of neighbors) {
      if (other === ordinal || !(cosine >= minCosine) || sharedRareWords < MIN_SHARED_WORDS) continue;
      addTie(ordinal, other, cosine);
      addTie(other, ordinal, cosine);
    }
  }
  const inOrder = [...ties].sort(([a], [b]) => a - b);
  return new Map(inOrder.map(([ordinal, existing]) => [ordinal, sortByNearness(existing)]));
}

function sortByNearness(existing: ReadonlyMap<number, number>): Tie[] {
  const ties = Array.from(existing, ([ordinal, cosine]) => ({ ordinal, cosine }));
  return ties.sort((a, b) => b.cosine - a.cosine || a.ordinal - b.ordinal);
}

/** An existing or new group. `semantic` is undefined for a new group. */
interface Group {
  semantic: number | undefined;
  size: number;
  joining: number[];
}

/**
 * A memory that could join a group. `cosine` is the lowest cosine of the ties that the join requires: the nearest
 * `MIN_TIES` sources, or fewer for a smaller group.
 */
interface Join {
  ordinal: number;
  group: Group;
  cosine: number;
}

class Groups {
  readonly #ties: Ties;
  readonly #groups: Group[];
  readonly #groupByOrdinal = new Map<number, Group>();
  /** For each memory, the number of its ties to memories without a group. */
  readonly #freeTieCounts: Map<number, number>;

  constructor(ties: Ties, { semanticBySource, groupSizes }: GroupsBefore) {
    this.#ties = ties;
    const bySemantic = new Map<number, Group>();
    for (const semantic of [...groupSizes.keys()].sort((a, b) => a - b)) {
      bySemantic.set(semantic, { semantic, size: groupSizes.get(semantic) ?? 0, joining: [] });
    }
    for (const [ordinal, semantic] of semanticBySource) {
      const group = bySemantic.get(semantic);
      if (!group)
        throw new RangeError(`groupSizes must have the size of semantic memory ${semantic}, which has sources`);
      this.#groupByOrdinal.set(ordinal, group);
    }
    this.#groups = [...bySemantic.values()];
    this.#freeTieCounts = new Map(Array.from(ties, ([ordinal]) => [ordinal, this.#findFreeTies(ordinal).length]));
  }

  get grouping(): Grouping {
    const grown: Grouping['grown'] = [];
    const made: number[][] = [];
    for (const { semantic, joining } of this.#groups) {
      const sorted = joining.toSorted((a, b) => a - b);
      if (semantic === undefined) made.push(sorted);
      else if (sorted.length > 0) grown.push({ semantic, joining: sorted });
    }
    return { made: made.sort(([a = 0], [b = 0]) => a - b), grown };
  }

  getTied(ordinal: number): number[] {
    return (this.#ties.get(ordinal) ?? []).map((tie) => tie.ordinal);
  }

  /**
   * Adds memories to groups until no memory can join a group. The nearest memories join first.
   *
   * @param touched memories to try first; for example, memories that are tied to a memory that has just joined a group
   */
  grow(touched: Iterable<number>): void {
    for (let pending = new Set(touched); pending.size > 0; ) {
      const joins = [...pending].flatMap((ordinal) => this.#findJoin(ordinal) ?? []);
      pending = new Set();
      for (const { ordinal, group } of joins.sort((a, b) => b.cosine - a.cosine || a.ordinal - b.ordinal)) {
        if (group.size >= DISTIL_LIMITS.maxSources) {
          pending.add(ordinal);
          continue;
        }
        this.#join(ordinal, group);
        for (const other of this.getTied(ordinal)) pending.add(other);
      }
    }
  }

  /**
   * Creates a group from the memory with the most ties to memories without a group, and the nearest of these memories.
   * Returns the members of the group; an empty list if no memory has enough ties.
   */
  addStar(): number[] {
    let center: number | undefined;
    let maxFree = DISTIL_LIMITS.minSources - 2;
    for (const [ordinal, free] of this.#freeTieCounts) {
      if (free <= maxFree || this.#groupByOrdinal.has(ordinal)) continue;
      maxFree = free;
      center = ordinal;
    }
    if (center === undefined) return [];
    const star = [center, ...this.#findFreeTies(center)].slice(0, DISTIL_LIMITS.maxSources);
    const group: Group = { semantic: undefined, size: 0, joining: [] };
    this.#groups.push(group);
    for (const ordinal of star) this.#join(ordinal, group);
    return star;
  }

  #join(ordinal: number, group: Group): void {
    group.joining.push(ordinal);
    group.size++;
    this.#groupByOrdinal.set(ordinal, group);
    for (const other of this.getTied(ordinal))
      this.#freeTieCounts.set(other, (this.#freeTieCounts.get(other) as number) - 1);
  }

  #findFreeTies(ordinal: number): number[] {
    return this.getTied(ordinal).filter((other) => !this.#groupByOrdinal.has(other));
  }

  /** Finds the nearest group with room for a memory that has no group. */
  #findJoin(ordinal: number): Join | undefined {
    if (this.#groupByOrdinal.has(ordinal)) return undefined;
    const tiesTo = new Map<Group, number>();
    for (const { ordinal: other, cosine } of this.#ties.get(ordinal) ?? []) {
      const group = this.#groupByOrdinal.get(other);
      if (!group || group.size >= DISTIL_LIMITS.maxSources) continue;
      const count = (tiesTo.get(group) ?? 0) + 1;
      tiesTo.set(group, count);
      if (count === Math.min(MIN_TIES, group.size)) return { ordinal, group, cosine };
    }
    return undefined;
  }
}

/** A word is rare if at most 1/RARE_ONE_IN of its owner's memories contain the word. */
const RARE_ONE_IN = 100;

/** Upper bound of `getMaxRareWordFrequency`, so that the search stays fast for an owner with many memories. */
const MAX_MEMORIES = 64;

/**
 * Lower bound of `getMaxRareWordFrequency`, since all sources of a group may share a name or number, even if their owner
 * has few memories.
 */
const MIN_MEMORIES = 12;

/**
 * Returns the maximum number of memories that may contain a rare word: one in a hundred, from 12 to 64. Two memories
 * that share a rare word, such as a name, a number or a topic, may belong together. Neither a list of names nor capital
 * letters are used, since many scripts have no capitals.
 *
 * @param memories number of memories of the owner
 */
export function getMaxRareWordFrequency(memories: number): number {
  return Math.max(MIN_MEMORIES, Math.min(MAX_MEMORIES, Math.floor(memories / RARE_ONE_IN)));
}

/**
 * Returns the words of a memory that may be rare, each as alternative terms. Leaves out the name of a speaker at the
 * beginning, which does not describe the content, except in the default session.
 */
export function getDistinctiveWords(text: string, sessionId: string | null): string[][] {
  const label = sessionId === DEFAULTS.sessionId ? '' : getLabel(text);
  return queryWords(text.slice(label.length));
}
