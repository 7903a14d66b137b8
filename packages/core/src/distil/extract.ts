import { queryWords } from '@memoryd/search';
import { DISTILLED_LIMITS, type Distilled, type DistilSource } from '../ports/distiller.ts';
import { findQuotes } from './sentences.ts';

/** The name of this distiller. */
export const EXTRACTIVE = 'extractive';

/**
 * Weight of centrality against novelty: the lambda of maximal marginal relevance, whose authors use .3 for an overview.
 */
const CENTRALITY_WEIGHT = 0.3;

/**
 * Maximum UTF-16 units of a group that are processed, shared equally by its sources. This limit and `MAX_QUOTES` bound
 * the duration, since a transaction may wait for the extraction.
 */
const MAX_CHARS = 64 * 1024;

/** Maximum quotes of a group that are processed, shared equally by its sources; at least one per source. */
const MAX_QUOTES = 240;

interface ExtractedGroup {
  readonly sources: readonly Pick<DistilSource, 'id' | 'content'>[];
}

interface Candidate {
  text: string;
  isQuestion: boolean;
  sources: string[];
}

/**
 * Distils a group without a model. Quotes the sentences that cover the group best, one per line, oldest first. Only
 * line breaks are added, so the text is correct if its sources are.
 *
 * Sentences are ranked by LexRank, which finds what the sources have in common and needs neither training nor a model's
 * vectors for groups of a few short texts. The quoted sentences are selected by maximal marginal relevance (Carbonell
 * and Goldstein, "The use of MMR, diversity-based reranking for reordering documents and producing summaries", SIGIR
 * 1998), since the most central sentences alone repeat each other. No sentence is removed as a near duplicate, since
 * two sentences that differ in a name, a number or a "not" have different meanings. Identical sentences are quoted
 * once, for all their sources. Questions are quoted only if the group has no other sentences.
 *
 * Only the beginning of a long source is processed: an equal share of 65,536 UTF-16 units and 240 quotes.
 *
 * @throws RangeError for a group without sources, or with blank texts only
 */
export function extract(group: ExtractedGroup): Distilled {
  const candidates = getCandidates(group);
  if (candidates.length === 0) throw new RangeError('a group must have at least one text that is not blank');
  const facts = selectMostRelevant(candidates).map(({ text, sources }) => ({ text, sources }));
  return { content: facts.map(({ text }) => text).join('\n'), facts, by: EXTRACTIVE };
}

/** Returns the sentences that can be quoted, in the order of the sources and their texts. */
function getCandidates({ sources }: ExtractedGroup): Candidate[] {
  const byText = new Map<string, Candidate>();
  for (const { id, content } of sources) {
    for (const { text, isQuestion } of findFirstQuotes(content, sources.length)) {
      const candidate = byText.get(text);
      if (!candidate) byText.set(text, { text, isQuestion, sources: [id] });
      else if (!candidate.sources.includes(id)) candidate.sources.push(id);
    }
  }
  const candidates = [...byText.values()];
  const statements = candidates.filter(({ isQuestion }) => !isQuestion);
  return statements.length > 0 ? statements : candidates;
}

function findFirstQuotes(content: string, sources: number) {
  const maxChars = Math.floor(MAX_CHARS / sources);
  const text = content.trimStart();
  const quotes = findQuotes(text.slice(0, maxChars));
  // The last sentence may be incomplete if the text was cut.
  if (text.length > maxChars && quotes.length > 1) quotes.pop();
  return quotes.slice(0, Math.max(1, Math.floor(MAX_QUOTES / sources)));
}

/** Returns the candidates to quote, in the order of `candidates`. */
function selectMostRelevant(candidates: readonly Candidate[]): Candidate[] {
  const similarities = getSimilarities(candidates.map(({ text }) => text));
  const central = getCentralities(similarities);
  const selected: number[] = [];
  const remaining = new Set(candidates.keys());
  let chars = 0;
  while (remaining.size > 0 && selected.length < DISTILLED_LIMITS.facts) {
    const next = findBest(remaining, (index) => getRelevance(index, { central, similarities, selected }));
    remaining.delete(next);
    const length = (candidates[next] as Candidate).text.length + Math.sign(chars);
    if (chars + length > DISTILLED_LIMITS.chars) continue;
    chars += length;
    selected.push(next);
  }
  return selected.sort((a, b) => a - b).map((index) => candidates[index] as Candidate);
}

interface Selection {
  central: Float64Array;
  similarities: Similarities;
  selected: readonly number[];
}

function getRelevance(index: number, { central, similarities, selected }: Selection): number {
  const maxSimilarity = Math.max(0, ...selected.map((other) => similarities.of(index, other)));
  return CENTRALITY_WEIGHT * (central[index] as number) - (1 - CENTRALITY_WEIGHT) * maxSimilarity;
}

/** Returns the item with the greatest value; of several, the first. */
function findBest(items: Iterable<number>, getValue: (item: number) => number): number {
  let bestItem = -1;
  let largest = Number.NEGATIVE_INFINITY;
  for (const item of items) {
    const value = getValue(item);
    if (value > largest) [bestItem, largest] = [item, value];
  }
  return bestItem;
}

/** Probability of a jump to a random sentence: the damping of Erkan and Radev, .1 to .2 in their experiments. */
const JUMP_PROBABILITY = 0.15;

/** The iteration stops when the sum of the changes of all values is at most `TOLERANCE`. */
const TOLERANCE = 1e-6;
const MAX_ROUNDS = 50;

/** Term weights, normalized to length 1; empty for a text without terms. */
type TermWeights = ReadonlyMap<string, number>;

/** Cosines between sentences; 1 between a sentence and itself. */
interface Similarities {
  readonly count: number;
  /** Returns the cosine of two sentences by their indexes, from 0 to 1. */
  of(a: number, b: number): number;
}

/**
 * Returns the similarities of sentences: cosine over tf·idf of the stems of their content words. Sentences are so short
 * that tf is 1. idf is ln(1 + sentences / sentences with the term), over these sentences only.
 */
function getSimilarities(sentences: readonly string[]): Similarities {
  const count = sentences.length;
  const weights = getTermWeights(sentences);
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

function getTermWeights(sentences: readonly string[]): TermWeights[] {
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
 * Returns the centrality of each sentence, scaled so that the maximum is 1: continuous LexRank (Erkan and Radev,
 * "LexRank: Graph-based lexical centrality as salience in text summarization", JAIR 22, 2004), the stationary
 * distribution of a walk from a sentence to similar ones. Unlike in their walk, there is no step from a sentence to
 * itself, which would make an isolated sentence as central as the average.
 */
function getCentralities({ count, of }: Similarities): Float64Array {
  const degrees = Float64Array.from({ length: count }, (_, a) => sumOver(count, (b) => (a === b ? 0 : of(a, b))));
  let rank = new Float64Array(count).fill(1 / count);
  for (let round = 0, change = 1; round < MAX_ROUNDS && change > TOLERANCE; round++) {
    const leaving = rank.map((value, a) => (degrees[a] === 0 ? 0 : value / (degrees[a] as number)));
    const walked = rank.map((_, b) => sumOver(count, (a) => (a === b ? 0 : of(a, b) * (leaving[a] as number))));
    // From a sentence without similar ones, the walk continues at any sentence.
    const lost = 1 - sumOver(count, (b) => walked[b] as number);
    const next = walked.map((value) => (1 - JUMP_PROBABILITY) * (value + lost / count) + JUMP_PROBABILITY / count);
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
