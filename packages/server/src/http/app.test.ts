import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { get } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type MemoryApi, MemoryError } from '@memoryd/contract';
import { type EmbedderHealth, type Engine, openEngine } from '@memoryd/engine';
import { Validator } from '@seriousme/openapi-schema-validator';
import type { FastifyContextConfig, RouteOptions } from 'fastify';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { getBuildFolder } from '../built-folder.ts';
import { MCP_TOOLS } from '../mcp/tools.ts';
import { createMetrics } from '../metrics/metrics.ts';
import { httpPage } from '../reference-pages/http.ts';
import { resolveReferences } from '../reference-pages/resolve-references.ts';
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
  interface Schema {
    $ref?: string;
    items?: Schema;
    anyOf?: Schema[];
  }
  interface Body {
    content?: Record<string, { schema?: Schema }>;
  }
  interface Operation {
    operationId: string;
    requestBody?: Body;
    responses: Record<string, Body>;
    parameters?: { name: string }[];
  }
  const VERBS =
    /^(add|answer|consolidate|decide|delete|download|export|forget|get|import|list|preview|query|recall|revoke|set|store|stream|undo|update)[A-Z]/;
  const read = async () =>
    (await app.inject('/openapi.json')).json<{
      openapi: string;
      paths: Record<string, Record<string, Operation>>;
      components: { schemas: Record<string, unknown> };
    }>();

  it('the OpenAPI document has an operation id that begins with a verb for each operation, and no id twice', async () => {
    const operations = Object.values((await read()).paths).flatMap((path) => Object.values(path));
    const ids = operations.map(({ operationId }) => operationId);
    expect(ids.filter((id) => !VERBS.test(id))).toEqual([]);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { responses } of operations) expect(responses).toHaveProperty('400');
  });

  it('the OpenAPI document is valid OpenAPI 3.1', async () => {
    const document = await read();
    expect(document.openapi).toMatch(/^3\.1\./);
    const { valid, errors } = await new Validator().validate(document);
    expect({ valid, errors }).toEqual({ valid: true, errors: undefined });
  });

  it('describes each JSON body by a named component, a list of them, or alternatives', async () => {
    const { paths } = await read();
    const bodies = Object.entries(paths).flatMap(([path, methods]) =>
      Object.values(methods).flatMap(({ requestBody, responses }) =>
        [requestBody, ...Object.values(responses)].flatMap((body) => {
          const schema = body?.content?.['application/json']?.schema;
          return schema && path !== '/hooks/{program}' ? [schema] : [];
        }),
      ),
    );
    expect(bodies.length).toBeGreaterThan(200);
    const isNamed = ({ $ref, items, anyOf }: Schema): boolean =>
      $ref !== undefined || (items !== undefined && isNamed(items)) || (anyOf?.every(isNamed) ?? false);
    expect(bodies.filter((schema) => !isNamed(schema))).toEqual([]);
  });

  it('the OpenAPI document has the components that generated clients name, all that it references, and no others', async () => {
    const document = await read();
    const names = Object.keys(document.components.schemas);
    expect(names).toEqual(
      expect.arrayContaining([
        ...['Memory', 'StoreRequest', 'RecallRequest', 'RecallResult', 'ContextResponse', 'Session', 'Error'],
        ...['Filter', 'MetadataFilter', 'ExportLine', 'MemoryEvent', 'Tier', 'ErrorCode'],
      ]),
    );
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"(.*?)"/g)].map(([, target]) => target);
    expect([...new Set(references)].sort()).toEqual(names.map((name) => `#/components/schemas/${name}`).sort());
  });

  it('describes metadata filters and the headers of write operations', async () => {
    const { paths } = resolveReferences(await read());
    const names = (path: string, method: string) => paths[path]?.[method]?.parameters?.map(({ name }) => name);
    expect(names('/recall', 'get')).toEqual(expect.arrayContaining(['query', 'tag', 'metadata']));
    const metadata = paths['/memories']?.delete?.parameters?.find(({ name }) => name === 'metadata');
    expect(metadata).toMatchObject({
      ...{ in: 'query', style: 'deepObject', explode: true },
      schema: { type: 'object', additionalProperties: { type: 'string' }, propertyNames: { minLength: 1 } },
    });
    expect(JSON.stringify(paths)).not.toContain('<key>');
    expect(names('/store', 'post')).toContain('Idempotency-Key');
    expect(names('/update/{memory_id}', 'put')).toContain('If-Match');
  });

  it('allows an empty value of the query parameters that the service then treats as absent', async () => {
    const { paths } = await read();
    const getNames = (path: string, method: string) =>
      (paths[path]?.[method]?.parameters as { name: string; allowEmptyValue?: boolean }[] | undefined)
        ?.filter(({ allowEmptyValue }) => allowEmptyValue)
        .map(({ name }) => name);
    expect(getNames('/sessions', 'get')).toEqual(expect.arrayContaining(['filter', 'source', 'since', 'cursor']));
    expect(getNames('/sessions', 'get')).not.toContain('user_id');
    // Without a filter, a deletion would delete more.
    expect(getNames('/memories', 'delete')).toEqual([]);
    expect((await app.inject('/sessions?filter=&source=&since=&cursor=')).statusCode).toBe(200);
  });

  it('matches docs/reference/http.md (written by `npm run http-page --workspace memoryd`)', async () => {
    const page = readFileSync(new URL('../../../../docs/reference/http.md', import.meta.url), 'utf8');
    expect(page).toBe(httpPage((await app.inject('/openapi.json')).json()));
  });
});

