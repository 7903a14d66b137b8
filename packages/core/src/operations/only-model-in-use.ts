import { DEFAULTS } from '@memoryd/contract';
import { EmbedderUnavailable, type OpenEmbedder } from '../ports/embedder.ts';
import type { Clock } from '../ports/runtime.ts';
import type { Storage } from '../ports/storage.ts';

/**
 * Returns a function that opens a model, and rejects with EmbedderUnavailable if the database uses another model. With
 * another model, all memories would be re-embedded, which only the process that serves the database should start.
 */
export function requireModelInUse(open: OpenEmbedder, storage: Storage, clock: Clock): OpenEmbedder {
  return async (signal) => {
    const embedder = await open(signal);
    try {
      const { embedding } = await storage.stats(DEFAULTS.namespace, clock.now());
      if (!embedding || embedding.modelId === embedder.modelId) return embedder;
      const message = `the database has vectors of ${embedding.modelId}, and this command does not re-embed the database`;
      throw new EmbedderUnavailable(message, { option: 'embedder' });
    } catch (error) {
      await embedder.close();
      throw error;
    }
  };
}
