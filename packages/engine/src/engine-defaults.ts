import type { EngineSettings } from './engine.ts';

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
  maxAnswerBytes: 16 * 1024 * 1024,
} as const satisfies Partial<EngineSettings>;
