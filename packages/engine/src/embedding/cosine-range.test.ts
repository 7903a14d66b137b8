import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import type { RecallRequest, RecallResult } from '@memoryd/contract';
import type { Embedder } from '@memoryd/core/models';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Engine, EngineSettings } from '../engine.ts';
import { ENGINE_DEFAULTS } from '../engine-defaults.ts';
import { type LocalServer, startLocalServer } from '../local-server.fixture.ts';
import { openEngine } from '../open-engine.ts';
import { openMiniLm } from './minilm.ts';

const NOTES = [
  'Her GP is Dr. van Rijn at the Oosterkade practice.',
  'I prefer two-space indentation in TypeScript.',
  'Mira works as a backend engineer at a logistics startup called Palletly.',
  'Her sister Femke lives in Lisbon.',
  'The user is allergic to peanuts.',
  'Rotate the API keys on the first of each month.',
  'We chose PostgreSQL over MySQL for the billing service.',
  'The cat sleeps on the radiator in winter.',
  'Crashes are collected in Sentry, project 4507.',
  'Grandfather planted three apple trees behind the house.',
  'The morning briefing takes ten minutes at most.',
  'Logins go through Keycloak with OIDC.',
];

const QUESTIONS = [
  'which doctor should I call?',
  'What does the user do for a living?',
  'in which city does her sister live',
  'what must not be in the snack?',
  'how do users sign in',
  'where can I see error reports',
  'which database did we pick',
  'what grows in the garden',
];

/** The share of each vector that is the same for all texts, so that unlike texts have cosines of about .7. */
const COMMON = 0.7;

const folders: string[] = [];
let model: Embedder;
let server: LocalServer;
let usual: Engine;
let shifted: Engine;

beforeAll(async () => {
  model = await openMiniLm();
  server = await startShifted(model);
  usual = await openWith({ embedder: 'minilm', tokenStates: 'off' });
  shifted = await openWith({ embedder: 'openai:shifted', embeddingUrl: `${server.origin}/v1` });
});

afterAll(async () => {
  for (const engine of [usual, shifted]) await engine?.close();
  await server?.close();
  await model?.close();
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

async function openWith(settings: Partial<EngineSettings>): Promise<Engine> {
  const folder = mkdtempSync(join(tmpdir(), 'memoryd-range-'));
  folders.push(folder);
  const dbPath = join(folder, 'memory.db');
  const telemetry = { report: () => {} };
  const engine = await openEngine({ ...ENGINE_DEFAULTS, dbPath, maxAnswerBytes: 1_000_000, telemetry, ...settings });
  await engine.namespace('default').storeBatch(NOTES.map((content) => ({ content })));
  return engine;
}

/** Starts a server of the OpenAI form with the bundled model, whose vectors have one more number, the same for all. */
function startShifted(embedder: Embedder): Promise<LocalServer> {
  return startLocalServer(async (request, response) => {
    const { input } = (await json(request)) as { input: string[] };
    const embeddings = await embedder.embed(input, 'memory');
    const data = embeddings.map(({ vectors: [vector] }, index) => ({
      object: 'embedding',
      index,
      embedding: shift(vector),
    }));
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ object: 'list', model: 'shifted', data }));
  });
}

function shift(vector: Float32Array | undefined): number[] {
  const own = Math.sqrt(1 - COMMON);
  return [Math.sqrt(COMMON), ...(vector ?? new Float32Array(384)).map((value) => own * value)];
}

describe('a model whose unlike texts have high cosines', () => {
  const ask = async (engine: Engine, query: string, more: Partial<RecallRequest> = {}): Promise<RecallResult[]> =>
    (await engine.namespace('default').recall({ query, top_k: NOTES.length, ...more })).results;

  it.each(QUESTIONS)(
    'gives the scores and the order of the bundled model without token states: %s',
    async (question) => {
      const expected = await ask(usual, question);
      const scores = new Map((await ask(shifted, question)).map(({ content, score }) => [content, score]));
      for (const { content, score } of expected) expect(scores.get(content)).toBeCloseTo(score, 2);
      const order = expected.map(({ content }) => content);
      expected.forEach(({ score }, i) => {
        const next = expected[i + 1];
        if (!next || score - next.score < 0.01) return;
        expect(scores.get(order[i] as string)).toBeGreaterThan(scores.get(order[i + 1] as string) as number);
      });
    },
  );

  it.each(QUESTIONS)('returns with only_relevant what the bundled model returns: %s', async (question) => {
    const near = (results: RecallResult[]) => results.filter(({ score }) => Math.abs(score - 0.25) > 0.01);
    const texts = async (engine: Engine) =>
      near(await ask(engine, question, { only_relevant: true })).map(({ content }) => content);
    expect((await texts(shifted)).sort()).toEqual((await texts(usual)).sort());
  });
});
