import type { EngineSettings } from './engine.ts';

export { eachHost, isPostgresAddress } from './postgres-address.ts';

/** What an engine is opened with where nothing else is said: by the server's settings as by `openMemory`. */
export const ENGINE_DEFAULTS = {
  embedder: 'minilm',
  embeddingUrl: 'https://api.openai.com/v1',
  sleepIntervalSeconds: 3600,
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
  sleepIntervalSeconds: [0, 1_209_600],
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

/** The names of all settings of an engine. */
export const ENGINE_SETTING_NAMES = Object.keys({
  embedder: true,
  embeddingUrl: true,
  embeddingApiKey: true,
  keepModel: true,
  llmUrl: true,
  llmModel: true,
  llmApiKey: true,
  redact: true,
  sleepIntervalSeconds: true,
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
