/** The operations of a memory service, for the engine that composes them with adapters. */

export type { Outcome } from './concurrency/background-task.ts';
export { Consolidator } from './consolidation/consolidator.ts';
export { ConsolidationSchedule } from './consolidation/schedule.ts';
export { createRecallForCheck } from './consolidation/self-check.ts';
export { extractive } from './distil/extractive.ts';
export { withFallback } from './distil/with-fallback.ts';
export { type EmbedderHealth, EmbeddingQueue } from './embedding-queue/embedding-queue.ts';
export { openEmbedderEarly } from './embedding-queue/opened-early.ts';
export { type EventLimits, EventLog } from './event-log.ts';
export { GivenMemories } from './given-memories.ts';
export { assertNewKey, KeyRing } from './keys/key-ring.ts';
export { AccessLog } from './operations/access-log.ts';
export type { Core } from './operations/core.ts';
export { exportLines, exportMemories } from './operations/export-memories.ts';
export { createHooks } from './operations/hook-settings.ts';
export { importLines } from './operations/import-memories.ts';
export { type HookApi, hookApi, memoryApi } from './operations/memory-api.ts';
export { assertKeepableNamespace, getNamespaces, toScopedStats } from './operations/namespaces.ts';
export { requireModelInUse } from './operations/only-model-in-use.ts';
export { acceptRequest, type Redacted, redactRequest, type Texts } from './operations/redact.ts';
export { RunningImports } from './operations/running-imports.ts';
export { type RerankerHealth, Reranking } from './reranking.ts';
export { isCorruption } from './sql/corruption.ts';
export { setLinks } from './sql/import-links.ts';
export { createSeal, systemClock, uuidV7 } from './system.ts';
export { ArrivalClock } from './time.ts';
