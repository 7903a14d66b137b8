/** Building blocks of a database: the ports that it implements, and what it shares with other databases. */

export { BackgroundTask } from './concurrency/background-task.ts';
export { BatchQueue } from './concurrency/batch-queue.ts';
export { FairQueue } from './concurrency/fair-queue.ts';
export { hasRoomForThread } from './concurrency/memory-room.ts';
export { DISTIL_LIMITS } from './distil/bounds.ts';
export { MAX_NOTICE_BYTES, type Notices } from './ports/coordination.ts';
export type { ServerOptions } from './ports/database-server.ts';
export type { Telemetry } from './ports/runtime.ts';
export type { OpenDatabase, Storage } from './ports/storage.ts';
export type { ExportFilter } from './ports/storage-export.ts';
export type { NewMemory, ReadRequest, StoreOutcome } from './ports/storage-memories.ts';
export {
  EMBEDDING_LIMITS,
  type EmbeddingBatch,
  type FirstVectors,
  type MemoryVectors,
  type PendingEmbeddings,
} from './ports/storage-vectors.ts';
export { countNewChars } from './record-size.ts';
export { attributesOfRow } from './sql/attributes.ts';
export { CorruptDatabaseError, fromJson } from './sql/corruption.ts';
export {
  CHANGED_UNTIL,
  changedUntil,
  getProperty,
  MODEL_IN_USE,
  type ModelInUse,
  modelInUse,
  setChangedUntil,
  setProperty,
} from './sql/database-marks.ts';
export { type DistilSearch, distilCandidates, getBackgroundCosine } from './sql/distil-candidates.ts';
export { keptRecords } from './sql/export-records.ts';
export { meetsCondition } from './sql/filter-condition.ts';
export { BEFORE_THE_LAST, holders, IN_TIER, liveAndPassing } from './sql/filters.ts';
export { INTEGRITY } from './sql/integrity.ts';
export { fromMemory, joinKnown, selectChanged } from './sql/known.ts';
export { readResults, resultColumns } from './sql/memory-row.ts';
export { type MemoryText, replaceWords, toWords } from './sql/memory-words.ts';
export {
  count,
  type Dialect,
  namespaceBeside,
  type Queries,
  type Transaction,
} from './sql/queries.ts';
export { isQuotaLimited, type NamespaceLimits, NO_QUOTAS, readRooms } from './sql/quotas.ts';
export { getPieces, getRecords, toRecordLine } from './sql/record-lines.ts';
export { join, raw, type Sql, sql } from './sql/sql.ts';
export { type SqlRunner, sqlStorage } from './sql/sql-storage.ts';
export { getReplacement, type ValidityTimes, validityTimes } from './sql/validity.ts';
export { readVerbs, writeVerbs } from './sql/verbs.ts';
export { assertMayWrite, ENTRIES_MADE_BY } from './sql/writer-version.ts';
export { type Moment, toMoment } from './validity.ts';
