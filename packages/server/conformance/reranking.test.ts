import { MemoryClient } from '@memoryd/client';
import type { HealthResponse, RecallResponse } from '@memoryd/contract';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type RerankServer, startRerankServer } from '../../engine/src/reranking/rerank-server.fixture.ts';
import { checkModels } from '../src/doctor/model.ts';
import { readSettings } from '../src/settings/read.ts';
import { httpAgent } from './agent.ts';
import { type Client, expectCleanEnd, startClient, WORDS_ONLY } from './under-test.ts';

const KEY = 'sk-conformance/key+of=nobody';
const QUERY = 'red heron at the lake';
/** In this order without a reranker. The reranker prefers the second. */
const NOTES = ['The red heron nests at the lake.', 'A red heron flew by.', 'The lake is deep.'];

let remote: RerankServer;
beforeAll(async () => {
  remote = await startRerankServer('cohere');
});
beforeEach(() => {
  remote.apiKey = KEY;
  remote.score = (_, text) => (text === NOTES[1] ? 1 : 0);
  remote.requests.length = 0;
});
afterAll(() => remote.close());

const getEnvironment = (more: Record<string, string> = {}) => ({
  ...WORDS_ONLY,
  SERVICE_RERANK_URL: remote.url,
  SERVICE_RERANK_FORM: 'cohere',
  SERVICE_RERANK_MODEL: remote.model,
  SERVICE_RERANK_API_KEY: KEY,
  // For a busy machine.
  SERVICE_RERANK_TIMEOUT_MS: '30000',
  ...more,
});

/** Returns a response to which the reranker has contributed. */
async function getReranked(recall: () => Promise<RecallResponse>): Promise<RecallResponse> {
  const response = await recall();
  expect(response.reranked).toBe(true);
  return response;
}

const getContents = ({ results }: Pick<RecallResponse, 'results'>) => results.map(({ content }) => content);
const getSent = () => new Set(remote.requests.flatMap(({ texts }) => texts));

describe('a service with a reranker', () => {
  let memoryd: Client;
  beforeAll(async () => {
    memoryd = await startClient({ env: getEnvironment() });
  });
  afterAll(() => expectCleanEnd(memoryd.server));

  it('reranks recalls over REST, MCP and the client', async () => {
    await memoryd.storeInOrder(NOTES.map((content) => ({ content })));
    const overRest = await getReranked(() => memoryd.recall(QUERY));
    expect(getContents(overRest)).toEqual([NOTES[1], NOTES[0], NOTES[2]]);
    const client = new MemoryClient({ url: `http://127.0.0.1:${memoryd.server.port}` });
    expect(await getReranked(() => client.recall({ query: QUERY }))).toEqual(overRest);
    const agent = await httpAgent(memoryd.server.port);
    expect(await getReranked(() => agent.call<RecallResponse>('memory_recall', { query: QUERY }))).toEqual(overRest);
    await agent.end();
    expect(await memoryd.get<HealthResponse>('/health')).toMatchObject({ reranker: 'ready' });
    const metrics = (await memoryd.send({ path: '/metrics', headers: { accept: 'application/openmetrics-text' } }))
      .text;
    expect(metrics).toContain('service_reranker_state{state="ready"} 1');
    expect(metrics).toMatch(/^service_recall_stage_duration_seconds_count\{stage="rerank"\} [1-9]/m);
  });

  it('ranks as without the reranker while it fails, stays healthy, and names the setting to check', async () => {
    const plain = await startClient({ env: WORDS_ONLY });
    await plain.storeInOrder(NOTES.map((content) => ({ content })));
    remote.apiKey = 'another';
    const { reranked, results } = await memoryd.recall(QUERY);
    expect([reranked, getContents({ results })]).toEqual([false, NOTES]);
    expect(await plain.recall(QUERY)).toEqual({ results: expect.any(Array), total: 3 });
    expect(await memoryd.get<HealthResponse>('/health')).toMatchObject({
      status: 'healthy',
      reranker: 'unavailable',
      reranker_problem: 'the reranker rejects the API key (401); check SERVICE_RERANK_API_KEY',
    });
    const log = memoryd.server.lines().join('\n');
    expect(log).toContain('reranker_failed');
    expect(log).not.toContain(KEY);
    expect(await plain.get<HealthResponse>('/health')).not.toHaveProperty('reranker');
  });
});

describe('the users of a namespace with a reranker', () => {
  let memoryd: Client;
  beforeAll(async () => {
    memoryd = await startClient({ env: getEnvironment() });
  });
  afterAll(() => expectCleanEnd(memoryd.server));

  it('never have texts in the request of another: only a recall of one user is reranked', async () => {
    await memoryd.store({ content: 'The lake has a shared red heron.' });
    await getReranked(() => memoryd.recall(QUERY));
    await memoryd.store({ content: 'The red heron of Ada at the lake', user_id: 'ada', session_id: 'day' });
    await memoryd.store({ content: 'The red heron of Ben at the lake', user_id: 'ben', session_id: 'day' });
    remote.requests.length = 0;
    const all = await memoryd.recall(QUERY);
    expect([all.reranked, all.results.length]).toEqual([false, 3]);
    expect(remote.requests).toEqual([]);
    await getReranked(() => memoryd.recall(QUERY, 'user_id=ada'));
    expect(getSent()).toEqual(new Set(['The red heron of Ada at the lake']));
    remote.requests.length = 0;
    await getReranked(() => memoryd.recall(QUERY, 'user_id=ben&shared=true'));
    expect(getSent()).toEqual(new Set(['The red heron of Ben at the lake', 'The lake has a shared red heron.']));
  });
});

describe('memoryd doctor with a reranker', () => {
  const check = async (more: Record<string, string> = {}) =>
    (await checkModels(readSettings({}, getEnvironment(more)))).filter(({ found }) => found.includes('the reranker'));

  it('scores a sample, without stored memories, and names the wrong setting', async () => {
    await expect.poll(check, { timeout: 60_000 }).toMatchObject([{ check: 'model', state: 'ok' }]);
    expect([...getSent()]).toEqual(['Ada is allergic to peanuts']);
    expect(await check({ SERVICE_RERANK_API_KEY: 'wrong' })).toMatchObject([
      { state: 'problem', advice: 'check SERVICE_RERANK_API_KEY; recall ranks without it meanwhile' },
    ]);
    expect(await check({ SERVICE_RERANK_URL: 'http://127.0.0.1:9/rerank' })).toMatchObject([
      { state: 'problem', advice: expect.stringContaining('SERVICE_RERANK_URL') },
    ]);
  });
});
