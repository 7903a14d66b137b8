import type { MemoryFilter, SearchRequest, Storage } from '../ports/storage.ts';
import type { Core } from './core.ts';
import { questionOf } from './ranking/question.ts';
import { type RankedRow, rank } from './ranking/rank.ts';
import { Stages } from './stages.ts';

/** Memories that words and vectors each admit; four times as many gain nothing on four sets of questions. */
const POOL_SIZE = 50;

/** What finding needs of the core. */
export type FindParts = Pick<Core, 'storage' | 'clock' | 'embedding'>;

/** What is looked for: at most `limit` memories that pass the filter, of at least a score. */
export interface Sought {
  namespace: string;
  /** Trimmed, and not empty. */
  query: string;
  filter: MemoryFilter;
  limit: number;
  minScore?: number;
  /** See `SearchRequest`. */
  isUpToDate?: boolean;
}

/** The memories that answer a query best, best first, by their ordinals; tells how long each stage took. */
export async function find(parts: FindParts, sought: Sought, stages = new Stages()): Promise<Map<number, RankedRow>> {
  const { query, limit, minScore = 0 } = sought;
  const embedding = parts.embedding?.queryVector(query);
  // While the model works, in a thread of its own.
  const question = questionOf(query);
  const vector = await embedding;
  stages.end('embed');
  const signals = await search(parts, sought, vector);
  stages.endAs(signals.stagesMs);
  const ranked = rank(signals, { limit, minScore, question });
  const found = new Map(ranked.map((row) => [signals.ordinals[row.row] as number, row]));
  stages.end('fuse');
  return found;
}

function search(
  { storage, clock }: FindParts,
  sought: Sought,
  vector: SearchRequest['vector'],
): ReturnType<Storage['search']> {
  const { namespace, query, filter, limit, isUpToDate } = sought;
  return storage.search({
    namespace,
    text: query,
    ...(vector && { vector }),
    filter,
    now: clock.now(),
    poolSize: POOL_SIZE,
    tailSize: Math.max(0, limit - POOL_SIZE),
    ...(isUpToDate && { isUpToDate }),
  });
}
