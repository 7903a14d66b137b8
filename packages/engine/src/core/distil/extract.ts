import { DISTILLED_LIMITS, type DistilGroup, type Distilled } from '../../ports/distiller.ts';
import { centralities, type Similarities, similaritiesOf } from './lexrank.ts';
import { quotesOf } from './sentences.ts';

/** What names this distiller. */
export const EXTRACTIVE = 'extractive';

/** How much being central counts beside being new: lambda of MMR, which its authors set to .3 for an overview. */
const CENTRALITY_WEIGHT = 0.3;

/**
 * Most that is looked at, shared equally by the sources of a group: UTF-16 units, and quotes. It bounds the time, since
 * this also runs within a transaction.
 */
const MOST_CHARS = 64 * 1024;
const MOST_QUOTES = 240;

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
export function extract(group: DistilGroup): Distilled {
  const candidates = candidatesOf(group);
  if (candidates.length === 0) throw new RangeError('a group that says nothing cannot be distilled');
  const facts = mostRelevant(candidates).map(({ text, sources }) => ({ text, sources }));
  return { content: facts.map(({ text }) => text).join('\n'), facts, by: EXTRACTIVE };
}

/** What can be quoted, in the order of the sources and their texts. */
function candidatesOf({ sources }: DistilGroup): Candidate[] {
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
  const mostChars = Math.floor(MOST_CHARS / sources);
  const text = content.trimStart();
  const quotes = quotesOf(text.slice(0, mostChars));
  // Where the text is cut, its last sentence may be half of one.
  if (text.length > mostChars && quotes.length > 1) quotes.pop();
  return quotes.slice(0, Math.max(1, Math.floor(MOST_QUOTES / sources)));
}

/** The candidates that are taken, in the order in which they came. */
function mostRelevant(candidates: readonly Candidate[]): Candidate[] {
  const similarities = similaritiesOf(candidates.map(({ text }) => text));
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
