import {
  assertValid,
  createCheck,
  type Import,
  ImportsRequest,
  type ImportsResponse,
  isStorable,
  LIMITS,
  MemoryError,
  OwnScopeRequest,
  type UndoImportResponse,
} from '@memoryd/contract';
import { numberCursors, pageEnd, pageRequest } from '../cursor.ts';
import type { ImportRun } from '../ports/storage-imports.ts';
import { toOwner, toOwnerFilter } from '../request-filter.ts';
import { toTimestamp, toTimestampOrNull } from '../time.ts';
import { publishForgotten, toPurge } from './change-memories.ts';
import type { Core } from './core.ts';

const checkList = createCheck(ImportsRequest, 'request');
const checkScope = createCheck(OwnScopeRequest, 'request');
const cursors = numberCursors('imports');

/** See `MemoryApi.imports`. */
export async function imports(core: Core, namespace: string, request: ImportsRequest = {}): Promise<ImportsResponse> {
  assertValid(checkList, request);
  const of = toOwnerFilter(request);
  const selection = { namespace, filters: of };
  const page = await core.storage.imports(namespace, pageRequest(core, request, cursors, selection), of);
  return { imports: page.items.map(toImport), ...pageEnd(core, page, cursors, selection) };
}

function toImport(run: ImportRun): Import {
  return {
    id: run.id,
    from: run.format,
    ...(run.name !== null && { name: run.name }),
    ...toOwner(run),
    started_at: toTimestamp(run.startedAt),
    ended_at: toTimestampOrNull(run.endedAt),
    imported_count: run.importedCount,
    memory_count: run.memoryCount,
  };
}

/** See `MemoryApi.undoImport`. */
export async function undoImport(
  core: Core,
  namespace: string,
  importId: string,
  scope: OwnScopeRequest = {},
): Promise<UndoImportResponse> {
  assertValid(checkScope, scope);
  const of = toOwnerFilter(scope);
  const run = isImportId(importId) ? await core.storage.importRun(namespace, importId, of) : undefined;
  if (!run) throw importNotFound();
  if (core.runningImports.has(namespace, importId)) {
    throw new MemoryError('CONFLICT', 'the import is still running; undo it once it has ended, or end it first');
  }
  const undone = await publishForgotten(core, namespace, (onForgotten) =>
    core.storage.undoImport(namespace, importId, { of, at: core.clock.now() }, onForgotten),
  );
  if (!undone) throw importNotFound();
  const { forgotten, kept, purged } = undone;
  core.events.publishImport(namespace, run, { state: 'undone', import_id: importId, processed_count: forgotten });
  // Duplicates that became memories of their own have no vectors yet.
  core.embedding?.look();
  return { status: 'undone', id: importId, forgotten_count: forgotten, kept_count: kept, ...toPurge(purged) };
}

function isImportId(id: unknown): id is string {
  return typeof id === 'string' && id !== '' && id.length <= LIMITS.importIdChars && isStorable(id);
}

function importNotFound(): MemoryError {
  return new MemoryError('NOT_FOUND', 'import not found; list the imports to see their ids');
}
