import { wordMatches } from '../../../core/ranking/bm25.ts';
import type { SearchRequest, Signals } from '../../../ports/storage.ts';
import type { Connection } from '../connection.ts';
import { countLive } from '../read/stats.ts';
import { MemoryFacts } from './memory-facts.ts';
import { type QueryWord, queryWords } from './query-words.ts';
import { type Scope, scopeOf } from './scope.ts';
import { collectSignals } from './signals.ts';
import type { VectorIndexes } from './vector-indexes.ts';
import { wordCandidates } from './word-candidates.ts';

/** Candidates that are scored exactly for each that is admitted, by their words and by their codes. */
const WORD_CANDIDATES = 2;
const CODE_CANDIDATES = 3;

/** The part of the pool, best first, that is good enough to lift a neighbour past the rest of it. */
const LIFTING_SHARE = 0.4;

/** See `Storage.search`. To be called inside a transaction, so that all of it sees one snapshot. */
export function search(connection: Connection, vectorIndexes: VectorIndexes, request: SearchRequest): Signals {
  const { namespace, filter, now } = request;
  const scope = scopeOf(connection, namespace, filter, now);
  const words = queryWords(connection, namespace, request.text);
  const memoryCount = countLive(connection, namespace, now);
  const model =
    request.vector && vectorIndexes.of(connection, namespace, request.vector.modelId, request.vector.values.length);
  const vector = request.vector && model && { modelNo: model.modelNo, values: request.vector.values };
  const facts = new MemoryFacts(connection, namespace, words, vector);
  const admitted = request.poolSize + request.tailSize;
  const nearest = vector && model ? model.index.nearest(vector.values, admitted * CODE_CANDIDATES, scope.allows) : [];
  const byMeaning = bestByMeaning(facts, nearest, admitted);
  const byWords = bestByWords(connection, facts, words, memoryCount, scope, admitted);
  return collectSignals(facts, {
    memoryCount,
    words,
    scope,
    pool: firstOfEach(byWords, byMeaning, request.poolSize),
    lifting: firstOfEach(byWords, byMeaning, Math.ceil(request.poolSize * LIFTING_SHARE)),
    tail: [...byWords.slice(request.poolSize), ...byMeaning.slice(request.poolSize)],
  });
}

function firstOfEach(byWords: readonly number[], byMeaning: readonly number[], count: number): number[] {
  return [...new Set([...byWords.slice(0, count), ...byMeaning.slice(0, count)])];
}

function bestByMeaning(facts: MemoryFacts, candidates: readonly number[], count: number): number[] {
  facts.prepareCosines(candidates);
  return best(candidates, (ordinal) => facts.cosine(ordinal), count);
}

function bestByWords(
  connection: Connection,
  facts: MemoryFacts,
  words: readonly QueryWord[],
  memoryCount: number,
  scope: Scope,
  count: number,
): number[] {
  const candidates = wordCandidates(connection, words, memoryCount, scope, count * WORD_CANDIDATES);
  facts.prepareWords(candidates);
  const termFrequencies = new Uint16Array(candidates.length * words.length);
  const lengths = Uint32Array.from(candidates, (ordinal, row) =>
    facts.readWords(ordinal, termFrequencies, row * words.length),
  );
  const documentFrequencies = words.map((word) => word.frequency);
  const matches = wordMatches({ memoryCount, documentFrequencies, lengths, termFrequencies });
  const rowOf = new Map(candidates.map((ordinal, row) => [ordinal, row]));
  const match = (ordinal: number) => matches[rowOf.get(ordinal) as number] as number;
  return best(
    candidates.filter((ordinal) => match(ordinal) > 0),
    match,
    count,
  );
}

/** The memories of the highest value, highest first; the newest first where values are equal. */
function best(ordinals: readonly number[], scoreOf: (ordinal: number) => number, count: number): number[] {
  return ordinals
    .map((ordinal) => ({ ordinal, value: scoreOf(ordinal) }))
    .filter(({ value }) => !Number.isNaN(value))
    .sort((a, b) => b.value - a.value || b.ordinal - a.ordinal)
    .slice(0, count)
    .map(({ ordinal }) => ordinal);
}
