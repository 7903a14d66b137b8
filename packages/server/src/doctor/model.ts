import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EmbedderHealth, Engine } from '@memoryd/engine';
import { engineSettings } from '../settings/engine-settings.ts';
import { getVariable } from '../settings/names.ts';
import type { Settings } from '../settings/read.ts';
import type { Finding } from './finding.ts';

/** Timeout for opening a model, or for the response of a model. */
const TIMEOUT_MS = 30_000;
const POLL_INTERVAL_MS = 100;

/**
 * Checks that the embedder of the settings can embed a text, and that the language model server responds and accepts
 * the API key. Stored memories are not sent.
 */
export async function checkModels(settings: Settings): Promise<Finding[]> {
  const distiller = settings.llmUrl === '' ? [] : [await checkDistiller(settings)];
  return [await checkEmbedder(settings), ...distiller];
}

async function checkEmbedder(settings: Settings): Promise<Finding> {
  const { embedder } = settings;
  if (embedder === 'none') return { check: 'model', state: 'ok', found: 'no embedder: recall uses words only' };
  const folder = await mkdtemp(join(tmpdir(), 'memoryd-doctor-'));
  try {
    const health = await checkHealth(settings, join(folder, 'memory.db'));
    if (health.state === 'ready') return { check: 'model', state: 'ok', found: `${embedder} works` };
    const advice = `check ${getVariable(health.option ?? 'embedder')}; recall uses words only meanwhile`;
    return { check: 'model', state: 'problem', found: `${embedder}: ${health.problem}`, advice };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Embeds a sample text with an engine on a temporary database, and returns the health of the embedder. */
async function checkHealth(settings: Settings, dbPath: string): Promise<EmbedderHealth> {
  const { openEngine } = await import('@memoryd/engine');
  const engine = await openEngine({
    ...engineSettings(settings),
    dbPath,
    consolidationIntervalSeconds: 0,
    telemetry: { report: () => {} },
  });
  try {
    await waitUntilOpen(engine);
    await engine.namespace('doctor').store({ content: 'Ada is allergic to peanuts' });
    return engine.embedder();
  } finally {
    await engine.close();
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
