import {
  assertValid,
  createCheck,
  ForgetManyRequest,
  type ForgetManyResponse,
  type ForgetResponse,
  hasForgetCondition,
  invalidRequest,
  MemoryError,
  MUST_HAVE_CONDITION,
  OwnScopeRequest,
  type UpdateFields,
  UpdateRequest,
  type UpdateResponse,
  type WriteCondition,
  withoutNullFields,
} from '@memoryd/contract';
import type { OwnerFilter } from '@memoryd/search';
import type { DeletedMemory } from '../ports/storage-memories.ts';
import { assertOwnerGiven, toCondition, toOwnerFilter } from '../request-filter.ts';
import { toMs, toMsOrNull } from '../time.ts';
import type { Core } from './core.ts';
import { assertMemoryId, memoryNotFound } from './read-memories.ts';
import { acceptRequest } from './redact.ts';
import { invalidPeriod, quotaExceeded, supersededUnknown, supersedingItself } from './store-memories.ts';

const checkUpdate = createCheck(UpdateRequest, 'body');
const checkForgetMany = createCheck(ForgetManyRequest, 'query');
const checkScope = createCheck(OwnScopeRequest, 'request');

const SUPERSEDES_OTHER = 'supersedes must be the id of another memory';

/** See `MemoryApi.update`. */
export async function update(
  core: Core,
  namespace: string,
  memoryId: string,
  request: UpdateRequest,
  condition: WriteCondition = {},
): Promise<UpdateResponse> {
  const fields = withoutNullFields(UpdateRequest, request) as UpdateFields;
  const { request: accepted, redacted } = acceptRequest(core.redactor, checkUpdate, fields);
  const { ifVersions } = condition;
  const of = toConditionOwner(condition);
  assertMemoryId(memoryId);
  const { expires_at: expiresAt, valid_from: validFrom, valid_to: validTo, tags, ...rest } = accepted;
  if (accepted.supersedes === memoryId) throw invalidRequest([{ path: '/supersedes', message: SUPERSEDES_OTHER }]);
  const updated = await core.storage.update({
    namespace,
    id: memoryId,
    at: core.clock.now(),
    ...(ifVersions && { ifVersions }),
    of,
    ...rest,
    ...(tags && { tags: [...new Set(tags)] }),
    ...(expiresAt !== undefined && { expiresAt: toMsOrNull(expiresAt, 'expires_at') }),
    ...(validFrom !== undefined && { validFrom: toMsOrNull(validFrom, 'valid_from') }),
    ...(validTo !== undefined && { validTo: toMsOrNull(validTo, 'valid_to') }),
  });
  switch (updated.outcome) {
    case 'updated':
      core.events.publishMemories(namespace, 'updated', [{ id: memoryId, ...updated.owner, ...updated.before }]);
      if (updated.embedding) await core.embedding?.changed(updated.ordinal);
      return { id: memoryId, status: 'updated', ...(redacted && { redacted }) };
    case 'over-quota':
      throw quotaExceeded(updated);
    case 'unknown':
      throw memoryNotFound();
    case 'no-period':
      throw invalidPeriod();
    case 'superseding-itself':
      throw supersedingItself();
    case 'superseded-unknown':
      throw supersededUnknown();
    case 'stale':
      throw versionConflict();
  }
}

/**
 * Returns the user and agent that a write is limited to. Only `user_id` and `agent_id` are checked, since a condition
 * may contain other fields, such as an abort signal.
 */
export function toConditionOwner(condition: WriteCondition): OwnerFilter {
  assertOwnerGiven(condition);
  const { user_id, agent_id } = condition;
  const scope = { ...(user_id !== undefined && { user_id }), ...(agent_id !== undefined && { agent_id }) };
  assertValid(checkScope, scope);
  return toOwnerFilter(scope);
}

function versionConflict(): MemoryError {
  return new MemoryError(
    'PRECONDITION_FAILED',
    'the memory has changed since the version in If-Match; read it again and retry with its current version',
  );
}

