import type { Ranked } from '../ports/ranking.ts';
import type { Clock } from '../ports/runtime.ts';
import type { Storage } from '../ports/storage.ts';
import type { MemoryFilter } from '../ports/storage-memories.ts';
import type { Answer, AnswerRequest } from '../ports/storage-search.ts';
import type { EmbeddingQueue } from './embedding-queue/embedding-queue.ts';
import { type Asked, readQueryIntent } from './ranking/asked-date.ts';
import { rankedOrdinals } from './ranking/rank.ts';

/** Memories that words and vectors each admit; four times as many gain nothing on four sets of questions. */
const POOL_SIZE = 50;

/**
 * Memories that each admits for one of a longer answer, up to so many more than are asked for: what either has far down its
 * list may be among the best by both.
 */
const ADMITTED_EACH = 5;
const ADMITTED_MORE = 1000;

/** What finding works with. */
export interface FindParts {
  storage: Storage;
  clock: Clock;
  /** Absent where recall goes by words alone. */
  embedding?: EmbeddingQueue;
}

/** What is looked for: at most `limit` memories that pass the filter, of at least a score. */
export interface Sought {
  namespace: string;
  /** Trimmed, and not empty. */
  query: string;
  filter: MemoryFilter;
  limit: number;
  minScore?: number;
  /** When and where the query is asked, which gives the dates in it their meaning; now and UTC if absent. */
  asked?: Asked;
  /** Whether only the pool is looked through, on which scores rest, though a longer answer has more; that takes less time. */
  isOfPool?: boolean;
  /** See `AnswerRequest`. */
  explain?: boolean | undefined;
  /** See `SearchRequest`. */
  isUpToDate?: boolean;
}

/** The memories that answer a query best, best first, by their ordinals. */
export async function find(parts: FindParts, sought: Sought): Promise<Map<number, Ranked>> {
  const { ranking, ...request } = await ask(parts, sought);
  return rankedOrdinals(await parts.storage.search(request), ranking);
}

/** The same with the memories themselves, as of `now`; tells how long each stage took. */
export async function answer(
  parts: FindParts,
  sought: Sought,
  maxBytes: number,
  stages: Stages,
): Promise<Answer & { now: number }> {
  const request = await ask(parts, sought);
  stages.end('embed');
  const found = await parts.storage.answer({ ...request, explain: sought.explain, maxBytes });
  stages.endAs(found.stagesMs);
  return { ...found, now: request.now };
}

async function ask(
  { embedding, clock }: FindParts,
  { namespace, query, filter, limit, minScore = 0, asked, isOfPool, isUpToDate }: Sought,
): Promise<Omit<AnswerRequest, 'maxBytes'>> {
  const vector = embedding?.queryVector(query);
  // Whoever awaits it is told of a failure, and begins to only after the date has been looked for.
  if (vector instanceof Promise) vector.catch(() => {});
  const now = clock.now();
  // Queries that come together are sent to the model together, at the end of what runs now: only then is it at work.
  await Promise.resolve();
  const intent = await readQueryIntent(query, asked ?? { now, zone: 'UTC' });
  return {
    namespace,
    text: query,
    date: intent.date,
    vector: await vector,
    filter,
    now,
    poolSize: POOL_SIZE,
    tailSize: isOfPool ? 0 : tailFor(limit),
    ...(isUpToDate && { isUpToDate }),
    ranking: { limit, minScore, intent },
  };
}

/** How many each admits beyond the pool, on which alone scores rest. */
function tailFor(limit: number): number {
  return Math.max(0, Math.min(limit * ADMITTED_EACH, limit + ADMITTED_MORE) - POOL_SIZE);
}

/** The stages of a recall, in their order. */
type Stage = 'embed' | 'words' | 'vectors' | 'fuse' | 'read';

/** How long each stage of one recall took. */
export class Stages {
  readonly #startedAt = performance.now();
  readonly #ms: Record<Stage, number> = { embed: 0, words: 0, vectors: 0, fuse: 0, read: 0 };
  #at = this.#startedAt;

  /** Ends a stage, which takes all the time since the end of the last. */
  end(stage: Stage): void {
    const now = performance.now();
    this.#ms[stage] += now - this.#at;
    this.#at = now;
  }

  /** Ends stages that were measured elsewhere; what else has passed since the last was waiting. */
  endAs(measured: Partial<Record<Stage, number>>): void {
    for (const [stage, ms] of Object.entries(measured)) this.#ms[stage as Stage] += ms;
    this.#at = performance.now();
  }

  /** For `query_completed`: `latency_ms` of the whole and of each stage. */
  facts(): Record<string, number> {
    const { embed, words, vectors, fuse, read } = this.#ms;
    return {
      latency_ms: rounded(performance.now() - this.#startedAt),
      embed_ms: rounded(embed),
      words_ms: rounded(words),
      vectors_ms: rounded(vectors),
      fuse_ms: rounded(fuse),
      read_ms: rounded(read),
    };
  }
}

function rounded(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
