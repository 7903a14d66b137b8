import { randomUUID } from 'node:crypto';
import { DEFAULTS } from '@memoryd/contract';
import { systemClock } from './clock/system-clock.ts';
import { AccessLog } from './core/access-log.ts';
import type { Core } from './core/core.ts';
import { EmbeddingQueue } from './core/embedding-queue.ts';
import { memoryApi } from './core/memory-api.ts';
import { SleepSchedule } from './core/sleep-schedule.ts';
import { Sleeper } from './core/sleeper.ts';
import { openMiniLm } from './embedding/minilm/open.ts';
import type { Engine, EngineOptions } from './engine.ts';
import { uuidV7 } from './ids/uuid-v7.ts';
import type { Embedder } from './ports/embedder.ts';
import { openSqlite } from './storage/sqlite/open.ts';

/**
 * Opens a database file and everything that serves it. Rejects with UNAVAILABLE when the file cannot be used; when the
 * embedding model cannot be loaded, that is reported and recall goes by words.
 */
export async function openEngine(options: EngineOptions): Promise<Engine> {
  const { telemetry, clock = systemClock } = options;
  const [{ storage, lease }, embedder] = await openParts(options);
  const embedding = embedder && new EmbeddingQueue(embedder, storage, telemetry);
  try {
    await embedding?.start();
  } catch (error) {
    await Promise.all([embedder?.close(), storage.close()]);
    throw error;
  }
  const sleeper = new Sleeper({ storage, lease, clock, telemetry, holder: randomUUID() });
  const accesses = new AccessLog(storage, telemetry);
  const core: Core = {
    storage,
    clock,
    ids: uuidV7,
    telemetry,
    accesses,
    sleeper,
    ...(embedding && { embedding }),
    maxAnswerBytes: options.maxAnswerBytes,
  };
  const schedule = new SleepSchedule({
    storage,
    sleeper,
    clock,
    telemetry,
    intervalMs: options.sleepIntervalSeconds * 1000,
    workingAgeMs: options.workingAgeSeconds * 1000,
    alwaysNamespace: DEFAULTS.namespace,
  });
  if (options.sleepIntervalSeconds > 0) schedule.start();
  return {
    namespace: (name) => memoryApi(core, name),
    embedder: () => (options.embedder === 'none' ? 'off' : (embedding?.state ?? 'unavailable')),
    async close() {
      schedule.stop();
      await sleeper.stop();
      await embedding?.stop();
      await accesses.flush();
      await storage.close();
    },
  };
}

async function openParts(
  options: EngineOptions,
): Promise<[Awaited<ReturnType<typeof openSqlite>>, Embedder | undefined]> {
  const [database, embedder] = await Promise.allSettled([
    openSqlite({ path: options.dbPath, workingMax: options.workingMax }),
    options.embedder === 'minilm' ? openMiniLm() : undefined,
  ]);
  if (database.status === 'rejected') {
    if (embedder.status === 'fulfilled') await embedder.value?.close();
    throw database.reason;
  }
  if (embedder.status === 'fulfilled') return [database.value, embedder.value];
  options.telemetry.report({
    level: 'error',
    component: 'embedding',
    event: 'embedder_unavailable',
    error: embedder.reason,
  });
  return [database.value, undefined];
}
