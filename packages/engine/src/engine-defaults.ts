import { availableParallelism } from 'node:os';
import type { EngineSettings } from './engine.ts';

export { isPostgresAddress } from '@memoryd/core/database-address';
export { cannotOpen, getDatabaseName } from './database-name.ts';

const CORES = availableParallelism();

/** Default settings of an engine, for the server, `openEngine` and `openMemory`. */
export const ENGINE_DEFAULTS = {
  embedder: 'minilm',
  embeddingUrl: 'https://api.openai.com/v1',
  rerankForm: 'tei',
  rerankTimeoutMs: 300,
  tokenStatesCacheBytes: 128 * 2 ** 20,
  // A recall takes two to three times as long in the model as in the main thread, and a little less in the search. So
  // more than two threads of each would soon wait for the main thread.
  searchThreads: CORES < 4 ? 1 : 2,
  modelThreads: CORES < 4 ? 1 : 2,
  consolidationIntervalSeconds: 3600,
  workingAgeSeconds: 3600,
  archiveDays: 30,
  workingMax: 10_000,
  episodicMax: 0,
  semanticMax: 0,
  namespaceMaxMemories: 0,
  namespaceMaxBytes: 0,
  userMaxMemories: 0,
  userMaxBytes: 0,
  maxEventStreams: 96,
  maxEventStreamsPerNamespace: 64,
  timezone: 'UTC',
  maxAnswerBytes: 16 * 1024 * 1024,
} as const satisfies Partial<EngineSettings>;

/** Minimum and maximum of each integer setting of an engine. */
export const ENGINE_RANGES = {
  // The cache is the memory of a WebAssembly module, whose addresses have 32 bits.
  tokenStatesCacheBytes: [0, 3 * 2 ** 30],
  searchThreads: [1, 16],
  modelThreads: [1, 8],
  rerankTimeoutMs: [1, 30_000],
  consolidationIntervalSeconds: [0, 1_209_600],
  workingAgeSeconds: [0, 315_360_000],
  archiveDays: [0, 3650],
  workingMax: [4, 100_000_000],
  episodicMax: [0, 100_000_000],
  semanticMax: [0, 100_000_000],
  namespaceMaxMemories: [0, 1_000_000_000],
  namespaceMaxBytes: [0, 1_000_000_000_000_000],
  userMaxMemories: [0, 1_000_000_000],
  userMaxBytes: [0, 1_000_000_000_000_000],
  maxEventStreams: [0, 100_000],
  maxEventStreamsPerNamespace: [0, 100_000],
  // 64 MiB of control characters, which take six characters each in JSON, are shorter than V8's longest string (2^29 -
  // 24).
  maxAnswerBytes: [1024, 64 * 1024 * 1024],
} as const satisfies Partial<Record<keyof EngineSettings, readonly [min: number, max: number]>>;

/** Ways to pool the states of a text's tokens into a vector: their mean, the first state (`cls`), or the last state. */
export const POOLINGS = ['mean', 'cls', 'last'] as const satisfies EngineSettings['embeddingPooling'][];
export type Pooling = (typeof POOLINGS)[number];

/**
 * Forms of requests to a reranker: `tei` of Text Embeddings Inference, and `cohere`, which Cohere, Jina, vLLM and
 * llama.cpp share.
 */
export const RERANK_FORMS = ['tei', 'cohere'] as const satisfies EngineSettings['rerankForm'][];
export type RerankForm = (typeof RERANK_FORMS)[number];

/** Maximum length of a prefix, in UTF-16 units. Instructions of known models have about 100. */
export const MAX_PREFIX_LENGTH = 256;

/** Maximum length of an input type, in UTF-16 units. Known servers use at most 20. */
const MAX_INPUT_TYPE_LENGTH = 64;

/** Returns true if a text can be the input type of an embedding request, or is empty. */
export const isInputType = (text: string): boolean => text.length <= MAX_INPUT_TYPE_LENGTH && /^[\w.-]*$/.test(text);

export const INPUT_TYPE_MUST = `be at most ${MAX_INPUT_TYPE_LENGTH} ASCII letters, digits, underscores, hyphens and dots`;

/** Embedding settings that not every kind of embedder uses, each with the kinds that use the setting. */
const EMBEDDERS_OF_SETTING = {
  embeddingQueryPrefix: ['openai', 'transformers'],
  embeddingPassagePrefix: ['openai', 'transformers'],
  embeddingPooling: ['transformers'],
  embeddingQueryInputType: ['openai'],
  embeddingPassageInputType: ['openai'],
} as const satisfies Partial<Record<keyof EngineSettings, readonly string[]>>;

export type EmbeddingSetting = keyof typeof EMBEDDERS_OF_SETTING;

/**
 * Returns the first setting that the embedder would ignore, with the kinds of embedder that use the setting. Returns
 * undefined if no setting is ignored.
 */
export function findIgnoredSetting(
  settings: Pick<EngineSettings, 'embedder' | EmbeddingSetting>,
): { name: EmbeddingSetting; needs: string } | undefined {
  for (const name of Object.keys(EMBEDDERS_OF_SETTING) as EmbeddingSetting[]) {
    const kinds: readonly string[] = EMBEDDERS_OF_SETTING[name];
    if (!settings[name] || kinds.some((kind) => settings.embedder.startsWith(`${kind}:`))) continue;
    return { name, needs: kinds.map((kind) => `${kind}:MODEL`).join(' or ') };
  }
  return undefined;
}

export const ENGINE_SETTING_NAMES = Object.keys({
  embedder: true,
  embeddingUrl: true,
  embeddingApiKey: true,
  embeddingQueryPrefix: true,
  embeddingPassagePrefix: true,
  embeddingPooling: true,
  embeddingQueryInputType: true,
  embeddingPassageInputType: true,
  keepModel: true,
  tokenStates: true,
  tokenStatesCacheBytes: true,
  searchThreads: true,
  modelThreads: true,
  llmUrl: true,
  llmModel: true,
  llmApiKey: true,
  rerankUrl: true,
  rerankModel: true,
  rerankApiKey: true,
  rerankForm: true,
  rerankTimeoutMs: true,
  redact: true,
  logQueries: true,
  consolidationIntervalSeconds: true,
  workingAgeSeconds: true,
  archiveDays: true,
  workingMax: true,
  episodicMax: true,
  semanticMax: true,
  namespaceMaxMemories: true,
  namespaceMaxBytes: true,
  userMaxMemories: true,
  userMaxBytes: true,
  maxEventStreams: true,
  maxEventStreamsPerNamespace: true,
  timezone: true,
  maxAnswerBytes: true,
  telemetry: true,
  clock: true,
  ids: true,
} satisfies Record<keyof EngineSettings, true>) as readonly (keyof EngineSettings)[];
