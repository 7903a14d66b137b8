import * as ai7 from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import * as ai6 from 'ai-6';
import { MockLanguageModelV3 } from 'ai-6/test';
import { vi } from 'vitest';
import type { MemoryTools, memoryTools } from '../src/index.ts';

/** A major version of the AI SDK, with the types of version 7. Tests use only features that version 6 also has. */
interface Sdk {
  major: number;
  ai: typeof ai7;
  /** The mock model of this version's `ai/test`. */
  MockLanguageModel: typeof MockLanguageModelV4;
  /** Returns call options with which the user approves each `memory_forget` before it runs. */
  withApproval: (tools: MemoryTools) => { tools: MemoryTools; toolApproval?: { memory_forget: 'user-approval' } };
}

const SDK_6: Sdk = {
  major: 6,
  ai: ai6 as unknown as typeof ai7,
  MockLanguageModel: MockLanguageModelV3 as unknown as typeof MockLanguageModelV4,
  withApproval: (tools) => ({ tools: { ...tools, memory_forget: { ...tools.memory_forget, needsApproval: true } } }),
};

const SDK_7: Sdk = {
  major: 7,
  ai: ai7,
  MockLanguageModel: MockLanguageModelV4,
  withApproval: (tools) => ({ tools, toolApproval: { memory_forget: 'user-approval' } }),
};

/**
 * Loads `memoryTools` with this version of `ai`, as in a project that has the version installed. `tools.ts` is the only
 * module of the package that imports `ai` at runtime. The query string creates a separate module instance per version.
 */
async function loadTools({ ai, major }: Sdk): Promise<typeof memoryTools> {
  const { href } = new URL(`../src/tools.ts?ai=${major}`, import.meta.url);
  vi.doMock('ai', () => ai);
  try {
    return (await import(href)).memoryTools;
  } finally {
    vi.doUnmock('ai');
  }
}

/** All supported versions, with the tools loaded for each version. */
export const SDKS = [
  { ...SDK_6, memoryTools: await loadTools(SDK_6) },
  { ...SDK_7, memoryTools: await loadTools(SDK_7) },
];
