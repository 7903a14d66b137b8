import { cpSync } from 'node:fs';
import { join } from 'node:path';
import type { HealthResponse } from '@memoryd/contract';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type EmbeddingServer, startEmbeddingServer } from '../../engine/src/embedding/embedding-server.fixture.ts';
import { writeModelConfig, writeTinyModel } from '../../engine/src/embedding/tiny-model.fixture.ts';
import { toAnswer } from './command.ts';
import { createTemporaryFolder, eventually } from './process.ts';
import type { LogRecord } from './server.ts';
import { type Client, expectCleanEnd, startClient } from './under-test.ts';

const KEY = 'sk-conformance/key+of=nobody';

/** A memory and a question with no word in common. The embedding server of these tests knows their synonyms. */
const MEMORY = 'The cat sleeps beneath our stove.';
const QUESTION = 'feline whereabouts';

let remote: EmbeddingServer;
beforeAll(async () => {
  remote = await startEmbeddingServer();
});
beforeEach(() => {
  Object.assign(remote, { model: 'hashed-words', dimensions: 256, apiKey: undefined, fault: undefined });
});
afterAll(() => remote.close());

const environment = (more: Record<string, string> = {}) => ({
  SERVICE_CONSOLIDATION_INTERVAL_SECONDS: '0',
  SERVICE_EMBEDDER: `openai:${remote.model}`,
  SERVICE_EMBEDDING_URL: remote.url,
  ...more,
});

const getHealth = (client: Client) => client.get<HealthResponse>('/health');

/** Waits until the embedder is ready. Polls slowly, since the service retries an embedder only every few seconds. */
async function untilReady(client: Client): Promise<void> {
  await expect.poll(async () => (await getHealth(client)).embedder, { timeout: 30_000, interval: 250 }).toBe('ready');
}

describe('an embedder with the OpenAI embeddings protocol', () => {
  it('lets recall find memories by meaning, and caches query embeddings', async () => {
    remote.apiKey = KEY;
    const client = await startClient({ env: environment({ SERVICE_EMBEDDING_API_KEY: KEY }) });
    const { embedder, embedder_problem } = await getHealth(client);
    expect({ embedder, embedder_problem }).toEqual({ embedder: 'ready', embedder_problem: undefined });
    const ids = await client.storeInOrder([{ content: MEMORY }, { content: 'Rent is due on Friday.' }]);
    expect((await client.stats()).pending_embeddings).toBe(0);
    expect((await client.recalled(QUESTION))[0]).toBe(ids[0]);
    const requestCount = remote.requests.length;
    expect((await client.recalled(QUESTION))[0]).toBe(ids[0]);
    expect(remote.requests.length, 'the same query needs no further request').toBe(requestCount);
    await expectCleanEnd(client.server);
  });

  it('receives queries and passages with their prefixes and input types', async () => {
    const encoding = {
      SERVICE_EMBEDDING_QUERY_PREFIX: 'query: ',
      SERVICE_EMBEDDING_PASSAGE_PREFIX: 'passage: ',
      SERVICE_EMBEDDING_QUERY_INPUT_TYPE: 'search_query',
      SERVICE_EMBEDDING_PASSAGE_INPUT_TYPE: 'search_document',
    };
    const client = await startClient({ env: environment(encoding) });
    remote.requests.length = 0;
    const id = await client.store({ content: MEMORY });
    expect(await client.recalled(QUESTION)).toEqual([id]);
    const sent = remote.requests.flatMap(({ inputs, body }) => inputs.map((text) => `${body.input_type} ${text}`));
    expect(new Set(sent)).toEqual(new Set([`search_document passage: ${MEMORY}`, `search_query query: ${QUESTION}`]));
    await expectCleanEnd(client.server);
    // A command that needs no model opens the same database with the same settings.
    const list = ['list', '--db-path', client.server.database];
    expect(await toAnswer(list, { env: environment(encoding) })).toMatchObject({ memories: [{ id }] });
  });

  const faults: {
    row: string;
    env?: () => Record<string, string>;
    break?: () => void;
    mend?: () => void;
    problem: RegExp;
  }[] = [
    {
      row: 'a wrong key',
      break: () => (remote.apiKey = 'another'),
      mend: () => (remote.apiKey = KEY),
      problem: /rejects the API key.*SERVICE_EMBEDDING_API_KEY/,
    },
    {
      row: 'a model that does not exist yet',
      break: () => (remote.model = 'not pulled'),
      mend: () => (remote.model = 'hashed-words'),
      problem: /does not know the model.*SERVICE_EMBEDDER/,
    },
    {
      row: 'a server that fails',
      break: () => (remote.fault = () => ({ status: 500, message: `Bearer ${KEY}` })),
      mend: () => (remote.fault = undefined),
      problem: /fails \(500\)/,
    },
    {
      row: 'a server that does not respond',
      break: () => (remote.fault = () => 'hang'),
      problem: /not open yet/,
    },
    {
      row: 'a model with too many dimensions',
      break: () => (remote.dimensions = 4096),
      mend: () => (remote.dimensions = 256),
      problem: /vectors of 4096 dimensions.*SERVICE_EMBEDDER/,
    },
    {
      row: 'a URL without a server',
      env: () => ({ SERVICE_EMBEDDING_URL: 'http://127.0.0.1:9/v1' }),
      problem: /cannot be reached.*SERVICE_EMBEDDING_URL/,
    },
  ];
  it.each(faults)(
    'an OpenAI-compatible embedder with $row: recall uses only words, /health reports the problem, and the embedder recovers',
    async (fault) => {
      const env = { ...environment({ SERVICE_EMBEDDING_API_KEY: KEY }), ...fault.env?.() };
      fault.break?.();
      const client = await startClient({ env });
      const { status, embedder, embedder_problem } = await getHealth(client);
      expect({ status, embedder }).toEqual({ status: 'healthy', embedder: 'unavailable' });
      expect(embedder_problem).toMatch(fault.problem);
      const id = await client.store({ content: MEMORY });
      expect(await client.recalled('cat')).toEqual([id]);
      if (fault.mend) {
        const [record] = client.server.records().filter(({ event }) => event === 'embedder_unavailable');
        expect(record).toMatchObject({ level: 'ERROR', component: 'embedding' });
        const { error, setting = '' } = record as LogRecord & { error: Error };
        expect(`${error.message} ${setting}`).toMatch(fault.problem);
        fault.mend();
        await untilReady(client);
        await client.embedded();
        expect(await client.recalled(QUESTION)).toEqual([id]);
      }
      const { stdout, stderr } = await client.server.stop();
      expect(stdout + stderr + JSON.stringify(embedder_problem)).not.toContain(KEY);
      expect(stderr).toBe('');
    },
  );

  it('an embedder with the OpenAI embeddings protocol that fails at runtime does not interrupt stores and recalls, and is used again after it recovers', async () => {
    const client = await startClient({ env: environment() });
    await client.store({ content: MEMORY });
    remote.fault = () => 'disconnect';
    const later = await client.store({ content: 'The ferry leaves at seven.' });
    expect(await client.recalled('ferry')).toEqual([later]);
    await eventually('the failure to be reported', 30_000, async () => {
      const { embedder, embedder_problem } = await getHealth(client);
      return (embedder === 'unavailable' && /cannot be reached/.test(embedder_problem ?? '')) || undefined;
    });
    remote.fault = undefined;
    await untilReady(client);
    await client.embedded();
    expect((await client.recalled('the vessel timetable.'))[0]).toBe(later);
    await expectCleanEnd(client.server);
  });
});

