import { renameSync } from 'node:fs';
import type { ImportResponse, StoreBatchResponse, StoreResponse } from '@memoryd/contract';
import { describe, expect, it } from 'vitest';
import { startEmbeddingServer } from '../../engine/src/embedding/embedding-server.fixture.ts';
import { uniqueWord } from './database-files.ts';
import { databaseHolds, ON_FILE } from './databases.ts';
import { eventually, temporaryFolder } from './process.ts';
import { expectCleanEnd, startClient, useServer, WORDS_ONLY } from './under-test.ts';

/** A GitHub token that occurs nowhere else; `databaseHolds` finds it where it was kept. */
const token = () => `ghp_${uniqueWord().padEnd(36, 'A1b2').slice(0, 36)}`;
const holds = (database: string, secret: string) => databaseHolds(database, secret.slice(4));

describe('secrets, with SERVICE_REDACT=on,', () => {
  const memoryd = useServer({ env: { ...WORDS_ONLY, SERVICE_REDACT: 'on', SERVICE_LOG_LEVEL: 'debug' } });
  const nowhere = async (secret: string) => {
    expect(await holds(memoryd.server.database, secret)).toBe(false);
    expect(memoryd.server.lines().join('\n')).not.toContain(secret);
  };

  it('are taken out of a store before anything is written, and reported', async () => {
    const secret = token();
    const json = { content: `Deploy with ${secret}.`, tags: [secret], source: secret, metadata: { a: [secret] } };
    const stored = await memoryd.ok<StoreResponse>({ method: 'POST', path: '/store', json });
    expect(stored).toEqual({
      id: expect.any(String),
      status: 'stored',
      redacted: [{ kind: 'github-token', count: 4 }],
    });
    expect(await memoryd.memory(stored.id)).toMatchObject({
      content: 'Deploy with [redacted:github-token].',
      tags: ['[redacted:github-token]'],
      source: '[redacted:github-token]',
      metadata: { a: ['[redacted:github-token]'] },
    });
    await nowhere(secret);
  });

  it('are taken out of each memory of a batch, and reported with it', async () => {
    const secret = token();
    const json = [{ content: 'plain' }, { content: `pw ${secret}` }, { content: 7 }];
    const { results } = await memoryd.ok<StoreBatchResponse>({ method: 'POST', path: '/store/batch', json });
    expect(results).toEqual([
      { id: expect.any(String), status: 'stored' },
      { id: expect.any(String), status: 'stored', redacted: [{ kind: 'github-token', count: 1 }] },
      { error: expect.objectContaining({ code: 'INVALID_REQUEST' }) },
    ]);
    await nowhere(secret);
  });

  it('are taken out of what is imported, its earlier texts included, and reported', async () => {
    const [secret, earlier] = [token(), token()];
    const plain = await startClient({ env: WORDS_ONLY });
    const { id } = await plain.ok<StoreResponse>({
      method: 'POST',
      path: '/store',
      json: { content: `was ${earlier}` },
    });
    await plain.update(id, { content: `is ${secret}` });
    const body = (await plain.send<string>({ path: '/export' })).text;
    await expectCleanEnd(plain.server);
    const headers = { 'content-type': 'application/x-ndjson' };
    const imported = await memoryd.ok<ImportResponse>({ method: 'POST', path: '/import', headers, body });
    expect(imported).toMatchObject({ imported_count: 1, redacted: [{ kind: 'github-token', count: 2 }] });
    expect(await memoryd.memory(id)).toMatchObject({ content: 'is [redacted:github-token]' });
    await nowhere(secret);
    await nowhere(earlier);
  });

  it('are taken out of an update, and reported', async () => {
    const secret = token();
    const id = await memoryd.store({ content: 'plain' });
    const change = { content: `now ${secret}`, tags: [secret], metadata: { password: 'Tr0ub4dor&3' } };
    expect((await memoryd.update(id, change)).body).toEqual({
      id,
      status: 'updated',
      redacted: [
        { kind: 'github-token', count: 2 },
        { kind: 'password', count: 1 },
      ],
    });
    expect((await memoryd.memory(id)).content).toBe('now [redacted:github-token]');
    await nowhere(secret);
  });

  it('are taken out of a query, which then finds what was stored with them, and out of its record', async () => {
    const secret = token();
    const id = await memoryd.store({ content: `Pelicans are released with ${secret}` });
    expect(await memoryd.recalled(`pelicans ${secret}`)).toContain(id);
    const query = await eventually('the record of the query', 20_000, () => {
      const asked = memoryd.server.records().filter(({ event }) => event === 'query_completed');
      return asked.at(-1)?.query as string | undefined;
    });
    expect(query).toBe('pelicans [redacted:github-token]');
    await nowhere(secret);
  });

  it('are in no error about a request', async () => {
    const secret = token();
    const answers = [
      await memoryd.send({ method: 'POST', path: '/store', json: { content: secret, importance: 2 } }),
      await memoryd.send({ method: 'POST', path: '/store', body: `{"content": ${secret}` }),
      await memoryd.send({ path: `/memories/${secret}` }),
    ];
    for (const { text } of answers) expect(text).not.toContain(secret);
    await nowhere(secret);
  });

  it('do not make another request of one that is sent again', async () => {
    const json = { content: `again ${token()}` };
    const headers = { 'Idempotency-Key': 'redacted once' };
    const request = { method: 'POST', path: '/store', json, headers };
    const first = await memoryd.ok<StoreResponse>(request);
    expect(first.redacted).toHaveLength(1);
    expect(await memoryd.ok(request)).toEqual(first);
  });

  it('stay in the ids of sessions, by which clients ask for them', async () => {
    const secret = token();
    await memoryd.store({ content: 'in a session', session_id: secret });
    expect((await memoryd.session(secret)).total).toBe(1);
  });
});

