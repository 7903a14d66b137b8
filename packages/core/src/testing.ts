export { NEAR_PAIRS, type NearPair } from './distil/fixtures/near-pairs.fixture.ts';
export { CONSOLIDATION_LEASE } from './ports/coordination.ts';
export { distillerContract, expectSound, getGroup } from './ports/distiller.contract.ts';
export { embedderContract } from './ports/embedder.contract.ts';
export { embedVectors } from './ports/embedder.fixture.ts';
export { deeds, Life } from './ports/life.fixture.ts';
export { newMemory } from './ports/new-memory.fixture.ts';
export { redactorContract } from './ports/redactor.contract.ts';
export { storageContract } from './ports/storage.contract.ts';
export {
  NOW,
  type OpenStorage,
  openForTest,
  type StorageUnderTest,
  testedStorage,
  WORKING_MAX,
} from './ports/storage.fixture.ts';
export type { RunRef } from './ports/storage-consolidation.ts';
export { forgetBatch } from './sql/forget-memories.ts';
export { setLinks } from './sql/import-links.ts';
export { growth, memories } from './sql/memory-pages.ts';
export { changes } from './sql/runs.ts';
export { readGroup } from './sql/semantic-sources.ts';
export { sessions } from './sql/sessions.ts';
export { namespaces, namespaceUsage, totals } from './sql/usage.ts';
export { users } from './sql/users.ts';
