export { FairQueue } from './concurrency/fair-queue.ts';
export type { EmbedderHealth } from './core/embedding-queue/embedding-queue.ts';
export { assertNamespace } from './core/namespaces.ts';
export type { Engine, EngineOptions, EngineSettings, EngineState } from './engine.ts';
export { ENGINE_DEFAULTS } from './engine-defaults.ts';
export { assertNewKey } from './keys/key-ring.ts';
export { type Migrated, migrateDatabase } from './migrate-database.ts';
export { openEngine } from './open-engine.ts';
export { type OpenMemory, type OpenMemoryOptions, openMemory } from './open-memory.ts';
export {
  type DatabaseOptions,
  hasDatabase,
  openAdministration,
  parseDatabase,
  recordBackup,
  verifyDatabase,
} from './open-storage.ts';
export type {
  Administration,
  KeyHolder,
  Keys,
  Namespaces,
} from './ports/administration.ts';
export type { DistillerOption } from './ports/distiller.ts';
export type { EmbedderOption } from './ports/embedder.ts';
export type { Clock, Telemetry, TelemetryEvent } from './ports/runtime.ts';
export type { StorageCondition } from './ports/storage.ts';
export type { StorageCopy } from './ports/storage-export.ts';
export { inspectDatabase } from './postgres-package.ts';
export { backUpFile, placeFile, restoreFile } from './storage/sqlite/restore-file.ts';
export type { Verified, VerifyStage } from './storage/sqlite/verify-file.ts';
