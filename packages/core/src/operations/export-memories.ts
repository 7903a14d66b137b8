import {
  assertValid,
  createCheck,
  type ExportedDecline,
  type ExportedMemory,
  type ExportHeader,
  ExportRequest,
  LIMITS,
  MemoryError,
} from '@memoryd/contract';
import type { ExportFilter, ExportRecord, MemoryRecord } from '../ports/storage-export.ts';
import { createTextsTooLongError } from '../record-size.ts';
import { toCondition, toExternalId, toOwner, toOwnerFilter, toValidityFilter } from '../request-filter.ts';
import { toTimestamp, toTimestampOrNull } from '../time.ts';
import { toMoment } from '../validity.ts';
import type { Core } from './core.ts';

const check = createCheck(ExportRequest, 'request');

/** Maximum UTF-8 bytes of a UTF-16 code unit. */
const MAX_BYTES_PER_UNIT = 3;

/** See `MemoryApi.exportMemories`. */
export async function* exportMemories(
  { storage, clock }: Pick<Core, 'storage' | 'clock'>,
  namespace: string,
  request: ExportRequest = {},
  signal?: AbortSignal,
): AsyncIterable<string> {
  assertValid(check, request);
  const now = clock.now();
  const validity = toValidityFilter(request, now);
  const moment = toMoment({ filter: validity, now });
  const { holding = false } = validity;
  const filter = {
    ...toOwnerFilter(request),
    ...toCondition(request),
    ...((holding || moment.known !== undefined) && { view: { moment, holding } }),
  };
  yield* exportLines(storage, namespace, filter, signal);
}

/** Exports the memories of a namespace that a filter selects. Yields lines. */
export async function* exportLines(
  storage: Core['storage'],
  namespace: string,
  filter?: ExportFilter,
  signal?: AbortSignal,
): AsyncIterable<string> {
  const copy = await storage.exportRecords(namespace, filter, signal);
  try {
    yield JSON.stringify({ format: 'memoryd', version: 1, lines: copy.count } satisfies ExportHeader);
    for await (const record of copy.records) {
      if (signal?.aborted) throw new MemoryError('UNAVAILABLE', 'the export was aborted; start a new export');
      yield toExportLine(record);
    }
  } finally {
    await copy.discard();
  }
}

function toExportLine(record: ExportRecord): string {
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
function toExported(record: MemoryRecord): ExportedMemory {
  return {
    id: record.id,
    content: record.content,
    tags: record.tags,
    importance: record.importance,
    source: record.source,
    session_id: record.sessionId,
    ...toOwner(record),
    ...toExternalId(record),
    tier: record.tier,
    metadata: record.metadata,
    ...(record.attachment !== undefined && { attachment: record.attachment }),
    created_at: toTimestamp(record.createdAt),
    stored_at: toTimestamp(record.storedAt),
    updated_at: toTimestamp(record.updatedAt),
    expires_at: toTimestampOrNull(record.expiresAt),
    valid_from: toTimestampOrNull(record.validFrom),
    valid_to: toTimestampOrNull(record.validTo),
    evicted_at: toTimestampOrNull(record.evictedAt),
    supersedes: record.supersedes,
    superseded_by: record.successors,
    merged_into: record.mergedInto,
    derived_from: record.derivedFrom,
    formerly_derived_from: record.formerlyDerivedFrom,
    version: record.version,
    revision: record.revision,
    distilled_revision: record.distilledRevision,
    access_count: record.accessCount,
    accessed_at: toTimestampOrNull(record.accessedAt),
    history: record.history.map(({ revision, content, replacedAt }) => ({
      revision,
      content,
      replaced_at: toTimestamp(replacedAt),
    })),
    awaits: record.awaits,
  };
}
