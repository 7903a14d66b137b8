import type {
  FacetValue,
  FilterCondition,
  GrowthRequest,
  MemoriesRequest,
  Metadata,
  NamespaceQuota,
  Tier,
  TierCounts,
} from '@memoryd/contract';
import type { FilterFields, MemoryFilter, Owner, OwnerFilter, RecalledMemory } from '@memoryd/search';
import type { OverQuota, Quota } from './storage-namespaces.ts';

/** A page of a list. `next` is the start of the following page, absent on the last page. `total` counts all pages. */
export interface Page<Item, Place> {
  items: Item[];
  total: number;
  next?: Place;
}

/**
 * A request for the page after the position `after`, or for the first page without `after`. A page has at most `limit`
 * items and `maxBytes` of JSON, but at least one item if any is left.
 */
export interface PageRequest<Place> {
  limit: number;
  maxBytes: number;
  after?: Place;
}

/** A position in the order of (createdAt, ordinal). */
export interface Position {
  createdAt: number;
  ordinal: number;
}

/**
 * The order of a list of memories, and the number of memories before its page. Equal memories are ordered by
 * (createdAt, ordinal) in the same direction. `maxCounted`: memories that are counted by words, and ordered by use or
 * retention; `LIMITS.countedMemories` by default.
 */
export interface ListOrder {
  by: NonNullable<MemoriesRequest['order']>;
  direction: NonNullable<MemoriesRequest['dir']>;
  offset: number;
  maxCounted?: number;
}

/**
 * A page of a list of memories. `orderedCount`: number of ordered memories, if not all were ordered. `countedCount`: the
 * number in `total`, if more match and were not counted.
 */
export interface MemoryPage extends Page<StoredMemory, Position> {
  orderedCount?: number;
  countedCount?: number;
}

/** The place of a memory in its session. */
export interface TurnPlace extends Position, Owner {
  sessionId: string;
}

/** A memory to store. */
export interface NewMemory extends Owner {
  namespace: string;
  id: string;
  content: string;
  tags: string[];
  importance: number;
  source: string;
  sessionId: string;
  metadata: Metadata;
  attachment?: string;
  /** The caller's own id of the memory; null if it has none. */
  externalId: string | null;
  /**
   * The fields that the client gave. If the owner has a memory with the external id, only these fields of that memory
   * change. Ignored without an external id.
   */
  given?: readonly (keyof ChangedFields)[];
  createdAt: number;
  storedAt: number;
  expiresAt: number | null;
  /** Times at which the memory begins and ceases to hold; null for `createdAt` and for never. */
  validFrom: number | null;
  validTo: number | null;
  supersedes: string | null;
  /** Set if the client may repeat the request: the client's idempotency key and a digest of the request. */
  idempotency?: { key: string; digest: string };
  /**
   * Set for a text of an import, which has an external id. If the owner has a memory with the external id, the memory
   * changes only if an import stored it from a text with another digest, and nobody has changed it since.
   */
  imported?: ImportMark;
}

/** The import that a text belongs to, and the digest of the text with its fields. */
export interface ImportMark {
  importId: string;
  digest: string;
}

/**
 * `updated` and `unchanged`: the owner has a memory with the external id. For the fields of `updated`, see
 * `UpdateOutcome`. `repeated`: the idempotency key was used before, at the time `at`, with the same digest; `id` is the
 * memory that was stored then, and `created` is false if that memory existed before. `superseding-itself`: the memory
 * would supersede itself, directly or through other memories, or a source of its own. `import-undone`: the import of the
 * text does not exist, or its undo has begun.
 */
export type StoreOutcome =
  | { outcome: 'stored'; ordinal: number }
  | ({ outcome: 'updated'; id: string } & Updated)
  | { outcome: 'unchanged'; id: string }
  | { outcome: 'repeated'; id: string; created: boolean; at: number }
  | { outcome: 'superseding-itself' }
  | { outcome: 'no-period' }
  | { outcome: 'conflict' }
  | { outcome: 'superseded-unknown' }
  | { outcome: 'import-undone' }
  | OverQuota;

/** New values of the fields of a memory that an update can change. Absent fields stay unchanged. */
interface UpdatedFields {
  content?: string;
  importance?: number;
  tags?: string[];
  metadata?: Metadata;
  expiresAt?: number | null;
  validFrom?: number | null;
  validTo?: number | null;
  supersedes?: string | null;
}

/** New values of the fields of a memory that a store with its external id can change. */
export interface ChangedFields extends UpdatedFields {
  sessionId?: string;
  source?: string;
  createdAt?: number;
  attachment?: string;
}

