export { BackgroundTask, doubling } from './concurrency/background-task.ts';
export { BatchQueue, type Load } from './concurrency/batch-queue.ts';
export { FairQueue } from './concurrency/fair-queue.ts';
export { getBackground, MAX_SAMPLED, MAX_VECTORS, NEAREST, PASSED_AT_ONCE, WORDS_CHARS } from './distil/bounds.ts';
export { GROUP_LIMITS, getDistinctiveWords, getMaxRareWordFrequency } from './distil/group.ts';
export type { KeySnapshot } from './ports/administration.ts';
export type { NoticeListener, Notices, NoticeTopic } from './ports/coordination.ts';
export type { SchemaSteps, ServerOptions, ServerPackage } from './ports/database-server.ts';
export type { Telemetry, TelemetryEvent } from './ports/runtime.ts';
export type { OpenDatabase, Storage } from './ports/storage.ts';
export type {
  BackgroundRequest,
  DistilCandidate,
  DistilCandidates,
  DistilCandidatesRequest,
  DistilNeighbor,
} from './ports/storage-consolidation.ts';
export type { ExportRecord, ExportRecords, StorageCopy } from './ports/storage-export.ts';
export type { MemoryAccess, NewMemory, StoreOutcome } from './ports/storage-memories.ts';
export type { Quotas, StorageStats } from './ports/storage-namespaces.ts';
export {
  type EmbeddingBatch,
  MAX_BATCH_USERS,
  MAX_SHORT_TEXT,
  type MemoryVectors,
  type NamespaceUser,
  type PendingEmbedding,
  type PendingEmbeddings,
} from './ports/storage-vectors.ts';
export { countNewChars } from './record-size.ts';
export { readKeys } from './sql/api-keys.ts';
export { attributeKey, attributesOfRow } from './sql/attributes.ts';
export { CORRUPTED_MESSAGE, CorruptDatabaseError, fromJson } from './sql/corruption.ts';
export { recordAccess } from './sql/counters.ts';
export {
  CHANGED_UNTIL,
  type ChangedUntil,
  changedUntil,
  deleteProperty,
  getProperty,
  MODEL_IN_USE,
  type ModelInUse,
  modelInUse,
  setProperty,
} from './sql/database-marks.ts';
export { keptRecords } from './sql/export-records.ts';
export {
  aheadFrom,
  BEFORE_THE_LAST,
  DISTILLABLE,
  hasOwners,
  holders,
  IN_TIER,
  isPromoted,
  liveAndPassing,
  WORKING,
} from './sql/filters.ts';
export { MAX_PROBLEMS, PROBLEMS } from './sql/integrity.ts';
export { RESULT_COLUMNS, type ResultRow, readResults } from './sql/memory-row.ts';
export {
  type ColumnType,
  count,
  type Dialect,
  namespaceBeside,
  type Queries,
  type RecallEntry,
  type RecallWriter,
  type Transaction,
} from './sql/queries.ts';
export { isLimit, type NamespaceLimits, NO_QUOTAS, Rooms, readRooms } from './sql/quotas.ts';
export { getPieces, getRecords, type OpenFile, toRecordLine } from './sql/record-lines.ts';
export { join, raw, Sql, sql } from './sql/sql.ts';
export { type Held, type SqlRunner, sqlStorage } from './sql/sql-storage.ts';
export { storeMany } from './sql/store-memories.ts';
export { stats } from './sql/usage.ts';
export { type ReadVerbs, readVerbs, type WriteVerbs, writeVerbs } from './sql/verbs.ts';
export { assertMayWrite, ENTRIES_MADE_BY } from './sql/writer-version.ts';
