import { DEFAULTS } from '@memoryd/contract';
import { EmbedderUnavailable, type OpenEmbedder } from '../ports/embedder.ts';
import type { Clock } from '../ports/runtime.ts';
import type { Storage } from '../ports/storage.ts';

/**
 * Opens a model only where the database has vectors of it, or of none: of another it would have everything embedded anew,
 * which is for who serves the database to want.
 */
export function onlyModelInUse(open: OpenEmbedder, storage: Storage, clock: Clock): OpenEmbedder {
  return async (signal) => {
    const embedder = await open(signal);
    try {
      const { embedding } = await storage.stats(DEFAULTS.namespace, clock.now());
      if (!embedding || embedding.modelId === embedder.modelId) return embedder;
      const message = `the database has vectors of ${embedding.modelId}, and is not embedded anew`;
      throw new EmbedderUnavailable(message, { option: 'embedder' });
    } catch (error) {
      await embedder.close();
      throw error;
    }
  };
}