/** A change of a memory. If the owner of the memory does not match `of`, the outcome is `unknown`. */
export interface MemoryChange extends UpdatedFields {
  namespace: string;
  id: string;
  at: number;
  of?: OwnerFilter;
  ifVersions?: number[];
}

/**
 * `before`: the fields that the memory had. `embedding`: true if new vectors of the memory are pending.
 */
export interface Updated {
  ordinal: number;
  before: FilterFields;
  embedding: boolean;
}

/** `no-period`: the memory would end before it begins. For `superseding-itself`, see `StoreOutcome`. */
export type UpdateOutcome =
  | ({ outcome: 'updated'; owner: Owner } & Updated)
  | { outcome: 'unknown' }
  | { outcome: 'stale' }
  | { outcome: 'no-period' }
  | { outcome: 'superseding-itself' }
  | { outcome: 'superseded-unknown' }
  | OverQuota;

/**
 * State after forgetting. `purged`: true if no byte of the texts is left in the database. If false, SQLite purges the
 * texts in the background once no read or copy blocks the purge, and PostgreSQL with its next vacuum.
 */
export interface Forgetting {
  purged: boolean;
}

/** A memory that was deleted, and the fields that it had. */
export interface DeletedMemory extends Owner, FilterFields {
  id: string;
}

/**
 * `deleted`: all deleted memories, the forgotten one first. `alsoForgotten`: ids of the duplicates that had been merged
 * into the forgotten memory, and of the semantic memories that were distilled from forgotten memories.
 * `remainingDuplicates`: if the forgotten memory had been merged into
 * another memory, ids of the remaining memories with the same text.
 */
type ForgetOutcome =
  | ({
      outcome: 'forgotten';
      ordinals: number[];
      deleted: DeletedMemory[];
      alsoForgotten: string[];
      remainingDuplicates: string[];
    } & Forgetting)
  | { outcome: 'unknown' }
  | { outcome: 'stale' };

/**
 * Selects the memories of a bulk forget: the memories that match all present conditions. At least one condition must be
 * present.
 */
export interface ForgetSelection extends OwnerFilter {
  ids?: readonly string[];
  sessionId?: string;
  tag?: string;
  source?: string;
  externalId?: string;
  metadata?: Record<string, string>;
  condition?: FilterCondition;
  createdBefore?: number;
}

/** Called after a bulk forget has deleted a batch of memories. */
export type OnForgotten = (deleted: DeletedMemory[]) => void;

/**
 * A stored memory. A memory is live (recall can return it, and counts include it) unless it is merged, evicted or
 * expired.
 */
export interface StoredMemory extends RecalledMemory {
  /** Only transcripts with attachments and exports read it. Absent also if the memory has none. */
  attachment?: string;
  storedAt: number;
  expiresAt: number | null;
  validFrom: number | null;
  supersedes: string | null;
  mergedInto: string | null;
  accessCount: number;
  accessedAt: number | null;
  /** Increases with every write by a client. */
  version: number;
  /** Ids of the memories that a semantic memory was distilled from, in order of time. Empty in other tiers. */
  derivedFrom: string[];
}

/**
 * The current or an earlier text of a memory, and the period in which the text was current. `heldUntil` is null for the
 * current text.
 */
export interface MemoryText {
  /** Increases with every new text of the memory. */
  revision: number;
  content: string;
  heldFrom: number;
  heldUntil: number | null;
}

/**
 * A number of uses to add to the use count of a memory, and the time of the last of these uses. A memory is used each
 * time recall returns it.
 */
export interface MemoryAccess {
  namespace: string;
  ordinal: number;
  count: number;
  at: number;
}

/** A session of one user. `userId` is empty for a session without a user. */
export interface SessionSummaryRow {
  sessionId: string;
  userId: string;
  total: number;
  firstAt: number;
  lastAt: number;
}

/** A page position in the list of sessions, ordered by (sessionId, userId). */
export type SessionPlace = Pick<SessionSummaryRow, 'sessionId' | 'userId'>;

/** The memories of a transcript. `attachments`: true adds the attachments of the memories. */
export type TranscriptOptions = Pick<MemoryFilter, 'condition' | 'at' | 'holding' | 'known'> & {
  attachments?: boolean;
};

/** A read of memories that were found. `limit`: maximum of memories; by default the number of ordinals. */
export interface ReadRequest {
  now: number;
  filter?: MemoryFilter;
  limit?: number;
}

