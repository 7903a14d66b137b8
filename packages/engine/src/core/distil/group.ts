import { DEFAULTS } from '@memoryd/contract/limits';
import { queryWords } from '../text/analyze.ts';
import { getLabel } from '../text/traits.ts';

/** Two memories that are near each other, as one of them sees it. */
interface Neighbour {
  ordinal: number;
  /** Of the nearest parts of both, from -1 to 1. */
  cosine: number;
  /** Terms that count and that both hold, in at most `mostMemoriesOfRareWord` of the namespace. */
  sharedRareWords: number;
}

/** A memory whose place is looked for. */
export interface GroupCandidate {
  ordinal: number;
  neighbours: readonly Neighbour[];
}

/** What is known before: which memories are sources already, and of what, and how alike memories are anyway. */
export interface GroupsBefore {
  /** The semantic memory that a memory is a source of; a memory is the source of at most one. */
  semanticBySource: ReadonlyMap<number, number>;
  /** How many sources a semantic memory has, for each that `semanticBySource` names. */
  groupSizes: ReadonlyMap<number, number>;
  /** Median cosine of memories of the namespace taken at random, from -1 to 1. */
  background: number;
}

/** What is to be distilled. Groups and sources are in the order of ordinals. */
export interface Grouping {
  /** Sources of new semantic memories: 3 to 12 each, none of which was a source before. */
  made: number[][];
  /** Sources that join those of a semantic memory, which has at most 12 with them. */
  grown: { semantic: number; joining: number[] }[];
}

export const GROUP_LIMITS = {
  /** Two that are alike are a pair, and may be one thing said twice; three show that something lasts. */
  leastSources: 3,
  /** A semantic memory quotes eight sentences at most: it would be silent on most of a larger group. */
  mostSources: 12,
} as const;

/**
 * How far from the cosine of any two memories to 1 those lie that belong together. Models differ in where texts that
 * have nothing in common lie (.1 for all-MiniLM-L6-v2, .75 for e5), and so do namespaces: the turns of one conversation
 * lie at .3 to .4, and those about one matter above .57 to .64.
 */
const MIN_NEARNESS = 0.4;

/** Without a name, a number or a rare word in common, texts are alike in tone: thanks, greetings, weather. */
const MIN_SHARED_WORDS = 1;

/** Sources of a group that a memory must be tied to: by one alone, groups would grow from topic to topic. */
const MIN_TIES = 2;

/**
 * Groups memories that belong together. Two are tied when their cosine is at least .4 of the way from the background to
 * 1 and they share a rare word. A memory that is tied to two sources of a semantic memory joins them, the nearest first,
 * and the semantic memory to whose sources it is nearest. What is left is grouped in stars (Aslam, Pelekhov and Rus, "The
 * star clustering algorithm for static and dynamic information organization", JGAA 8, 2004): the memory with the most
 * ties, and its nearest. Unlike a chain a star cannot drift, since all of it is tied to its middle.
 *
 * The answer does not depend on the order of the input, sources never leave their group, and grouping again after it
 * has been done changes nothing. Neighbours are no semantic memories themselves. Time grows at worst with the square of
 * the candidates: some hundreds at once are enough.
 */
export function groupMemories(candidates: readonly GroupCandidate[], before: GroupsBefore): Grouping {
  const ties = getTies(candidates, before.background + MIN_NEARNESS * (1 - before.background));
  const groups = new Groups(ties, before);
  groups.grow(ties.keys());
  for (let star = groups.addStar(); star.length > 0; star = groups.addStar())
    groups.grow(star.flatMap((one) => groups.tiedTo(one)));
  return groups.grouping;
}

/** One that a memory is tied to. */
interface Tie {
  ordinal: number;
  cosine: number;
}

/** Those that each memory is tied to, nearest first; the memories are in order. */
type Ties = ReadonlyMap<number, readonly Tie[]>;

/** Both ways, whichever of two saw the other: a list of neighbours is bounded and may leave one out. */
function getTies(candidates: readonly GroupCandidate[], leastCosine: number): Ties {
  const ties = new Map<number, Map<number, number>>();
  function tie(from: number, to: number, cosine: number): void {
    const known = ties.get(from) ?? new Map<number, number>();
    known.set(to, Math.max(cosine, known.get(to) ?? -1));
    ties.set(from, known);
  }
  for (const { ordinal, neighbours } of candidates) {
    for (const { ordinal: other, cosine, sharedRareWords } of neighbours) {
      if (other === ordinal || !(cosine >= leastCosine) || sharedRareWords < MIN_SHARED_WORDS) continue;
      tie(ordinal, other, cosine);
      tie(other, ordinal, cosine);
    }
  }
  const inOrder = [...ties].sort(([a], [b]) => a - b);
  return new Map(inOrder.map(([ordinal, known]) => [ordinal, nearestFirst(known)]));
}

function nearestFirst(known: ReadonlyMap<number, number>): Tie[] {
  const ties = Array.from(known, ([ordinal, cosine]) => ({ ordinal, cosine }));
  return ties.sort((a, b) => b.cosine - a.cosine || a.ordinal - b.ordinal);
}

