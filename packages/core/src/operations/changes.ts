import {
  assertValid,
  CHANGES_MUST,
  createCheck,
  hasForgetCondition,
  invalidRequest,
  isStorable,
  MemoryChanges,
  MemoryError,
  MemorySelection,
  OwnScopeRequest,
  SELECTION_MUST,
  type UndoChangeResponse,
  type UpdateManyResponse,
} from '@memoryd/contract';
import type { ChangedMemory, ChangeProgress, ManyChanges } from '../ports/storage-changes.ts';
import { getRequestDigest } from '../request-digest.ts';
import { toListFilter, toOwnerFilter } from '../request-filter.ts';
import { COUNTED_TOGETHER } from './change-memories.ts';
import type { Core } from './core.ts';
import { type Redacted, redactRequest } from './redact.ts';

const checkSelection = createCheck(MemorySelection, 'request');
const checkChanges = createCheck(MemoryChanges, 'body');
const checkScope = createCheck(OwnScopeRequest, 'request');

/** See `MemoryApi.updateMany`. */
export async function updateMany(
  core: Core,
  namespace: string,
  selection: MemorySelection,
  changes: MemoryChanges,
): Promise<UpdateManyResponse> {
  assertValid(checkSelection, selection);
  if (!hasForgetCondition(selection)) {
    throw invalidRequest([{ path: '', message: `selection must ${SELECTION_MUST}` }]);
  }
  const { ids, ...filter } = selection;
  const memoryFilter = toListFilter(filter);
  const { request, redacted } = acceptChanges(core, changes);
  const { change_id: id = core.ids.next(), ...values } = request;
  const { userIds: [userId = ''] = [], agentIds: [agentId = ''] = [] } = memoryFilter;
  const changed = await publishChanged(core, namespace, (progress) =>
    core.storage.changeMany(
      namespace,
      {
        ...{ id, userId, agentId },
        digest: getRequestDigest([selection, values]),
        selection: { filter: memoryFilter, ...(ids && { ids }) },
        changes: toManyChanges(values),
      },
      progress,
    ),
  );
  if (changed.outcome !== 'changed') throw changeRefused(changed.outcome);
  return {
    status: 'updated',
    change_id: id,
    updated_count: changed.updated,
    unchanged_count: changed.unchanged,
    refused_count: changed.refused,
    ...(redacted && { redacted }),
  };
}

/** Checks changes, and removes the secrets from their texts. */
function acceptChanges({ redactor }: Core, changes: MemoryChanges): Redacted<MemoryChanges> {
  assertValid(checkChanges, changes);
  const { change_id: _, remove_tags = [], ...others } = changes;
  if (Object.keys(changes).every((field) => field === 'change_id')) {
    throw invalidRequest([{ path: '', message: `body must ${CHANGES_MUST}` }]);
  }
  const both = others.add_tags?.find((tag) => remove_tags.includes(tag));
  if (both !== undefined) {
    throw invalidRequest([
      { path: '/remove_tags', message: `remove_tags must not contain a tag of add_tags: ${both}` },
    ]);
  }
  if (!redactor) return { request: changes };
  const { add_tags, metadata } = changes;
  const { request, redacted } = redactRequest(redactor, {
    ...(add_tags && { tags: add_tags }),
    ...(metadata && { metadata }),
  });
  if (!redacted) return { request: changes };
  const accepted = {
    ...changes,
    ...(request.tags && { add_tags: request.tags }),
    ...(request.metadata && { metadata: request.metadata }),
  };
  assertValid(checkChanges, accepted);
  return { request: accepted, redacted };
}

function toManyChanges({ add_tags = [], remove_tags = [], importance, metadata }: MemoryChanges): ManyChanges {
  return {
    addTags: add_tags,
    removeTags: remove_tags,
    ...(importance !== undefined && { importance }),
    // As they are stored, so that equal values change nothing.
    ...(metadata && { metadata: JSON.parse(JSON.stringify(metadata)) as Record<string, unknown> }),
  };
}

/** See `MemoryApi.undoChange`. */
export async function undoChange(
  core: Core,
  namespace: string,
  changeId: string,
  scope: OwnScopeRequest = {},
): Promise<UndoChangeResponse> {
  assertValid(checkScope, scope);
  const of = toOwnerFilter(scope);
  if (typeof changeId !== 'string' || !isStorable(changeId)) throw changeNotFound();
  const undone = await publishChanged(core, namespace, (progress) =>
    core.storage.undoChange(namespace, changeId, of, progress),
  );
  if (undone.outcome === 'unknown') throw changeNotFound();
  if (undone.outcome === 'ambiguous') {
    throw new MemoryError('CONFLICT', 'several users or agents have a change with this id; name user_id and agent_id');
  }
  return { status: 'undone', id: changeId, restored_count: undone.restored, kept_count: undone.kept };
}

function changeNotFound(): MemoryError {
  return new MemoryError('NOT_FOUND', 'change not found; a change can be undone for an hour');
}

/** Runs a change or an undo, and publishes an event for up to `COUNTED_TOGETHER` changed memories of an owner. */
async function publishChanged<T>(core: Core, namespace: string, change: (progress: ChangeProgress) => Promise<T>) {
  let unpublished: ChangedMemory[] = [];
  const publish = () => {
    core.events.publishMemories(namespace, 'updated', unpublished);
    unpublished = [];
  };
  try {
    return await change({
      now: () => core.clock.now(),
      onChanged(memories) {
        unpublished.push(...memories);
        if (unpublished.length >= COUNTED_TOGETHER) publish();
      },
    });
  } finally {
    // Also runs after a failure, since the batches before the failure have been committed.
    publish();
    // Duplicates that became memories of their own have no vectors yet.
    core.embedding?.look();
  }
}

function changeRefused(outcome: 'conflict' | 'undone' | 'dropped'): MemoryError {
  switch (outcome) {
    case 'conflict':
      return new MemoryError(
        'CONFLICT',
        'change_id must be a new id, or be repeated with the same selection and changes; it was used for another change',
      );
    case 'undone':
      return new MemoryError('CONFLICT', 'the change has been undone; choose another change_id to make it again');
    case 'dropped':
      return new MemoryError(
        'NOT_FOUND',
        'the namespace or the user of the change was deleted during the change; memories that are left stay as they are',
      );
  }
}