/** A user with stored memories, and the number of live memories by tier. */
export interface UserRow {
  userId: string;
  counts: TierCounts;
  /** Memories and bytes that clients stored and that have not been deleted. See `NamespaceUsage`. */
  used: Quota;
  quota: NamespaceQuota;
  /**
   * The last time at which a client stored a memory of the user, even if the memory was forgotten. An imported memory
   * counts with its own storage time.
   */
  lastStoredAt: number;
}

/** The place of a memory in lists and its labels, with the beginning of its text. */
export interface MemoryOutline extends Owner, Position {
  id: string;
  revision: number;
  tier: Tier;
  /** Its first tag, if any. */
  tag: string | undefined;
  sessionId: string | null;
  /** Empty unless the page has `textChars`, and for a text of more than 64 KiB. */
  text: string;
}

/** A page of outlines after a position. `textChars`: characters of each text; 0 if absent. */
export interface OutlinePage {
  limit: number;
  after?: Position;
  textChars?: number;
}

/** The number of live memories of a scope, and the last that came or changed. Most changes of memories change the state. */
export interface ScopeState {
  count: number;
  lastOrdinal: number;
  changedAt: number;
}

/** A field whose values are counted, as in `FacetsRequest`. Only values that begin with `prefix`, in any case. */
export interface FacetSelection {
  field: string;
  prefix?: string | undefined;
  limit: number;
}

/** The most frequent values of a field. `total`: number of different values. `isPartial`: see `Storage.facet`. */
export interface Facet {
  values: FacetValue[];
  total: number;
  isPartial: boolean;
}

/** The periods of a growth, in a time zone, and the field whose values are counted too. */
export interface GrowthSelection extends Pick<GrowthRequest, 'step' | 'field'> {
  timezone: string;
}

/** See `GrowthResponse`. `from`: the beginning of a period, in ms. */
export interface GrowthSteps {
  steps: { from: number; count: number; values?: number[] }[];
  values?: string[];
  total: number;
}

