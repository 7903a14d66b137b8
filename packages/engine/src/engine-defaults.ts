import type { EngineSettings } from './engine.ts';

export { eachHost, isPostgresAddress } from './postgres-address.ts';

/** What an engine is opened with where nothing else is said: by the server's settings as by `openMemory`. */
export const ENGINE_DEFAULTS = {
  embedder: 'minilm',
  embeddingUrl: 'https://api.openai.com/v1',
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

/** The settings of an engine that are whole numbers, with the least and the most that each may be. */
export const ENGINE_RANGES = {
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
  // 64 MiB of control characters, six characters each in JSON, still fit V8's longest string of 2^29 - 24.
  maxAnswerBytes: [1024, 64 * 1024 * 1024],
} as const satisfies Partial<Record<keyof EngineSettings, readonly [least: number, most: number]>>;

/** Ways to make one vector of the states of a text's tokens: their mean, the first one's (`cls`), or the last one's. */
export const POOLINGS = ['mean', 'cls', 'last'] as const satisfies EngineSettings['embeddingPooling'][];
export type Pooling = (typeof POOLINGS)[number];

/** Maximum length of a prefix, in characters (UTF-16 units). Instructions of known models have about 100. */
export const MAX_PREFIX_LENGTH = 256;

/** The settings that only some kinds of embedder use, with those kinds. */
const EMBEDDERS_OF_SETTING = {
  embeddingQueryPrefix: ['openai', 'transformers'],
  embeddingPassagePrefix: ['openai', 'transformers'],
  embeddingPooling: ['transformers'],
} as const satisfies Partial<Record<keyof EngineSettings, readonly string[]>>;

export type EmbeddingSetting = keyof typeof EMBEDDERS_OF_SETTING;

/** Returns the first setting that the embedder would ignore, and what it needs; undefined if it uses all that are set. */
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

/** The names of all settings of an engine. */
export const ENGINE_SETTING_NAMES = Object.keys({
  embedder: true,
  embeddingUrl: true,
  embeddingApiKey: true,
  embeddingQueryPrefix: true,
  embeddingPassagePrefix: true,
  embeddingPooling: true,
  keepModel: true,
  tokenStates: true,
  llmUrl: true,
  llmModel: true,
  llmApiKey: true,
  redact: true,
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