describe('a different embedder on the same database', () => {
  const FERRY = 'The ferry leaves at seven.';
  const OTHERS = 80;

  /** A database with embeddings of the first model. The cat was stored first, the ferry last. */
  const filled = { database: '', cat: '', ferry: '' };
  beforeAll(async () => {
    const client = await startClient({ env: environment() });
    filled.database = client.server.database;
    filled.cat = await client.store({ content: MEMORY });
    const others = Array.from({ length: OTHERS }, (_, i) => ({ content: `Entry ${i} of the harbour log.` }));
    await client.ok({ method: 'POST', path: '/store/batch', json: others });
    filled.ferry = await client.store({ content: FERRY });
    await client.embedded();
    await expectCleanEnd(client.server);
  });

  /** Copies the filled database. */
  function copyFilled(): typeof filled {
    const database = join(createTemporaryFolder(), 'memory.db');
    cpSync(filled.database, database);
    return { ...filled, database };
  }

  /**
   * Replaces the model of the embedding server by one with this name and number of dimensions. While `isHeld` is true,
   * the server disconnects at the text of one of the last memories.
   */
  function changeModel(model: string, dimensions: number): { isHeld: boolean } {
    const hold = { isHeld: true };
    Object.assign(remote, { model, dimensions });
    remote.fault = (inputs) =>
      hold.isHeld && inputs.includes('Entry 70 of the harbour log.') ? 'disconnect' : undefined;
    return hold;
  }

  it.each([
    { row: 'with another number of dimensions', dimensions: 512 },
    { row: 'with the same number of dimensions', dimensions: 256 },
  ])('$row re-embeds all memories, while recall uses words and the vectors created so far', async ({ dimensions }) => {
    const { database, cat, ferry } = copyFilled();
    const hold = changeModel('other-words', dimensions);
    const client = await startClient({ env: environment(), database });
    const embedded = await eventually('the first memory to be re-embedded', 30_000, async () => {
      const { embedding } = await client.stats();
      return embedding && embedding.embedded > 0 ? embedding : undefined;
    });
    expect(embedded.model).toMatch(/^openai:other-words@/);
    expect(embedded.total).toBe(OTHERS + 2);
    expect(embedded.embedded).toBeLessThan(embedded.total);
    await untilReady(client);
    expect((await client.recalled(QUESTION))[0]).toBe(cat);
    expect(await client.recalled('ferry')).toContain(ferry);
    expect(await client.recalled('vessel')).not.toContain(ferry);
    hold.isHeld = false;
    await client.embedded();
    expect((await client.recalled('vessel'))[0]).toBe(ferry);
    const { embedding } = await client.stats();
    expect(embedding).toEqual({ ...embedded, embedded: OTHERS + 2 });
    const [started] = client.server.records().filter(({ event }) => event === 'reembedding_started');
    expect(started).toMatchObject({
      ...{ level: 'INFO', component: 'embedding', model: embedded.model },
      memories: OTHERS + 2,
    });
    await eventually('the record of the completed re-embedding', 30_000, () =>
      client.server
        .records()
        .find(({ event, embedded }) => event === 'reembedding_completed' && embedded !== undefined),
    );
    await expectCleanEnd(client.server);
  });

  it('a different embedder on the same database can be replaced by the first embedder again', async () => {
    const { database, cat, ferry } = copyFilled();
    changeModel('other-words', 512).isHeld = false;
    const between = await startClient({ env: environment(), database });
    await between.embedded();
    await expectCleanEnd(between.server);
    changeModel('hashed-words', 256).isHeld = false;
    const back = await startClient({ env: environment(), database });
    await back.embedded();
    expect((await back.stats()).embedding).toMatchObject({ embedded: OTHERS + 2, total: OTHERS + 2 });
    expect((await back.recalled(QUESTION))[0]).toBe(cat);
    expect((await back.recalled('vessel'))[0]).toBe(ferry);
    await expectCleanEnd(back.server);
  });

  it('a different embedder on the same database in another process makes the first process report the change and recall only by words', async () => {
    const earlier = await startClient({ env: environment() });
    const cat = await earlier.store({ content: MEMORY });
    changeModel('other-words', 512).isHeld = false;
    const later = await startClient({ env: environment(), database: earlier.server.database });
    await later.embedded();
    const ferry = await earlier.store({ content: FERRY });
    const { embedder_problem } = await eventually(
      'the earlier process to notice the displacement',
      20_000,
      async () => {
        const now = await getHealth(earlier);
        return now.embedder === 'unavailable' ? now : undefined;
      },
    );
    expect(embedder_problem).toBe(
      'another process has since opened the database with another model; check SERVICE_EMBEDDER',
    );
    expect(await earlier.recalled('cat')).toEqual([cat]);
    expect(await earlier.recalled(QUESTION)).toEqual([]);
    expect(earlier.server.records().filter(({ component }) => component === 'embedding')).toMatchObject([
      { level: 'WARN', event: 'embedder_displaced', setting: 'SERVICE_EMBEDDER' },
    ]);
    await eventually('the memory of the earlier process to be embedded', 20_000, async () => {
      return (await later.recalled('vessel'))[0] === ferry || undefined;
    });
    expect((await getHealth(later)).embedder).toBe('ready');
    for (const { server } of [earlier, later]) await expectCleanEnd(server);
  });
});

