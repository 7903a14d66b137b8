/** Building blocks of a `Storage` adapter: types, operations in SQL, text analysis and ranking. */

export { BackgroundTask } from './concurrency/background-task.ts';
export { FairQueue } from './concurrency/fair-queue.ts';
export { GROUP_LIMITS, getDistinctiveWords, getMaxRareWordFrequency } from './core/distil/group.ts';
export { groupByOwner } from './core/owner.ts';
export { DAMPING, getWordShares } from './core/ranking/bm25.ts';
export { dateMatch, getSpeakerTerms, weighed } from './core/ranking/query-terms.ts';
export { countNewChars } from './core/record-size.ts';
export { getRetention } from './core/retention.ts';
export { ANALYZER_VERSION } from './core/text/analyze.ts';
export type { NoticeListener, Notices, NoticeTopic } from './ports/coordination.ts';
export type { QueryPeriod } from './ports/ranking.ts';
export type { Telemetry } from './ports/runtime.ts';
export type { OpenDatabase, Storage } from './ports/storage.ts';
export type {
  BackgroundRequest,
  DistilCandidate,
  DistilCandidates,
  DistilCandidatesRequest,
  DistilNeighbor,
} from './ports/storage-consolidation.ts';
export type { ExportRecords, StorageCopy } from './ports/storage-export.ts';
export type { MemoryAccess, MemoryFilter, NewMemory, RecalledMemory, StoreOutcome } from './ports/storage-memories.ts';
export type { Quotas } from './ports/storage-namespaces.ts';
export type { Owner, OwnerFilter } from './ports/storage-owner.ts';
export {
  NO_ROW,
  NO_SESSION,
  NO_SPEAKER,
  type QueryWordKinds,
  type SearchRequest,
  type Signals,
} from './ports/storage-search.ts';
export {
  type EmbeddingBatch,
  MAX_BATCH_USERS,
  MAX_SHORT_TEXT,
  type MemoryVectors,
  type NamespaceUser,
  type PendingEmbedding,
  type PendingEmbeddings,
} from './ports/storage-vectors.ts';
export { splitHosts } from './postgres-address.ts';
export type { PostgresOptions, SchemaSteps } from './postgres-package.ts';
export type { Digest } from './recall-index/entry.ts';
export { Nearness } from './recall-index/nearness.ts';
export { areIntactStates, packStates } from './recall-index/token-states.ts';
export { attributeKey, attributesOfRow, filteredAttributes, isOpen } from './storage/attributes.ts';
export { BatchQueue } from './storage/batch-queue.ts';
export {
  collectCandidates,
  combineMatches,
  MAX_PER_TEXT,
  MAX_SUCCESSORS,
  type Matches,
  NEIGHBOR_DISTANCE,
  type RowRelations,
} from './storage/candidate-rows.ts';
export { CORRUPTED_MESSAGE, fromJson } from './storage/corruption.ts';
export { firstEqual, termDigest, textDigest } from './storage/digests.ts';
export {
  getBackground,
  MAX_SAMPLED,
  MAX_VECTORS,
  NEAREST,
  PASSED_AT_ONCE,
  WORDS_CHARS,
} from './storage/distil-bounds.ts';
export { RESULT_COLUMNS, type ResultRow, readResults } from './storage/memory-row.ts';
export { rankFound } from './storage/rank-results.ts';
export {
  areTooMany,
  getQuerySynonyms,
  getQueryWordKinds,
  getRarestWords,
  getWords,
  parseQueryWords,
  type Recallable,
} from './storage/recall-words.ts';
export { getRecords, toRecordLine } from './storage/record-lines.ts';
export { COUNTED, recordAccess } from './storage/sql/counters.ts';
export {
  CHANGED_UNTIL,
  type ChangedUntil,
  changedUntil,
  deleteProperty,
  getProperty,
  type ModelInUse,
  modelInUse,
  setProperty,
} from './storage/sql/database-marks.ts';
export { keptRecords } from './storage/sql/export-records.ts';
export {
  BEFORE_THE_LAST,
  DISTILLABLE,
  hasOwners,
  holders,
  IN_TIER,
  isPromoted,
  liveAndPassing,
} from './storage/sql/filters.ts';
export { MAX_PROBLEMS, PROBLEMS } from './storage/sql/integrity.ts';
export {
  type ColumnType,
  count,
  type Dialect,
  namespaceBeside,
  type Queries,
  type RecallWriter,
  type Transaction,
} from './storage/sql/queries.ts';
export { isLimit, type NamespaceLimits, NO_QUOTAS, type Rooms, readRooms } from './storage/sql/quotas.ts';
export { join, raw, type Sql, sql } from './storage/sql/sql.ts';
export { type Held, type SqlRunner, sqlStorage } from './storage/sql/sql-storage.ts';
export { storeMany } from './storage/sql/store-memories.ts';
export { readVerbs, writeVerbs } from './storage/sql/verbs.ts';
export { assertMayWrite, ENTRIES_MADE_BY } from './storage/writer-version.ts';
