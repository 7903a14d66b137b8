import { fileURLToPath } from 'node:url';

/** The files that a build writes and that are read at run time. */
export const MODEL_FILES = {
  /** The two halves of the graph, which run one after the other. A query can run between them. */
  graphs: ['model-1.onnx', 'model-2.onnx'],
  tokenizer: 'tokenizer.json',
  manifest: 'manifest.json',
} as const;

/** Folder of the built files, also when the caller runs from source. */
export const BUILT_FOLDER = fileURLToPath(new URL('../dist/model', import.meta.url));

/** Properties of the built model that are available without loading the model. */
export interface ModelManifest {
  /** Identifies the graphs, the tokenizer and the rule by which long texts are split, by their digest. */
  modelId: string;
  /** Length of every vector. */
  dimensions: number;
  /** Digest of all inputs of the build. */
  builtFrom: string;
}

/**
 * Disables the usage telemetry of onnxruntime, which its builds for Linux and macOS send to Microsoft since 1.29.
 * onnxruntime reads the environment variable on first use, so this function must be called before, in the main thread:
 * other threads have a copy of the environment that native code does not see. An existing value of the variable is
 * respected.
 */
export function disableTelemetry(): void {
  process.env.ORT_DISABLE_TELEMETRY ??= '1';
}
