import { queryWords } from '../text/analyze.ts';

/** Chance of going to any sentence at all: Erkan and Radev's damping, .1 to .2 in their experiments. */
const JUMP = 0.15;

/** Where the rank stops changing, and how often it is computed at most. */
const TOLERANCE = 1e-6;
const MOST_ROUNDS = 50;

/** Weights of terms, with a length of 1; empty for a text without terms. */
type TermWeights = ReadonlyMap<string, number>;

/** Cosines of sentences, row by row; 1 with itself. */
export interface Similarities {
  readonly count: number;
  /** From 0 to 1. */
  of(a: number, b: number): number;
}

/**
 * How alike sentences are: cosine over tf·idf of the stems of their words that count. A sentence is so short that tf
 * is 1; idf is ln(1 + sentences / sentences with the term), over these sentences alone.
 */
export function similaritiesOf(sentences: readonly string[]): Similarities {
  const count = sentences.length;
  const weights = termWeights(sentences);
  const cosines = new Float64Array(count * count);
  for (let a = 0; a < count; a++) {
    cosines[a * count + a] = 1;
    for (let b = 0; b < a; b++) {
      const cosine = dot(weights[a] as TermWeights, weights[b] as TermWeights);
      cosines[a * count + b] = cosine;
      cosines[b * count + a] = cosine;
    }
  }
  return { count, of: (a, b) => cosines[a * count + b] as number };
}

function termWeights(sentences: readonly string[]): TermWeights[] {
  const terms = sentences.map((sentence) => new Set(queryWords(sentence).flat()));
  const frequency = new Map<string, number>();
  for (const term of terms.flatMap((some) => [...some])) frequency.set(term, (frequency.get(term) ?? 0) + 1);
  return terms.map((some) => {
    const weighed = [...some].map(
      (term) => [term, Math.log(1 + sentences.length / (frequency.get(term) as number))] as const,
    );
    const length = Math.hypot(...weighed.map(([, weight]) => weight));
    return new Map(weighed.map(([term, weight]) => [term, weight / length]));
  });
}

function dot(a: TermWeights, b: TermWeights): number {
  const [few, many] = a.size < b.size ? [a, b] : [b, a];
  let sum = 0;
  for (const [term, weight] of few) sum += weight * (many.get(term) ?? 0);
  return Math.min(1, sum);
}

/**
 * How central each sentence is among these, the most central at 1: continuous LexRank (Erkan and Radev, "LexRank:
 * Graph-based lexical centrality as salience in text summarization", JAIR 22, 2004), the stationary distribution of a
 * walk that goes from a sentence to those like it. Unlike theirs it never stays where it is: a sentence like no other
 * would be as central as the average.
 */
export function centralities({ count, of }: Similarities): Float64Array {
  const degrees = Float64Array.from({ length: count }, (_, a) => sumOver(count, (b) => (a === b ? 0 : of(a, b))));
  let rank = new Float64Array(count).fill(1 / count);
  for (let round = 0, change = 1; round < MOST_ROUNDS && change > TOLERANCE; round++) {
    const leaving = rank.map((value, a) => (degrees[a] === 0 ? 0 : value / (degrees[a] as number)));
    const walked = rank.map((_, b) => sumOver(count, (a) => (a === b ? 0 : of(a, b) * (leaving[a] as number))));
    // Who cannot walk on from where it is goes to any sentence at all.
    const lost = 1 - sumOver(count, (b) => walked[b] as number);
    const next = walked.map((value) => (1 - JUMP) * (value + lost / count) + JUMP / count);
    change = sumOver(count, (b) => Math.abs((next[b] as number) - (rank[b] as number)));
    rank = next;
  }
  const largest = Math.max(...rank);
  return rank.map((value) => value / largest);
}

function sumOver(count: number, value: (index: number) => number): number {
  let sum = 0;
  for (let index = 0; index < count; index++) sum += value(index);
  return sum;
}
