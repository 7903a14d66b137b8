import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { get } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type MemoryApi, MemoryError } from '@memoryd/contract';
import { MEMORY_API_METHODS } from '@memoryd/contract/scoped';
import { type EmbedderHealth, type Engine, openEngine, type TelemetryEvent } from '@memoryd/engine';
import type { FastifyContextConfig, RouteOptions } from 'fastify';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { builtFolder } from '../built-folder.ts';
import { MCP_TOOLS } from '../mcp/tools.ts';
import { createMetrics } from '../metrics/metrics.ts';
import { httpPage } from '../reference-pages/http.ts';
import { engineSettings } from '../settings/engine-settings.ts';
import { readSettings } from '../settings/read.ts';
import { buildApp } from './app.ts';
import type { App } from './routes/route.ts';

const folder = mkdtempSync(join(tmpdir(), 'memoryd-app-'));
const settings = readSettings({ embedder: 'none', consolidationIntervalSeconds: '0' }, {});
const telemetry = { report: () => {} };
let engine: Engine;
let app: App;

beforeAll(async () => {
  engine = await openEngine({ ...engineSettings(settings), dbPath: join(folder, 'memory.db'), telemetry });
  app = await buildApp({ settings, engine, metrics: createMetrics(), telemetry });
});
afterAll(async () => {
  await app.close();
  await engine.close();
  rmSync(folder, { recursive: true });
});

describe('the OpenAPI document', () => {
  type Operation = { operationId: string; responses: Record<string, unknown>; parameters?: { name: string }[] };
  const read = async () =>
    (await app.inject('/openapi.json')).json<{
      openapi: string;
      paths: Record<string, Record<string, Operation>>;
      components: { schemas: Record<string, unknown> };
    }>();

  it('names its operations as the MemoryApi names its verbs', async () => {
    const OPERATORS = [
      ...['root', 'health', 'readiness', 'liveness', 'metrics', 'listKeys', 'addKey', 'revokeKey'],
      ...['listNamespaces', 'setQuota', 'setUserQuota', 'deleteNamespace'],
    ];
    const operations = Object.values((await read()).paths).flatMap((path) => Object.values(path));
    const ids = operations.map(({ operationId }) => operationId).sort();
    expect(ids).toEqual([...Object.keys(MEMORY_API_METHODS), 'backup', ...OPERATORS].sort());
    for (const { responses } of operations) expect(responses).toHaveProperty('400');
  });

  it('describes metadata filters and the headers of writes', async () => {
    const { paths } = await read();
    const names = (path: string, method: string) => paths[path]?.[method]?.parameters?.map(({ name }) => name);
    expect(names('/recall', 'get')).toEqual(expect.arrayContaining(['query', 'tag', 'metadata.<key>']));
    expect(names('/recall', 'get')).not.toContain('metadata');
    expect(names('/store', 'post')).toContain('Idempotency-Key');
    expect(names('/update/{memory_id}', 'put')).toContain('If-Match');
  });

  it('is what docs/reference/http.md shows (`npm run http-page --workspace memoryd` writes it)', async () => {
    const page = readFileSync(new URL('../../../../docs/reference/http.md', import.meta.url), 'utf8');
    expect(page).toBe(httpPage((await app.inject('/openapi.json')).json()));
  });

  it('refers only to schemas that it holds', async () => {
    const document = await read();
    expect(document.openapi).toMatch(/^3\.1\./);
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"(.*?)"/g)].map(([, target]) => target);
    expect(references.length).toBeGreaterThan(0);
    const known = Object.keys(document.components.schemas).map((name) => `#/components/schemas/${name}`);
    expect(known).toEqual(expect.arrayContaining([...new Set(references)]));
  });
});

describe('a tool of MCP', () => {
  const routes = new Map<string | undefined, FastifyContextConfig | undefined>();
  beforeAll(async () => {
    const onRoute = ({ schema, config }: RouteOptions) => routes.set(schema?.operationId, config);
    await (await buildApp({ settings, engine, metrics: createMetrics(), telemetry, onRoute })).close();
  });

  it.each(MCP_TOOLS.map((tool) => [tool.listed.name, tool] as const))(
    'wants the scope and takes the turn that the route of its verb does: %s',
    (verb, { scope, heavy }) => {
      expect({ access: scope, heavy }).toEqual({ access: routes.get(verb)?.access, heavy: routes.get(verb)?.heavy });
    },
  );
});