describe('secrets', () => {
  it('are kept as they came where nothing else was asked for', async () => {
    const client = await startClient({ env: WORDS_ONLY });
    const secret = token();
    const stored = await client.ok<StoreResponse>({ method: 'POST', path: '/store', json: { content: secret } });
    expect(stored).not.toHaveProperty('redacted');
    expect((await client.memory(stored.id)).content).toBe(secret);
    await expectCleanEnd(client.server);
  });

  it('are sent to no model, with SERVICE_REDACT=on', async () => {
    const remote = await startEmbeddingServer();
    const env = { SERVICE_EMBEDDER: `openai:${remote.model}`, SERVICE_EMBEDDING_URL: remote.url, SERVICE_REDACT: 'on' };
    const client = await startClient({ env: { ...WORDS_ONLY, ...env } });
    const secret = token();
    await client.store({ content: `kept with ${secret}` });
    await client.embedded();
    await client.recall(`asked with ${secret}`);
    await expectCleanEnd(client.server);
    const sent = JSON.stringify(remote.requests.map(({ inputs }) => inputs));
    expect(sent).toContain('kept with [redacted:github-token]');
    expect(sent).toContain('asked with [redacted:github-token]');
    expect(sent).not.toContain(secret);
    await remote.close();
  });
});

describe('the log', () => {
  // A file can be moved away from under a server, so that every write fails.
  it.runIf(ON_FILE)('holds no credential at any level, whatever goes wrong', async () => {
    const keys = {
      SERVICE_EMBEDDING_API_KEY: `sk-${uniqueWord()}`,
      SERVICE_LLM_API_KEY: `sk-${uniqueWord()}`,
      SERVICE_API_KEY: `${uniqueWord()}${uniqueWord()}`,
    };
    const sent = { authorization: uniqueWord(), apiKey: uniqueWord(), password: uniqueWord(), cookie: uniqueWord() };
    const remote = await startEmbeddingServer();
    remote.fault = () => ({ status: 500, message: `Bearer ${keys.SERVICE_EMBEDDING_API_KEY}` });
    const client = await startClient({
      env: {
        SERVICE_LOG_LEVEL: 'debug',
        SERVICE_CONSOLIDATION_INTERVAL_SECONDS: '0',
        SERVICE_EMBEDDER: `openai:${remote.model}`,
        SERVICE_EMBEDDING_URL: remote.url,
        SERVICE_LLM_URL: 'http://127.0.0.1:9/v1',
        SERVICE_LLM_MODEL: 'away',
        ...keys,
      },
    });
    const own = { 'x-api-key': keys.SERVICE_API_KEY };
    const headers = [
      { authorization: `Bearer ${sent.authorization}`, 'x-api-key': sent.apiKey, cookie: `key=${sent.cookie}` },
      { authorization: `Basic ${Buffer.from(`ada:${sent.password}`).toString('base64')}`, ...own },
      own,
    ];
    const requests = [
      { path: '/stats' },
      { path: '/recall?query=ferry' },
      { path: '/no-such-route' },
      { path: '/memories/%' },
      { method: 'POST', path: '/store', json: { content: 'The ferry leaves at seven.' } },
      { method: 'POST', path: '/store', body: '{' },
      { method: 'POST', path: '/consolidate' },
    ];
    const askAll = async () => {
      for (const header of headers) for (const request of requests) await client.send({ ...request, headers: header });
    };
    await askAll();
    // From here on every write fails, and is logged with its cause.
    renameSync(client.server.dbPath, `${temporaryFolder()}/moved.db`);
    await askAll();
    const { stdout, stderr } = await client.server.stop();
    await remote.close();
    expect(client.server.records().map(({ event }) => event)).toEqual(
      expect.arrayContaining(['embedder_unavailable', 'request_failed', 'server_started']),
    );
    const encoded = Buffer.from(`ada:${sent.password}`).toString('base64');
    for (const credential of [...Object.values(keys), ...Object.values(sent), encoded]) {
      expect(stdout + stderr).not.toContain(credential);
    }
  });
});
