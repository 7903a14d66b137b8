/** What an adapter of the port `Storage` is made of: its types, the verbs over SQL, the analysis of texts and the ranking. */

export { BackgroundTask } from './concurrency/background-task.ts';
export { FairQueue } from './concurrency/fair-queue.ts';
export { mostMemoriesOfRareWord, tellingWords } from './core/distil/entities.ts';
export { GROUP_LIMITS } from './core/distil/group.ts';
export { personsAmong, speakerTerms } from './core/ranking/addressed.ts';
export { dampingOf, wordShares } from './core/ranking/bm25.ts';
export { datedAmong, dateMatch } from './core/ranking/dated.ts';
export { weighed } from './core/ranking/synonyms.ts';
export { retentionOf } from './core/retention.ts';
export { ANALYZER_VERSION } from './core/text/analyze.ts';
export type { NoticeListener, Notices, NoticeTopic } from './ports/notices.ts';
export type { AskedDate } from './ports/ranking.ts';
export type { Storage } from './ports/storage.ts';
export type {
  DistilCandidate,
  DistilCandidates,
  DistilCandidatesRequest,
  DistilNeighbour,
} from './ports/storage-distil.ts';
export type { KeptRecords, StorageCopy } from './ports/storage-kept.ts';
export type { MemoryAccess, MemoryFilter, NewMemory, RecalledMemory, StoreOutcome } from './ports/storage-memories.ts';
export type { Quota } from './ports/storage-namespaces.ts';
export { NO_ROW, NO_SESSION, NO_SPEAKER, type SearchRequest, type Signals } from './ports/storage-search.ts';
export type { EmbeddingBatch, MemoryVectors, PendingEmbedding, PendingEmbeddings } from './ports/storage-vectors.ts';
export type { Telemetry } from './ports/telemetry.ts';
export type { PostgresOptions, SchemaSteps } from './postgres-package.ts';
export type { Digest } from './recall-index/entry.ts';
export { areTooMany, askedWords, rarestWords, synonymsAmong } from './storage/asked-words.ts';
export { attributeKey, attributesOfRow, filteredAttributes, isOpen } from './storage/attributes.ts';
export { backgroundOf, sampledTimes } from './storage/background.ts';
export { BatchQueue } from './storage/batch-queue.ts';
export { DISTILLABLE, IN_TIER } from './storage/conditions.ts';
export { fromJson } from './storage/damage.ts';
export { termDigest } from './storage/digests.ts';
export { MOST_VECTORS, NEAREST, PASSED_AT_ONCE, WORDS_CHARS } from './storage/distil-bounds.ts';
export {
  type Found,
  foundBy,
  gather,
  MOST_OF_TEXT,
  MOST_SUCCESSORS,
  NEIGHBOUR_DISTANCE,
  type Surroundings,
} from './storage/gather.ts';
export { toLine } from './storage/kept-line.ts';
export { recordsOf } from './storage/kept-lines.ts';
export { ANSWER_COLUMNS, type AnswerRow, takeAnswered } from './storage/memory-row.ts';
export type { ModelInUse } from './storage/model-in-use.ts';
export type { OpenDatabase } from './storage/open-database.ts';
export { isLimit, type Rooms } from './storage/quota.ts';
export { rankFound } from './storage/rank-found.ts';
export { type Recallable, wordsOf } from './storage/recallable.ts';
export { recordAccess } from './storage/sql/access-counts.ts';
export { COUNTED } from './storage/sql/count-usage.ts';
export { type Dialect, namespaceBeside } from './storage/sql/dialect.ts';
export { hasSettled, holders, liveAndPassing } from './storage/sql/filters.ts';
export { keptRecords } from './storage/sql/kept-records.ts';
export { CHANGED_UNTIL, type ChangedUntil, changedUntil, modelInUse } from './storage/sql/models.ts';
export { readRooms } from './storage/sql/namespace-quotas.ts';
export { BEFORE_THE_LAST } from './storage/sql/page-window.ts';
export { type ColumnType, count, type Queries } from './storage/sql/queries.ts';
export { join, raw, type Sql, sql } from './storage/sql/sql.ts';
export { type SqlRunner, sqlStorage } from './storage/sql/sql-storage.ts';
export { storeMany } from './storage/sql/store.ts';
export type { RecallWriter, Transaction } from './storage/sql/transaction.ts';
export { readVerbs, writeVerbs } from './storage/sql/verbs.ts';
export { firstEqual, textDigest } from './storage/text-digest.ts';