describe('/health', () => {
  let state: EmbedderHealth;
  let another: App;
  beforeAll(async () => {
    const served = { ...engine, embedder: () => state };
    another = await buildApp({ settings, engine: served, metrics: createMetrics(), telemetry });
  });
  afterAll(() => another.close());

  it.each([
    [{ state: 'off' }, { embedder: 'off' }],
    [{ state: 'ready' }, { embedder: 'ready' }],
    [
      { state: 'unavailable', problem: 'the embedding server wants an API key (401)', option: 'embeddingApiKey' },
      {
        embedder: 'unavailable',
        embedder_problem: 'the embedding server wants an API key (401); look at SERVICE_EMBEDDING_API_KEY',
      },
    ],
    [
      { state: 'unavailable', problem: 'the model is not open yet' },
      { embedder: 'unavailable', embedder_problem: 'the model is not open yet' },
    ],
  ] satisfies [EmbedderHealth, object][])('tells of an embedder in state %j', async (reported, told) => {
    state = reported;
    const { status, embedder, embedder_problem } = (await another.inject('/health')).json();
    expect({ embedder, ...(embedder_problem !== undefined && { embedder_problem }) }).toEqual(told);
    expect(status).toBe('healthy');
  });
});

describe('/health of a database', () => {
  const healthWith = async (stats: MemoryApi['stats']) => {
    const reported: TelemetryEvent[] = [];
    const served = { ...engine, namespace: (name: string) => ({ ...engine.namespace(name), stats }) };
    const noting = { report: (event: TelemetryEvent) => void reported.push(event) };
    const another = await buildApp({ settings, engine: served, metrics: createMetrics(), telemetry: noting });
    const { statusCode, ...answer } = await another.inject('/health');
    await another.close();
    return { statusCode, health: answer.json(), reported: reported.map(({ event }) => event) };
  };
  const unhealthy = { status: 'unhealthy', db_connected: false };

  it('that does not answer is told in the end', { timeout: 20_000 }, async () => {
    const { statusCode, health } = await healthWith(() => new Promise(() => {}));
    expect([statusCode, health]).toEqual([503, expect.objectContaining(unhealthy)]);
  });

  it.each([
    [new MemoryError('UNAVAILABLE', 'the disk is full'), ['service_unhealthy']],
    [new TypeError('a defect'), ['health_unknown', 'service_unhealthy']],
  ])('that rejects with %s is told, and a defect is in the log', async (error, events) => {
    const { statusCode, health, reported } = await healthWith(() => Promise.reject(error));
    expect([statusCode, health]).toEqual([503, expect.objectContaining(unhealthy)]);
    expect(reported).toEqual(events);
  });
});

describe('/mcp', () => {
  /** Changes verbs of a namespace. */
  let change: (api: MemoryApi) => Partial<MemoryApi> = () => ({});
  let usual: App;
  let impatient: App;
  beforeAll(async () => {
    const namespace = (name: string) => ({ ...engine.namespace(name), ...change(engine.namespace(name)) });
    const options = { engine: { ...engine, namespace }, metrics: createMetrics(), telemetry };
    usual = await buildApp({ ...options, settings });
    impatient = await buildApp({ ...options, settings: { ...settings, slowClientSeconds: 1 } });
    for (const changed of [usual, impatient]) await changed.listen({ host: '127.0.0.1', port: 0 });
  });
  afterAll(async () => {
    for (const changed of [usual, impatient]) await changed.close();
  });

  /** Sends messages to a server some of whose verbs are changed, and returns its answer. */
  async function post(messages: object, verbs: typeof change, changed = usual): Promise<string> {
    change = verbs;
    const { port } = changed.server.address() as AddressInfo;
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
    const answer = await fetch(`http://127.0.0.1:${port}/mcp`, {
      method: 'POST',
      headers,
      body: JSON.stringify(messages),
    });
    return answer.text();
  }

  const getCall = (name: string, args: object) => ({ method: 'tools/call', params: { name, arguments: args } });

  it('answers a call that takes longer than a connection may be idle', async () => {
    const call = { jsonrpc: '2.0', id: 1, ...getCall('stats', {}) };
    const answer = await post(call, ({ stats }) => ({ stats: () => delay(2500).then(() => stats()) }), impatient);
    expect(answer).toMatch(/^data: .*"structuredContent"/m);
  });

  it.each([
    { verb: 'recall', most: 32, request: getCall('recall', { query: 'x' }) },
    {
      verb: 'recall',
      most: 32,
      request: { method: 'prompts/get', params: { name: 'recall_context', arguments: { task: 'x' } } },
    },
    { verb: 'session', most: 8, request: getCall('session', { session_id: 'x' }) },
    { verb: 'session', most: 8, request: { method: 'resources/read', params: { uri: 'session://x' } } },
    { verb: 'sessions', most: 8, request: { method: 'resources/list' } },
    { verb: 'consolidate', most: 64, request: getCall('consolidate', {}) },
  ] as const)(
    'lets what a batch asks for take turns as requests do: $verb by $request.method',
    async ({ verb, most, request }) => {
      let running = 0;
      let mostRunning = 0;
      const batch = Array.from({ length: 100 }, (_, id) => ({ jsonrpc: '2.0', id, ...request }));
      const answer = await post(batch, (api) => ({
        [verb]: async (...args: never[]) => {
          mostRunning = Math.max(mostRunning, ++running);
          await delay(5);
          running--;
          return (api[verb] as (...args: never[]) => unknown)(...args);
        },
      }));
      expect(answer.match(/^data: .*"result"/gm)).toHaveLength(100);
      expect(answer).not.toContain('"isError":true');
      expect(mostRunning).toBe(most);
    },
  );
});