describe('a transformers embedder', () => {
  it('runs a model from a folder in the server process', async () => {
    const folder = join(createTemporaryFolder(), 'model');
    await writeTinyModel(folder);
    const env = { ...environment(), SERVICE_EMBEDDER: `transformers:${folder}` };
    const client = await startClient({ env });
    await untilReady(client);
    const id = await client.store({ content: 'the boat sails at dawn' });
    await client.embedded();
    expect(await client.recalled('when does the boat depart')).toEqual([id]);
    await expectCleanEnd(client.server);
  });

  it('a transformers embedder that cannot be loaded is reported in /health, and recall uses only words', async () => {
    const env = { ...environment(), SERVICE_EMBEDDER: `transformers:${createTemporaryFolder()}` };
    const client = await startClient({ env });
    const id = await client.store({ content: MEMORY });
    expect(await client.recalled('cat')).toEqual([id]);
    const { embedder_problem } = await eventually('the failure', 30_000, async () => {
      const now = await getHealth(client);
      return /cannot be loaded/.test(now.embedder_problem ?? '') ? now : undefined;
    });
    expect(embedder_problem).toBe('the model cannot be loaded; check SERVICE_EMBEDDER');
    expect((await client.server.stop()).code).toBe(0);
  });

  it('a transformers embedder with an unknown pooling mode is reported with its file and the setting that overrides the mode', async () => {
    const folder = join(createTemporaryFolder(), 'model');
    await writeTinyModel(folder);
    await writeModelConfig(folder, { '1_Pooling/config.json': { pooling_mode: 'max' } });
    const env = { ...environment(), SERVICE_EMBEDDER: `transformers:${folder}` };
    const refused = await startClient({ env });
    const { embedder_problem } = await eventually('the refusal', 30_000, async () => {
      const now = await getHealth(refused);
      return /pooling/.test(now.embedder_problem ?? '') ? now : undefined;
    });
    expect(embedder_problem).toMatch(/^1_Pooling\/config\.json .* max, .*; check SERVICE_EMBEDDING_POOLING$/);
    expect((await refused.server.stop()).code).toBe(0);
    const helped = await startClient({ env: { ...env, SERVICE_EMBEDDING_POOLING: 'mean' } });
    await untilReady(helped);
    await expectCleanEnd(helped.server);
  });
});
