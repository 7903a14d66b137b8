import type { KeyStore } from './administration.ts';
import type { Lease, Notices } from './coordination.ts';
import type { ConsolidationStorage, DistilStorage, RunStorage } from './storage-consolidation.ts';
import type { KeptStorage } from './storage-kept.ts';
import type { MemoryStorage } from './storage-memories.ts';
import type { NamespaceStorage } from './storage-namespaces.ts';
import type { SearchStorage } from './storage-search.ts';
import type { VectorStorage } from './storage-vectors.ts';

/**
 * Kept memories, their vectors and history. Every write is on disk when its promise resolves.
 *
 * Times are milliseconds since 1970 in UTC. An ordinal is a memory's place in the order of arrival in the whole
 * database: a positive whole number that is never used again.
 */
export interface Storage
  extends MemoryStorage,
    SearchStorage,
    VectorStorage,
    NamespaceStorage,
    RunStorage,
    ConsolidationStorage,
    DistilStorage,
    KeptStorage {
  /** What this database alone knows, wherever it is open: 32 hexadecimal digits. */
  secret(): Promise<string>;
  /**
   * Writes and reads, as requests do. Rejects with UNAVAILABLE, with the reason, where the database cannot be read or
   * written or has no room.
   *
   * @param chars how much is written, and removed again; 0 for a little
   */
  probe(now: number, chars: number): Promise<void>;
  /** What an operator watches of the database as a whole; a field is absent where it does not apply. */
  condition(): Promise<StorageCondition>;
  /** Notes that a backup was made. */
  noteBackup(at: number): Promise<void>;
  /**
   * What is wrong with what is kept, in words for an operator; empty where nothing is. It holds everything that recall
   * uses against the memories themselves, and takes long where they are many.
   */
  integrity(): Promise<string[]>;
  /** Finishes what was accepted and leaves one file without a log beside it. */
  close(): Promise<void>;
}

/** What an operator watches of a database. */
export interface StorageCondition {
  /** Of the disk of a file. */
  diskFreeBytes?: number;
  diskSizeBytes?: number;
  /** When the last backup was made by memoryd, in milliseconds since 1970; null for a file of which none was. */
  backedUpAt?: number | null;
  /** How far the replica is behind the database; infinite while it does not answer. */
  replicationLagSeconds?: number;
}

/** What an open database serves. Closing the storage closes all of it. */
export interface OpenDatabase {
  storage: Storage;
  lease: Lease;
  keys: KeyStore;
  /** Absent where processes tell each other nothing. */
  notices?: Notices;
}
