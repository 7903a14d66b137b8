import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readSettings } from '../src/settings/read.ts';
import { send } from './http.ts';
import { createTemporaryFolder, eventually, freePort, launch, startProcess, untilHealthy } from './process.ts';
import type { LogRecord } from './server.ts';
import { type Client, useServer, WORDS_ONLY } from './under-test.ts';

/** Server in development mode, without SERVICE_CORS_ORIGINS. */
const memoryd = useServer({ env: WORDS_ONLY });
const production = useServer({ env: { ...WORDS_ONLY, NODE_ENV: 'production', SERVICE_LOG_QUERIES: 'false' } });

const OPENMETRICS = { accept: 'application/openmetrics-text' };

const PLAIN_METRICS = [
  'service_working_memory_entries',
  'service_episodic_memory_entries',
  'service_semantic_memory_entries',
  'service_query_latency_ms{quantile="0.5"}',
  'service_query_latency_ms{quantile="0.99"}',
  'service_consolidation_last_run',
  'service_db_size_bytes',
];

/** Returns the samples of a plain-text response, by name. */
async function getSamples(client: Client): Promise<Record<string, number>> {
  const { text } = await client.send({ path: '/metrics' });
  const lines = text.split('\n').filter((line) => line !== '');
  return Object.fromEntries(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]),
  );
}

