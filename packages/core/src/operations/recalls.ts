import {
  assertValid,
  createCheck,
  LIMITS,
  RecallsRequest,
  type RecallsResponse,
  type RememberedRecall,
} from '@memoryd/contract';
import type { OwnerFilter } from '@memoryd/search';
import { numberCursors, pageEnd, pageRequest } from '../cursor.ts';
import type { PageRequest } from '../ports/storage-memories.ts';
import type { NewRecall, StoredRecall } from '../remembered-recalls.ts';
import { toOwner, toOwnerFilter } from '../request-filter.ts';
import { toTimestamp } from '../time.ts';
import type { Core } from './core.ts';

/** Maximum memory ids of one page, because each is looked up. */
const MAX_PAGE_IDS = 20_000;

const check = createCheck(RecallsRequest, 'request');
/** The page position is the number of the last recall. */
const cursors = numberCursors('recalls');

/**
 * Begins a recall or a context whose query is logged. Returns a function that remembers it, unless its scope is forgotten
 * before the function is called.
 */
export function beginRecall(core: Core, namespace: string): (recall: Omit<NewRecall, 'id' | 'at'>) => void {
  const begun = core.recalls?.begin();
  return (recall) => core.recalls?.add(namespace, { id: core.ids.next(), at: core.clock.now(), ...recall }, begun);
}

/** See `MemoryApi.recalls`. */
export async function recalls(core: Core, namespace: string, request: RecallsRequest = {}): Promise<RecallsResponse> {
  assertValid(check, request);
  const { memory_id: memoryId, user_id: userId, agent_id: agentId } = request;
  const of = toOwnerFilter(request);
  const selection = { namespace, filters: { ...of, memoryId } };
  const page = pageRequest(core, request, cursors, selection);
  if (!core.recalls) return { recalls: [], total: 0, is_remembered: false };
  const isReadable = memoryId === undefined || (await getReadable(core, namespace, [memoryId], of)).has(memoryId);
  const all = isReadable ? core.recalls.list(namespace, { userId, agentId }, memoryId) : [];
  const { items, next } = takeRecalls(all, page);
  const ids = items.flatMap((item) => getListed(item).map(({ id }) => id));
  const readable = await getReadable(core, namespace, ids, of);
  return {
    recalls: items.map((item) => toRecall(item, readable)),
    is_remembered: true,
    ...pageEnd(core, { items, total: all.length, ...(next !== undefined && { next }) }, cursors, selection),
  };
}

/** Returns the ids of memories that a caller may read at present: none that was forgotten, and none of another owner. */
async function getReadable(
  { storage, clock }: Core,
  namespace: string,
  ids: readonly string[],
  of: OwnerFilter,
): Promise<ReadonlyMap<string, number>> {
  return storage.revisions(namespace, ids, of, clock.now());
}

/** Fills a page with at most its limit of recalls and bytes, and `MAX_PAGE_IDS` ids, but at least one recall. */
function takeRecalls(
  all: readonly StoredRecall[],
  { limit, maxBytes, after = Number.POSITIVE_INFINITY }: PageRequest<number>,
): { items: StoredRecall[]; next?: number } {
  const items: StoredRecall[] = [];
  let bytes = 0;
  let ids = 0;
  for (const recall of all) {
    if (recall.number >= after) continue;
    bytes += Buffer.byteLength(JSON.stringify(toRecall(recall)));
    ids += getListed(recall).length;
    const last = items.at(-1);
    if (last && (items.length === limit || bytes > maxBytes || ids > MAX_PAGE_IDS)) return { items, next: last.number };
    items.push(recall);
  }
  return { items };
}

/** Returns the results of a recall that a response has. */
function getListed({ results }: StoredRecall): StoredRecall['results'] {
  return results.slice(0, LIMITS.eventIds);
}

/** Returns a recall as a response has it, with the readable ones of its results, or all. */
function toRecall(recall: StoredRecall, readable?: ReadonlyMap<string, number>): RememberedRecall {
  const { id, at, kind, query, sessionId, results } = recall;
  return {
    ...{ id, at: toTimestamp(at), kind, query },
    ...toOwner(recall),
    ...(sessionId !== undefined && { session_id: sessionId }),
    results: getListed(recall)
      .filter((result) => readable?.has(result.id) ?? true)
      .map((result) => ({ memory_id: result.id, ...(result.score !== undefined && { score: result.score }) })),
    count: results.length,
  };
}
