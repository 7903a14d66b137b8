/** The files that a build leaves beside the compiled worker, and all that is read at run time. */
export const MODEL_FILES = { graph: 'model.onnx', tokenizer: 'tokenizer.json', manifest: 'manifest.json' } as const;

/** What is known of the built model without loading it. */
export interface ModelManifest {
  /** Names the graph, the tokenizer and the rule by which long texts are cut, by their digest. */
  modelId: string;
  /** Length of every vector. */
  dimensions: number;
  /** Digest of everything that the files were built from. */
  builtFrom: string;
}
