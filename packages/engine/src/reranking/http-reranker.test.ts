import { inspect } from 'node:util';
import { MemoryError } from '@memoryd/contract';
import { type Reranker, RerankerUnavailable } from '@memoryd/core/models';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RerankForm } from '../engine-defaults.ts';
import { createHttpReranker } from './http-reranker.ts';
import { type Fault, type RerankServer, startRerankServer } from './rerank-server.fixture.ts';

const KEY = 'sk-secret/of+the=house';
const QUERY = 'where is the red heron';
const TEXTS = ['blue', 'the red heron', 'red'];
const { signal } = new AbortController();

let server: RerankServer;
beforeEach(async () => {
  server = await startRerankServer();
});
afterEach(() => server.close());

function open(form: RerankForm = 'tei', options: { model?: string; apiKey?: string } = {}): Reranker {
  server.form = form;
  return createHttpReranker({ url: server.url, ...options }, form);
}

async function getFailure(promise: Promise<unknown>): Promise<RerankerUnavailable> {
  const error = await promise.then(
    () => expect.fail('should have been rejected'),
    (reason) => reason,
  );
  expect(error).toBeInstanceOf(RerankerUnavailable);
  return error;
}

describe('reranker behind HTTP', () => {
  it.each([
    ['tei', {}, { query: QUERY, texts: TEXTS, truncate: true }],
    ['tei', { model: 'shared-words' }, { model: 'shared-words', query: QUERY, texts: TEXTS, truncate: true }],
    ['cohere', { model: 'shared-words' }, { model: 'shared-words', query: QUERY, documents: TEXTS, top_n: 3 }],
  ] as const)('reads scores in the order of the texts in the form %s with %j', async (form, model, body) => {
    server.apiKey = KEY;
    expect(await open(form, { ...model, apiKey: KEY }).score(QUERY, TEXTS, signal)).toEqual([0, 0.6, 0.2]);
    expect(server.requests.map((request) => request.body)).toEqual([body]);
  });

  it.each<[name: string, fault: Fault, message: RegExp, option: string | undefined]>([
    ['no JSON', { change: () => 'scores' }, /something other than JSON/, 'rerankUrl'],
    ['JSON without a list', { change: () => ({ data: 7 }) }, /no list of scores/, 'rerankUrl'],
    ['null', { change: () => null }, /no list of scores/, 'rerankUrl'],
    ['an index out of range', { change: (rows) => rows.with(0, { index: 3, score: 1 }) }, /index/, 'rerankUrl'],
    ['an index that is no number', { change: () => [{ index: '0', score: 1 }] }, /index/, 'rerankUrl'],
    ['a repeated index', { change: (rows) => rows.with(0, { index: 2, score: 1 }) }, /two scores/, 'rerankUrl'],
    ['a missing row', { change: (rows) => rows.slice(1) }, /2 scores for 3 texts/, 'rerankUrl'],
    ['a missing score', { change: (rows) => rows.map(({ index }) => ({ index })) }, /without a score/, 'rerankUrl'],
    ['a score that is null', { change: () => [{ index: 0, score: null }] }, /without a score/, 'rerankUrl'],
    ['an infinite score', { change: () => '[{"index":0,"score":1e999}]' }, /without a score/, 'rerankUrl'],
    ['two megabytes', { change: () => 'x'.repeat(2_000_000) }, /more than 1048576 bytes/, undefined],
    ['status 422', { status: 422, message: TEXTS.join() }, /rejects the request/, 'rerankForm'],
    ['status 404', { status: 404 }, /does not serve reranking \(404\)/, 'rerankUrl'],
    ['status 500', { status: 500, message: TEXTS.join() }, /fails \(500\)/, undefined],
    ['status 429', { status: 429 }, /limiting requests/, undefined],
    ['a lost connection', 'disconnect', /cannot be reached/, 'rerankUrl'],
  ])('rejects with a message for operators, without texts, for %s', async (_, fault, message, option) => {
    server.fault = fault;
    const failure = await getFailure(open().score(QUERY, TEXTS, signal));
    expect(failure.message).toMatch(message);
    expect(failure.option).toBe(option);
    expect(inspect(failure, { depth: 9 })).not.toContain('heron');
    expect(server.requests, 'a recall waits, so no request is repeated').toHaveLength(1);
  });

  it.each([301, 302, 303, 307, 308])('sends no text to the address that a response %i names', async (status) => {
    const other = await startRerankServer();
    server.fault = { status, location: other.url };
    const failure = await getFailure(open().score(QUERY, TEXTS, signal));
    expect(failure.message).toMatch(/redirects to another address/);
    expect(failure.option).toBe('rerankUrl');
    expect([server.requests.length, other.requests.length]).toEqual([1, 0]);
    await other.close();
  });

  it('names the key and the model if the server refuses them, and never quotes the key', async () => {
    server.apiKey = 'another';
    const refused = await getFailure(open('tei', { apiKey: KEY }).score(QUERY, TEXTS, signal));
    expect([refused.message, refused.option]).toEqual(['the reranker rejects the API key (401)', 'rerankApiKey']);
    expect(inspect(refused, { depth: 9 })).not.toContain(KEY);
    const missing = await getFailure(open().score(QUERY, TEXTS, signal));
    expect([missing.message, missing.option]).toEqual(['the reranker requires an API key (401)', 'rerankApiKey']);
    server.apiKey = undefined;
    const unknown = await getFailure(open('cohere', { model: 'other' }).score(QUERY, TEXTS, signal));
    expect(unknown.option).toBe('rerankModel');
  });

  it('rejects when its signal is aborted, and with UNAVAILABLE when it is closed', async () => {
    server.fault = 'hang';
    const reranker = open();
    const late = await getFailure(reranker.score(QUERY, TEXTS, AbortSignal.timeout(20)));
    expect([late.message, late.option]).toEqual(['the reranker does not respond in time', 'rerankUrl']);
    const pending = reranker.score(QUERY, TEXTS, signal);
    const outcome = expect(pending).rejects.toThrow(MemoryError);
    reranker.close();
    await outcome;
    await expect(reranker.score(QUERY, TEXTS, signal)).rejects.toThrow(MemoryError);
  });
});
