import { describe } from 'vitest';
import { keyStoreContract } from './key-store.contract.ts';
import { leaseContract } from './lease.contract.ts';
import { type OpenStorage, testedStorage } from './storage.fixture.ts';
import { consolidationStorageContract } from './storage-consolidation.contract.ts';
import { distilStorageContract } from './storage-distil.contract.ts';
import { keptStorageContract } from './storage-kept.contract.ts';
import { memoryStorageContract } from './storage-memories.contract.ts';
import { namespaceStorageContract } from './storage-namespaces.contract.ts';
import { ownerStorageContract } from './storage-owners.contract.ts';
import { runStorageContract } from './storage-runs.contract.ts';
import { searchStorageContract } from './storage-search.contract.ts';
import { vectorStorageContract } from './storage-vectors.contract.ts';

/**
 * Tests the ports that an adapter of a database implements: `Storage`, `Lease` and `KeyStore`. `open` opens a new
 * database.
 */
export function storageContract(open: OpenStorage): void {
  const tested = testedStorage(open);
  describe('for memories', () => memoryStorageContract(tested));
  describe('for searches', () => searchStorageContract(tested));
  describe('for vectors', () => vectorStorageContract(tested));
  describe('for consolidation', () => consolidationStorageContract(tested));
  describe('for distilling', () => distilStorageContract(tested));
  describe('for runs', () => runStorageContract(tested));
  describe('for leases', () => leaseContract(tested));
  describe('for namespaces', () => namespaceStorageContract(tested));
  describe('for users and agents', () => ownerStorageContract(tested));
  describe('for keys', () => keyStoreContract(tested));
  describe('for copies', () => keptStorageContract(open));
}
