import type { Metadata, Tier } from '@memoryd/contract';
import type { FilterFields, Owner } from '@memoryd/search';
import { belongsTo, pickFilterFields } from '@memoryd/search';
import type { ChangedFields, MemoryChange } from '../ports/storage-memories.ts';
import { isPeriod } from '../validity.ts';
import { fromJson } from './corruption.ts';
import type { MemoryAttributes } from './memory-rows.ts';
import { type Dialect, fromOrdinals, type Queries } from './queries.ts';
import { raw, type Sql, sql } from './sql.ts';

/** A memory that a write changes, with its namespace and owner. */
export interface FoundMemory extends Target, Owner {
  namespace: string;
}

/**
 * The fields needed to delete a memory, without the text, because the texts of many memories may be too large to load.
 */
export type Erasable = Omit<FoundMemory, 'content'>;

const ERASABLE_COLUMNS =
  raw(`m.namespace, m.user_id AS "userId", m.agent_id AS "agentId", m.external_id AS "externalId", m.source, m.importance, m.session_id AS "sessionId", m.created_at AS "createdAt", m.updated_at AS "updatedAt", m.ordinal, m.id, m.tier, m.version, m.revision,
  m.distilled_revision AS "distilledRevision", m.expires_at AS "expiresAt", m.valid_from AS "validFrom", m.valid_to AS "validTo", m.evicted_at AS "evictedAt",
  m.merged_into AS "mergedInto", m.supersedes, m.tags, m.metadata, m.attachment_bytes AS "attachmentBytes"`);

const FOUND = sql`SELECT ${ERASABLE_COLUMNS}, m.content FROM memory m`;

export function findMemory(queries: Queries, namespace: string, id: string): Promise<FoundMemory | undefined> {
  return queries.row<FoundMemory>(sql`${FOUND} WHERE m.namespace = ${namespace} AND m.id = ${id}`);
}

export function findByOrdinal(queries: Queries, namespace: string, ordinal: number): Promise<FoundMemory | undefined> {
  return queries.row<FoundMemory>(sql`${FOUND} WHERE m.namespace = ${namespace} AND m.ordinal = ${ordinal}`);
}

/** Returns the memories with one of these ids, each looked up by its id, for FROM, as `memory m`. */
export function fromIds(dialect: Dialect, namespace: string, ids: readonly string[], alias = 'm'): Sql {
  const named = dialect.records(
    'named',
    { id: 'text' },
    Array.from(new Set(ids), (id) => ({ id })),
  );
  const key = { namespace: sql`${namespace}`, id: raw('named.id') };
  return sql`${named} ${dialect.joinMemory(alias, key, 'memory_by_id')}`;
}

/** Returns a query for the ordinals of the memories with one of these ids. */
export function selectNamed(dialect: Dialect, namespace: string, ids: readonly string[]): Sql {
  return sql`SELECT i.ordinal FROM ${fromIds(dialect, namespace, ids, 'i')}`;
}

/** Returns the memories that meet a condition on `memory m`, by ordinal. */
function findErasable(queries: Queries, condition: Sql): Promise<Erasable[]> {
  return queries.rows<Erasable>(sql`SELECT ${ERASABLE_COLUMNS} FROM memory m WHERE ${condition} ORDER BY m.ordinal`);
}

/** Returns the memories with these ordinals that meet a condition on `memory m`, by ordinal. */
export function findNamed(
  queries: Queries,
  namespace: string,
  ordinals: readonly number[],
  condition: Sql = raw('true'),
): Promise<Erasable[]> {
  return queries.rows<Erasable>(sql`
    SELECT ${ERASABLE_COLUMNS} FROM ${fromOrdinals(queries.dialect, namespace, ordinals)} WHERE ${condition}
    ORDER BY m.ordinal`);
}

/** Returns the ordinals of the duplicates that were merged into a memory. */
export async function findHiddenDuplicates(queries: Queries, namespace: string, id: string): Promise<number[]> {
  const hidden = await queries.rows<{ ordinal: number }>(
    sql`SELECT ordinal FROM memory WHERE namespace = ${namespace} AND merged_into = ${id} ORDER BY ordinal`,
  );
  return hidden.map(({ ordinal }) => ordinal);
}

/** Returns the ids of the other memories in the group of a merged duplicate that have the same text, oldest first. */
export async function findRemainingDuplicates(
  queries: Queries,
  { namespace, id, mergedInto }: Pick<FoundMemory, 'namespace' | 'id' | 'mergedInto'>,
): Promise<string[]> {
  if (mergedInto === null) return [];
  const remaining = await queries.rows<{ id: string }>(sql`
    SELECT m.id FROM memory m WHERE m.namespace = ${namespace} AND (m.id = ${mergedInto} OR m.merged_into = ${mergedInto})
      AND m.id <> ${id} AND m.text_digest = (SELECT text_digest FROM memory WHERE namespace = ${namespace} AND id = ${id})
    ORDER BY m.created_at, m.ordinal`);
  return remaining.map((memory) => memory.id);
}

/** Returns the semantic memories with at least one of these sources, by ordinal. */
export function findDistilledFrom(
  queries: Queries,
  namespace: string,
  sources: readonly number[],
): Promise<Erasable[]> {
  return findErasable(
    queries,
    sql`${queries.dialect.unindexed(raw('m.namespace'))} = ${namespace} AND m.ordinal IN (
      SELECT semantic FROM memory_source WHERE ${queries.dialect.isMemory('source', namespace, sources)})`,
  );
}

