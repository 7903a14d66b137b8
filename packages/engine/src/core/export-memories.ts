import {
  assertValid,
  createCheck,
  type ExportedDecline,
  type ExportedMemory,
  type ExportHeader,
  LIMITS,
  MemoryError,
  ScopeRequest,
} from '@memoryd/contract';
import type { KeptMemory, KeptRecord } from '../ports/storage-kept.ts';
import type { Core } from './core.ts';
import { toOwner, toOwnerFilter } from './owner-request.ts';
import { textsTooLong } from './record-size.ts';
import { toTimestamp, toTimestampOrNull } from './time.ts';

const check = createCheck(ScopeRequest, 'request');

/** Most bytes that a UTF-16 code unit has in UTF-8. */
const MAX_BYTES = 3;

/** See `MemoryApi.exportMemories`. */
export async function* exportMemories(
  { storage }: Pick<Core, 'storage'>,
  namespace: string,
  request: ScopeRequest = {},
  signal?: AbortSignal,
): AsyncIterable<string> {
  assertValid(check, request);
  const kept = await storage.kept(namespace, toOwnerFilter(request), signal);
  try {
    yield JSON.stringify({ format: 'memoryd', version: 1, lines: kept.count } satisfies ExportHeader);
    for await (const record of kept.records) {
      if (signal?.aborted) throw new MemoryError('UNAVAILABLE', 'the export was given up');
      yield toLine(record);
    }
  } finally {
    await kept.discard();
  }
}

function toLine(record: KeptRecord): string {
  if ('declinedGroup' in record) {
    return JSON.stringify({ declined_group: record.declinedGroup, ...toOwner(record) } satisfies ExportedDecline);
  }
  const line = JSON.stringify(toExported(record.memory));
  if (line.length * MAX_BYTES > LIMITS.exportLineBytes) assertFits(line, record.memory.id);
  return line;
}

function assertFits(line: string, id: string): void {
  if (new TextEncoder().encode(line).length > LIMITS.exportLineBytes) throw textsTooLong(id);
}

/** In the order of the interface, so that one memory is always the same bytes. */
function toExported(kept: KeptMemory): ExportedMemory {
  return {
    id: kept.id,
    content: kept.content,
    tags: kept.tags,
    importance: kept.importance,
    source: kept.source,
    session_id: kept.sessionId,
    ...toOwner(kept),
    tier: kept.tier,
    metadata: kept.metadata,
    created_at: toTimestamp(kept.createdAt),
    stored_at: toTimestamp(kept.storedAt),
    updated_at: toTimestamp(kept.updatedAt),
    expires_at: toTimestampOrNull(kept.expiresAt),
    evicted_at: toTimestampOrNull(kept.evictedAt),
    supersedes: kept.supersedes,
    superseded_by: kept.supersededBy,
    merged_into: kept.mergedInto,
    derived_from: kept.derivedFrom,
    formerly_derived_from: kept.formerlyDerivedFrom,
    version: kept.version,
    revision: kept.revision,
    distilled_revision: kept.distilledRevision,
    access_count: kept.accessCount,
    accessed_at: toTimestampOrNull(kept.accessedAt),
    history: kept.history.map(({ revision, content, replacedAt }) => ({
      revision,
      content,
      replaced_at: toTimestamp(replacedAt),
    })),
    awaits: kept.awaits,
  };
}
