import { type MemoryApi, MemoryError } from '@memoryd/contract';
import type { Telemetry } from '@memoryd/engine';

/** The caller of an audited action, in the form of audit records. */
export interface AuditedCaller {
  namespace: string;
  key_id?: string | undefined;
  /** The user that the key is bound to; absent if the key is bound to no user. */
  user_id?: string;
  /** The agent that the key is bound to; absent if the key is bound to no agent. */
  agent_id?: string;
  address: string;
  request_id?: string;
}

/** Audited actions: the event names of log records with the component `audit`. */
export type AuditEvent =
  | 'authentication_failed'
  | 'memory_forgotten'
  | 'memories_forgotten'
  | 'memories_changed'
  | 'change_undone'
  | 'exported'
  | 'imported'
  | 'import_undone'
  | 'backed_up'
  | 'consolidation_undone'
  | 'key_added'
  | 'key_revoked'
  | 'namespace_deleted'
  | 'quota_changed'
  | 'hooks_changed';

/**
 * Reports an audit event with its caller.
 *
 * @param facts details of the event, such as ids and counts; never texts of memories
 */
export function audit(
  telemetry: Telemetry,
  event: AuditEvent,
  { namespace, key_id = '', address, request_id, ...owner }: AuditedCaller,
  facts: Record<string, string | number> = {},
): void {
  const caller = {
    namespace,
    key_id: key_id || null,
    ...owner,
    address,
    ...(request_id !== undefined && { request_id }),
  };
  telemetry.report({ level: 'info', component: 'audit', event, facts: { ...caller, ...facts } });
}

/** Wraps an API so that exports, imports, deletions, changes of many memories, and undos are audited. */
export function audited(api: MemoryApi, caller: AuditedCaller, telemetry: Telemetry): MemoryApi {
  const note = (event: AuditEvent, facts: Record<string, string | number>) => audit(telemetry, event, caller, facts);
  return {
    ...api,
    async forget(memoryId, ...rest) {
      const forgotten = await api.forget(memoryId, ...rest);
      note('memory_forgotten', { memory_id: memoryId, count: 1 + (forgotten.also_forgotten?.length ?? 0) });
      return forgotten;
    },
    async forgetMany(request) {
      const forgotten = await api.forgetMany(request);
      note('memories_forgotten', { filters: Object.keys(request).sort().join(' '), count: forgotten.forgotten_count });
      return forgotten;
    },
    async updateMany(selection, changes) {
      const changed = await api.updateMany(selection, changes);
      const filters = Object.keys(selection).sort().join(' ');
      note('memories_changed', { change_id: changed.change_id, filters, count: changed.updated_count });
      return changed;
    },
    async undoChange(changeId, ...rest) {
      const undone = await api.undoChange(changeId, ...rest);
      note('change_undone', { change_id: changeId, count: undone.restored_count });
      return undone;
    },
    exportMemories: (...args) => countMemories(api.exportMemories(...args), (count) => note('exported', { count })),
    async importMemories(...args) {
      const imported = await api.importMemories(...args);
      note('imported', { count: imported.imported_count });
      return imported;
    },
    async importTexts(...args) {
      const imported = await api.importTexts(...args);
      const { import_id, imported_count, updated_count } = imported;
      note('imported', { import_id, count: imported_count, updated_count });
      return imported;
    },
    async undoImport(importId, ...rest) {
      const undone = await api.undoImport(importId, ...rest);
      note('import_undone', { import_id: importId, count: undone.forgotten_count });
      return undone;
    },
    async undo(consolidationId, request = {}, ...rest) {
      const { memory_id } = request;
      const noteAll = (ids: readonly string[]) => {
        for (const id of ids) {
          note('consolidation_undone', { consolidation_id: id, ...(memory_id !== undefined && { memory_id }) });
        }
      };
      try {
        const undone = await api.undo(consolidationId, request, ...rest);
        noteAll([...(undone.also_undone ?? []), undone.id]);
        return undone;
      } catch (error) {
        noteAll(getUndone(error));
        throw error;
      }
    },
  };
}

/** Returns the ids of the consolidations that a refused undo lists as undone. */
function getUndone(error: unknown): string[] {
  const details = (error instanceof MemoryError && error.details) || [];
  return details.flatMap(({ path }) => /^\/consolidations\/(.+)$/.exec(path)?.[1] ?? []);
}

/** Yields the lines of an export, and calls `onEnd` with the number of memories when iteration ends or stops early. */
async function* countMemories(lines: AsyncIterable<string>, onEnd: (memories: number) => void): AsyncIterable<string> {
  // The first line is the header.
  let count = -1;
  try {
    for await (const line of lines) {
      count += 1;
      yield line;
    }
  } finally {
    onEnd(Math.max(0, count));
  }
}
