import type { Embedder } from '../ports/embedder.ts';
import { Lanes } from './lanes.ts';
import type { Thread } from './thread.ts';

/** Most texts of one call. */
const LARGEST_BATCH = 64;

/** What is known of the model of a thread. */
type ThreadModel = Pick<Embedder, 'modelId' | 'dimensions'> & {
  /** Texts that it should be given at a time: one where more take as long as one after the other. */
  textsTogether: number;
};

/** An embedder over a thread that holds a loaded model; it ends the thread when it closes. */
export function threadEmbedder(thread: Thread, model: ThreadModel): Embedder {
  const lanes = new Lanes(thread.embedParts, model.textsTogether);
  return {
    modelId: model.modelId,
    dimensions: model.dimensions,
    largestBatch: LARGEST_BATCH,
    async embed(texts, purpose) {
      if (texts.length > LARGEST_BATCH) throw new RangeError(`at most ${LARGEST_BATCH} texts can be embedded at once`);
      return lanes.embed(texts, purpose);
    },
    async close() {
      await lanes.close();
      await thread.stop();
    },
  };
}
