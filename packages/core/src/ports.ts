/** The types of all ports, for the engine and for contract suites. */

export type {
  Administration,
  Hooks,
  KeyHolder,
  KeySnapshot,
  KeyStore,
  Keys,
  Namespaces,
  StoredKey,
} from './ports/administration.ts';
export { CONSOLIDATION_LEASE, type Lease } from './ports/coordination.ts';
export type { SchemaSteps, ServerPackage } from './ports/database-server.ts';
export type { Clock, IdSource, Seal, TelemetryEvent } from './ports/runtime.ts';
export type { StorageCondition } from './ports/storage.ts';
export type {
  ConsolidationRun,
  DistilCandidate,
  MemoryVersion,
  RunRef,
  StepResult,
  UndoOutcome,
} from './ports/storage-consolidation.ts';
export type { CorrectionState } from './ports/storage-corrections.ts';
export type { ExportRecord, MemoryRecord, PendingLink, StorageCopy } from './ports/storage-export.ts';
export type {
  ChangedFields,
  ListOrder,
  MemoryChange,
  MemoryPage,
  PageRequest,
  Position,
  SessionPlace,
  SessionSummaryRow,
  StoredMemory,
  UserRow,
} from './ports/storage-memories.ts';
export type { NamespaceUsage, Quota, Quotas, StorageStats } from './ports/storage-namespaces.ts';
export type { NamespaceUser } from './ports/storage-vectors.ts';
