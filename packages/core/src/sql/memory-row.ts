import type { Metadata, Tier } from '@memoryd/contract';
import type { RecalledMemory } from '@memoryd/search';
import type { MemoryText, Page, PageRequest, StoredMemory } from '../ports/storage-memories.ts';
import type { Moment } from '../validity.ts';
import { asText, fromJson } from './corruption.ts';
import { getEarlierRevision } from './known.ts';
import type { Dialect } from './queries.ts';
import { type Sql, sql } from './sql.ts';
import { getSupersededBy } from './validity.ts';

/** A selected row with the public fields of a memory. `tags`, `metadata` and `derived_from` are JSON. */
export interface MemoryRow {
  ordinal: number;
  id: string;
  session_id: string | null;
  user_id: string;
  agent_id: string;
  external_id: string | null;
  source: string;
  tier: Tier;
  importance: number;
  created_at: number;
  stored_at: number;
  updated_at: number;
  expires_at: number | null;
  valid_from: number | null;
  valid_to: number | null;
  supersedes: string | null;
  superseded_by: string | null;
  merged_into: string | null;
  version: number;
  tags: string;
  metadata: string;
  content: string;
  /** The revision of the text if it is not the present one; else null. */
  earlier_revision: number | null;
  /** Selected only by queries that read attachments. */
  attachment?: string | null;
  access_count: number;
  accessed_at: number | null;
  derived_from: string;
}

/** A selected row with the fields of a recalled memory. */
type ResultRow = Pick<
  MemoryRow,
  | 'ordinal'
  | 'id'
  | 'content'
  | 'tags'
  | 'session_id'
  | 'user_id'
  | 'agent_id'
  | 'external_id'
  | 'source'
  | 'tier'
  | 'importance'
  | 'metadata'
  | 'created_at'
  | 'updated_at'
  | 'valid_from'
  | 'valid_to'
  | 'superseded_by'
  | 'earlier_revision'
> & {
  /** Ordinal of the memory that it was found by, if it was merged into that memory. */
  survivor?: number | null;
};

/**
 * Returns the columns of `ResultRow` in `memory m`.
 *
 * @param supersededBy the expression of the column `superseded_by`
 */
export function resultColumns(
  dialect: Dialect,
  moment: Moment,
  supersededBy: Sql = getSupersededBy(dialect, moment),
): Sql {
  return sql`m.ordinal, m.id, m.content, m.tags, m.session_id, m.user_id, m.agent_id, m.external_id, m.source, m.tier, m.importance,
    m.metadata, m.created_at, m.updated_at, m.valid_from, m.valid_to, ${supersededBy} AS superseded_by,
    ${getEarlierRevision(moment)} AS earlier_revision`;
}

function toRecalledMemory(row: ResultRow): RecalledMemory {
  return {
    ordinal: row.ordinal,
    id: row.id,
    content: asText(row),
    tags: fromJson<string[]>(row.tags, 'the tags of memory', row.id),
    sessionId: row.session_id,
    userId: row.user_id,
    agentId: row.agent_id,
    externalId: row.external_id,
    source: row.source,
    tier: row.tier,
    importance: row.importance,
    metadata: fromJson<Metadata>(row.metadata, 'the metadata of memory', row.id),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    validFrom: row.valid_from,
    validTo: row.valid_to,
    supersededBy: row.superseded_by,
    earlierRevision: row.earlier_revision,
    ...(row.survivor != null && { survivor: row.survivor }),
  };
}

export function toMemory(row: MemoryRow): StoredMemory {
  return {
    ordinal: row.ordinal,
    id: row.id,
    content: asText(row),
    tags: fromJson<string[]>(row.tags, 'the tags of memory', row.id),
    importance: row.importance,
    source: row.source,
    sessionId: row.session_id,
    userId: row.user_id,
    agentId: row.agent_id,
    externalId: row.external_id,
    tier: row.tier,
    metadata: fromJson<Metadata>(row.metadata, 'the metadata of memory', row.id),
    ...(row.attachment != null && { attachment: row.attachment }),
    createdAt: row.created_at,
    storedAt: row.stored_at,
    updatedAt: row.updated_at,
    expiresAt: row.expires_at,
    validFrom: row.valid_from,
    validTo: row.valid_to,
    supersedes: row.supersedes,
    supersededBy: row.superseded_by,
    earlierRevision: row.earlier_revision,
    mergedInto: row.merged_into,
    accessCount: row.access_count,
    accessedAt: row.accessed_at,
    version: row.version,
    derivedFrom: fromJson<string[]>(row.derived_from, 'the sources of memory', row.id),
  };
}

