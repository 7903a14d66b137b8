import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** The files that a build leaves beside the compiled worker, and all that is read at run time. */
export const MODEL_FILES = {
  /** The halves of the graph: a run of each in turn embeds a text, and a query may come between them. */
  graphs: ['model-1.onnx', 'model-2.onnx'],
  tokenizer: 'tokenizer.json',
  manifest: 'manifest.json',
} as const;

/** Where a build leaves them, whether or not the caller runs from source. */
export const BUILT_FOLDER = join(
  dirname(createRequire(import.meta.url).resolve('@memoryd/engine/embedding/worker')),
  'minilm',
);

/** What is known of the built model without loading it. */
export interface ModelManifest {
  /** Names the graphs, the tokenizer and the rule by which long texts are cut, by their digest. */
  modelId: string;
  /** Length of every vector. */
  dimensions: number;
  /** Digest of everything that the files were built from. */
  builtFrom: string;
}