/** See `MemoryApi.forget`. */
export async function forget(
  core: Core,
  namespace: string,
  memoryId: string,
  condition: WriteCondition = {},
): Promise<ForgetResponse> {
  const { ifVersions } = condition;
  const of = toConditionOwner(condition);
  assertMemoryId(memoryId);
  const forgotten = await core.storage.forget(namespace, memoryId, { ...(ifVersions && { ifVersions }), of });
  if (forgotten.outcome === 'unknown') throw memoryNotFound();
  if (forgotten.outcome === 'stale') throw versionConflict();
  const { alsoForgotten, remainingDuplicates, purged } = forgotten;
  core.events.publishMemories(namespace, 'forgotten', forgotten.deleted);
  const also = alsoForgotten.length > 0 && { also_forgotten: alsoForgotten };
  const remaining = remainingDuplicates.length > 0 && { remaining_duplicates: remainingDuplicates };
  return { status: 'forgotten', id: memoryId, ...also, ...remaining, ...toPurge(purged) };
}

/** See `MemoryApi.forgetMany`. */
export async function forgetMany(
  core: Core,
  namespace: string,
  request: ForgetManyRequest,
): Promise<ForgetManyResponse> {
  assertValid(checkForgetMany, request);
  if (!hasForgetCondition(request)) throw invalidRequest([{ path: '', message: `query must ${MUST_HAVE_CONDITION}` }]);
  const selection = {
    ...toOwnerFilter(request),
    ...(request.id && { ids: request.id }),
    ...(request.session_id !== undefined && { sessionId: request.session_id }),
    ...(request.tag !== undefined && { tag: request.tag }),
    ...(request.source !== undefined && { source: request.source }),
    ...(request.external_id !== undefined && { externalId: request.external_id }),
    ...(request.metadata && { metadata: request.metadata }),
    ...toCondition(request),
    ...(request.before !== undefined && { createdBefore: toMs(request.before, 'before') }),
  };
  const forgetAll = () =>
    publishForgotten(core, namespace, (onForgotten) => core.storage.forgetMany(namespace, selection, onForgotten));
  const { purged, count } = await forgetAll().finally(() => forgetScope(core, namespace, request));
  return { status: 'forgotten', forgotten_count: count, ...toPurge(purged) };
}

/** Forgets what belongs to the memories of a user, an agent or a session, unless a request has other conditions too. */
function forgetScope(core: Pick<Core, 'forgotten'>, namespace: string, request: ForgetManyRequest): void {
  const { user_id: userId, agent_id: agentId, session_id: sessionId, ...others } = request;
  if (hasForgetCondition(others)) return;
  core.forgotten.publish({
    namespace,
    ...(userId !== undefined && { userId }),
    ...(agentId !== undefined && { agentId }),
    ...(sessionId !== undefined && { sessionId }),
  });
}

/** Runs a bulk forget, and publishes how many memories it has deleted. */
export async function publishForgotten<T>(
  core: Pick<Core, 'events'>,
  namespace: string,
  forgetAll: (onForgotten: (deleted: DeletedMemory[]) => void) => Promise<T>,
): Promise<T> {
  let unpublished: DeletedMemory[] = [];
  const publish = () => {
    core.events.publishCounts(namespace, 'forgotten', unpublished);
    unpublished = [];
  };
  try {
    return await forgetAll((deleted) => {
      unpublished.push(...deleted);
      if (unpublished.length >= COUNTED_TOGETHER) publish();
    });
  } finally {
    // Also runs after a failure, since the batches before the failure have been deleted.
    publish();
  }
}

/** Number of memories after which a write of many memories publishes an event. */
export const COUNTED_TOGETHER = 1000;

export function toPurge(purged: boolean): { purge?: 'pending' } {
  return purged ? {} : { purge: 'pending' };
}
