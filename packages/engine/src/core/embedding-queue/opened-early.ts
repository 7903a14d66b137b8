import type { Embedder, OpenEmbedder } from '../../ports/embedder.ts';

/** A model that begins to open before whoever uses it is there. */
export interface EarlyEmbedder {
  /** The first call is answered with the model that is being opened, any further one opens it anew. */
  open: OpenEmbedder;
  /** Gives the model up, if nobody has asked for it. Resolves when it has opened and is closed again, or has failed. */
  abandon(): Promise<void>;
}

/** Begins to open a model at once, so that a start waits for the longer of the model and the database, not for both. */
export function openedEarly(open: OpenEmbedder): EarlyEmbedder {
  const opening = new AbortController();
  let first: Promise<Embedder> | undefined = open(opening.signal);
  // Who asks for it is told.
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
