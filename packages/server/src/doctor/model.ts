import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Engine } from '@memoryd/engine';
import { engineSettings, engineSettingsWithoutModel } from '../settings/engine-settings.ts';
import { getVariable } from '../settings/names.ts';
import type { Settings } from '../settings/read.ts';
import type { Finding } from './finding.ts';

/** Timeout for opening a model, or for the response of a model. */
const TIMEOUT_MS = 30_000;
const POLL_INTERVAL_MS = 100;

const SAMPLE = 'Ada is allergic to peanuts';

/** Maximum recalls that wait for a reranker. The first call of a server is often late. */
const MAX_RERANKS = 3;

/**
 * Checks that the embedder of the settings can embed a text, that the language model server responds and accepts the
 * API key, and that the reranker scores a text. Stored memories are not sent.
 */
export async function checkModels(settings: Settings): Promise<Finding[]> {
  const distiller = settings.llmUrl === '' ? [] : [await checkDistiller(settings)];
  const reranker = settings.rerankUrl === '' ? [] : [await checkReranker(settings)];
  return [await checkEmbedder(settings), ...distiller, ...reranker];
}

async function checkEmbedder(settings: Settings): Promise<Finding> {
  const { embedder } = settings;
  if (embedder === 'none') return { check: 'model', state: 'ok', found: 'no embedder: recall uses words only' };
  const health = await withSampleEngine(engineSettings(settings), async (engine) => {
    await waitUntilOpen(engine);
    await engine.namespace('doctor').store({ content: SAMPLE });
    return engine.embedder();
  });
  if (health.state === 'ready') return { check: 'model', state: 'ok', found: `${embedder} works` };
  const advice = `check ${getVariable(health.option ?? 'embedder')}; recall uses words only meanwhile`;
  return { check: 'model', state: 'problem', found: `${embedder}: ${health.problem}`, advice };
}

/** Runs a check with an engine on a temporary database. */
async function withSampleEngine<T>(
  settings: ReturnType<typeof engineSettings>,
  check: (engine: Engine) => Promise<T>,
): Promise<T> {
  const { openEngine } = await import('@memoryd/engine');
  const folder = await mkdtemp(join(tmpdir(), 'memoryd-doctor-'));
  try {
    const engine = await openEngine({
      ...settings,
      dbPath: join(folder, 'memory.db'),
      consolidationIntervalSeconds: 0,
      telemetry: { report: () => {} },
    });
    try {
      return await check(engine);
    } finally {
      await engine.close();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function waitUntilOpen(engine: Engine): Promise<void> {
  const deadline = Date.now() + TIMEOUT_MS;
  while (engine.embedder().problem === 'the model is not open yet' && Date.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, POLL_INTERVAL_MS));
  }
}

async function checkDistiller({ llmUrl, llmModel, llmApiKey }: Settings): Promise<Finding> {
  const model = `the language model ${llmModel} at ${llmUrl}`;
  const key = llmApiKey ? { Authorization: `Bearer ${llmApiKey}` } : {};
  try {
    const { status } = await fetch(`${llmUrl.replace(/\/+$/, '')}/models`, {
      headers: { ...key },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    if (status === 401 || status === 403) {
      const advice = `check ${getVariable('llmApiKey')}; distillation quotes sentences meanwhile`;
      return { check: 'model', state: 'problem', found: `${model} refuses the API key (${status})`, advice };
    }
    return { check: 'model', state: 'ok', found: `${model} responds` };
  } catch {
    const advice = `check ${getVariable('llmUrl')}; distillation quotes sentences meanwhile`;
    return { check: 'model', state: 'problem', found: `${model} does not respond`, advice };
  }
}

async function checkReranker(settings: Settings): Promise<Finding> {
  const model = `the reranker at ${settings.rerankUrl}`;
  return withSampleEngine(engineSettingsWithoutModel(settings), async (engine) => {
    const memories = engine.namespace('doctor');
    await memories.store({ content: SAMPLE });
    for (let i = 0; i < MAX_RERANKS; i += 1) {
      const { reranked } = await memories.recall({ query: 'What is Ada allergic to?' });
      if (reranked) return { check: 'model', state: 'ok', found: `${model} works` };
    }
    const { problem, option = 'rerankUrl' } = engine.reranker();
    const advice = `check ${getVariable(option)}; recall ranks without it meanwhile`;
    return { check: 'model', state: 'problem', found: `${model}: ${problem}`, advice };
  });
}
