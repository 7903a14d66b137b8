import type { Metadata, NamespaceQuota, Tier, TierCounts } from '@memoryd/contract';
import type { OverQuota, Quota } from './storage-namespaces.ts';
import type { OwnedCount, Owner, OwnerFilter } from './storage-owner.ts';

/** `next` is where the following page starts; absent on the last. `total` counts all pages. */
export interface Page<Item, Place> {
  items: Item[];
  total: number;
  next?: Place;
}

/** A page: at most `limit` items and `maxBytes` of JSON after `after`, but at least one item where any is left. */
export interface PageRequest<Place> {
  limit: number;
  maxBytes: number;
  after?: Place;
}

/** A place in the order of (createdAt, ordinal). */
export interface Position {
  createdAt: number;
  ordinal: number;
}

/** A memory as it is about to be kept. */
export interface NewMemory extends Owner {
  namespace: string;
  id: string;
  content: string;
  tags: string[];
  importance: number;
  source: string;
  sessionId: string;
  metadata: Metadata;
  createdAt: number;
  storedAt: number;
  expiresAt: number | null;
  supersedes: string | null;
  /** Present when the same request may come again: the caller's key and a digest of the request. */
  idempotency?: { key: string; digest: string };
}

/** `repeated`: the idempotency key was used with the same digest; `id` is what it stored then. */
export type StoreOutcome =
  | { outcome: 'stored'; ordinal: number }
  | { outcome: 'repeated'; id: string }
  | { outcome: 'conflict' }
  | { outcome: 'superseded-unknown' }
  | OverQuota;

/** Changes of a memory; absent fields stay. It is unknown where it belongs to nobody that `of` lets through. */
export interface MemoryChange {
  namespace: string;
  id: string;
  at: number;
  of?: OwnerFilter;
  ifVersions?: number[];
  content?: string;
  importance?: number;
  tags?: string[];
  metadata?: Metadata;
  expiresAt?: number | null;
}

/** `embedding`: whether the memory now waits for new vectors; `othersEmbedding`: whether a semantic memory does. */
export type UpdateOutcome =
  | { outcome: 'updated'; owner: Owner; ordinal: number; embedding: boolean; othersEmbedding: boolean }
  | { outcome: 'unknown' }
  | { outcome: 'stale' }
  | OverQuota;

/**
 * What forgetting left behind. `purged`: no byte of the texts is left in the database; otherwise that follows within 5
 * seconds of the last reader or copy of a file, or when a PostgreSQL server has vacuumed. `embedding`: what was distilled
 * from them and others has a new text, which waits for its vectors.
 */
interface Forgetting {
  purged: boolean;
  embedding: boolean;
}

/**
 * `alsoForgotten`: ids of the hidden duplicates of a visible memory, and of what was distilled from them alone.
 * `remainingDuplicates`: ids of the memories in the group of a hidden duplicate that still have its text.
 */
type ForgetOutcome =
  | ({
      outcome: 'forgotten';
      owner: Owner;
      ordinals: number[];
      alsoForgotten: string[];
      remainingDuplicates: string[];
    } & Forgetting)
  | { outcome: 'unknown' }
  | { outcome: 'stale' };

/** Which memories a bulk forget is about; at least one condition is given and all must hold. */
export interface ForgetSelection extends OwnerFilter {
  sessionId?: string;
  tag?: string;
  source?: string;
  metadata?: Record<string, string>;
  createdBefore?: number;
}

/** Told of memories that a bulk forget has removed for good. */
type OnForgotten = (gone: { owned: OwnedCount[]; embedding: boolean }) => void;

/** A memory as it is kept. It is live, in recall and in the counts, unless it is merged, evicted or expired. */
export interface StoredMemory extends Owner {
  ordinal: number;
  id: string;
  content: string;
  tags: string[];
  importance: number;
  source: string;
  sessionId: string | null;
  tier: Tier;
  metadata: Metadata;
  createdAt: number;
  storedAt: number;
  updatedAt: number;
  expiresAt: number | null;
  supersedes: string | null;
  supersededBy: string | null;
  mergedInto: string | null;
  accessCount: number;
  accessedAt: number | null;
  /** Counts what clients wrote to it. */
  version: number;
  /** Ids of the memories that a semantic memory was distilled from, in order of time; empty in other tiers. */
  derivedFrom: string[];
}

/** What is told of a memory that answers a query. */
export type RecalledMemory = Pick<
  StoredMemory,
  | 'ordinal'
  | 'id'
  | 'content'
  | 'tags'
  | 'sessionId'
  | 'userId'
  | 'agentId'
  | 'createdAt'
  | 'updatedAt'
  | 'supersededBy'
>;

/** A text that a memory has had. `heldUntil` is null for the present one. */
export interface MemoryText {
  /** Grows with every new text of the memory. */
  revision: number;
  content: string;
  heldFrom: number;
  heldUntil: number | null;
}

