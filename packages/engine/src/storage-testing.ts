/** Contract test suites and fixtures for adapters of the storage ports. Requires vitest. */

export { EventLog } from './core/event-log.ts';
export { exportMemories } from './core/export-memories.ts';
export { importMemories } from './core/import-memories.ts';
export { getWordMatches } from './core/ranking/bm25.ts';
export { memoryApiContract } from './memory-api.contract.ts';
export { getContents, MANY, memory, newFile, using } from './migrate-database.fixture.ts';
export { deeds, Life } from './ports/life.fixture.ts';
export { newMemory } from './ports/new-memory.fixture.ts';
export { storageContract } from './ports/storage.contract.ts';
export { NOW, openForTest, type StorageUnderTest, WORKING_MAX } from './ports/storage.fixture.ts';
export { propertyRuns } from './property-runs.fixture.ts';
export { fillFile } from './schema-files/filled-file.fixture.ts';
export { openSqlite } from './storage/sqlite/open-sqlite.ts';
export { SynonymTable } from './synonyms/table.ts';