describe('an MCP tool', () => {
  const routes = new Map<string, FastifyContextConfig | undefined>();
  beforeAll(async () => {
    // Each tool has the name of the path of its route.
    const onRoute = ({ url, config }: RouteOptions) => routes.set(url.replace(/\/:.*/, ''), config);
    await (await buildApp({ settings, engine, metrics: createMetrics(), telemetry, onRoute })).close();
  });

  it.each(MCP_TOOLS.map((tool) => [tool.listed.name, tool] as const))(
    'an MCP tool has the scope and the concurrency limit of its route: %s',
    (name, { scope, heavy }) => {
      const route = routes.get(name.replace('memory_', '/'));
      // The store tool always asks for similar memories.
      expect({ access: scope, heavy }).toEqual({
        access: route?.access,
        heavy: route?.heavy ?? route?.heavyWith?.kind,
      });
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
      { state: 'unavailable', problem: 'the embedding server requires an API key (401)', option: 'embeddingApiKey' },
      {
        embedder: 'unavailable',
        embedder_problem: 'the embedding server requires an API key (401); check SERVICE_EMBEDDING_API_KEY',
      },
    ],
    [
      { state: 'unavailable', problem: 'the model is not open yet' },
      { embedder: 'unavailable', embedder_problem: 'the model is not open yet' },
    ],
  ] satisfies [EmbedderHealth, object][])('reports an embedder in the state %j', async (reported, expected) => {
    state = reported;
    const { status, embedder, embedder_problem } = (await another.inject('/health')).json();
    expect({ embedder, ...(embedder_problem !== undefined && { embedder_problem }) }).toEqual(expected);
    expect(status).toBe('healthy');
  });
});

