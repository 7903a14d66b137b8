import { describe } from 'vitest';
import { keyStoreContract } from './key-store.contract.ts';
import { leaseContract } from './lease.contract.ts';
import type { OpenStorage } from './storage.fixture.ts';
import { distilStorageContract } from './storage-distil.contract.ts';
import { keptStorageContract } from './storage-kept.contract.ts';
import { memoryStorageContract } from './storage-memories.contract.ts';
import { namespaceStorageContract } from './storage-namespaces.contract.ts';
import { runStorageContract } from './storage-runs.contract.ts';
import { searchStorageContract } from './storage-search.contract.ts';
import { sleepStorageContract } from './storage-sleep.contract.ts';
import { vectorStorageContract } from './storage-vectors.contract.ts';

/**
 * What every adapter of the ports that a database is behind does: `Storage`, `Lease` and `KeyStore`. `open` gives each test
 * a database of its own.
 */
export function storageContract(open: OpenStorage): void {
  // Apart, for each opens a database before every test beside it.
  describe('for memories', () => memoryStorageContract(open));
  describe('for searches', () => searchStorageContract(open));
  describe('for vectors', () => vectorStorageContract(open));
  describe('for consolidation', () => sleepStorageContract(open));
  describe('for distilling', () => distilStorageContract(open));
  describe('for runs', () => runStorageContract(open));
  describe('for leases', () => leaseContract(open));
  describe('for namespaces', () => namespaceStorageContract(open));
  describe('for keys', () => keyStoreContract(open));
  describe('for copies', () => keptStorageContract(open));
}
