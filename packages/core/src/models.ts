/** The ports of models: what an embedder, a distiller or a redactor implements. Loads no schemas. */

export { hasRoomForThread } from './concurrency/memory-room.ts';
export {
  type Correction,
  type DecliningDistiller,
  DISTILLED_LIMITS,
  type DistilGroup,
  type Distilled,
  type DistilledFact,
  type Distiller,
  type DistillerOption,
  DistillerUnavailable,
  type DistilSource,
} from './ports/distiller.ts';
export {
  type Embedder,
  type EmbedderOption,
  EmbedderUnavailable,
  type Embedding,
  type EmbedPurpose,
  type OpenEmbedder,
} from './ports/embedder.ts';
export type { Redactor } from './ports/redactor.ts';
export { type Reranker, type RerankerOption, RerankerUnavailable } from './ports/reranker.ts';
export { EMBEDDING_LIMITS } from './ports/storage-vectors.ts';
