import { checkOf, MemoryError, UpdateRequest, type UpdateResponse, type WriteCondition } from '@memoryd/contract';
import type { Core } from './core.ts';
import { assertMemoryId, memoryNotFound } from './memories.ts';
import { quotaExceeded } from './quota.ts';
import { acceptRequest } from './redact.ts';
import { toMs } from './timestamp.ts';

const check = checkOf(UpdateRequest, 'body');

/** See `MemoryApi.update`. */
export async function update(
  core: Core,
  namespace: string,
  memoryId: string,
  request: UpdateRequest,
  condition: WriteCondition = {},
): Promise<UpdateResponse> {
  const { request: accepted, redacted } = acceptRequest(core.redactor, check, request);
  assertMemoryId(memoryId);
  const { expires_at: expiresAt, tags, ...rest } = accepted;
  const updated = await core.storage.update({
    namespace,
    id: memoryId,
    at: core.clock.now(),
    ...condition,
    ...rest,
    ...(tags && { tags: [...new Set(tags)] }),
    ...(expiresAt !== undefined && { expiresAt: expiresAt === null ? null : toMs(expiresAt, 'expires_at') }),
  });
  switch (updated.outcome) {
    case 'updated':
      core.events.publishMemories(namespace, 'updated', [memoryId]);
      if (updated.embedding) await core.embedding?.changed(updated.ordinal);
      return { id: memoryId, status: 'updated', ...(redacted && { redacted }) };
    case 'over-quota':
      throw quotaExceeded(updated);
    case 'unknown':
      throw memoryNotFound();
    case 'stale':
      throw writtenMeanwhile();
  }
}

/** PRECONDITION_FAILED. */
export function writtenMeanwhile(): MemoryError {
  return new MemoryError('PRECONDITION_FAILED', 'the memory has been written since the version that If-Match names');
}
