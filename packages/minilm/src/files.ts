import { fileURLToPath } from 'node:url';

/** The files that a build leaves, and all that is read at run time. */
export const MODEL_FILES = {
  /** The halves of the graph: a run of each in turn embeds a text, and a query may come between them. */
  graphs: ['model-1.onnx', 'model-2.onnx'],
  tokenizer: 'tokenizer.json',
  manifest: 'manifest.json',
} as const;

/** Where a build leaves them, whether or not the caller runs from source. */
export const BUILT_FOLDER = fileURLToPath(new URL('../dist/model', import.meta.url));

/** What is known of the built model without loading it. */
export interface ModelManifest {
  /** Names the graphs, the tokenizer and the rule by which long texts are cut, by their digest. */
  modelId: string;
  /** Length of every vector. */
  dimensions: number;
  /** Digest of everything that the files were built from. */
  builtFrom: string;
}

/**
 * Keeps onnxruntime from reporting to its maker what it runs, which its builds for Linux and macOS do since 1.29 unless the
 * environment of the process says otherwise when it is first used. To be called before that, in the main thread: the
 * environment of another is a copy that native code does not see. What the variable says already stands.
 */
export function keepUnreported(): void {
  process.env.ORT_DISABLE_TELEMETRY ??= '1';
}
