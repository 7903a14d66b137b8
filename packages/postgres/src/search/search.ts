import { foundBy, type Queries, type SearchRequest, type Signals, wordShares } from '@memoryd/engine/storage-kit';
import { bestByWords } from './best-by-words.ts';
import { findWithoutCrowds } from './crowds.ts';
import { nearest, type QueryVector, queryVector } from './nearest.ts';
import { scopeOf } from './scope.ts';
import { collectSignals } from './signals.ts';
import { askWords } from './words.ts';

/** See `Storage.search`. To be asked in a snapshot. */
export async function search(queries: Queries, request: SearchRequest): Promise<Signals> {
  const { now, poolSize, tailSize } = request;
  const admitted = poolSize + tailSize;
  const startedAt = performance.now();
  const scope = await scopeOf(queries, request);
  const asked = await askWords(queries, scope, request);
  const shares = wordShares({ memoryCount: scope.memoryCount, documentFrequencies: asked.frequencies });
  const matched = { ...asked, shares, date: request.date };
  const byWords = await findWithoutCrowds(queries, scope, admitted, (among) =>
    bestByWords(queries, among, matched, admitted),
  );
  const wordsAt = performance.now();
  const vector = queryVector(scope, request.vector);
  const nearestOf = (vector: QueryVector, count: number) =>
    findWithoutCrowds(queries, scope, count, (among) => nearest(queries, among, vector, count));
  const byMeaning = vector ? await nearestOf(vector, poolSize) : [];
  // Looked for apart, so that a longer answer changes nothing of the pool.
  const tailByMeaning = vector && tailSize > 0 ? await nearestOf(vector, admitted) : [];
  const vectorsAt = performance.now();
  const found = foundBy(byWords, byMeaning, tailByMeaning, poolSize);
  const signals = await collectSignals(queries, { scope, now, asked, vector }, found);
  return {
    ...signals,
    stagesMs: { words: wordsAt - startedAt, vectors: vectorsAt - wordsAt, fuse: performance.now() - vectorsAt },
  };
}
