import type { StoredMemory } from './storage-memories.ts';
import type { OverQuota } from './storage-namespaces.ts';
import type { Owner, OwnerFilter } from './storage-owner.ts';

/** A text that a memory no longer has. */
interface EarlierText {
  revision: number;
  content: string;
  replacedAt: number;
}

/** What the next consolidation has to look at a memory for. */
export type Awaited = 'merging' | 'distilling';

/** Everything that is kept of a memory, hidden or not, but for vectors; other memories are named by their ids. */
export interface KeptMemory extends Omit<StoredMemory, 'ordinal'> {
  evictedAt: number | null;
  revision: number;
  /** The revision of the last text that consolidation gave it; null where it never did. */
  distilledRevision: number | null;
  /** Those that its earlier texts alone may tell of. */
  formerlyDerivedFrom: string[];
  /** Oldest first. */
  history: EarlierText[];
  awaits: Awaited[];
}

/**
 * What a namespace keeps: a memory, or a digest of a group of memories from which nothing is to be distilled, since a
 * client forgot what was.
 */
export type KeptRecord = { memory: KeptMemory } | ({ declinedGroup: string } & Owner);

/** Records in order of arrival, but a semantic memory not before the first of its sources; declined groups last. */
export interface KeptRecords {
  count: number;
  /** To be read once. */
  records: AsyncIterable<KeptRecord>;
  /** Frees what they take on disk; they are not read after that. */
  discard(): Promise<void>;
}

/** A link that waits for the memory `id` of the same owner, which the one at `ordinal` names, to be imported. */
export interface WaitingLink extends Owner {
  ordinal: number;
  kind: 'supersedes' | 'supersededBy' | 'mergedInto' | 'source' | 'formerSource';
  id: string;
}

/**
 * `unchanged`: it is there with the same text, written as often. `different`: its id is taken by a memory of another
 * text, or written since. `rootless`: a semantic memory whose text no client gave it,
 * and none of whose sources is there or one of which is another's.
 */
export type ImportOutcome = 'imported' | 'unchanged' | 'different' | 'rootless' | OverQuota;

/** `waiting`: links to memories that are not there, beside those that waited before. */
export interface Imported {
  outcomes: ImportOutcome[];
  waiting: WaitingLink[];
}

/** A copy of everything that is kept, as it was at one moment. It takes room on disk until it is read or discarded. */
export interface StorageCopy {
  sizeBytes: number;
  /** SHA-256 of its bytes, in base64. */
  sha256: string;
  /** Its bytes, once; discards it at the end, or when it is left. */
  read(): AsyncIterable<Uint8Array>;
  discard(): Promise<void>;
}

/** Copies what is kept, and takes it from elsewhere. */
export interface KeptStorage {
  /**
   * Copies everything that is kept into a database of its own, while reads and writes go on. UNAVAILABLE where there is
   * no room for it, or the signal gave it up; NOT_FOUND where the database's own server has the tools for that. While it
   * is made, what is forgotten is not purged.
   */
  backup(signal?: AbortSignal): Promise<StorageCopy>;
  /** Returns the records that a namespace keeps of some users and agents, as of one moment. UNAVAILABLE as for `backup`. */
  kept(namespace: string, of?: OwnerFilter, signal?: AbortSignal): Promise<KeptRecords>;
  /**
   * Keeps records as they were kept elsewhere, all or, when it rejects, none of them; their vectors are made anew. A link
   * is set once both memories are there, so those of `links` are that now find theirs.
   *
   * @param links those that wait for a memory of these records
   */
  importKept(namespace: string, records: KeptRecord[], links: WaitingLink[]): Promise<Imported>;
  /**
   * Notes that all that another database keeps is to be imported, and goes on where an earlier call with the same name left
   * that unfinished. False, and nothing is noted, where anything else is kept here.
   *
   * @param from a name that the other database alone has
   */
  beginMigration(from: string): Promise<boolean>;
  /** Whether a migration has begun and not ended. */
  isMigrating(): Promise<boolean>;
  /** Notes that all has been imported: what is kept is this database's own from now on. */
  endMigration(): Promise<void>;
}
