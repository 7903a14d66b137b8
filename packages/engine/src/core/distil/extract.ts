import { DISTILLED_LIMITS, type Distilled, type DistilSource } from '../../ports/distiller.ts';
import { queryWords } from '../text/analyze.ts';
import { findQuotes } from './sentences.ts';

/** What names this distiller. */
export const EXTRACTIVE = 'extractive';

/** How much being central counts beside being new: lambda of MMR, which its authors set to .3 for an overview. */
const CENTRALITY_WEIGHT = 0.3;

/**
 * Most that is looked at, shared equally by the sources of a group: UTF-16 units, and quotes. It bounds the time, since
 * this also runs within a transaction.
 */
const MAX_CHARS = 64 * 1024;
const MAX_QUOTES = 240;

/** What is quoted of a group. */
interface ExtractedGroup {
  readonly sources: readonly Pick<DistilSource, 'id' | 'content'>[];
}

interface Candidate {
  text: string;
  asks: boolean;
  sources: string[];
}

/**
 * Distils a group without a model: quotes the sentences that cover it best, one a line, oldest first. It writes nothing
 * itself but the line breaks between them, so it cannot be wrong where its sources are right.
 *
 * Sentences are ranked by LexRank, which finds what the sources have in common and, on groups of a few short texts, needs
 * neither training nor a model's vectors; one after another is taken by maximal marginal relevance (Carbonell and
 * Goldstein, "The use of MMR, diversity-based reranking for reordering documents and producing summaries", SIGIR 1998),
 * since the most central sentences by themselves say one thing several times. A sentence is never left out for being
 * like another: two that differ in a name, a number or a "not" say different things. Those that are the same to the
 * letter are quoted once, for all their sources. Questions are quoted only where there is nothing else.
 *
 * Of a long source only the beginning is looked at: an equal share of 65,536 UTF-16 units and 240 quotes.
 *
 * @throws RangeError for a group that says nothing: without sources, or with blank texts alone
 */
export function extract(group: ExtractedGroup): Distilled {
  const candidates = getCandidates(group);
  if (candidates.length === 0) throw new RangeError('a group that says nothing cannot be distilled');
  const facts = mostRelevant(candidates).map(({ text, sources }) => ({ text, sources }));
  return { content: facts.map(({ text }) => text).join('\n'), facts, by: EXTRACTIVE };
}

/** What can be quoted, in the order of the sources and their texts. */
function getCandidates({ sources }: ExtractedGroup): Candidate[] {
  const byText = new Map<string, Candidate>();
  for (const { id, content } of sources) {
    for (const { text, asks } of quotesOfBeginning(content, sources.length)) {
      const candidate = byText.get(text);
      if (!candidate) byText.set(text, { text, asks, sources: [id] });
      else if (!candidate.sources.includes(id)) candidate.sources.push(id);
    }
  }
  const candidates = [...byText.values()];
  const telling = candidates.filter(({ asks }) => !asks);
  return telling.length > 0 ? telling : candidates;
}

function quotesOfBeginning(content: string, sources: number) {
  const mostChars = Math.floor(MAX_CHARS / sources);
  const text = content.trimStart();
  const quotes = findQuotes(text.slice(0, mostChars));
  // Where the text is cut, its last sentence may be half of one.
  if (text.length > mostChars && quotes.length > 1) quotes.pop();
  return quotes.slice(0, Math.max(1, Math.floor(MAX_QUOTES / sources)));
}

/** The candidates that are taken, in the order in which they came. */
function mostRelevant(candidates: readonly Candidate[]): Candidate[] {
  const similarities = getSimilarities(candidates.map(({ text }) => text));
  const central = centralities(similarities);
  const taken: number[] = [];
  const open = new Set(candidates.keys());
  let chars = 0;
  while (open.size > 0 && taken.length < DISTILLED_LIMITS.facts) {
    const next = best(open, (index) => relevance(index, { central, similarities, taken }));
    open.delete(next);
    const length = (candidates[next] as Candidate).text.length + Math.sign(chars);
    if (chars + length > DISTILLED_LIMITS.chars) continue;
    chars += length;
    taken.push(next);
  }
  return taken.sort((a, b) => a - b).map((index) => candidates[index] as Candidate);
}

interface Selection {
  central: Float64Array;
  similarities: Similarities;
  taken: readonly number[];
}

function relevance(index: number, { central, similarities, taken }: Selection): number {
  const likest = Math.max(0, ...taken.map((other) => similarities.of(index, other)));
  return CENTRALITY_WEIGHT * (central[index] as number) - (1 - CENTRALITY_WEIGHT) * likest;
}

/** The item that is worth most, the first of several. */
function best(items: Iterable<number>, worth: (item: number) => number): number {
  let found = -1;
  let largest = Number.NEGATIVE_INFINITY;
  for (const item of items) {
    const value = worth(item);
    if (value > largest) [found, largest] = [item, value];
  }
  return found;
}

/** Chance of going to any sentence at all: Erkan and Radev's damping, .1 to .2 in their experiments. */
const JUMP = 0.15;

/** Where the rank stops changing, and how often it is computed at most. */
const TOLERANCE = 1e-6;
const MAX_ROUNDS = 50;

/** Weights of terms, with a length of 1; empty for a text without terms. */
type TermWeights = ReadonlyMap<string, number>;

/** Cosines of sentences, row by row; 1 with itself. */
interface Similarities {
  readonly count: number;
  /** From 0 to 1. */
  of(a: number, b: number): number;
}

/**
 * How alike sentences are: cosine over tf·idf of the stems of their words that count. A sentence is so short that tf
 * is 1; idf is ln(1 + sentences / sentences with the term), over these sentences alone.
 */
function getSimilarities(sentences: readonly string[]): Similarities {
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
function centralities({ count, of }: Similarities): Float64Array {
  const degrees = Float64Array.from({ length: count }, (_, a) => sumOver(count, (b) => (a === b ? 0 : of(a, b))));
  let rank = new Float64Array(count).fill(1 / count);
  for (let round = 0, change = 1; round < MAX_ROUNDS && change > TOLERANCE; round++) {
    const leaving = rank.map((value, a) => (degrees[a] === 0 ? 0 : value / (degrees[a] as number)));
    const walked = rank.map((_, b) => sumOver(count, (a) => (a === b ? 0 : of(a, b) * (leaving[a] as number))));
    // From a sentence without similar ones, the walk goes on at any sentence.
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
