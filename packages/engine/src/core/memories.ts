import {
  assertValid,
  checkOf,
  MemoriesRequest,
  type MemoriesResponse,
  type Memory,
  MemoryError,
} from '@memoryd/contract';
import type { StoredMemory } from '../ports/storage.ts';
import type { Core } from './core.ts';
import { fromCursor, toCursor } from './cursor.ts';
import { toMemoryFilter } from './memory-filter.ts';
import { pageRequest } from './page-request.ts';
import { toTimestamp, toTimestampOrNull } from './timestamp.ts';

const check = checkOf(MemoriesRequest, 'request');

/** See `MemoryApi.memory`. */
export async function memory(core: Core, namespace: string, memoryId: string): Promise<Memory> {
  const found = await core.storage.memory(namespace, memoryId, core.clock.now());
  if (!found) throw memoryNotFound();
  return toMemory(found);
}

/** See `MemoryApi.memories`. */
export async function memories(core: Core, namespace: string, request: MemoriesRequest): Promise<MemoriesResponse> {
  assertValid(check, request);
  const page = await core.storage.memories(
    namespace,
    toMemoryFilter(request),
    pageRequest(core, request, fromCursor),
    core.clock.now(),
  );
  return {
    memories: page.items.map(toMemory),
    total: page.total,
    ...(page.next && { next_cursor: toCursor(page.next) }),
  };
}

/** NOT_FOUND; the id is the caller's own and is not repeated. */
export function memoryNotFound(): MemoryError {
  return new MemoryError('NOT_FOUND', 'memory not found');
}

function toMemory(stored: StoredMemory): Memory {
  return {
    id: stored.id,
    content: stored.content,
    tags: stored.tags,
    importance: stored.importance,
    source: stored.source,
    session_id: stored.sessionId,
    tier: stored.tier,
    metadata: stored.metadata,
    created_at: toTimestamp(stored.createdAt),
    updated_at: toTimestamp(stored.updatedAt),
    expires_at: toTimestampOrNull(stored.expiresAt),
    supersedes: stored.supersedes,
    superseded_by: stored.supersededBy,
    merged_into: stored.mergedInto,
    derived_from: stored.derivedFrom,
    access_count: stored.accessCount,
    accessed_at: toTimestampOrNull(stored.accessedAt),
    version: stored.version,
  };
}
