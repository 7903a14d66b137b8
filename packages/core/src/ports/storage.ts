import type { SearchStorage } from '@memoryd/search';
import type { KeyStore } from './administration.ts';
import type { Lease, Notices } from './coordination.ts';
import type { ChangeStorage } from './storage-changes.ts';
import type { ConsolidationStorage, DistilStorage, RunStorage } from './storage-consolidation.ts';
import type { CorrectionStorage } from './storage-corrections.ts';
import type { ExportStorage } from './storage-export.ts';
import type { HookStorage } from './storage-hooks.ts';
import type { ImportStorage } from './storage-imports.ts';
import type { MemoryStorage } from './storage-memories.ts';
import type { CachedStates, NamespaceStorage } from './storage-namespaces.ts';
import type { VectorStorage } from './storage-vectors.ts';

/**
 * Stores memories with their vectors and history. Every write is on disk when its promise resolves.
 *
 * Times are milliseconds since 1970 in UTC. An ordinal is a positive integer that identifies a memory in the whole
 * database and is never reused. Memories that are stored later have higher ordinals.
 */
export interface Storage
  extends MemoryStorage,
    SearchStorage,
    VectorStorage,
    NamespaceStorage,
    RunStorage,
    ConsolidationStorage,
    DistilStorage,
    CorrectionStorage,
    HookStorage,
    ImportStorage,
    ChangeStorage,
    ExportStorage {
  /** Returns the secret of the database: 32 hexadecimal digits, the same in every process that opens the database. */
  secret(): Promise<string>;
  /**
   * Tests the database with a write. Rejects with UNAVAILABLE and the reason if the database cannot be written, or if
   * the disk is full.
   *
   * @param chars number of characters to write and remove again; 0 writes a minimum
   */
  probe(now: number, chars: number): Promise<void>;
  /** Returns the condition of the database, for monitoring. Fields that do not apply to the database are absent. */
  condition(): Promise<StorageCondition>;
  /** Records the time of a backup. */
  recordBackup(at: number): Promise<void>;
  /**
   * Checks the integrity of all data. Returns the problems as messages for operators; an empty list if there are no
   * problems. Compares all recall data with the memories, so a check of a large database takes a long time.
   */
  integrity(): Promise<string[]>;
  /**
   * Completes accepted writes and closes the database. An SQLite database is then a single file without a write-ahead
   * log.
   */
  close(): Promise<void>;
}

export interface StorageCondition {
  /** Free and total size of the disk that holds the database file. */
  diskFreeBytes?: number;
  diskSizeBytes?: number;
  /** Time of the last backup by memoryd, in milliseconds since 1970; null for a file without a backup. */
  backedUpAt?: number | null;
  /** Replication lag of the replica; infinite while the replica does not respond. */
  replicationLagSeconds?: number;
  /** Absent for a database server, and without a recall index. */
  cachedStates?: CachedStates;
}

/** An open database. Closing the storage closes all parts. */
export interface OpenDatabase {
  storage: Storage;
  lease: Lease;
  keys: KeyStore;
  /** Absent if the database does not support notices between processes. */
  notices?: Notices;
}
