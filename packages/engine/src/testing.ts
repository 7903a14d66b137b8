/** The contract suite of `MemoryApi`, and the storage of an engine, for tests in other packages. Requires vitest. */

export { type MemoryApiUnderTest, memoryApiContract } from './memory-api.contract.ts';
export { openStorage } from './open-storage.ts';