/**
 * Upper bound for the JSON bytes of all fields of a memory, including field names, except texts, external id, tags,
 * metadata and sources.
 */
const FIXED_FIELDS_BYTES = 1024;

/**
 * Converts rows in order, as many as fit into `maxBytes` of JSON, but at least one row. `truncated` is true if rows are
 * left over.
 */
export function readResults(
  rows: Iterable<ResultRow>,
  maxBytes: number,
): { memories: RecalledMemory[]; truncated: boolean } {
  const memories: RecalledMemory[] = [];
  let bytes = 0;
  for (const row of rows) {
    bytes += textBytes(row);
    if (memories.length > 0 && bytes > maxBytes) return { memories, truncated: true };
    memories.push(toRecalledMemory(row));
  }
  return { memories, truncated: false };
}

/** Returns an upper bound for the JSON bytes of a memory. */
function jsonBytes(row: MemoryRow): number {
  return textBytes(row) + Buffer.byteLength(row.metadata) + row.derived_from.length;
}

/**
 * Returns an upper bound for the JSON bytes of a memory without metadata and sources, which recall and transcripts
 * omit.
 */
export function textBytes({
  content,
  tags,
  attachment,
  external_id,
}: Pick<MemoryRow, 'content' | 'tags' | 'attachment' | 'external_id'>): number {
  const texts = [content, attachment ?? '', external_id ?? ''].reduce(
    (sum, text) => sum + Buffer.byteLength(JSON.stringify(text)),
    0,
  );
  return texts + Buffer.byteLength(tags) + FIXED_FIELDS_BYTES;
}

/**
 * Functions that convert a row to an item, return the maximum JSON bytes of a row, and return the page position of an
 * item.
 */
interface Paging<Row, Item, Place> {
  toItem(row: Row): Item;
  getBytes(row: Row): number;
  getPlace(item: Item): Place;
}

/**
 * Fills a page up to its item limit or byte size.
 *
 * @param rows at most one row more than the limit; the extra row shows that another page follows
 */
export function takePage<Row, Item, Place>(
  rows: Iterable<Row>,
  request: PageRequest<Place>,
  total: number,
  { toItem, getBytes, getPlace }: Paging<Row, Item, Place>,
): Page<Item, Place> {
  const items: Item[] = [];
  let bytes = 0;
  for (const row of rows) {
    bytes += getBytes(row);
    const last = items.at(-1);
    if (last && (items.length === request.limit || bytes > request.maxBytes)) {
      return { items, total, next: getPlace(last) };
    }
    items.push(toItem(row));
  }
  return { items, total };
}

/**
 * Fills a page of memories.
 *
 * @param getBytes returns an upper bound for the JSON bytes of a memory; by default, of all fields
 */
export function takeMemories<Place>(
  rows: Iterable<MemoryRow>,
  request: PageRequest<Place>,
  total: number,
  { getPlace, getBytes = jsonBytes }: { getPlace(memory: StoredMemory): Place; getBytes?(row: MemoryRow): number },
): Page<StoredMemory, Place> {
  return takePage(rows, request, total, { toItem: toMemory, getBytes, getPlace });
}

/** A selected row with a current or earlier text of a memory. */
export type TextRow = Omit<MemoryText, 'heldFrom'>;

/**
 * Fills a page of the texts of a memory. A text is valid from the time when the previous text was replaced. A page
 * position is a revision.
 *
 * @param heldFrom time from which the first text of the page was valid
 */
export function takeTexts(
  rows: Iterable<TextRow>,
  request: PageRequest<number>,
  total: number,
  heldFrom: number,
): Page<MemoryText, number> {
  let from = heldFrom;
  return takePage(rows, request, total, {
    toItem: (row) => {
      const text = { ...row, heldFrom: from };
      from = row.heldUntil ?? from;
      return text;
    },
    getBytes: ({ content }) => Buffer.byteLength(JSON.stringify(content)),
    getPlace: ({ revision }) => revision,
  });
}
