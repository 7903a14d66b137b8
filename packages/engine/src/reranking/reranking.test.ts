import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RecallRequest, RecallResponse } from '@memoryd/contract';
import type { TelemetryEvent } from '@memoryd/core/ports';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { Engine, EngineSettings } from '../engine.ts';
import { openEngine } from '../open-engine.ts';
import { type RerankServer, startRerankServer } from './rerank-server.fixture.ts';

const QUERY = 'the red heron at the lake';

let server: RerankServer;
beforeEach(async () => {
  server = await startRerankServer();
});
afterEach(() => server.close());

const PAUSE_MS = 30_000;
let now = Date.parse('2026-06-01T12:00:00Z');
const events: TelemetryEvent[] = [];

/** Opens an engine on a new file whose recalls are reranked by the server. */
async function open(options: Partial<EngineSettings> = {}): Promise<Engine> {
  events.length = 0;
  const folder = mkdtempSync(join(tmpdir(), 'reranking-'));
  const engine = await openEngine(join(folder, 'memory.db'), {
    embedder: 'none',
    consolidationIntervalSeconds: 0,
    rerankUrl: server.url,
    // For a busy machine.
    rerankTimeoutMs: 30_000,
    clock: { now: () => now },
    telemetry: { report: (event) => void events.push(event) },
    ...options,
  });
  onTestFinished(async () => {
    await engine.close();
    rmSync(folder, { recursive: true });
  });
  return engine;
}

/** Stores notes that match the query equally well, so that the ranking alone places the newest first. */
async function storeNotes(engine: Engine, count: number): Promise<string[]> {
  const notes = Array.from({ length: count }, (_, i) => ({
    content: `red heron at the lake ${'and more '.repeat(i)}`,
  }));
  const { results } = await engine.namespace('default').storeBatch(notes);
  return results.map((result) => ('id' in result ? result.id : expect.fail('not stored')));
}

const recall = (engine: Engine, request: Partial<RecallRequest> = {}) =>
  engine.namespace('default').recall({ query: QUERY, ...request });

/** Returns a response to which the reranker has contributed. */
async function recallReranked(engine: Engine, request: Partial<RecallRequest> = {}): Promise<RecallResponse> {
  server.requests.length = 0;
  const response = await recall(engine, request);
  expect(response.reranked, engine.reranker().problem).toBe(true);
  return response;
}

const getIds = ({ results }: RecallResponse) => results.map(({ id }) => id);
const getFailures = () => events.filter(({ event }) => event === 'reranker_failed');

/** Prefers the oldest note, which the ranking alone places last. */
const preferOldest = (_: string, text: string) => (text.length < 30 ? 1 : 0);

describe('a recall with a reranker', () => {
  it('adds the probability of each memory to its score, which the explanation shows', async () => {
    const engine = await open();
    const ids = await storeNotes(engine, 12);
    server.score = preferOldest;
    const { results } = await recallReranked(engine, { explain: true, top_k: 12 });
    expect(results.map(({ id }) => id)).toEqual([ids[0], ...ids.slice(1).reverse()]);
    for (const { score, explanation } of results) {
      const { evidence, weights, slope, even } = explanation ?? expect.fail('no explanation');
      const names = Object.keys(weights) as (keyof typeof weights)[];
      const sum = names.reduce((total, name) => total + weights[name] * evidence[name], 0);
      expect(score).toBeCloseTo(1 / (1 + Math.exp(slope * (even - sum))), 4);
    }
    expect(results.map(({ explanation }) => explanation?.evidence.rerank)).toContain(1);
    const limit = results[2]?.score ?? 0;
    expect(getIds(await recallReranked(engine, { min_score: limit, top_k: 12 }))).toEqual(
      results.filter(({ score }) => score >= limit).map(({ id }) => id),
    );
  });

  it('passes scores outside 0 to 1 through the logistic function', async () => {
    const engine = await open();
    await storeNotes(engine, 3);
    server.score = (_, text) => (text.includes('more more') ? 0 : -Math.log(4));
    const { results } = await recallReranked(engine, { explain: true });
    for (const { explanation } of results) expect(explanation?.evidence.rerank).toBeCloseTo(0.2, 6);
    server.score = () => 0;
    const [later] = (await recallReranked(engine, { explain: true })).results;
    expect(later?.explanation?.evidence.rerank, 'the same server still gives logits').toBeCloseTo(0.5, 6);
  });

  it('sends the first 30 memories, with at most 1,000 characters of each text and of the query', async () => {
    const engine = await open();
    await storeNotes(engine, 45);
    const long = `the red heron at the lake ${'x'.repeat(2000)}`;
    await engine.namespace('default').store({ content: long });
    const { results } = await recallReranked(engine, {
      query: `${QUERY} ${'where '.repeat(300)}`,
      explain: true,
      top_k: 46,
    });
    const [request, ...others] = server.requests;
    expect(others).toEqual([]);
    expect(request?.texts).toHaveLength(30);
    expect(request?.query).toHaveLength(1000);
    expect(Math.max(...(request?.texts ?? []).map(({ length }) => length))).toBeLessThanOrEqual(1000);
    const reranks = results.map(({ explanation }) => explanation?.evidence.rerank ?? Number.NaN);
    const mean = reranks.reduce((sum, value) => sum + value, 0) / reranks.length;
    const unsent = results.filter(({ content }) => !request?.texts.includes(content.slice(0, 1000)));
    expect(unsent).toHaveLength(16);
    for (const { explanation } of unsent) expect(explanation?.evidence.rerank).toBeCloseTo(mean, 9);
  });

  it('gives a memory the same score with every number of requested results', async () => {
    const engine = await open();
    await storeNotes(engine, 200);
    server.score = (_, text) => text.length / 2000;
    const few = (await recallReranked(engine, { top_k: 5 })).results;
    const many = (await recallReranked(engine, { top_k: 100 })).results;
    expect(many.slice(0, 5).map(({ id, score }) => [id, score])).toEqual(few.map(({ id, score }) => [id, score]));
  });

  it('scores a turn of a conversation alone and after the turn before, with half the weight each', async () => {
    const engine = await open();
    const memories = engine.namespace('default');
    const turns = [
      'Ann: Where was the red heron?',
      'Ben: At the lake, in the morning.',
      'Ann: Then we go to the lake.',
    ];
    for (const content of turns) await memories.store({ content, session_id: 'walk' });
    await memories.store({ content: 'The red heron is a bird of the lake.' });
    server.score = (_, text) => (text === 'Ann: Where was the red heron?\nBen: At the lake, in the morning.' ? 1 : 0);
    const { results } = await recallReranked(engine, { explain: true });
    const [alone, replies] = server.requests.map(({ texts }) => texts).sort((a, b) => b.length - a.length);
    expect(alone).toHaveLength(4);
    expect(new Set(replies)).toEqual(new Set([`${turns[0]}\n${turns[1]}`, `${turns[1]}\n${turns[2]}`]));
    const reply = results.find(({ content }) => content === turns[1]);
    expect(reply?.explanation?.evidence.rerank).toBe(0.5);
    expect(results.filter(({ explanation }) => explanation?.evidence.rerank === 0)).toHaveLength(3);
  });

  it('sends the query without its secrets', async () => {
    const engine = await open({ redact: 'on' });
    await storeNotes(engine, 2);
    const token = ['ghp', 'R8sK2mVq7LxT4bNw9ZcY1fHj6DpG3uE5aQoI'].join('_');
    await recallReranked(engine, { query: `red heron ${token}` });
    expect(server.requests.map(({ query }) => query)).toEqual(['red heron [redacted:github-token]']);
  });

  it('runs at most 8 recalls with the reranker at a time', async () => {
    const engine = await open();
    await storeNotes(engine, 2);
    await Promise.all(Array.from({ length: 60 }, (_, i) => recall(engine, { query: `red heron ${i}` })));
    expect(Math.max(...server.requests.map(({ concurrent }) => concurrent))).toBeLessThanOrEqual(8);
  });
});

