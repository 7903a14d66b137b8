import type { Metadata, Tier } from '@memoryd/contract';
import type { StoredMemory } from '../../ports/storage.ts';
import { asText, fromJson } from './damage.ts';

/** The columns of a memory that callers see, to be selected from `memory m` joined by `WITH_ACCESS`. */
export const MEMORY_COLUMNS = `m.ordinal, m.id, m.session_id, m.source, m.tier, m.importance, m.created_at, m.stored_at,
  m.updated_at, m.expires_at, m.supersedes, m.superseded_by, m.merged_into, m.version, m.tags, m.metadata, m.content,
  coalesce(c.count, 0) AS access_count, c.last_at AS accessed_at,
  CASE WHEN m.tier = 'semantic' THEN (
    SELECT json_group_array(s.id ORDER BY s.created_at, s.ordinal)
    FROM memory_source l CROSS JOIN memory s ON s.ordinal = l.source WHERE l.semantic = m.ordinal
  ) ELSE '[]' END AS derived_from`;

export const WITH_ACCESS = 'LEFT JOIN memory_access c ON c.ordinal = m.ordinal';
export const MEMORY_TABLES = `memory m ${WITH_ACCESS}`;

/** What retention rests on, from the same tables. See `Retainable` in core. */
export const RETAINABLE_COLUMNS = `m.importance, m.stored_at AS storedAt, coalesce(c.count, 0) AS accessCount,
  c.last_at AS accessedAt`;

/** In a tier: neither merged into a twin nor evicted. Expiry is apart, for it depends on the time. */
export const IN_TIER = 'm.merged_into IS NULL AND m.evicted_at IS NULL';

export const NOT_EXPIRED = '(m.expires_at IS NULL OR m.expires_at > @now)';

export interface MemoryRow {
  ordinal: number;
  id: string;
  session_id: string | null;
  source: string;
  tier: Tier;
  importance: number;
  created_at: number;
  stored_at: number;
  updated_at: number;
  expires_at: number | null;
  supersedes: string | null;
  superseded_by: string | null;
  merged_into: string | null;
  version: number;
  tags: string;
  metadata: string;
  content: string;
  access_count: number;
  accessed_at: number | null;
  derived_from: string;
}

export function toMemory(row: MemoryRow): StoredMemory {
  return {
    ordinal: row.ordinal,
    id: row.id,
    content: asText(row.content),
    tags: fromJson<string[]>(row.tags),
    importance: row.importance,
    source: row.source,
    sessionId: row.session_id,
    tier: row.tier,
    metadata: fromJson<Metadata>(row.metadata),
    createdAt: row.created_at,
    storedAt: row.stored_at,
    updatedAt: row.updated_at,
    expiresAt: row.expires_at,
    supersedes: row.supersedes,
    supersededBy: row.superseded_by,
    mergedInto: row.merged_into,
    accessCount: row.access_count,
    accessedAt: row.accessed_at,
    version: row.version,
    derivedFrom: fromJson<string[]>(row.derived_from),
  };
}

/** Most bytes of the JSON of a memory's fields that have a fixed size, their names included. */
const FIXED_FIELDS_BYTES = 1024;

/** At least the bytes that a memory takes as JSON. */
export function jsonBytes(row: MemoryRow): number {
  return (
    Buffer.byteLength(JSON.stringify(row.content)) +
    Buffer.byteLength(row.tags) +
    Buffer.byteLength(row.metadata) +
    row.derived_from.length +
    FIXED_FIELDS_BYTES
  );
}
