import {
  assertValid,
  checkOf,
  isKeepable,
  MemoriesRequest,
  type MemoriesResponse,
  type Memory,
  MemoryError,
} from '@memoryd/contract';
import type { StoredMemory } from '../ports/storage-memories.ts';
import type { Core } from './core.ts';
import { positionCursors } from './cursor.ts';
import { toMemoryFilter } from './memory-filter.ts';
import { pageRequest } from './page-request.ts';
import { retentionOf } from './retention.ts';
import { toTimestamp, toTimestampOrNull } from './timestamp.ts';

const check = checkOf(MemoriesRequest, 'request');
const cursors = positionCursors('memories');

/** See `MemoryApi.memory`. */
export async function memory(core: Core, namespace: string, memoryId: string): Promise<Memory> {
  assertMemoryId(memoryId);
  const now = core.clock.now();
  const found = await core.storage.memory(namespace, memoryId, now);
  if (!found) throw memoryNotFound();
  return toMemory(found, now);
}

/** See `MemoryApi.memories`. */
export async function memories(core: Core, namespace: string, request: MemoriesRequest): Promise<MemoriesResponse> {
  assertValid(check, request);
  const now = core.clock.now();
  const page = await core.storage.memories(
    namespace,
    toMemoryFilter(request),
    pageRequest(core, request, cursors),
    now,
  );
  return {
    memories: page.items.map((item) => toMemory(item, now)),
    total: page.total,
    ...(page.next && { next_cursor: cursors.write(core.seal, page.next) }),
  };
}

/** Throws NOT_FOUND for an id that no memory can have; databases differ in what they make of one. */
export function assertMemoryId(memoryId: string): void {
  if (!isKeepable(memoryId)) throw memoryNotFound();
}

/** NOT_FOUND; the id is the caller's own and is not repeated. */
export function memoryNotFound(): MemoryError {
  return new MemoryError('NOT_FOUND', 'memory not found');
}

function toMemory(stored: StoredMemory, now: number): Memory {
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
    retention: retentionOf(stored, now),
    version: stored.version,
  };
}