describe('/mcp', () => {
  /** Replaces methods of the MemoryApi. */
  let override: (api: MemoryApi) => Partial<MemoryApi> = () => ({});
  let defaultApp: App;
  let shortTimeoutApp: App;
  beforeAll(async () => {
    const namespace = (name: string) => ({ ...engine.namespace(name), ...override(engine.namespace(name)) });
    const options = { engine: { ...engine, namespace }, metrics: createMetrics(), telemetry };
    defaultApp = await buildApp({ ...options, settings });
    shortTimeoutApp = await buildApp({ ...options, settings: { ...settings, slowClientSeconds: 1 } });
    for (const each of [defaultApp, shortTimeoutApp]) await each.listen({ host: '127.0.0.1', port: 0 });
  });
  afterAll(async () => {
    for (const each of [defaultApp, shortTimeoutApp]) await each.close();
  });

  /** Sends messages to a server with some methods replaced, and returns the response text. */
  async function post(
    messages: object,
    overrides: typeof override,
    target = defaultApp,
    more: Record<string, string> = {},
  ): Promise<string> {
    override = overrides;
    const { port } = target.server.address() as AddressInfo;
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...more };
    const response = await fetch(`http://127.0.0.1:${port}/mcp?tools=all&structured=true`, {
      method: 'POST',
      headers,
      body: JSON.stringify(messages),
    });
    return response.text();
  }

  const getCall = (name: string, args: object) => ({ method: 'tools/call', params: { name, arguments: args } });

  it.each(['2025-11-25', '2026-07-28'])(
    'returns the result of a call that takes longer than the idle timeout of a connection, in protocol revision %s',
    async (revision) => {
      const _meta = {
        'io.modelcontextprotocol/protocolVersion': revision,
        'io.modelcontextprotocol/clientCapabilities': {},
      };
      const { method, params } = getCall('memory_stats', {});
      const named = revision === '2026-07-28' ? { ...params, _meta } : params;
      const response = await post(
        { jsonrpc: '2.0', id: 1, method, params: named },
        ({ stats }) => ({ stats: () => delay(2500).then(() => stats()) }),
        shortTimeoutApp,
        { 'mcp-protocol-version': revision, 'mcp-method': method, 'mcp-name': params.name },
      );
      expect(response).toMatch(/^data: .*"structuredContent"/m);
    },
  );

  it.each([
    { method: 'recall', limit: 32, request: getCall('memory_recall', { query: 'x' }) },
    {
      method: 'context',
      limit: 32,
      request: { method: 'prompts/get', params: { name: 'memory_context', arguments: { task: 'x' } } },
    },
    { method: 'session', limit: 8, request: getCall('memory_session', { session_id: 'x' }) },
    { method: 'session', limit: 8, request: { method: 'resources/read', params: { uri: 'session://x' } } },
    { method: 'sessions', limit: 8, request: { method: 'resources/list' } },
    { method: 'consolidate', limit: 64, request: getCall('memory_consolidate', {}) },
  ] as const)(
    'applies the concurrency limit to each call of a batch: $method by $request.method',
    async ({ method, limit, request }) => {
      let running = 0;
      let maxRunning = 0;
      const batch = Array.from({ length: 100 }, (_, id) => ({ jsonrpc: '2.0', id, ...request }));
      const response = await post(batch, (api) => ({
        [method]: async (...args: never[]) => {
          maxRunning = Math.max(maxRunning, ++running);
          await delay(5);
          running--;
          return (api[method] as (...args: never[]) => unknown)(...args);
        },
      }));
      expect(response.match(/^data: .*"result"/gm)).toHaveLength(100);
      expect(response).not.toContain('"isError":true');
      expect(maxRunning).toBe(limit);
    },
  );
});

describe('on a full disk', () => {
  const full = new MemoryError('UNAVAILABLE', 'the disk is full');
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

  it.each(['/backup', '/export'])('%s returns 503 on a full disk', async (url) => {
    const response = await another.inject(url);
    expect(response.statusCode).toBe(503);
    expect(response.headers['retry-after']).toBe('1');
    expect(response.json()).toMatchObject({ error: { code: 'UNAVAILABLE', message: full.message } });
    expect(response.headers['content-disposition']).toBeUndefined();
  });
});

