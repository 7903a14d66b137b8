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
import type { ExportRecord, MemoryRecord } from '../ports/storage-kept.ts';
import type { Core } from './core.ts';
import { toOwner, toOwnerFilter } from './owner-request.ts';
import { createTextsTooLongError } from './record-size.ts';
import { toTimestamp, toTimestampOrNull } from './time.ts';

const check = createCheck(ScopeRequest, 'request');

/** Maximum UTF-8 bytes of a UTF-16 code unit. */
const MAX_BYTES_PER_UNIT = 3;

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
      if (signal?.aborted) throw new MemoryError('UNAVAILABLE', 'the export was aborted');
      yield toLine(record);
    }
  } finally {
    await kept.discard();
  }
}

function toLine(record: ExportRecord): string {
  if ('declinedGroup' in record) {
    return JSON.stringify({ declined_group: record.declinedGroup, ...toOwner(record) } satisfies ExportedDecline);
  }
  const line = JSON.stringify(toExported(record.memory));
  if (line.length * MAX_BYTES_PER_UNIT > LIMITS.exportLineBytes) assertLineFits(line, record.memory.id);
  return line;
}

function assertLineFits(line: string, id: string): void {
  if (new TextEncoder().encode(line).length > LIMITS.exportLineBytes) throw createTextsTooLongError(id);
}

/** Fields are in the order of the interface, so that the same memory always gives the same bytes. */
function toExported(kept: MemoryRecord): ExportedMemory {
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