/** Stores, updates, forgets and reads memories. */
export interface MemoryStorage {
  /**
   * Stores a memory, unless the memory would exceed a quota. Concurrent writers cannot exceed a quota together. If the
   * working tier is then more than three quarters full, the oldest working memories of the namespace are promoted.
   *
   * If the owner has a memory with the same external id, changes the given fields of that memory as `update` does.
   * Evicted and expired memories are changed too. A changed memory returns to recall if it was evicted and has not
   * expired. A value that is equal changes nothing.
   */
  store(memory: NewMemory): Promise<StoreOutcome>;
  /**
   * Stores memories in order, as `store` does, in one commit. Returns an outcome for each memory. If the call rejects,
   * no memory was stored.
   */
  storeMany(memories: NewMemory[]): Promise<StoreOutcome[]>;
  /**
   * Updates a memory, which may be a merged duplicate, and adds a replaced text to the history. Duplicates that were
   * merged into the updated memory stay merged, and expire with the memory. A merged duplicate becomes an independent
   * memory if its text or metadata change. The quota counts the new text in addition to the earlier texts. If `at` is
   * before the last change, because the clock was set back, the time of the last change is used instead.
   */
  update(change: MemoryChange): Promise<UpdateOutcome>;
  /**
   * Deletes a memory with its history, vectors and words, and purges its texts from the database; see `Forgetting`.
   * Forgetting a memory also deletes the duplicates that were merged into the memory. Forgetting a merged duplicate
   * deletes only this duplicate. A semantic memory is deleted with the first of its sources or, if a client wrote its
   * text, with the last.
   */
  forget(
    namespace: string,
    id: string,
    condition?: { ifVersions?: number[]; of?: OwnerFilter },
  ): Promise<ForgetOutcome>;
  /**
   * Forgets all selected memories in batches. If the call rejects, the memories of committed batches stay forgotten,
   * and their texts are purged.
   *
   * @param onForgotten called after each committed batch
   */
  forgetMany(
    namespace: string,
    selection: ForgetSelection,
    onForgotten?: OnForgotten,
  ): Promise<{ count: number } & Forgetting>;
  /**
   * Returns a memory, which may be a merged duplicate; undefined if the id is unknown, the memory was evicted or has
   * expired, or its owner does not match `of`.
   */
  memory(namespace: string, id: string, now: number, of?: OwnerFilter): Promise<StoredMemory | undefined>;
  /**
   * Returns the texts of a memory, oldest first; undefined if `memory` would return undefined. Page positions are
   * revisions.
   */
  history(
    namespace: string,
    id: string,
    page: PageRequest<number>,
    now: number,
    of?: OwnerFilter,
  ): Promise<Page<MemoryText, number> | undefined>;
  /**
   * Returns the text that a memory had at the time `at`; undefined if the memory was stored later or `memory` would
   * return undefined.
   */
  textAt(namespace: string, id: string, at: number, now: number, of?: OwnerFilter): Promise<MemoryText | undefined>;
  /**
   * Returns live memories that match the filter, by default newest first. By use or retention, orders only the newest
   * `LIMITS.countedMemories`, because both change without a write to the memory.
   */
  memories(
    namespace: string,
    filter: MemoryFilter,
    page: PageRequest<Position>,
    now: number,
    order?: ListOrder,
  ): Promise<MemoryPage>;
  /**
   * Returns live memories that match the filter, newest first, without counting the others.
   *
   * @param isStanding true for standing notes only: those with an importance of at least .9
   */
  newest(
    namespace: string,
    filter: MemoryFilter,
    page: PageRequest<Position>,
    now: number,
    isStanding?: boolean,
  ): Promise<StoredMemory[]>;
  /** Returns the outlines of live memories that match the filter, newest first. */
  outlines(namespace: string, filter: MemoryFilter, page: OutlinePage, now: number): Promise<MemoryOutline[]>;
  /** Returns the revisions of those memories by id that `memory` would return. */
  revisions(namespace: string, ids: readonly string[], of: OwnerFilter, now: number): Promise<Map<string, number>>;
  scopeState(namespace: string, of: OwnerFilter, now: number): Promise<ScopeState>;
  /**
   * Returns, for each turn, the live memory before it in its session, of the same user and agent, as `newest` would;
   * undefined for the first.
   *
   * @param turns read one after the other, so some tens at most
   * @param maxBytes as in `PageRequest`, for each turn
   */
  turnsBefore(
    namespace: string,
    turns: readonly TurnPlace[],
    maxBytes: number,
    now: number,
  ): Promise<(StoredMemory | undefined)[]>;
  /**
   * Returns, for each moment, the number of live memories per tier that match the filter and were created at or before
   * the moment (by `createdAt`).
   */
  growth(namespace: string, filter: MemoryFilter, moments: number[], now: number): Promise<TierCounts[]>;
  /**
   * Counts the values of a field of live memories that match the filter. Stored counts answer for users without a filter,
   * and for sessions with a filter of owners. Otherwise counts the newest `LIMITS.countedMemories` memories; `isPartial`
   * if more match.
   */
  facet(namespace: string, filter: MemoryFilter, selection: FacetSelection, now: number): Promise<Facet>;
  /**
   * Counts live memories that match the filter by the period of their `createdAt`, oldest first, in the newest
   * `LIMITS.growthDays` UTC days with memories. Counts the values of a field of the newest `LIMITS.countedMemories`.
   */
  growthSteps(namespace: string, filter: MemoryFilter, selection: GrowthSelection, now: number): Promise<GrowthSteps>;
  /**
   * Returns the memories of a session, oldest first. Includes merged duplicates and memories that were evicted because
   * their tier was full.
   *
   */
  session(
    namespace: string,
    sessionId: string,
    page: PageRequest<Position>,
    now: number,
    of?: OwnerFilter,
    options?: TranscriptOptions,
  ): Promise<Page<StoredMemory, Position>>;
  /** Returns sessions with live memories that match the filter, ordered by session id and user id. */
  sessions(
    namespace: string,
    filter: MemoryFilter,
    page: PageRequest<SessionPlace>,
    now: number,
  ): Promise<Page<SessionSummaryRow, SessionPlace>>;
  /** Returns the users that have memories, including users with only merged or evicted memories, ordered by id. */
  users(
    namespace: string,
    page: Pick<PageRequest<string>, 'limit' | 'after'>,
    now: number,
  ): Promise<Page<UserRow, string>>;
  /**
   * Returns the live memories with these ordinals, in the order of `ordinals`. `supersededBy` is that of the moment of the
   * filter, whose other conditions are ignored unless it has `known`. With `known`, returns the memories that matched the
   * filter as they were known. After a memory follow the duplicates that were merged into it later, oldest first.
   * `truncated`: true if memories at the end were left out because the JSON would exceed `maxBytes`.
   */
  read(
    namespace: string,
    ordinals: number[],
    request: ReadRequest,
    maxBytes: number,
  ): Promise<{ memories: RecalledMemory[]; truncated: boolean }>;
  /** Adds uses to the use counts of memories, and updates the times of last use. */
  recordAccess(accesses: MemoryAccess[]): Promise<void>;
}
