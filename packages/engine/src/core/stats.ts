import type { Scope, StatsResponse } from '@memoryd/contract';
import type { StorageStats } from '../ports/storage-namespaces.ts';
import type { Core } from './core.ts';
import { toTimestampOrNull } from './timestamp.ts';

const BYTES_PER_MB = 1_000_000;

/** See `MemoryApi.stats`. Who may not operate is told the size of their own texts for that of the database. */
export async function stats(core: Core, namespace: string, scope: Scope): Promise<StatsResponse> {
  const now = core.clock.now();
  const kept = await core.storage.stats(namespace, now);
  return {
    ...toStats(kept, scope === 'operate' ? kept.sizeBytes : kept.textBytes),
    next_sleep_at: toTimestampOrNull(nextSleepAt(kept.lastSleepAt, core.sleepIntervalMs, now)),
  };
}

/** When the next run is due; a last one that lies ahead was recorded before the clock was set back. */
function nextSleepAt(lastSleepAt: number | null, intervalMs: number, now: number): number | null {
  if (intervalMs === 0) return null;
  return lastSleepAt === null || lastSleepAt > now ? now : lastSleepAt + intervalMs;
}

/** What is kept, as callers see it. */
export function toStats(kept: StorageStats, sizeBytes = kept.sizeBytes): StatsResponse {
  const { working_count, episodic_count, semantic_count, lastSleepAt, pendingEmbeddings, embedding } = kept;
  return {
    working_count,
    episodic_count,
    semantic_count,
    db_size_mb: sizeBytes / BYTES_PER_MB,
    last_sleep_at: toTimestampOrNull(lastSleepAt),
    pending_embeddings: pendingEmbeddings,
    ...(embedding && {
      embedding: { model: embedding.modelId, embedded: embedding.embedded, total: embedding.total },
    }),
  };
}
