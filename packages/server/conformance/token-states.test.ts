import { MemoryClient } from '@memoryd/client';
import { describe, expect, it } from 'vitest';
import { checkService } from '../src/doctor/service.ts';
import { newDatabase } from './databases.ts';
import { addKey } from './keys.ts';
import { startServer } from './server.ts';
import { startClient, WORDS_ONLY } from './under-test.ts';

const MODEL_ONLY = { SERVICE_CONSOLIDATION_INTERVAL_SECONDS: '0' };
const TEXTS = ['The spare key is under the blue pot', 'Nora takes the ferry on Fridays', 'The kiln is fired at noon'];

/** Starts a server with the bundled model and a limit, and stores `TEXTS`. */
async function startFilled(limit: Record<string, string> = {}) {
  const memoryd = await startClient({ env: { ...MODEL_ONLY, ...limit } });
  await memoryd.storeAll(TEXTS.map((content) => ({ content })));
  await memoryd.embedded();
  const url = `http://127.0.0.1:${memoryd.server.port}`;
  return { memoryd, getFindings: () => checkService(new MemoryClient({ url }), url) };
}

describe('token states in memory', () => {
  it('token states of all memories are in memory after their embedding, and /stats, /metrics and doctor count them', async () => {
    const { memoryd, getFindings } = await startFilled();
    const getCache = async () => (await memoryd.stats()).token_states_cache;
    await expect.poll(getCache).toMatchObject({ memories: TEXTS.length, max_bytes: 128 * 2 ** 20 });
    const { bytes = 0 } = (await getCache()) ?? {};
    expect(bytes).toBeGreaterThan(TEXTS.length * 32);
    const { text: metrics } = await memoryd.send({
      path: '/metrics',
      headers: { accept: 'application/openmetrics-text' },
    });
    expect(metrics).toMatch(/^service_token_states_cached_memories 3$/m);
    expect(metrics).toMatch(new RegExp(`^service_token_states_cached_bytes ${bytes}$`, 'm'));
    expect(metrics).toMatch(/^service_token_states_cache_limit_bytes 134217728$/m);
    expect((await getFindings()).at(-1)).toMatchObject({
      state: 'ok',
      found: 'token states of 3 memories are in memory (0 MB of 134 MB)',
    });
  });

  it('a limit of token states in memory changes no result, and doctor tells that it is reached', async () => {
    const { memoryd: all } = await startFilled();
    const { memoryd: few, getFindings } = await startFilled({ SERVICE_TOKEN_STATES_CACHE_BYTES: '0' });
    const ask = async (memoryd: typeof all) =>
      (await memoryd.recall('When does the oven get hot?')).results.map(({ content, score }) => [content, score]);
    expect(await ask(few)).toEqual(await ask(all));
    expect((await few.stats()).token_states_cache).toMatchObject({ memories: 1, max_bytes: 0 });
    expect((await getFindings()).at(-1)).toMatchObject({
      state: 'warning',
      advice: expect.stringContaining('SERVICE_TOKEN_STATES_CACHE_BYTES'),
    });
  });

  it('/stats omits the token states in memory for a key without the scope operate', async () => {
    const dbPath = await newDatabase();
    const keys = await Promise.all((['read', 'operate'] as const).map((scope) => addKey(dbPath, 'default', scope)));
    const { port } = await startServer({ dbPath, env: WORDS_ONLY });
    const stats = await Promise.all(
      keys.map((apiKey) => new MemoryClient({ url: `http://127.0.0.1:${port}`, apiKey }).stats()),
    );
    expect(stats.map((of) => 'token_states_cache' in of)).toEqual([false, true]);
  });
});
