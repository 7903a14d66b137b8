import { wordShares } from '../../../core/ranking/bm25.ts';
import type { SearchRequest, Signals } from '../../../ports/storage-search.ts';
import { foundBy } from '../../gather.ts';
import type { Queries } from '../connection.ts';
import { bestByWords } from './best-by-words.ts';
import { nearest, queryVector } from './nearest.ts';
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
  const byWords = await bestByWords(queries, scope, { ...asked, shares, date: request.date }, admitted);
  const wordsAt = performance.now();
  const vector = queryVector(scope, request.vector);
  const byMeaning = vector ? await nearest(queries, scope, vector, poolSize) : [];
  // Looked for apart, so that a longer answer changes nothing of the pool.
  const tailByMeaning = vector && tailSize > 0 ? await nearest(queries, scope, vector, admitted) : [];
  const vectorsAt = performance.now();
  const found = foundBy(byWords, byMeaning, tailByMeaning, poolSize);
  const signals = await collectSignals(queries, { scope, now, asked, vector }, found);
  return {
    ...signals,
    stagesMs: { words: wordsAt - startedAt, vectors: vectorsAt - wordsAt, fuse: performance.now() - vectorsAt },
  };
}
