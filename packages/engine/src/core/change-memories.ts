import {
  assertValid,
  checkOf,
  ForgetManyRequest,
  type ForgetManyResponse,
  type ForgetResponse,
  MemoryError,
  UpdateRequest,
  type UpdateResponse,
  type WriteCondition,
} from '@memoryd/contract';
import type { Core } from './core.ts';
import { assertMemoryId, memoryNotFound } from './read-memories.ts';
import { acceptRequest } from './redact.ts';
import { quotaExceeded } from './store-memories.ts';
import { toMs, toMsOrNull } from './time.ts';

const checkUpdate = checkOf(UpdateRequest, 'body');
const checkForgetMany = checkOf(ForgetManyRequest, 'query');

/** See `MemoryApi.update`. */
export async function update(
  core: Core,
  namespace: string,
  memoryId: string,
  request: UpdateRequest,
  condition: WriteCondition = {},
): Promise<UpdateResponse> {
  const { request: accepted, redacted } = acceptRequest(core.redactor, checkUpdate, request);
  assertMemoryId(memoryId);
  const { expires_at: expiresAt, tags, ...rest } = accepted;
  const updated = await core.storage.update({
    namespace,
    id: memoryId,
    at: core.clock.now(),
    ...condition,
    ...rest,
    ...(tags && { tags: [...new Set(tags)] }),
    ...(expiresAt !== undefined && { expiresAt: toMsOrNull(expiresAt, 'expires_at') }),
  });
  switch (updated.outcome) {
    case 'updated':
      core.events.publishMemories(namespace, 'updated', [memoryId]);
      if (updated.embedding) await core.embedding?.changed(updated.ordinal);
      else if (updated.othersEmbedding) core.embedding?.look();
      return { id: memoryId, status: 'updated', ...(redacted && { redacted }) };
    case 'over-quota':
      throw quotaExceeded(updated);
    case 'unknown':
      throw memoryNotFound();
    case 'stale':
      throw writtenMeanwhile();
  }
}

function writtenMeanwhile(): MemoryError {
  return new MemoryError('PRECONDITION_FAILED', 'the memory has been written since the version that If-Match names');
}

/** See `MemoryApi.forget`. */
export async function forget(
  core: Core,
  namespace: string,
  memoryId: string,
  { ifVersions }: WriteCondition = {},
): Promise<ForgetResponse> {
  assertMemoryId(memoryId);
  const forgotten = await core.storage.forget(namespace, memoryId, ifVersions);
  if (forgotten.outcome === 'unknown') throw memoryNotFound();
  if (forgotten.outcome === 'stale') throw writtenMeanwhile();
  const { alsoForgotten, remainingDuplicates, embedding, purged } = forgotten;
  core.events.publishMemories(namespace, 'forgotten', [memoryId, ...alsoForgotten]);
  if (embedding) core.embedding?.look();
  const also = alsoForgotten.length > 0 && { also_forgotten: alsoForgotten };
  const remaining = remainingDuplicates.length > 0 && { remaining_duplicates: remainingDuplicates };
  return { status: 'forgotten', id: memoryId, ...also, ...remaining, ...purge(purged) };
}

/** See `MemoryApi.forgetMany`. */
export async function forgetMany(
  core: Core,
  namespace: string,
  request: ForgetManyRequest,
): Promise<ForgetManyResponse> {
  assertValid(checkForgetMany, request);
  const selection = {
    ...(request.session_id !== undefined && { sessionId: request.session_id }),
    ...(request.tag !== undefined && { tag: request.tag }),
    ...(request.source !== undefined && { source: request.source }),
    ...(request.metadata && { metadata: request.metadata }),
    ...(request.before !== undefined && { createdBefore: toMs(request.before, 'before') }),
  };
  const gone = { count: 0, embedding: false };
  try {
    const { purged } = await core.storage.forgetMany(namespace, selection, (some) => {
      gone.count += some.count;
      gone.embedding ||= some.embedding;
    });
    return { status: 'forgotten', forgotten_count: gone.count, ...purge(purged) };
  } finally {
    // Also after a failure: what went before is gone.
    if (gone.count > 0) core.events.publishMemories(namespace, 'forgotten', [], gone.count);
    if (gone.embedding) core.embedding?.look();
  }
}

function purge(purged: boolean): { purge?: 'pending' } {
  return purged ? {} : { purge: 'pending' };
}
