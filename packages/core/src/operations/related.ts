import { assertValid, createCheck, DEFAULTS, RelatedRequest, type RelatedResponse } from '@memoryd/contract';
import { type QueryVector, toFloats } from '@memoryd/search';
import type { StoredMemory } from '../ports/storage-memories.ts';
import { toOwnerFilter } from '../request-filter.ts';
import type { Core } from './core.ts';
import { assertMemoryId, memoryNotFound, toMemory } from './read-memories.ts';
import { searchSimilar } from './similar.ts';

/** Memories that are compared for each requested one: some are copies of the text, or of each other. */
const COMPARED_PER_RELATED = 3;

/**
 * Minimum similarity of a related memory. Of the 600 ordered pairs of 25 notes about different things, 21 reach it, and
 * share a thing, a day or a time of the year. Other notes about a subject of 3,000 notes have at least .23.
 */
const MIN_SIMILARITY = 0.15;

const check = createCheck(RelatedRequest, 'request');

/** See `MemoryApi.related`. */
export async function related(
  core: Core,
  namespace: string,
  memoryId: string,
  request: RelatedRequest = {},
): Promise<RelatedResponse> {
  assertValid(check, request);
  assertMemoryId(memoryId);
  const { limit = DEFAULTS.related, ...scope } = request;
  const { storage, maxAnswerBytes } = core;
  const of = toOwnerFilter(scope);
  const now = core.clock.now();
  const memory = await storage.memory(namespace, memoryId, now, of);
  if (!memory) throw memoryNotFound();
  const vector = await readVector(core, namespace, memory);
  const found = await searchSimilar(core, {
    ...{ namespace, id: memoryId, content: memory.content, filter: of },
    limit: (limit + 1) * COMPARED_PER_RELATED,
    ...(vector && { vector }),
  });
  const response: RelatedResponse = { id: memoryId, related: [] };
  let bytes = 0;
  for (const { memory: near, score } of found) {
    if (response.related.length === limit || score < MIN_SIMILARITY) break;
    if (near.id === memory.mergedInto) continue;
    // It may have been forgotten since the search.
    const stored = await storage.memory(namespace, near.id, now, of);
    if (!stored) continue;
    const next = { memory: toMemory(stored, now), score };
    bytes += Buffer.byteLength(JSON.stringify(next));
    if (bytes > maxAnswerBytes) break;
    response.related.push(next);
  }
  return response;
}

/** Returns the stored vector of a text. Undefined if it is not embedded, or by another model than that of this process. */
async function readVector(
  { storage, embedding }: Core,
  namespace: string,
  { ordinal, content }: StoredMemory,
): Promise<QueryVector | undefined> {
  const stored = await storage.firstVectors(namespace, [ordinal]);
  if (!stored || stored.ordinals.length === 0) return undefined;
  const vector = embedding?.toQueryVector(content, { vectors: [toFloats(stored.vectors)] });
  return vector?.modelId === stored.modelId ? vector : undefined;
}