describe('GET /metrics', () => {
  it('returns 0 for the query latency and the last consolidation before the first query and run', async () => {
    expect(await getSamples(memoryd)).toMatchObject({
      'service_query_latency_ms{quantile="0.5"}': 0,
      'service_query_latency_ms{quantile="0.99"}': 0,
      service_consolidation_last_run: 0,
    });
  });

  it.each([
    { row: 'no Accept header' },
    { row: 'Accept: */*', accept: '*/*' },
    { row: 'Accept: text/plain', accept: 'text/plain' },
  ])('returns exactly seven lines, each with a name and a number, for a request with $row', async ({ accept }) => {
    const answer = await memoryd.send({ path: '/metrics', headers: accept ? { accept } : {} });
    expect(answer.status).toBe(200);
    expect(answer.headers['content-type']).toMatch(/^text\/plain\b/);
    expect(answer.text).toMatch(/^([a-z_]+(\{quantile="[\d.]+"\})? [\d.e+-]+\n){7}$/);
    const names = answer.text
      .trimEnd()
      .split('\n')
      .map((line) => line.split(' ')[0]);
    expect([...names].sort()).toEqual([...PLAIN_METRICS].sort());
  });

  it('returns the same tier counts as /stats', async () => {
    await memoryd.storeAll([{ content: 'one' }, { content: 'two' }]);
    await memoryd.consolidate();
    await memoryd.store({ content: 'three' });
    expect(await getSamples(memoryd)).toMatchObject({
      service_working_memory_entries: 1,
      service_episodic_memory_entries: 2,
      service_semantic_memory_entries: 0,
    });
  });

  it('returns the time of the last consolidation in Unix seconds', async () => {
    await memoryd.consolidate();
    const { last_sleep_at } = await memoryd.stats();
    const { service_consolidation_last_run: lastRun } = await getSamples(memoryd);
    expect(Math.abs((lastRun ?? 0) - Date.parse(last_sleep_at ?? '') / 1000)).toBeLessThanOrEqual(1);
  });

  it('returns the same database size in bytes as /stats does in megabytes', async () => {
    // Background work on a database server changes the size between the two requests.
    const difference = async () => {
      const { db_size_mb } = await memoryd.stats();
      const { service_db_size_bytes: bytes = 0 } = await getSamples(memoryd);
      expect(bytes).toBeGreaterThan(0);
      return Math.abs(bytes / 1e6 - db_size_mb);
    };
    await expect.poll(difference).toBeLessThan(0.01);
  });

  it('returns the query latency after the first queries', async () => {
    for (let n = 0; n < 5; n += 1) await memoryd.recall('one');
    const samples = await getSamples(memoryd);
    const median = samples['service_query_latency_ms{quantile="0.5"}'] ?? 0;
    const slowest = samples['service_query_latency_ms{quantile="0.99"}'] ?? 0;
    expect(median).toBeGreaterThan(0);
    expect(slowest).toBeGreaterThanOrEqual(median);
    expect(slowest).toBeLessThan(20_000);
  });

  it.each([
    'application/openmetrics-text',
    'application/openmetrics-text; version=1.0.0; charset=utf-8',
    'application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.1',
  ])('returns the same samples with TYPE and HELP lines for Accept: %s', async (accept) => {
    const { headers, text } = await memoryd.send({ path: '/metrics', headers: { accept } });
    expect(headers['content-type']).toMatch(/^application\/openmetrics-text\b/);
    const lines = text.split('\n');
    for (const name of PLAIN_METRICS) expect(lines.filter((line) => line.startsWith(`${name} `)).length, name).toBe(1);
    for (const name of new Set(PLAIN_METRICS.map((sample) => sample.split('{')[0]))) {
      expect(text).toMatch(new RegExp(`^# TYPE ${name} \\w+$`, 'm'));
      expect(text).toMatch(new RegExp(`^# HELP ${name} \\S`, 'm'));
    }
    expect(text.endsWith('# EOF\n')).toBe(true);
    const samples = lines.filter((line) => line !== '' && !line.startsWith('#'));
    expect(samples.filter((line) => !line.startsWith('service_'))).toEqual([]);
  });

  it('returns no additional time series for values that clients send', async () => {
    const series = async () => {
      const { text } = await memoryd.send({ path: '/metrics', headers: OPENMETRICS });
      return text.split('\n').flatMap((line) => /^(service_(?!nodejs|process)[^ ]+) /.exec(line)?.[1] ?? []);
    };
    const sendAll = async (n: number) => {
      for (const method of ['GET', 'POST', 'PROPFIND']) await memoryd.send({ method, path: `/nowhere-${n}` });
      await memoryd.send({ path: `/memories/unknown-${n}` });
      await memoryd.send({ path: `/session/session-${n}?limit=${n}` });
      await memoryd.send({ path: `/recall?query=words-${n}&tag=tag-${n}`, headers: { 'x-request-id': `id-${n}` } });
      await memoryd.send({ path: `/stats?surplus-${n}=1` });
    };
    await sendAll(1);
    await series();
    const before = await series();
    for (let n = 2; n < 10; n += 1) await sendAll(n);
    expect(await series()).toEqual(before);
  });

  it('returns the number of error responses by code', async () => {
    const counts = async () => {
      const { text } = await memoryd.send({ path: '/metrics', headers: OPENMETRICS });
      const samples = text.matchAll(/^service_errors_total\{code="(\w+)"\} (\d+)$/gm);
      return Object.fromEntries([...samples].map(([, code, count]) => [code as string, Number(count)]));
    };
    const before = await counts();
    await memoryd.send({ path: '/nothing' });
    await memoryd.send({ path: '/session/%zz' });
    await memoryd.send({ path: '/recall' });
    expect(await counts()).toEqual({
      ...before,
      NOT_FOUND: Number(before.NOT_FOUND) + 1,
      INVALID_REQUEST: Number(before.INVALID_REQUEST) + 2,
    });
  });

  it('returns the number of open event streams', async () => {
    const streams = async () => {
      const { text } = await memoryd.send({ path: '/metrics', headers: OPENMETRICS });
      return Number(/^service_event_streams (\d+)$/m.exec(text)?.[1]);
    };
    expect(await streams()).toBe(0);
    const abort = new AbortController();
    await fetch(`http://127.0.0.1:${memoryd.server.port}/events`, { signal: abort.signal });
    expect(await streams()).toBe(1);
    abort.abort();
    await eventually('the stream to end', 20_000, async () => ((await streams()) === 0 ? true : undefined));
  });
});