/** Returns the memories, and the duplicates that were merged into them. Merged duplicates come last. */
export async function findGroups(
  queries: Queries,
  namespace: string,
  memories: readonly Pick<FoundMemory, 'id' | 'mergedInto'>[],
): Promise<Erasable[]> {
  const { isIn } = queries.dialect;
  const visible = memories.filter(({ mergedInto }) => mergedInto === null).map(({ id }) => id);
  const isNamed = isIn(raw('m.id'), [...new Set(memories.map(({ id }) => id))]);
  const found = await queries.rows<Erasable>(sql`
    SELECT ${ERASABLE_COLUMNS} FROM memory m WHERE m.namespace = ${namespace} AND ${isNamed}
    UNION ALL
    SELECT ${ERASABLE_COLUMNS} FROM memory m
    WHERE m.namespace = ${namespace} AND ${isIn(raw('m.merged_into'), visible)} AND NOT (${isNamed})`);
  return found.sort(
    (one, other) => Number(one.mergedInto !== null) - Number(other.mergedInto !== null) || one.ordinal - other.ordinal,
  );
}

/** Returns true if the memory is neither merged nor evicted. */
export function isInTier({ mergedInto, evictedAt }: Pick<FoundMemory, 'mergedInto' | 'evictedAt'>): boolean {
  return mergedInto === null && evictedAt === null;
}

export function toMemoryAttributes({ namespace, ordinal, externalId, tags, metadata }: Erasable): MemoryAttributes {
  return {
    namespace,
    ordinal,
    externalId,
    tags: fromJson<string[]>(tags, 'the tags of memory', ordinal),
    metadata: fromJson<Metadata>(metadata, 'the metadata of memory', ordinal),
  };
}

/** Returns the fields that a filter can test. */
export function toFilterFields(memory: Erasable): FilterFields {
  return pickFilterFields({ ...memory, ...toMemoryAttributes(memory) });
}

/** The fields that a write needs to check and change a memory. */
export interface Target {
  ordinal: number;
  id: string;
  externalId: string | null;
  source: string;
  importance: number;
  sessionId: string | null;
  createdAt: number;
  updatedAt: number;
  tier: Tier;
  version: number;
  revision: number;
  /** Revision of the last text that consolidation wrote; null if clients wrote all texts. */
  distilledRevision: number | null;
  expiresAt: number | null;
  evictedAt: number | null;
  mergedInto: string | null;
  validFrom: number | null;
  validTo: number | null;
  supersedes: string | null;
  content: string;
  tags: string;
  metadata: string;
  attachmentBytes: number;
}

/** A change of a memory at a time. */
export type FieldChange = ChangedFields & { at: number };

/** The effects of a change to a memory. */
export interface UpdatePlan {
  /** Undefined if the text does not change. */
  newText: string | undefined;
  newExpiry: boolean;
  newValidity: boolean;
  newMetadata: boolean;
  /** True if the session, source or creation time changes. */
  isMoved: boolean;
  /**
   * True if a merged duplicate must be detached, because its text, metadata, session, source or link will differ from its
   * group.
   */
  leavesGroup: boolean;
  /** True if the memory was evicted and returns to recall. */
  leavesArchive: boolean;
}

/** Returns the reason why an update is rejected, if any. */
export function getRefusal(target: Erasable, change: MemoryChange): 'unknown' | 'stale' | undefined {
  if (!belongsTo(target, change.of ?? {}) || target.evictedAt !== null || isExpired(target.expiresAt, change.at)) {
    return 'unknown';
  }
  return isCurrent(target, change.ifVersions) ? undefined : 'stale';
}

/** Returns whether a memory ends after it begins, once it is changed. */
export function hasPeriod(target: FoundMemory, change: ChangedFields): boolean {
  const { createdAt = target.createdAt, validFrom = target.validFrom, validTo = target.validTo } = change;
  return isPeriod({ createdAt, validFrom, validTo });
}

/** Returns the effects of a change. */
export function planUpdate(target: FoundMemory, change: FieldChange): UpdatePlan {
  const { sessionId, source, createdAt, expiresAt = target.expiresAt } = change;
  const { validFrom = target.validFrom, validTo = target.validTo } = change;
  const newText = change.content !== target.content ? change.content : undefined;
  const newExpiry = expiresAt !== target.expiresAt;
  const newValidity = validFrom !== target.validFrom || validTo !== target.validTo;
  const newMetadata = change.metadata !== undefined && JSON.stringify(change.metadata) !== target.metadata;
  const newSupersedes = change.supersedes !== undefined && change.supersedes !== target.supersedes;
  const isOther = newText !== undefined || newMetadata || newSupersedes || (sessionId ?? source) !== undefined;
  const leavesGroup = target.mergedInto !== null && isOther;
  return {
    newText,
    newExpiry,
    newValidity,
    newMetadata,
    isMoved: (sessionId ?? source ?? createdAt) !== undefined,
    leavesGroup,
    leavesArchive:
      target.evictedAt !== null && (target.mergedInto === null || leavesGroup) && !isExpired(expiresAt, change.at),
  };
}

/** Returns true if one memory may supersede another. A memory can supersede at most one other memory. */
export function canSupersede(superseding: Target, superseded: Target): boolean {
  return superseding.ordinal !== superseded.ordinal && superseding.supersedes === null;
}

function isExpired(expiresAt: number | null, now: number): boolean {
  return expiresAt !== null && expiresAt <= now;
}

/** Returns true if the current version is in `versions`, or if no versions are given. */
export function isCurrent(target: Pick<Target, 'version'>, versions: readonly number[] | undefined): boolean {
  return versions === undefined || versions.includes(target.version);
}