describe('/backup and /export', () => {
  const full = new MemoryError('UNAVAILABLE', 'the disk has no room for a copy');
  let another: App;
  beforeAll(async () => {
    const refuse = (): never => {
      throw full;
    };
    const served = {
      ...engine,
      backup: async () => refuse(),
      namespace: (name: string) => ({ ...engine.namespace(name), exportMemories: refuse }),
    };
    another = await buildApp({ settings, engine: served, metrics: createMetrics(), telemetry });
  });
  afterAll(() => another.close());

  it.each(['/backup', '/export'])('%s returns 503 where there is no room for a copy', async (url) => {
    const answer = await another.inject(url);
    expect(answer.statusCode).toBe(503);
    expect(answer.headers['retry-after']).toBe('1');
    expect(answer.json()).toMatchObject({ error: { code: 'UNAVAILABLE', message: full.message } });
    expect(answer.headers['content-disposition']).toBeUndefined();
  });
});

describe('a documentation page', () => {
  it.each(['/docs', '/redoc'])('at %s loads everything from the service itself', async (url) => {
    const page = await app.inject(url);
    expect(page.statusCode).toBe(200);
    expect(page.headers['content-security-policy']).toContain("default-src 'none'");
    expect(page.headers['content-security-policy']).not.toMatch(/https?:/);
    const loads = [...page.body.matchAll(/(?:src|href|spec-url)="(?!data:)(.*?)"/g)].map(([, target]) => target ?? '');
    expect(loads.length).toBeGreaterThan(0);
    for (const target of loads) expect((await app.inject(target)).statusCode, target).toBe(200);
  });

  it('comes with a Redoc bundle that loads no picture from its maker', () => {
    const bundle = readFileSync(join(builtFolder('redoc'), 'redoc.standalone.js'), 'utf8');
    expect(bundle).not.toContain('cdn.redoc');
  });
});

describe('an answer', () => {
  it.each(['/', '/nowhere', '/session/%zz', '/recall?query=%ff', '/docs'])('to %s names its request', async (url) => {
    const { headers } = await app.inject(url);
    expect(headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
    expect(headers['x-request-id']).not.toBe((await app.inject(url)).headers['x-request-id']);
  });

  it('to an OpenMetrics scraper has its type', async () => {
    const accept = 'application/openmetrics-text;version=1.0.0,text/plain;q=0.5';
    const scraped = await app.inject({ url: '/metrics', headers: { accept } });
    expect(scraped.headers['content-type']).toContain('application/openmetrics-text; version=1.0.0');
    expect((await app.inject('/metrics')).headers['content-type']).toContain('text/plain; version=0.0.4');
  });
});

describe('a header after many others', () => {
  let open: App;
  let port: string;
  beforeAll(async () => {
    open = await buildApp({ settings, engine, metrics: createMetrics(), telemetry });
    ({ port } = new URL(await open.listen({ host: '127.0.0.1', port: 0 })));
  });
  afterAll(() => open.close());

  /** The status that a server without keys returns to this machine, which then needs none. */
  async function statusAfter(others: number, headers: Record<string, string>): Promise<number | undefined> {
    const junk = Object.fromEntries(Array.from({ length: others }, (_, i) => [`x-junk-${i}`, 'x']));
    const sent = get({ host: '127.0.0.1', port, path: '/stats', headers: { host: 'localhost', ...junk, ...headers } });
    const [answer] = await once(sent, 'response');
    answer.resume();
    return answer.statusCode;
  }

  it.each([0, 1100, 10_000])('tells of a proxy after %d of them', async (others) => {
    expect(await statusAfter(others, {})).toBe(200);
    expect(await statusAfter(others, { 'x-forwarded-for': '203.0.113.7' })).toBe(401);
  });
});

describe('a caller who goes while the keys are looked up', () => {
  /** Longer than a caller waits here. */
  const LOOKED_UP_MS = 200;

  it('takes no turn and no stream', async () => {
    const keys = { ...engine.keys, areNeeded: () => delay(LOOKED_UP_MS).then(() => engine.keys.areNeeded()) };
    const slow = await buildApp({ settings, engine: { ...engine, keys }, metrics: createMetrics(), telemetry });
    onTestFinished(() => slow.close());
    const address = await slow.listen({ port: 0 });
    for (const path of ['/backup', '/events', '/export']) {
      await expect(fetch(address + path, { signal: AbortSignal.timeout(LOOKED_UP_MS / 4) })).rejects.toThrow();
    }
    await delay(2 * LOOKED_UP_MS);
    const { body } = await slow.inject({ url: '/metrics', headers: { accept: 'application/openmetrics-text' } });
    const taken = body.match(/^service_(?:heavy_requests_running|event_streams)\b.* [1-9].*$/gm);
    expect(taken).toBeNull();
  });
});