describe('a documentation page', () => {
  it.each(['/docs', '/redoc'])(
    'a documentation page at %s loads all resources from the service itself',
    async (url) => {
      const page = await app.inject(url);
      expect(page.statusCode).toBe(200);
      expect(page.headers['content-security-policy']).toContain("default-src 'none'");
      expect(page.headers['content-security-policy']).not.toMatch(/https?:/);
      const loads = [...page.body.matchAll(/(?:src|href|spec-url)="(?!data:)(.*?)"/g)].map(
        ([, target]) => target ?? '',
      );
      expect(loads.length).toBeGreaterThan(0);
      for (const target of loads) expect((await app.inject(target)).statusCode, target).toBe(200);
    },
  );

  it('a documentation page has a Redoc bundle that loads no image from another host', () => {
    const bundle = readFileSync(join(getBuildFolder('redoc'), 'redoc.standalone.js'), 'utf8');
    expect(bundle).not.toContain('cdn.redoc');
  });
});

describe('a response', () => {
  it.each(['/', '/nowhere', '/session/%zz', '/recall?query=%ff', '/docs'])(
    'a response to %s has a unique request id',
    async (url) => {
      const { headers } = await app.inject(url);
      expect(headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
      expect(headers['x-request-id']).not.toBe((await app.inject(url)).headers['x-request-id']);
    },
  );

  it('a response to an OpenMetrics scraper has the OpenMetrics content type', async () => {
    const accept = 'application/openmetrics-text;version=1.0.0,text/plain;q=0.5';
    const scraped = await app.inject({ url: '/metrics', headers: { accept } });
    expect(scraped.headers['content-type']).toContain('application/openmetrics-text; version=1.0.0');
    expect((await app.inject('/metrics')).headers['content-type']).toContain('text/plain; version=0.0.4');
  });
});

describe('a proxy header', () => {
  let open: App;
  let port: string;
  beforeAll(async () => {
    open = await buildApp({ settings, engine, metrics: createMetrics(), telemetry });
    ({ port } = new URL(await open.listen({ host: '127.0.0.1', port: 0 })));
  });
  afterAll(() => open.close());

  /** Returns the status of a local request to a server without keys, which needs no key unless it is forwarded. */
  async function statusAfter(others: number, headers: Record<string, string>): Promise<number | undefined> {
    const junk = Object.fromEntries(Array.from({ length: others }, (_, i) => [`x-junk-${i}`, 'x']));
    const sent = get({ host: '127.0.0.1', port, path: '/stats', headers: { host: 'localhost', ...junk, ...headers } });
    const [response] = await once(sent, 'response');
    response.resume();
    return response.statusCode;
  }

  it.each([0, 1100, 10_000])('a proxy header is read after %d other headers', async (others) => {
    expect(await statusAfter(others, {})).toBe(200);
    expect(await statusAfter(others, { 'x-forwarded-for': '203.0.113.7' })).toBe(401);
  });
});

describe('a client that disconnects while its key is checked', () => {
  /** Longer than the client waits here. */
  const LOOKUP_MS = 200;

  it('occupies no concurrency slot and no event stream', async () => {
    const keys = { ...engine.keys, areRequired: () => delay(LOOKUP_MS).then(() => engine.keys.areRequired()) };
    const slow = await buildApp({ settings, engine: { ...engine, keys }, metrics: createMetrics(), telemetry });
    onTestFinished(() => slow.close());
    const address = await slow.listen({ port: 0 });
    for (const path of ['/backup', '/events', '/export']) {
      await expect(fetch(address + path, { signal: AbortSignal.timeout(LOOKUP_MS / 4) })).rejects.toThrow();
    }
    await delay(2 * LOOKUP_MS);
    const { body } = await slow.inject({ url: '/metrics', headers: { accept: 'application/openmetrics-text' } });
    const taken = body.match(/^service_(?:heavy_requests_running|event_streams)\b.* [1-9].*$/gm);
    expect(taken).toBeNull();
  });
});
