/** Contract suites of the ports, and fixtures for tests of their adapters. Requires vitest. */

export { NEAR_PAIRS, type NearPair } from './distil/fixtures/near-pairs.fixture.ts';
export { CONSOLIDATION_LEASE } from './ports/coordination.ts';
export { distillerContract, expectSound, getGroup } from './ports/distiller.contract.ts';
export { embedderContract } from './ports/embedder.contract.ts';
export { embedVectors } from './ports/embedder.fixture.ts';
export { deeds, Life } from './ports/life.fixture.ts';
export { newMemory } from './ports/new-memory.fixture.ts';
export { redactorContract } from './ports/redactor.contract.ts';
export type { TelemetryEvent } from './ports/runtime.ts';
export { storageContract } from './ports/storage.contract.ts';
export {
  NOW,
  type OpenStorage,
  openForTest,
  type StorageUnderTest,
  testedStorage,
  WORKING_MAX,
} from './ports/storage.fixture.ts';
export type { DistilCandidate, RunRef } from './ports/storage-consolidation.ts';
export type { StorageCopy } from './ports/storage-export.ts';
export { setLinks } from './sql/import-links.ts';
