import type { MemoryFilter, Owner, OwnerFilter } from '@memoryd/search';
import type { Moment } from '../validity.ts';
import type { StoredMemory } from './storage-memories.ts';
import type { OverQuota } from './storage-namespaces.ts';

interface EarlierText {
  revision: number;
  content: string;
  replacedAt: number;
}

/** The work that is pending for a memory in the next consolidation. */
export type Awaited = 'merging' | 'distilling';

/**
 * The complete record of a memory, including merged, evicted and expired memories, without vectors. Other memories are
 * referenced by id.
 */
export interface MemoryRecord extends Omit<StoredMemory, 'ordinal' | 'earlierRevision' | 'supersededBy'> {
  /** Memories that supersede this one, in the order of their arrival. */
  successors: string[];
  evictedAt: number | null;
  revision: number;
  /** Revision of the last text that consolidation wrote; null if clients wrote all texts. */
  distilledRevision: number | null;
  /** Sources of earlier texts that are not sources of the current text. */
  formerlyDerivedFrom: string[];
  /** Oldest first. */
  history: EarlierText[];
  awaits: Awaited[];
}

/**
 * A record of a namespace: a memory, or the digest of a group of memories that must not be distilled again, because the
 * result was forgotten or the run was undone.
 */
export type ExportRecord = { memory: MemoryRecord } | ({ declinedGroup: string } & Owner);

/** The memories of an export. Without a condition and a view, the export also has the declined groups. */
export interface ExportFilter extends OwnerFilter, Pick<MemoryFilter, 'condition'> {
  /**
   * Only memories that are neither evicted nor expired, as they were known at the moment and, with `holding`, if they hold
   * then. Absent for all memories.
   */
  view?: { moment: Moment; holding: boolean };
}

/**
 * Records in the order in which the memories were stored, except that a semantic memory follows the first of its
 * sources. Declined groups are last.
 */
interface ExportRecords {
  count: number;
  /** Can be read once. */
  records: AsyncIterable<ExportRecord>;
  /** Frees the disk space of the records, which cannot be read afterwards. */
  discard(): Promise<void>;
}

/**
 * A pending link: the memory at `ordinal` refers to the memory `id` of the same owner, which has not been imported yet.
 */
export interface PendingLink extends Owner {
  ordinal: number;
  kind: 'supersedes' | 'supersededBy' | 'mergedInto' | 'source' | 'formerSource';
  id: string;
}

/**
 * `unchanged`: the owner has the memory with the same text, version and storage time, or the declined group.
 * `different`: the owner has a memory with the id that differs in one of these fields or in the external id.
 * `external-id-taken`: the owner has another memory with the external id. `rootless`: a semantic memory
 * whose text no client wrote, and of which the owner has no source or an invalid source.
 */
export type ImportOutcome = 'imported' | 'unchanged' | 'different' | 'external-id-taken' | 'rootless' | OverQuota;

export interface ImportedRecord {
  outcome: ImportOutcome;
  /** The id of the memory in the database, if the id of the record belongs to another owner. */
  newId?: string;
}

/** `waiting`: links of the imported records to memories that have not been imported yet. */
export interface Imported {
  records: ImportedRecord[];
  waiting: PendingLink[];
}

/** A copy of the whole database as of one moment. Takes disk space until it is read or discarded. */
export interface StorageCopy {
  sizeBytes: number;
  /** SHA-256 of the copy, in base64. */
  sha256: string;
  /**
   * Yields the bytes. Can be called once. The copy is discarded at the end of the iteration, or when the iteration is
   * abandoned.
   */
  read(): AsyncIterable<Uint8Array>;
  discard(): Promise<void>;
}

/** Copies, exports and imports data. */
export interface ExportStorage {
  /**
   * Creates a copy of the whole database while reads and writes continue. Rejects with UNAVAILABLE if the disk has no
   * room or the signal is aborted, and with NOT_FOUND if the database server has its own backup tools. While the copy
   * exists, forgotten memories are not purged.
   */
  backup(signal?: AbortSignal): Promise<StorageCopy>;
  /**
   * Returns the records of a namespace as of one moment. With `filter`, returns only the memories that match it.
   * Rejects with UNAVAILABLE as `backup` does.
   */
  exportRecords(namespace: string, filter?: ExportFilter, signal?: AbortSignal): Promise<ExportRecords>;
  /**
   * Imports records of another database, and returns an outcome for each record. If the call rejects, nothing was
   * imported. Imported memories that are neither merged nor evicted are re-embedded. A link is set once both of its
   * memories exist, so the call also sets the pending `links`.
   *
   * Memories of other owners are neither changed nor linked. If one of them has the id of a record, the record is stored
   * under a new id, and links of its owner to the old id lead to the new one. The same id, owner and database always
   * give the same new id.
   *
   * @param links the pending links to memories of these records
   * @param importId the import that the new memories belong to, if any. Rejects with CONFLICT if the import does not
   * exist, or its undo has begun
   */
  importRecords(namespace: string, records: ExportRecord[], links: PendingLink[], importId?: string): Promise<Imported>;
  /**
   * Begins a migration from another database, or continues an unfinished one with the same name. Returns false and
   * changes nothing if the database has data and no unfinished migration with this name.
   *
   * @param from a name that is unique to the other database
   */
  beginMigration(from: string): Promise<boolean>;
  /** Returns true if a migration has begun and not ended. */
  isMigrating(): Promise<boolean>;
  /** Ends the migration, so that `isMigrating` returns false. */
  endMigration(): Promise<void>;
}