describe('log records', () => {
  const getQueryRecords = (client: Client) =>
    client.server.records().filter((record) => record.event === 'query_completed');
  const waitForQueryRecord = (client: Client, pick: (record: LogRecord) => boolean) =>
    eventually('the log record', 20_000, () => getQueryRecords(client).find(pick));

  it('log records are one JSON object per line with timestamp, level, component and event', async () => {
    await memoryd.store({ content: 'logged' });
    await memoryd.consolidate();
    await memoryd.send({ path: '/nothing' });
    const records = memoryd.server.records();
    expect(records.length).toBeGreaterThan(0);
    for (const record of records) {
      expect(record.timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);
      expect(['DEBUG', 'INFO', 'WARN', 'ERROR']).toContain(record.level);
      expect(record.component).toMatch(/^\S+$/);
      expect(record.event).toMatch(/^[a-z][a-z_]*$/);
    }
  });

  it('log records contain latency, number of results and text of a completed query', async () => {
    await memoryd.storeAll([0, 1, 2].map((n) => ({ content: `ocarina ${n}` })));
    await memoryd.recall('ocarina');
    const record = await waitForQueryRecord(memoryd, ({ query }) => query === 'ocarina');
    expect(record).toMatchObject({
      ...{ level: 'INFO', component: 'retrieval', event: 'query_completed' },
      ...{ latency_ms: expect.any(Number), results_count: 3, query: 'ocarina' },
    });
    expect(record.latency_ms).toBeGreaterThan(0);
  });

  it('log records contain each query only once', async () => {
    await memoryd.recall('one single question');
    await waitForQueryRecord(memoryd, ({ query }) => query === 'one single question');
    expect(getQueryRecords(memoryd).filter(({ query }) => query === 'one single question').length).toBe(1);
  });

  it('log records fit on one line for a query with line breaks and control characters', async () => {
    const query = 'line\nend "quoted" \u2028 \u001b[31m 🦊';
    await memoryd.recall(query);
    await waitForQueryRecord(memoryd, (record) => record.query === query);
  });

  it('log records do not contain a rejected query', async () => {
    await memoryd.send({ path: '/recall?query=never-completed&top_k=0' });
    await memoryd.recall('afterwards');
    await waitForQueryRecord(memoryd, ({ query }) => query === 'afterwards');
    expect(memoryd.server.lines().join('\n')).not.toContain('never-completed');
  });

  it('never contain the text of a memory', async () => {
    await memoryd.store({ content: 'a secret vermilion', tags: ['vermilion-tag'], metadata: { k: 'vermilion-value' } });
    await memoryd.send({ method: 'POST', path: '/store', json: { content: 'vermilion', colour: 1 } });
    await memoryd.send({
      method: 'POST',
      path: '/store',
      body: '{"content":"vermilion',
      headers: { 'content-type': 'application/json' },
    });
    await memoryd.recall('secret');
    await waitForQueryRecord(memoryd, ({ query }) => query === 'secret');
    expect(memoryd.server.lines().join('\n')).not.toContain('vermilion');
  });

  it('log records omit the query text if SERVICE_LOG_QUERIES is false', async () => {
    await production.store({ content: 'confidential matters' });
    await production.recall('confidential');
    const record = await waitForQueryRecord(production, () => true);
    expect(record).toMatchObject({ latency_ms: expect.any(Number), results_count: 1 });
    expect(production.server.lines().join('\n')).not.toContain('confidential');
  });
});

describe('a log that cannot be written', () => {
  /** Enough recalls for their log records to exceed the capacity of a pipe. */
  const RECALLS = 60;
  const path = `/recall?query=${'w'.repeat(8000)}`;

  it.runIf(existsSync('/dev/full'))(
    'a log that cannot be written because the disk is full does not affect requests or the shutdown',
    async () => {
      const port = await freePort();
      const args = [
        '--host',
        '127.0.0.1',
        '--port',
        String(port),
        '--db-path',
        join(createTemporaryFolder(), 'memory.db'),
      ];
      const full = ['sh', '-c', 'exec "$@" > /dev/full', 'sh'];
      const launched = launch(args, WORDS_ONLY, { under: full });
      await untilHealthy(port, launched);
      for (let i = 0; i < RECALLS; i++) {
        expect((await send(port, { path })).status).toBe(200);
      }
      expect(await launched.end('SIGTERM')).toMatchObject({ code: 0, stderr: '' });
    },
  );

  it('a log that cannot be written because nothing reads the pipe does not affect requests or the shutdown', async () => {
    const silent = await startProcess({ env: WORDS_ONLY });
    silent.leaveUnread();
    for (let i = 0; i < RECALLS; i++) {
      expect((await send(silent.port, { path })).status).toBe(200);
    }
    expect(await silent.stop()).toMatchObject({ code: 0, stderr: '' });
  });
});

