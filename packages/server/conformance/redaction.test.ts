import { renameSync } from 'node:fs';
import type { ImportResponse, StoreBatchResponse, StoreResponse } from '@memoryd/contract';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startEmbeddingServer } from '../../engine/src/embedding/embedding-server.fixture.ts';
import { uniqueWord } from './database-files.ts';
import { databaseHolds, ON_FILE } from './databases.ts';
import { readEvents } from './event-reader.ts';
import { createTemporaryFolder, eventually } from './process.ts';
import { expectCleanEnd, startClient, useServer, WORDS_ONLY } from './under-test.ts';

/** Returns a unique GitHub token that `databaseHolds` can find. */
const createToken = () => `ghp_${uniqueWord().padEnd(36, 'A1b2').slice(0, 36)}`;
const holds = (database: string, secret: string) => databaseHolds(database, secret.slice(4));

describe('secrets with SERVICE_REDACT=on', () => {
  const memoryd = useServer({ env: { ...WORDS_ONLY, SERVICE_REDACT: 'on', SERVICE_LOG_LEVEL: 'debug' } });
  const expectNowhere = async (secret: string) => {
    expect(await holds(memoryd.server.database, secret)).toBe(false);
    expect(memoryd.server.lines().join('\n')).not.toContain(secret);
  };

  it('secrets with SERVICE_REDACT=on are redacted from a stored memory before it is written, and are reported', async () => {
    const secret = createToken();
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
    await expectNowhere(secret);
  });

  it('secrets with SERVICE_REDACT=on are redacted before a repeated store is compared, so that it changes nothing', async () => {
    const json = { content: `Deploy with ${createToken()}.`, external_id: 'redacted', metadata: { a: createToken() } };
    const stored = await memoryd.ok<StoreResponse>({ method: 'POST', path: '/store', json });
    const again = await memoryd.ok<StoreResponse>({ method: 'POST', path: '/store', json });
    expect(again).toEqual({ ...stored, created: false });
    expect(await memoryd.memory(stored.id)).toMatchObject({ version: 1, external_id: 'redacted' });
  });

  it('secrets with SERVICE_REDACT=on are redacted from each memory of a batch, and reported for each memory', async () => {
    const secret = createToken();
    const json = [{ content: 'plain' }, { content: `pw ${secret}` }, { content: 7 }];
    const reader = await readEvents(memoryd.server.port);
    onTestFinished(() => reader.leave());
    const { results } = await memoryd.ok<StoreBatchResponse>({ method: 'POST', path: '/store/batch', json });
    const redacted = [{ kind: 'github-token', count: 1 }];
    expect(await reader.until(1)).toMatchObject([{ type: 'stored', count: 2, redacted }]);
    expect(results).toEqual([
      { id: expect.any(String), status: 'stored' },
      { id: expect.any(String), status: 'stored', redacted },
      { error: expect.objectContaining({ code: 'INVALID_REQUEST' }) },
    ]);
    await expectNowhere(secret);
  });

  it('secrets with SERVICE_REDACT=on are redacted from imported memories and their earlier texts, and reported', async () => {
    const [secret, earlier] = [createToken(), createToken()];
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
    await expectNowhere(secret);
    await expectNowhere(earlier);
  });

  it('secrets with SERVICE_REDACT=on are redacted from an update, and reported', async () => {
    const secret = createToken();
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
    await expectNowhere(secret);
  });

  it('secrets with SERVICE_REDACT=on are redacted from a query and its log record, and the query still returns matching memories', async () => {
    const secret = createToken();
    const id = await memoryd.store({ content: `Pelicans are released with ${secret}` });
    expect(await memoryd.recalled(`pelicans ${secret}`)).toContain(id);
    const query = await eventually('the log record of the query', 20_000, () => {
      const records = memoryd.server.records().filter(({ event }) => event === 'query_completed');
      return records.at(-1)?.query as string | undefined;
    });
    expect(query).toBe('pelicans [redacted:github-token]');
    await expectNowhere(secret);
  });

  it('SERVICE_REDACT=on: secrets do not appear in error messages', async () => {
    const secret = createToken();
    const answers = [
      await memoryd.send({ method: 'POST', path: '/store', json: { content: secret, importance: 2 } }),
      await memoryd.send({ method: 'POST', path: '/store', body: `{"content": ${secret}` }),
      await memoryd.send({ path: `/memories/${secret}` }),
    ];
    for (const { text } of answers) expect(text).not.toContain(secret);
    await expectNowhere(secret);
  });

  it('SERVICE_REDACT=on: secrets do not prevent an idempotent repetition of a request', async () => {
    const json = { content: `again ${createToken()}` };
    const headers = { 'Idempotency-Key': 'redacted once' };
    const request = { method: 'POST', path: '/store', json, headers };
    const first = await memoryd.ok<StoreResponse>(request);
    expect(first.redacted).toHaveLength(1);
    expect(await memoryd.ok(request)).toEqual(first);
  });

  it('secrets with SERVICE_REDACT=on are not redacted from session ids, which clients use to read sessions', async () => {
    const secret = createToken();
    await memoryd.store({ content: 'in a session', session_id: secret });
    expect((await memoryd.session(secret)).total).toBe(1);
  });
});

describe('secrets', () => {
  it('secrets are stored unchanged by default', async () => {
    const client = await startClient({ env: WORDS_ONLY });
    const secret = createToken();
    const stored = await client.ok<StoreResponse>({ method: 'POST', path: '/store', json: { content: secret } });
    expect(stored).not.toHaveProperty('redacted');
    expect((await client.memory(stored.id)).content).toBe(secret);
    await expectCleanEnd(client.server);
  });

  it('secrets are not sent to the embedding model with SERVICE_REDACT=on', async () => {
    const remote = await startEmbeddingServer();
    const env = { SERVICE_EMBEDDER: `openai:${remote.model}`, SERVICE_EMBEDDING_URL: remote.url, SERVICE_REDACT: 'on' };
    const client = await startClient({ env: { ...WORDS_ONLY, ...env } });
    const secret = createToken();
    await client.store({ content: `stored with ${secret}` });
    await client.embedded();
    await client.recall(`queried with ${secret}`);
    await expectCleanEnd(client.server);
    const sent = JSON.stringify(remote.requests.map(({ inputs }) => inputs));
    expect(sent).toContain('stored with [redacted:github-token]');
    expect(sent).toContain('queried with [redacted:github-token]');
    expect(sent).not.toContain(secret);
    await remote.close();
  });
});

describe('the log', () => {
  // Needs a database file: moving it away makes every write fail.
  it.runIf(ON_FILE)('contains no credentials at any level, even when requests and models fail', async () => {
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
    const sendAll = async () => {
      for (const header of headers) for (const request of requests) await client.send({ ...request, headers: header });
    };
    await sendAll();
    // From here on, every write fails and is logged with its cause.
    renameSync(client.server.dbPath, `${createTemporaryFolder()}/moved.db`);
    await sendAll();
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
