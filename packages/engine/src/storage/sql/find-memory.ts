import type { Metadata, Tier } from '@memoryd/contract';
import { belongsTo } from '../../core/owner.ts';
import type { MemoryChange } from '../../ports/storage-memories.ts';
import type { Owner } from '../../ports/storage-owner.ts';
import { fromJson } from '../damage.ts';
import type { Labelled } from './memory-rows.ts';
import type { Queries } from './queries.ts';
import { raw, type Sql, sql } from './sql.ts';

/** A memory that a write changes, with its namespace. */
export interface FoundMemory extends Target, Owner {
  namespace: string;
}

/** What erasing has to know of a memory. Its text is left out, since the texts of many may be too long together. */
export type Erasable = Omit<FoundMemory, 'content'>;

const ERASABLE_COLUMNS =
  raw(`m.namespace, m.user_id AS "userId", m.agent_id AS "agentId", m.ordinal, m.id, m.tier, m.version, m.revision,
  m.distilled_revision AS "distilledRevision", m.expires_at AS "expiresAt", m.evicted_at AS "evictedAt",
  m.merged_into AS "mergedInto", m.supersedes, m.tags, m.metadata`);

const FOUND = sql`SELECT ${ERASABLE_COLUMNS}, m.content FROM memory m`;

/** Returns a condition: the rows of a memory and, where it was merged, of the memory that it was merged into. */
export function selfOrSurvivor(namespace: string, id: string): Sql {
  return sql`namespace = ${namespace}
    AND id IN (${id}, (SELECT merged_into FROM memory WHERE namespace = ${namespace} AND id = ${id}))`;
}

export function findMemory(queries: Queries, namespace: string, id: string): Promise<FoundMemory | undefined> {
  return queries.row<FoundMemory>(sql`${FOUND} WHERE m.namespace = ${namespace} AND m.id = ${id}`);
}

export function findByOrdinal(queries: Queries, namespace: string, ordinal: number): Promise<FoundMemory | undefined> {
  return queries.row<FoundMemory>(sql`${FOUND} WHERE m.namespace = ${namespace} AND m.ordinal = ${ordinal}`);
}

/** Returns the ordinals of the hidden duplicates of a visible memory. */
export async function findHiddenDuplicates(queries: Queries, namespace: string, id: string): Promise<number[]> {
  const hidden = await queries.rows<{ ordinal: number }>(
    sql`SELECT ordinal FROM memory WHERE namespace = ${namespace} AND merged_into = ${id} ORDER BY ordinal`,
  );
  return hidden.map(({ ordinal }) => ordinal);
}

/** Returns the ids of the other memories in the group of a hidden duplicate that have its text, the oldest first. */
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

/** Returns those of some memories that exist. */
export function findErasable(queries: Queries, namespace: string, ordinals: readonly number[]): Promise<Erasable[]> {
  return queries.rows<Erasable>(sql`
    SELECT ${ERASABLE_COLUMNS} FROM memory m
    WHERE ${queries.dialect.isMemory('m.ordinal', namespace, ordinals)}`);
}

/** Returns memories, and the hidden duplicates of each that is visible; hidden ones come last. */
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

/** Whether a memory counts in its tier. */
export function isInTier({ mergedInto, evictedAt }: Pick<FoundMemory, 'mergedInto' | 'evictedAt'>): boolean {
  return mergedInto === null && evictedAt === null;
}

/** Returns what filters find a memory by. */
export function toLabelled({ namespace, ordinal, tags, metadata }: Erasable): Labelled {
  return { namespace, ordinal, tags: fromJson<string[]>(tags), metadata: fromJson<Metadata>(metadata) };
}

/** What a write has to know of the memory that it changes. */
export interface Target {
  ordinal: number;
  id: string;
  tier: Tier;
  version: number;
  revision: number;
  /** The revision of the last text that consolidation gave it; null where it never did. */
  distilledRevision: number | null;
  expiresAt: number | null;
  evictedAt: number | null;
  mergedInto: string | null;
  supersedes: string | null;
  content: string;
  tags: string;
  metadata: string;
}

/** What a change of a memory comes to. */
export interface UpdatePlan {
  /** The text that it gets; undefined where it keeps its own. */
  newText: string | undefined;
  newExpiry: boolean;
  newMetadata: boolean;
  /** Whether it is a hidden duplicate that becomes a memory of its own, since it has another text or other metadata. */
  leavesGroup: boolean;
}

/** What a change of a memory would do, or why it is not made. */
export function planUpdate(target: FoundMemory, change: MemoryChange): UpdatePlan | 'unknown' | 'stale' {
  if (!belongsTo(target, change.of ?? {}) || isHidden(target, change.at)) return 'unknown';
  if (!isCurrent(target, change.ifVersions)) return 'stale';
  const newText = change.content !== target.content ? change.content : undefined;
  const newExpiry = change.expiresAt !== undefined && change.expiresAt !== target.expiresAt;
  const newMetadata = change.metadata !== undefined && JSON.stringify(change.metadata) !== target.metadata;
  const leavesGroup = target.mergedInto !== null && (newText !== undefined || newMetadata);
  return { newText, newExpiry, newMetadata, leavesGroup };
}

/** Whether one memory may be kept as a correction of another: each names one that it corrects at most. */
export function mayCorrect(right: Target, wrong: Target): boolean {
  return right.ordinal !== wrong.ordinal && right.supersedes === null;
}

function isHidden(target: Target, now: number): boolean {
  return target.evictedAt !== null || (target.expiresAt !== null && target.expiresAt <= now);
}

/** Whether a caller who has seen `versions` may write: any of them is the present one, or none was named. */
export function isCurrent(target: Target, versions: readonly number[] | undefined): boolean {
  return versions === undefined || versions.includes(target.version);
}
