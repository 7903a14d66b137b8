import { describe } from 'vitest';
import { keyStoreContract } from './key-store.contract.ts';
import { leaseContract } from './lease.contract.ts';
import { type OpenStorage, testedStorage } from './storage.fixture.ts';
import { changeStorageContract } from './storage-changes.contract.ts';
import { consolidationStorageContract } from './storage-consolidation.contract.ts';
import { correctionStorageContract } from './storage-corrections.contract.ts';
import { countStorageContract } from './storage-counts.contract.ts';
import { distilStorageContract } from './storage-distil.contract.ts';
import { exportStorageContract } from './storage-export.contract.ts';
import { externalIdStorageContract } from './storage-external-ids.contract.ts';
import { filterStorageContract } from './storage-filter.contract.ts';
import { hookStorageContract } from './storage-hooks.contract.ts';
import { importStorageContract } from './storage-imports.contract.ts';
import { knownStorageContract } from './storage-known.contract.ts';
import { listStorageContract } from './storage-lists.contract.ts';
import { memoryStorageContract } from './storage-memories.contract.ts';
import { namespaceStorageContract } from './storage-namespaces.contract.ts';
import { orderStorageContract } from './storage-order.contract.ts';
import { outlineStorageContract } from './storage-outlines.contract.ts';
import { ownerStorageContract } from './storage-owners.contract.ts';
import { runStorageContract } from './storage-runs.contract.ts';
import { searchStorageContract } from './storage-search.contract.ts';
import { validityStorageContract } from './storage-validity.contract.ts';
import { vectorStorageContract } from './storage-vectors.contract.ts';
import { wordStorageContract } from './storage-words.contract.ts';
import { skipUnmet, type Unmet } from './unmet.fixture.ts';

/**
 * Contract tests of the ports that a database adapter implements: `Storage`, `Lease` and `KeyStore`.
 *
 * @param open opens a new database
 * @param unmet tests that the adapter does not meet
 */
export function storageContract(open: OpenStorage, unmet: Unmet = {}): void {
  skipUnmet(unmet);
  const tested = testedStorage(open);
  describe('memory storage', () => memoryStorageContract(tested));
  describe('external ids', () => externalIdStorageContract(tested));
  describe('lists of sessions and users', () => listStorageContract(tested));
  describe('lists by words', () => wordStorageContract(tested));
  describe('lists of memories', () => orderStorageContract(tested));
  describe('outlines', () => outlineStorageContract(tested));
  describe('facets and growth', () => countStorageContract(tested));
  describe('filters', () => filterStorageContract(tested));
  describe('search storage', () => searchStorageContract(tested));
  describe('validity', () => validityStorageContract(tested));
  describe('what was known', () => knownStorageContract(tested));
  describe('vector storage', () => vectorStorageContract(tested));
  describe('changes of many memories', () => changeStorageContract(tested));
  describe('consolidation storage', () => consolidationStorageContract(tested));
  describe('distillation storage', () => distilStorageContract(tested));
  describe('suggested corrections', () => correctionStorageContract(tested));
  describe('run storage', () => runStorageContract(tested));
  describe('lease storage', () => leaseContract(tested));
  describe('namespace storage', () => namespaceStorageContract(tested));
  describe('owner storage', () => ownerStorageContract(tested));
  describe('hook settings storage', () => hookStorageContract(tested));
  describe('import storage', () => importStorageContract(tested));
  describe('API key storage', () => keyStoreContract(tested));
  describe('export and import', () => exportStorageContract(open));
}