/** Conditions on memories, all of which must hold; times include their ends and look at `createdAt`. */
export interface MemoryFilter extends OwnerFilter {
  tags?: string[];
  tier?: Tier;
  sessionId?: string;
  source?: string;
  since?: number;
  until?: number;
  metadata?: Record<string, string>;
  /** False leaves out memories that another one supersedes. */
  superseded?: false;
}

/** How often a memory was given out, the last time at `at`. */
export interface MemoryAccess {
  namespace: string;
  ordinal: number;
  count: number;
  at: number;
}

/** A session of one user, or of none, which is ''. */
export interface SessionSummaryRow {
  sessionId: string;
  userId: string;
  total: number;
  firstAt: number;
  lastAt: number;
}

/** A place in the order of sessions. */
export type SessionPlace = Pick<SessionSummaryRow, 'sessionId' | 'userId'>;

/** A user of whom anything is kept, with the live memories by tier. */
export interface UserRow {
  userId: string;
  counts: TierCounts;
  /** What clients stored and nobody has erased. See `NamespaceUsage`. */
  used: Quota;
  quota: NamespaceQuota;
  lastStoredAt: number;
}

/** Stores, changes, forgets and reads memories. */
export interface MemoryStorage {
  /**
   * Keeps a memory, unless a quota of its namespace would be exceeded, whoever else writes. Past three quarters of the
   * working maximum the namespace's oldest promote.
   */
  store(memory: NewMemory): Promise<StoreOutcome>;
  /**
   * Keeps some hundred memories as `store` does, one after the other in one commit, and answers what became of each.
   * When it rejects, none of them was kept.
   */
  storeMany(memories: NewMemory[]): Promise<StoreOutcome[]>;
  /**
   * Changes a visible memory or a hidden duplicate; a replaced text goes into its history. The hidden duplicates of a
   * visible memory stay hidden, and expire with it. A hidden duplicate that gets another text or other metadata becomes
   * a memory of its own. A new text is added to the earlier ones and may exceed a quota. A time before that of the last
   * change, of a clock that was set back, is taken for that one.
   */
  update(change: MemoryChange): Promise<UpdateOutcome>;
  /**
   * Removes a memory with its history, vectors and words, from the bytes of the file too; with a visible memory its hidden
   * duplicates, of a hidden duplicate that row only. What was distilled from it is distilled again from what is left, or
   * removed with its last source.
   */
  forget(
    namespace: string,
    id: string,
    condition?: { ifVersions?: number[]; of?: OwnerFilter },
  ): Promise<ForgetOutcome>;
  /**
   * Forgets one batch after the other. Where it rejects, the batches before stay forgotten, and their bytes go as those of
   * others do.
   *
   * @param onForgotten told of each batch when it is committed
   */
  forgetMany(
    namespace: string,
    selection: ForgetSelection,
    onForgotten?: OnForgotten,
  ): Promise<{ count: number } & Forgetting>;
  /** One memory that has not expired; merged duplicates are found too. */
  memory(namespace: string, id: string, now: number, of?: OwnerFilter): Promise<StoredMemory | undefined>;
  /** The texts of a memory that `memory` answers, oldest first; undefined where there is none. A place is a revision. */
  history(
    namespace: string,
    id: string,
    page: PageRequest<number>,
    now: number,
    of?: OwnerFilter,
  ): Promise<Page<MemoryText, number> | undefined>;
  /** The text that such a memory had at a time; undefined before it was stored. */
  textAt(namespace: string, id: string, at: number, now: number, of?: OwnerFilter): Promise<MemoryText | undefined>;
  /** Live memories that pass, newest first. */
  memories(
    namespace: string,
    filter: MemoryFilter,
    page: PageRequest<Position>,
    now: number,
  ): Promise<Page<StoredMemory, Position>>;
  /** Returns how many live memories that pass each tier holds up to each moment, which is included, by `createdAt`. */
  growth(namespace: string, filter: MemoryFilter, moments: number[], now: number): Promise<TierCounts[]>;
  /** A session's memories, merged duplicates and what a maximum has evicted too, oldest first. */
  session(
    namespace: string,
    sessionId: string,
    page: PageRequest<Position>,
    now: number,
    of?: OwnerFilter,
  ): Promise<Page<StoredMemory, Position>>;
  /** Sessions with live memories that pass, in the order of their ids and users. */
  sessions(
    namespace: string,
    filter: MemoryFilter,
    page: PageRequest<SessionPlace>,
    now: number,
  ): Promise<Page<SessionSummaryRow, SessionPlace>>;
  /** The users of whom anything is kept, in the order of their ids. */
  users(
    namespace: string,
    page: Pick<PageRequest<string>, 'limit' | 'after'>,
    now: number,
  ): Promise<Page<UserRow, string>>;
  /**
   * The live memories at these ordinals, in that order, superseded by nothing that has expired; `truncated` when the rest
   * would make the JSON of the answer larger than `maxBytes`.
   */
  read(
    namespace: string,
    ordinals: number[],
    now: number,
    maxBytes: number,
  ): Promise<{ memories: RecalledMemory[]; truncated: boolean }>;
  /** Adds to access counts. */
  recordAccess(accesses: MemoryAccess[]): Promise<void>;
}