describe('a recall without a response of the reranker', () => {
  it('returns no `reranked`, and sends nothing, if no reranker is set up', async () => {
    const engine = await open({ rerankUrl: '' });
    await storeNotes(engine, 2);
    expect(await recall(engine)).not.toHaveProperty('reranked');
    expect([engine.reranker(), server.requests]).toEqual([{ state: 'off' }, []]);
  });

  it.each([
    ['is slow', 'hang', 'the reranker does not respond in time', { rerankTimeoutMs: 100 }],
    ['is broken', { change: () => 'oops' }, 'the reranker returned something other than JSON', {}],
    ['is away', 'disconnect', 'the reranker cannot be reached', {}],
    ['fails', { status: 503 }, 'the reranker fails (503)', {}],
  ] as const)('returns the results of the ranking alone if the reranker %s', async (_, fault, problem, settings) => {
    server.score = preferOldest;
    const ready = await open();
    await storeNotes(ready, 12);
    const better = (await recallReranked(ready)).results.map(({ content }) => content);
    const engine = await open(settings);
    await storeNotes(engine, 12);
    server.fault = fault;
    const { reranked, ...failed } = await recall(engine, { explain: true });
    expect(reranked).toBe(false);
    expect(engine.reranker()).toMatchObject({ state: 'unavailable', problem });
    const plain = await open({ rerankUrl: '' });
    await storeNotes(plain, 12);
    const contents = (response: Pick<RecallResponse, 'results'>) =>
      response.results.map(({ content, score, explanation }) => ({ content, score, explanation }));
    expect(contents(failed)).toEqual(contents(await recall(plain, { explain: true })));
    expect(failed.results.map(({ content }) => content)).not.toEqual(better);
  });

  it('returns without a call of the reranker for 30 seconds after three failures, and then tries again', async () => {
    const engine = await open();
    await storeNotes(engine, 3);
    server.fault = { status: 500 };
    for (let i = 0; i < 6; i += 1) expect((await recall(engine)).reranked).toBe(false);
    expect(server.requests).toHaveLength(3);
    expect(getFailures(), 'consecutive failures are reported once').toHaveLength(1);
    now += PAUSE_MS;
    for (let i = 0; i < 3; i += 1) await recall(engine);
    expect(server.requests).toHaveLength(4);
    now += PAUSE_MS;
    server.fault = undefined;
    await recallReranked(engine);
    expect(engine.reranker()).toEqual({ state: 'ready' });
    server.fault = { status: 500 };
    for (let i = 0; i < 6; i += 1) await recall(engine);
    expect(server.requests, 'a success resets the number of failures').toHaveLength(4);
  });

  it('ends pending calls when the engine closes, without an error', async () => {
    const engine = await open();
    await storeNotes(engine, 3);
    server.fault = 'hang';
    const pending = recall(engine);
    await expect.poll(() => server.requests.length).toBe(1);
    await Promise.all([pending.catch(() => {}), engine.close()]);
    expect(getFailures()).toEqual([]);
  });
});
