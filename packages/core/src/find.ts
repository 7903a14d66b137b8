import { asksForBefore } from '@memoryd/contract';
import type {
  MemoryFilter,
  QueryIntent,
  QueryVector,
  Ranked,
  RankedSearchRequest,
  SearchResults,
} from '@memoryd/search';
import { type QueryContext, rankOrdinals, readQueryIntent } from '@memoryd/search';
import type { EmbeddingQueue } from './embedding-queue/embedding-queue.ts';
import type { Clock } from './ports/runtime.ts';
import type { Storage } from './ports/storage.ts';
import type { Reranking } from './reranking.ts';

/**
 * Maximum number of candidates that the word search and the vector search each add to the pool. A pool four times as
 * large did not improve results on four question sets.
 */
const POOL_SIZE = 50;

/**
 * Number of candidates of each search (by words, by vectors) per requested memory. A memory with a low rank by words
 * can still be among the best by words and vectors together, and vice versa.
 */
const CANDIDATES_PER_RESULT = 5;
/** Maximum candidates of each search in excess of the requested memories. */
const MAX_EXTRA_CANDIDATES = 1000;

export interface FindParts {
  storage: Storage;
  clock: Clock;
  /** Absent if recall uses words only. */
  embedding?: EmbeddingQueue;
}

/** Requests at most `limit` memories that match the filter and have a score of at least `minScore`. */
export interface FindRequest {
  namespace: string;
  /** Trimmed, and not empty. */
  query: string;
  filter: MemoryFilter;
  limit: number;
  minScore?: number;
  /** See `Ranking`. */
  onlyRelevant?: boolean | undefined;
  /** Time and time zone of the query, to resolve relative dates in the query; default: now in UTC. */
  asked?: QueryContext;
  /** Whether to search the pool only, which is faster. Scores do not change, since they depend on the pool alone. */
  isPoolOnly?: boolean;
  /** See `RankedSearchRequest`. */
  explain?: boolean | undefined;
  /** See `SearchRequest`. */
  isUpToDate?: boolean;
  /**
   * True if the query is a statement, and not a question: it asks for no date, no advice and nothing of the past, and
   * memories rank by their own evidence.
   */
  isStatement?: boolean;
  /** The vector of the query, or undefined to search by words. If the field is absent, the vector is computed. */
  vector?: QueryVector | undefined;
}

/** Returns the best memories for a query by their ordinals, best first. */
export async function find(parts: FindParts, request: FindRequest): Promise<Map<number, Ranked>> {
  const { ranking, ...search } = await toSearchRequest(parts, request);
  return rankOrdinals(await parts.storage.search(search), ranking);
}

/** Returns the best memories for a query with their texts, as of `now`. Records the duration of each stage. */
export async function findResults(
  parts: FindParts & { reranking?: Reranking },
  request: FindRequest,
  maxBytes: number,
  stages: Stages,
): Promise<SearchResults & { now: number; reranked?: boolean }> {
  const searchRequest = await toSearchRequest(parts, request);
  stages.end('embed');
  const rankedRequest = { ...searchRequest, explain: request.explain, maxBytes };
  const found = await (parts.reranking ?? parts.storage).searchAndRank(rankedRequest);
  stages.endAs(found.stagesMs);
  return { ...found, now: searchRequest.now };
}

async function toSearchRequest(
  { embedding, clock }: FindParts,
  request: FindRequest,
): Promise<Omit<RankedSearchRequest, 'maxBytes'>> {
  const {
    namespace,
    query,
    filter,
    limit,
    minScore = 0,
    onlyRelevant,
    asked,
    isPoolOnly,
    isUpToDate,
    isStatement,
  } = request;
  const vector = 'vector' in request ? request.vector : embedding?.queryVector(query);
  // The `await` below handles the rejection; the empty handler prevents an unhandled rejection before the `await`.
  if (vector instanceof Promise) vector.catch(() => {});
  const now = clock.now();
  // Concurrent queries go to the model in one batch, in the next microtask. The date is parsed after that, while the
  // model works.
  await Promise.resolve();
  const intent: QueryIntent = isStatement
    ? {}
    : { ...(await readQueryIntent(query, asked ?? { now, zone: 'UTC' })), asksForBefore: asksForBefore(query) };
  const queryVector = await vector;
  return {
    namespace,
    text: query,
    date: intent.date,
    vector: queryVector,
    filter,
    now,
    poolSize: POOL_SIZE,
    tailSize: isPoolOnly ? 0 : getTailSize(limit),
    ...(isUpToDate && { isUpToDate }),
    ranking: {
      ...{ limit, minScore, onlyRelevant, intent, scale: queryVector?.scale },
      ...(isStatement && { hasOwnEvidence: true }),
    },
  };
}

/** Returns the `tailSize` of a search for `limit` memories. */
function getTailSize(limit: number): number {
  return Math.max(0, Math.min(limit * CANDIDATES_PER_RESULT, limit + MAX_EXTRA_CANDIDATES) - POOL_SIZE);
}

type Stage = 'embed' | 'words' | 'vectors' | 'fuse' | 'rerank' | 'read';

/** Durations of the stages of one recall. */
export class Stages {
  readonly #startedAt = performance.now();
  readonly #ms: Record<Stage, number> = { embed: 0, words: 0, vectors: 0, fuse: 0, rerank: 0, read: 0 };
  #at = this.#startedAt;

  /** Ends a stage that began when the previous stage ended. */
  end(stage: Stage): void {
    const now = performance.now();
    this.#ms[stage] += now - this.#at;
    this.#at = now;
  }

  /**
   * Adds durations that were measured elsewhere, and begins the next stage. The rest of the time since the last stage
   * was spent waiting and belongs to no stage.
   */
  endAs(measured: Partial<Record<Stage, number>>): void {
    for (const [stage, ms] of Object.entries(measured)) this.#ms[stage as Stage] += ms;
    this.#at = performance.now();
  }

  /** Returns the fields of the log event `query_completed`: total latency and latency of each stage, in ms. */
  facts(): Record<string, number> {
    const { embed, words, vectors, fuse, rerank, read } = this.#ms;
    return {
      latency_ms: roundToMicroseconds(performance.now() - this.#startedAt),
      embed_ms: roundToMicroseconds(embed),
      words_ms: roundToMicroseconds(words),
      vectors_ms: roundToMicroseconds(vectors),
      fuse_ms: roundToMicroseconds(fuse),
      ...(rerank > 0 && { rerank_ms: roundToMicroseconds(rerank) }),
      read_ms: roundToMicroseconds(read),
    };
  }
}

function roundToMicroseconds(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
