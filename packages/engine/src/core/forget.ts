import {
  assertValid,
  checkOf,
  ForgetManyRequest,
  type ForgetManyResponse,
  type ForgetResponse,
  type WriteCondition,
} from '@memoryd/contract';
import type { Core } from './core.ts';
import { assertMemoryId, memoryNotFound } from './memories.ts';
import { toMs } from './timestamp.ts';
import { writtenMeanwhile } from './update.ts';

const check = checkOf(ForgetManyRequest, 'query');

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
  core.events.publishMemories(namespace, 'forgotten', [memoryId, ...forgotten.alsoForgotten]);
  if (forgotten.embedding) core.embedding?.look();
  return {
    status: 'forgotten',
    id: memoryId,
    ...(forgotten.alsoForgotten.length > 0 && { also_forgotten: forgotten.alsoForgotten }),
    ...purge(forgotten.purged),
  };
}

/** See `MemoryApi.forgetMany`. */
export async function forgetMany(
  core: Core,
  namespace: string,
  request: ForgetManyRequest,
): Promise<ForgetManyResponse> {
  assertValid(check, request);
  const selection = {
    ...(request.session_id !== undefined && { sessionId: request.session_id }),
    ...(request.tag !== undefined && { tag: request.tag }),
    ...(request.source !== undefined && { source: request.source }),
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
    // Also where it has failed: what went before is gone.
    if (gone.count > 0) core.events.publishMemories(namespace, 'forgotten', [], gone.count);
    if (gone.embedding) core.embedding?.look();
  }
}

function purge(purged: boolean): { purge?: 'pending' } {
  return purged ? {} : { purge: 'pending' };
}