describe('cross-origin access', () => {
  const listed = { ...WORDS_ONLY, SERVICE_CORS_ORIGINS: 'https://a.example, https://b.example:8443' };
  const productionListed = useServer({ env: { ...listed, NODE_ENV: 'production' } });

  const rows: { row: string; client: Client; origin: string; allowed: boolean }[] = [
    { row: 'in development is allowed from any origin', client: memoryd, origin: 'http://any.example', allowed: true },
    {
      row: 'in development is allowed from a local origin',
      client: memoryd,
      origin: 'http://localhost:5173',
      allowed: true,
    },
    {
      row: 'in production is allowed from no origin by default',
      client: production,
      origin: 'http://any.example',
      allowed: false,
    },
    {
      row: 'in production is allowed from the first listed origin',
      client: productionListed,
      origin: 'https://a.example',
      allowed: true,
    },
    {
      row: 'in production is allowed from the second listed origin',
      client: productionListed,
      origin: 'https://b.example:8443',
      allowed: true,
    },
    {
      row: 'in production is denied from an origin that is not listed',
      client: productionListed,
      origin: 'https://c.example',
      allowed: false,
    },
    {
      row: 'in production is denied from a listed host on another port',
      client: productionListed,
      origin: 'https://b.example',
      allowed: false,
    },
    {
      row: 'in production is denied from a listed host with another scheme',
      client: productionListed,
      origin: 'http://a.example',
      allowed: false,
    },
    {
      row: 'in production is denied from a longer host name',
      client: productionListed,
      origin: 'https://a.example.org',
      allowed: false,
    },
    { row: 'in production is denied from the origin null', client: productionListed, origin: 'null', allowed: false },
  ];
  const expectOrigin = (header: string | string[] | undefined, origin: string, allowed: boolean) => {
    if (allowed) expect(['*', origin]).toContain(header);
    else expect([undefined, 'false', '']).toContain(header);
  };

  it.each(rows)('cross-origin access $row', async ({ client, origin, allowed }) => {
    const answer = await client.send({ path: '/stats', headers: { origin } });
    expectOrigin(answer.headers['access-control-allow-origin'], origin, allowed);
  });

  const preflights: { method: string; path: string; requestedHeaders: string }[] = [
    { method: 'POST', path: '/store', requestedHeaders: 'content-type,idempotency-key' },
    { method: 'PUT', path: '/update/x', requestedHeaders: 'content-type,if-match' },
    { method: 'PATCH', path: '/memories?tag=x', requestedHeaders: 'content-type' },
    { method: 'DELETE', path: '/forget/x', requestedHeaders: 'if-match' },
    { method: 'GET', path: '/recall?query=a', requestedHeaders: 'authorization,x-api-key' },
  ];
  it.each(preflights)(
    'follows the same rules for a preflight of $method $path',
    async ({ method, path, requestedHeaders }) => {
      for (const { client, origin, allowed } of rows) {
        const answer = await client.send({
          ...{ method: 'OPTIONS', path },
          headers: {
            origin,
            'access-control-request-method': method,
            'access-control-request-headers': requestedHeaders,
          },
        });
        expectOrigin(answer.headers['access-control-allow-origin'], origin, allowed);
        if (!allowed) continue;
        expect([200, 204]).toContain(answer.status);
        const list = (name: string) =>
          String(answer.headers[name] ?? '')
            .toLowerCase()
            .split(/\s*,\s*/);
        expect(list('access-control-allow-methods')).toContain(method.toLowerCase());
        expect(list('access-control-allow-headers')).toEqual(expect.arrayContaining(requestedHeaders.split(',')));
      }
    },
  );

  it('follows the rules of development for any NODE_ENV other than production', () => {
    expect(readSettings({}, { NODE_ENV: 'staging' }).production).toBe(false);
    expect(readSettings({}, { NODE_ENV: 'production' }).production).toBe(true);
  });

  it('cross-origin access includes CORS headers in error responses', async () => {
    const answer = await memoryd.send({ path: '/nothing', headers: { origin: 'http://any.example' } });
    expectOrigin(answer.headers['access-control-allow-origin'], 'http://any.example', true);
  });

  it('cross-origin access without keys in development causes one startup warning that any web page may call the service', async () => {
    const warnings = (client: Client) => client.server.records().filter(({ level }) => level === 'WARN');
    expect(warnings(memoryd).length).toBe(1);
    expect(JSON.stringify(warnings(memoryd)[0])).toMatch(/web page/i);
    expect(warnings(production)).toEqual([]);
    expect(warnings(productionListed)).toEqual([]);
  });
});
