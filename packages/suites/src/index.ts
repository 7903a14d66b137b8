/** The contract suites of all ports and of `MemoryApi`, and their fixtures. Requires vitest. */

export { changesContract } from './changes.contract.ts';
export { distillerContract, expectSound, getGroup } from './distiller.contract.ts';
export { embedderContract } from './embedder.contract.ts';
export { embedVectors } from './embedder.fixture.ts';
export { FILTERED_MEMORIES, FILTERS, type FilteredMemory } from './filter-table.fixture.ts';
export { importsContract } from './imports.contract.ts';
export { deeds, Life } from './life.fixture.ts';
export { type MemoryApiUnderTest, memoryApiContract } from './memory-api.contract.ts';
export { NEAR_PAIRS, type NearPair } from './near-pairs.fixture.ts';
export { newMemory } from './new-memory.fixture.ts';
export { redactorContract } from './redactor.contract.ts';
export { storageContract } from './storage.contract.ts';
export {
  NOW,
  type OpenStorage,
  openForTest,
  type StorageUnderTest,
  testedStorage,
  WORKING_MAX,
} from './storage.fixture.ts';
export { WHAT_HOLDS_AT, WHAT_HOLDS_QUERY, type WhatHoldsReader, whatHoldsContract } from './what-holds.contract.ts';
export { MEMORY_API_READERS } from './what-holds-readers.fixture.ts';
