import type { Embedder, OpenEmbedder } from '../ports/embedder.ts';

/** A model that starts to open before `open` is called. */
export interface EarlyEmbedder {
  /** The first call returns the model that is already opening; later calls open the model again. */
  open: OpenEmbedder;
  /** Discards the model if `open` has not been called. Resolves when the model is closed or has failed to open. */
  abandon(): Promise<void>;
}

/** Starts opening a model at once, so that the model and the database open in parallel. */
export function openEmbedderEarly(open: OpenEmbedder): EarlyEmbedder {
  const opening = new AbortController();
  let first: Promise<Embedder> | undefined = open(opening.signal);
  // Prevents an unhandled rejection; `open` returns the same promise.
  first.catch(() => {});
  const take = () => {
    const taken = first;
    first = undefined;
    return taken;
  };
  return {
    open(signal) {
      const taken = take();
      if (!taken) return open(signal);
      if (signal.aborted) opening.abort(signal.reason);
      signal.addEventListener('abort', () => opening.abort(signal.reason), { once: true });
      return taken;
    },
    async abandon() {
      const taken = take();
      if (!taken) return;
      opening.abort();
      await taken.then((embedder) => embedder.close()).catch(() => {});
    },
  };
}
