import { DEFAULTS } from '@memoryd/contract/limits';
import { personsAmong, speakerTerms } from '../../../core/ranking/addressed.ts';
import { wordShares } from '../../../core/ranking/bm25.ts';
import { datedAmong, dateMatch } from '../../../core/ranking/dated.ts';
import { weighed } from '../../../core/ranking/synonyms.ts';
import type { MemoryFilter, SearchRequest, Signals } from '../../../ports/storage.ts';
import type { Digest } from '../../../recall-index/entry.ts';
import { type Int8Vector, toInt8 } from '../../../recall-index/int8.ts';
import type { RecallIndex } from '../../../recall-index/recall-index.ts';
import { areTooMany, askedWords, rarestWords, synonymsAmong } from '../../asked-words.ts';
import { filteredAttributes, SESSION_LABEL, SOURCE_LABEL, SPEAKER_LABEL } from '../../attributes.ts';
import { labelDigest, namespaceDigest, termDigest } from '../../digests.ts';
import { foundBy } from '../../gather.ts';
import type { Connection } from '../connection.ts';
import { exactCosines } from './exact-cosines.ts';
import { documentFrequenciesOf } from './many-words.ts';
import { collectSignals } from './signals.ts';

/**
 * How many of the best by meaning, and by words, have their cosines measured exactly: enough for the true ten nearest,
 * and for what is near the top by its words.
 */
const MEASURED_BY_MEANING = 32;
const MEASURED_BY_WORDS = 24;

/** See `Storage.search`. To be called inside a transaction, with the index as of its snapshot. */
export function search(connection: Connection, index: RecallIndex, request: SearchRequest): Signals {
  const { namespace, filter, now } = request;
  const startedAt = performance.now();
  const labels = labelsOf(namespace, filter);
  const memoryCount = index.ask({ namespace: namespaceDigest(namespace), now, labels, filter });
  const digest = (term: string) => termDigest(namespace, term);
  const asked = askedWords(request.text);
  const words = takingPart(index, asked.words, digest);
  const synonyms = synonymsAmong(words, asked);
  // Before the words, which the index is then to find memories by.
  const held = documentFrequenciesOf(
    index,
    synonyms.map(({ term }) => [digest(term)]),
  );
  const documentFrequencies = index.words(digestsOf(words, digest));
  const admitted = request.poolSize + request.tailSize;
  const dated = datedAmong(words, request.date);
  const shares = wordShares({ memoryCount, documentFrequencies });
  const byDate = request.date && { ...request.date, match: dateMatch(shares, dated) };
  const byWords = index.bestByWords(shares, admitted, byDate);
  const wordsAt = performance.now();
  const byMeaning = nearest(connection, index, request, byWords, request.poolSize);
  // Looked for apart, so that a longer answer changes nothing of the pool.
  const tailByMeaning =
    byMeaning.vector && request.tailSize > 0 ? index.nearest(byMeaning.vector, admitted).map(({ row }) => row) : [];
  const vectorsAt = performance.now();
  const signals = collectSignals(
    {
      connection,
      index,
      now,
      memoryCount,
      documentFrequencies,
      synonyms: weighed(synonyms, held, { memoryCount, documentFrequencies }).map(({ term, ...synonym }) => ({
        ...synonym,
        digest: digest(term),
      })),
      speakers: digestsOf(speakerTerms(request.text, words), (term) => labelDigest(namespace, SPEAKER_LABEL, term)),
      persons: personsAmong(words),
      dated,
      vector: byMeaning.vector,
      measured: byMeaning.measured,
      noSession: index.session(labelDigest(namespace, SESSION_LABEL, DEFAULTS.sessionId)),
    },
    foundBy(byWords, byMeaning.rows, tailByMeaning, request.poolSize),
  );
  return {
    ...signals,
    stagesMs: { words: wordsAt - startedAt, vectors: vectorsAt - wordsAt, fuse: performance.now() - vectorsAt },
  };
}

function labelsOf(namespace: string, filter: MemoryFilter): Digest[] {
  const labels: [string, string][] = filteredAttributes(filter);
  if (filter.sessionId !== undefined) labels.push([SESSION_LABEL, filter.sessionId]);
  if (filter.source !== undefined) labels.push([SOURCE_LABEL, filter.source]);
  return labels.map(([name, value]) => labelDigest(namespace, name, value));
}

/** Those of a query's words that take part, each any of some terms: of many, the rarest. */
function takingPart(index: RecallIndex, words: string[][], digest: (term: string) => Digest): string[][] {
  return areTooMany(words) ? rarestWords(words, documentFrequenciesOf(index, digestsOf(words, digest))) : words;
}

function digestsOf(words: readonly string[][], digest: (term: string) => Digest): Digest[][] {
  return words.map((terms) => terms.map(digest));
}

/** Rows by meaning, and what was measured exactly, by row. */
interface Nearest {
  vector: Int8Vector | undefined;
  rows: number[];
  measured: ReadonlyMap<number, number>;
}

/** The rows whose vectors are nearest, nearest first; the newest first where they are equally near. */
function nearest(
  connection: Connection,
  index: RecallIndex,
  { vector }: SearchRequest,
  byWords: readonly number[],
  count: number,
): Nearest {
  if (!vector || !isOfModel(index, vector)) return { vector: undefined, rows: [], measured: new Map() };
  const quantised = toInt8(vector.values);
  const near = index.nearest(quantised, count);
  const first = near.slice(0, MEASURED_BY_MEANING).map(({ row }) => row);
  const measured = exactCosines(connection, index, [...first, ...byWords.slice(0, MEASURED_BY_WORDS)], vector.values);
  const rows = near.map(({ row, cosine }) => ({ row, cosine: measured.get(row) ?? cosine }));
  rows.sort((a, b) => b.cosine - a.cosine || index.ordinal(b.row) - index.ordinal(a.row));
  return { vector: quantised, rows: rows.map(({ row }) => row), measured };
}

// The index is as of this snapshot, and so is its model.
function isOfModel({ model }: RecallIndex, vector: NonNullable<SearchRequest['vector']>): boolean {
  return model?.modelId === vector.modelId && model.dimensions === vector.values.length;
}
