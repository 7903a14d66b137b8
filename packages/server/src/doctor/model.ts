import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EmbedderHealth, Engine } from '@memoryd/engine';
import { engineSettings } from '../settings/engine-settings.ts';
import { getVariable } from '../settings/names.ts';
import type { Settings } from '../settings/read.ts';
import type { Finding } from './finding.ts';

/** Longest wait for a model that opens or answers. */
const LIMIT_MS = 30_000;
const LOOK_EVERY_MS = 100;

/** Whether the models of the settings work: each is asked once. Nothing of the database is sent to them. */
export async function checkModels(settings: Settings): Promise<Finding[]> {
  const distiller = settings.llmUrl === '' ? [] : [await checkDistiller(settings)];
  return [await checkEmbedder(settings), ...distiller];
}

async function checkEmbedder(settings: Settings): Promise<Finding> {
  const { embedder } = settings;
  if (embedder === 'none') return { check: 'model', state: 'ok', found: 'none: recall goes by words' };
  const folder = await mkdtemp(join(tmpdir(), 'memoryd-doctor-'));
  try {
    const health = await checkHealth(settings, join(folder, 'memory.db'));
    if (health.state === 'ready') return { check: 'model', state: 'ok', found: `${embedder} embeds` };
    const advice = `look at ${getVariable(health.option ?? 'embedder')}; recall goes by words meanwhile`;
    return { check: 'model', state: 'problem', found: `${embedder}: ${health.problem}`, advice };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** What an engine on a database of its own says of its model, once that has embedded a text or failed to. */
async function checkHealth(settings: Settings, dbPath: string): Promise<EmbedderHealth> {
  const { openEngine } = await import('@memoryd/engine');
  const engine = await openEngine({
    ...engineSettings(settings),
    dbPath,
    consolidationIntervalSeconds: 0,
    telemetry: { report: () => {} },
  });
  try {
    await untilOpen(engine);
    await engine.namespace('doctor').store({ content: 'Ada is allergic to peanuts' });
    return engine.embedder();
  } finally {
    await engine.close();
  }
}

async function untilOpen(engine: Engine): Promise<void> {
  const deadline = Date.now() + LIMIT_MS;
  while (engine.embedder().problem === 'the model is not open yet' && Date.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}

async function checkDistiller({ llmUrl, llmModel, llmApiKey }: Settings): Promise<Finding> {
  const what = `the language model ${llmModel} at ${llmUrl}`;
  const key = llmApiKey ? { Authorization: `Bearer ${llmApiKey}` } : {};
  try {
    const { status } = await fetch(`${llmUrl.replace(/\/+$/, '')}/models`, {
      headers: { ...key },
      signal: AbortSignal.timeout(LIMIT_MS),
    });
    if (status === 401 || status === 403) {
      const advice = `look at ${getVariable('llmApiKey')}; sentences are quoted meanwhile`;
      return { check: 'model', state: 'problem', found: `${what} refuses the key (${status})`, advice };
    }
    return { check: 'model', state: 'ok', found: `${what} answers` };
  } catch {
    const advice = `look at ${getVariable('llmUrl')}; sentences are quoted meanwhile`;
    return { check: 'model', state: 'problem', found: `${what} does not answer`, advice };
  }
}
