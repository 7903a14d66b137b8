import type { StatsResponse } from '@memoryd/contract';
import type { StorageStats } from '../ports/storage.ts';
import type { Core } from './core.ts';
import { toTimestampOrNull } from './timestamp.ts';

const BYTES_PER_MB = 1_000_000;

/** See `MemoryApi.stats`. */
export async function stats(core: Core, namespace: string): Promise<StatsResponse> {
  return toStats(await core.storage.stats(namespace, core.clock.now()));
}

/** What is kept, as callers see it. */
export function toStats(kept: StorageStats): StatsResponse {
  const { sizeBytes, textBytes, lastSleepAt, pendingEmbeddings, embedding, ...counts } = kept;
  return {
    ...counts,
    db_size_mb: sizeBytes / BYTES_PER_MB,
    last_sleep_at: toTimestampOrNull(lastSleepAt),
    text_size_mb: textBytes / BYTES_PER_MB,
    pending_embeddings: pendingEmbeddings,
    ...(embedding && {
      embedding: { model: embedding.modelId, embedded: embedding.embedded, total: embedding.total },
    }),
  };
}
