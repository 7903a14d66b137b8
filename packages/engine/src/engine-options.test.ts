import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openEngine } from './open-engine.ts';

const OPTIONS = {
  dbPath: join(tmpdir(), 'memoryd-never-made', 'memory.db'),
  embedder: 'none',
  embeddingUrl: '',
  sleepIntervalSeconds: 0,
  workingAgeSeconds: 0,
  workingMax: 100,
  episodicMax: 0,
  semanticMax: 0,
  archiveDays: 30,
  maxAnswerBytes: 1024,
  telemetry: { report() {} },
};

it.each([{ embedder: 'other' }, { llmUrl: 'http://127.0.0.1:1/v1' }, { llmModel: 'qwen3' }])(
  'an engine does not open with %j',
  async (options) => {
    await expect(openEngine({ ...OPTIONS, ...options })).rejects.toThrow(TypeError);
  },
);