/** A group that is there or comes to be. `semantic`: of which semantic memory; undefined for a new one. */
interface Group {
  semantic: number | undefined;
  size: number;
  joining: number[];
}

/** A memory that could join a group, and how near it is to the farthest of the sources there that it must be tied to. */
interface Join {
  ordinal: number;
  group: Group;
  cosine: number;
}

class Groups {
  readonly #ties: Ties;
  readonly #groups: Group[];
  readonly #groupByOrdinal = new Map<number, Group>();
  /** How many of those that a memory is tied to are in no group. */
  readonly #free: Map<number, number>;

  constructor(ties: Ties, { semanticBySource, groupSizes }: GroupsBefore) {
    this.#ties = ties;
    const bySemantic = new Map<number, Group>();
    for (const semantic of [...groupSizes.keys()].sort((a, b) => a - b)) {
      bySemantic.set(semantic, { semantic, size: groupSizes.get(semantic) ?? 0, joining: [] });
    }
    for (const [ordinal, semantic] of semanticBySource) {
      const group = bySemantic.get(semantic);
      if (!group) throw new RangeError(`semantic memory ${semantic} has sources and no size`);
      this.#groupByOrdinal.set(ordinal, group);
    }
    this.#groups = [...bySemantic.values()];
    this.#free = new Map(Array.from(ties, ([ordinal]) => [ordinal, this.#getFree(ordinal).length]));
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

  tiedTo(ordinal: number): number[] {
    return (this.#ties.get(ordinal) ?? []).map((tie) => tie.ordinal);
  }

  /**
   * Lets memories join groups until none can, the nearest first.
   *
   * @param touched those that may be able to, since something they are tied to has joined a group
   */
  grow(touched: Iterable<number>): void {
    for (let looked = new Set(touched); looked.size > 0; ) {
      const joins = [...looked].flatMap((ordinal) => this.#findJoin(ordinal) ?? []);
      looked = new Set();
      for (const { ordinal, group } of joins.sort((a, b) => b.cosine - a.cosine || a.ordinal - b.ordinal)) {
        if (group.size >= GROUP_LIMITS.mostSources) {
          looked.add(ordinal);
          continue;
        }
        this.#join(ordinal, group);
        for (const other of this.tiedTo(ordinal)) looked.add(other);
      }
    }
  }

  /** Makes a group of the memory with the most ties to others without a group; answers whom it holds, nobody where none has enough. */
  addStar(): number[] {
    let middle: number | undefined;
    let most = GROUP_LIMITS.leastSources - 2;
    for (const [ordinal, free] of this.#free) {
      if (free <= most || this.#groupByOrdinal.has(ordinal)) continue;
      most = free;
      middle = ordinal;
    }
    if (middle === undefined) return [];
    const star = [middle, ...this.#getFree(middle)].slice(0, GROUP_LIMITS.mostSources);
    const group: Group = { semantic: undefined, size: 0, joining: [] };
    this.#groups.push(group);
    for (const ordinal of star) this.#join(ordinal, group);
    return star;
  }

  #join(ordinal: number, group: Group): void {
    group.joining.push(ordinal);
    group.size++;
    this.#groupByOrdinal.set(ordinal, group);
    for (const other of this.tiedTo(ordinal)) this.#free.set(other, (this.#free.get(other) as number) - 1);
  }

  #getFree(ordinal: number): number[] {
    return this.tiedTo(ordinal).filter((other) => !this.#groupByOrdinal.has(other));
  }

  /** The group with room that a memory without one is nearest to. */
  #findJoin(ordinal: number): Join | undefined {
    if (this.#groupByOrdinal.has(ordinal)) return undefined;
    const tiesTo = new Map<Group, number>();
    for (const { ordinal: other, cosine } of this.#ties.get(ordinal) ?? []) {
      const group = this.#groupByOrdinal.get(other);
      if (!group || group.size >= GROUP_LIMITS.mostSources) continue;
      const count = (tiesTo.get(group) ?? 0) + 1;
      tiesTo.set(group, count);
      if (count === Math.min(MIN_TIES, group.size)) return { ordinal, group, cosine };
    }
    return undefined;
  }
}

/** Least share of memories that a word may be in to be rare, as one of so many. */
const ONE_IN = 100;

/** Few enough to look through, however large a namespace is. */
const MAX_MEMORIES = 64;

/** A group's own name or number is in all of its sources, in a small namespace too. */
const MIN_MEMORIES = 12;

/**
 * Most memories of a namespace that hold a word which counts as rare: one in a hundred, from 12 to 64. Two memories
 * that share such a word, be it a name, a number or what they are about, may belong together. No list of names and no
 * capital letters are asked, which many scripts do not have.
 *
 * @param memories how many the namespace holds
 */
export function mostMemoriesOfRareWord(memories: number): number {
  return Math.max(MIN_MEMORIES, Math.min(MAX_MEMORIES, Math.floor(memories / ONE_IN)));
}

/**
 * The words of a memory that may be rare, each any of some terms. In a session a text begins with who speaks, which tells
 * nothing of what is said.
 */
export function tellingWords(text: string, sessionId: string | null): string[][] {
  const label = sessionId === DEFAULTS.sessionId ? '' : getLabel(text);
  return queryWords(text.slice(label.length));
}
