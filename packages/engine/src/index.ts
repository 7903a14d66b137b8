export type { Telemetry } from '@memoryd/core';
export { FairQueue } from '@memoryd/core';
export type { DistillerOption, EmbedderOption } from '@memoryd/core/models';
export type { EmbedderHealth, HookApi, RerankerHealth } from '@memoryd/core/operations';
export { assertNewKey } from '@memoryd/core/operations';
export type {
  Administration,
  Clock,
  Hooks,
  KeyHolder,
  Keys,
  Namespaces,
  StorageCondition,
  StorageCopy,
  TelemetryEvent,
} from '@memoryd/core/ports';
export { getWordSegments } from '@memoryd/search';
export type { Verified, VerifyStage } from '@memoryd/sqlite';
export { backUpFile, placeFile, restoreFile } from '@memoryd/sqlite';
export type { Engine, EngineOptions, EngineSettings, EngineState } from './engine.ts';
export { ENGINE_DEFAULTS } from './engine-defaults.ts';
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
export { inspectDatabase } from './postgres-package.ts';
export { removeSecrets } from './remove-secrets.ts';
