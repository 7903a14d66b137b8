import type { FilterCondition, Metadata, Tier } from '@memoryd/contract';
import type { ListWords } from './text/list-words.ts';

/** The user and the agent of a memory. An empty string means that the memory is shared by all users, or all agents. */
export interface Owner {
  userId: string;
  agentId: string;
}

/**
 * Matches memories whose user is in `userIds` and whose agent is in `agentIds`. An empty string in a list matches
 * shared memories. An absent list matches all memories.
 */
export interface OwnerFilter {
  userIds?: readonly string[];
  agentIds?: readonly string[];
}

/** Whether a filter is limited to some users or agents. */
export function isLimited({ userIds, agentIds }: OwnerFilter): boolean {
  return userIds !== undefined || agentIds !== undefined;
}

export function belongsTo({ userId, agentId }: Owner, { userIds, agentIds }: OwnerFilter): boolean {
  return (userIds?.includes(userId) ?? true) && (agentIds?.includes(agentId) ?? true);
}

export function haveSameOwner(one: Owner, other: Owner): boolean {
  return one.userId === other.userId && one.agentId === other.agentId;
}

/** Groups items by owner, in the order of the first item of each owner. */
export function groupByOwner<Owned extends Owner>(all: readonly Owned[]): [owner: Owned, owned: Owned[]][] {
  const groups = new Map<string, [Owned, Owned[]]>();
  for (const each of all) {
    const key = `${each.userId}\0${each.agentId}`;
    const group = groups.get(key);
    if (group) group[1].push(each);
    else groups.set(key, [each, [each]]);
  }
  return [...groups.values()];
}

/** Matches memories that meet all present conditions. `since` and `until` are inclusive and compare `createdAt`. */
export interface MemoryFilter extends OwnerFilter {
  /**
   * The first or last characters of the id, ASCII only. If set, the filter also matches memories that were merged into
   * another memory.
   */
  idPart?: string;
  tags?: string[];
  tier?: Tier;
  sessionId?: string;
  source?: string;
  /** The caller's own id. If set, the filter also matches memories that were merged into another memory. */
  externalId?: string;
  since?: number;
  until?: number;
  metadata?: Record<string, string>;
  /** Words of the present text. Only lists and counts have this condition, without `known`. */
  words?: ListWords;
  /** The parsed `filter` of a request. */
  condition?: FilterCondition;
  /** The moment of validity, in ms; by default the present. Applies to `holding`, `superseded` and `supersededBy`. */
  at?: number;
  /**
   * Memories, fields and links count as they were stored at this time, in ms; by default at present. A time in the future
   * is the present.
   */
  known?: number;
  /** True excludes memories that do not hold at that moment. */
  holding?: true;
  /** False excludes memories that another memory replaces at that moment. */
  superseded?: false;
}

/** Returns true if the filter has no condition. */
export function isOpen(filter: MemoryFilter): boolean {
  return Object.values(filter).every((condition) => condition === undefined);
}

/** Label names for the session, user, agent, source and speaker of a memory. No attribute has one of these names. */
export const SESSION_LABEL = 'session';
export const USER_LABEL = 'user';
export const AGENT_LABEL = 'agent';
export const SOURCE_LABEL = 'source';
export const SPEAKER_LABEL = 'speaker';

const TAG_ATTRIBUTE = 'tag';
const EXTERNAL_ID_ATTRIBUTE = 'external_id';

function metadataAttribute(field: string): string {
  return `metadata.${field}`;
}

/** Returns the keys of the field `metadata.PATH` of a `FilterCondition`; undefined for another field. */
export function getMetadataPath(field: string): string[] | undefined {
  const prefix = metadataAttribute('');
  return field.startsWith(prefix) ? field.slice(prefix.length).split('.') : undefined;
}

/** The fields of a memory from which its attributes are made. */
export interface AttributeFields {
  tags: readonly string[];
  metadata: Metadata;
  externalId: string | null;
}

/**
 * Yields the attributes that filters can match: tags, the external id, and metadata fields with a string, number,
 * boolean or null.
 */
export function* getAttributes({ tags, metadata, externalId }: AttributeFields): Iterable<[string, string]> {
  if (externalId !== null) yield [EXTERNAL_ID_ATTRIBUTE, externalId];
  for (const tag of tags) yield [TAG_ATTRIBUTE, tag];
  for (const [field, value] of Object.entries(metadata)) {
    if (typeof value !== 'object' || value === null) yield [metadataAttribute(field), String(value)];
  }
}

/** The fields of a memory that a `FilterCondition` can test. Times are in ms since 1970. */
export interface FilterFields extends AttributeFields {
  source: string;
  sessionId: string | null;
  tier: Tier;
  importance: number;
  createdAt: number;
  updatedAt: number;
  /** Times at which the memory begins and ceases to hold; null for `createdAt` and for never. */
  validFrom: number | null;
  validTo: number | null;
}

/** An attribute that memories must have: its name, and the values of which one is required. */
export type RequiredAttribute = [name: string, values: readonly string[]];

/** The attributes that a filter requires, and its other conditions. */
interface SplitFilter {
  required: RequiredAttribute[];
  others: Omit<MemoryFilter, 'tags' | 'metadata' | 'externalId'>;
}

/**
 * Splits a filter into the attributes that it requires, which have an index, and its other conditions. The conditions
 * that attributes express completely are not among the others.
 */
export function splitFilter(filter: MemoryFilter): SplitFilter {
  const { tags = [], metadata = {}, externalId, condition, ...others } = filter;
  const required: RequiredAttribute[] = [
    ...(externalId === undefined ? [] : [[EXTERNAL_ID_ATTRIBUTE, [externalId]] as RequiredAttribute]),
    ...tags.map((tag): RequiredAttribute => [TAG_ATTRIBUTE, [tag]]),
    ...Object.entries(metadata).map(([field, value]): RequiredAttribute => [metadataAttribute(field), [value]]),
  ];
  const remaining: FilterCondition[] = [];
  for (const part of condition ? getConjuncts(condition) : []) {
    const attribute = getRequiredAttribute(part);
    if (attribute) required.push(attribute);
    // Attributes are texts, so they do not tell the number 10 from the text "10".
    if (!attribute || ('field' in part && getMetadataPath(part.field))) remaining.push(part);
  }
  return { required, others: { ...others, ...(remaining.length > 0 && { condition: { all: remaining } }) } };
}

/** Yields the conditions that must all be met. */
function* getConjuncts(condition: FilterCondition): Iterable<FilterCondition> {
  if ('all' in condition) for (const part of condition.all) yield* getConjuncts(part);
  else yield condition;
}

/** Returns the attribute that a memory has if it meets a condition; undefined if there is none. */
function getRequiredAttribute(condition: FilterCondition): RequiredAttribute | undefined {
  if (!('field' in condition) || condition.operator !== '$in') return undefined;
  const { field, values } = condition;
  const path = getMetadataPath(field);
  if (path) return path.length === 1 ? [field, values.map(String)] : undefined;
  return field === TAG_ATTRIBUTE || field === EXTERNAL_ID_ATTRIBUTE ? [field, values.map(String)] : undefined;
}
