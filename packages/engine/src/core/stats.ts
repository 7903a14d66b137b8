import type { StatsResponse } from '@memoryd/contract';
import type { Core } from './core.ts';
import { toTimestampOrNull } from './timestamp.ts';

const BYTES_PER_MB = 1_000_000;

/** See `MemoryApi.stats`. */
export async function stats(core: Core, namespace: string): Promise<StatsResponse> {
  const { sizeBytes, lastSleepAt, pendingEmbeddings, embedding, ...counts } = await core.storage.stats(
    namespace,
    core.clock.now(),
  );
  return {
    ...counts,
    db_size_mb: sizeBytes / BYTES_PER_MB,
    last_sleep_at: toTimestampOrNull(lastSleepAt),
    pending_embeddings: pendingEmbeddings,
    ...(embedding && {
      embedding: { model: embedding.modelId, embedded: embedding.embedded, total: embedding.total },
    }),
  };
}
