import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ERRORS } from '@memoryd/contract';
import { describe, expect, it, onTestFinished } from 'vitest';
import { useServer, WORDS_ONLY } from '../../server/conformance/under-test.ts';
import { MemoryClient } from '../src/index.ts';
import { CODE_OF_STATUS } from '../src/memory-error.ts';
import { SCHEMAS } from '../src/operation-schemas.fixture.ts';
import { OPERATIONS } from '../src/operations.ts';

const memoryd = useServer({ env: WORDS_ONLY });

interface Schema {
  type?: string;
  enum?: unknown[];
  format?: string;
  properties?: Record<string, Schema>;
  items?: Schema;
}
interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
  schema: Schema;
}
interface Described {
  name: string;
  method: string;
  path: string;
  parameters: Parameter[];
  /** The media type of its body. */
  type: string | undefined;
  body: Schema | undefined;
  response: Schema | undefined;
}
interface Document {
  paths: Record<
    string,
    Record<
      string,
      {
        operationId: string;
        parameters?: Parameter[];
        requestBody?: { content: Record<string, { schema: Schema }> };
        responses: Record<string, { content: Record<string, { schema: Schema }> }>;
      }
    >
  >;
}

/** Operations for orchestrators and operators, and headers for caches, that the client has no use for. */
const ONLY_FOR_OTHERS = new Set([
  ...['readiness', 'liveness', 'If-None-Match'],
  ...['listKeys', 'addKey', 'revokeKey', 'listNamespaces', 'setQuota', 'setUserQuota', 'deleteNamespace'],
]);

async function describedOperations(): Promise<Described[]> {
  const { paths } = await memoryd.get<Document>('/openapi.json');
  const described = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId, parameters = [], requestBody, responses }]) => ({
      name: operationId,
      method: method.toUpperCase(),
      path,
      parameters: parameters.filter(({ name }) => !ONLY_FOR_OTHERS.has(name)),
      type: Object.keys(requestBody?.content ?? {})[0],
      body: Object.values(requestBody?.content ?? {})[0]?.schema,
      response: Object.values(responses['200']?.content ?? {})[0]?.schema,
    })),
  );
  return described.filter(({ name }) => !ONLY_FOR_OTHERS.has(name));
}

/** Values that only a faithful way of writing them brings across. */
function getSample({ type, enum: values, format, items }: Schema): unknown {
  if (values) return values[0];
  if (format === 'date-time') return '2026-01-31T09:30:00+01:00';
  if (type === 'array') return [getSample(items ?? {}), getSample(items ?? {})];
  if (type === 'integer') return 7;
  if (type === 'number') return 1e-7;
  if (type === 'boolean') return true;
  return 'a b/ü?&=#%+';
}

interface Given {
  id: string;
  query: Record<string, unknown>;
  body: unknown;
}

const KEY = 'a key';

/** How each method is given what an operation may be given. */
const CALLS: Record<keyof typeof OPERATIONS, (client: MemoryClient, given: Given) => unknown> = {
  root: (client) => client.root(),
  health: (client) => client.health(),
  metrics: (client) => client.metrics(),
  stats: (client, { query }) => client.stats(query),
  store: (client, { body }) => client.store(body as never, { idempotencyKey: KEY }),
  storeBatch: (client, { body }) => client.storeBatch(body as never, { idempotencyKey: KEY }),
  recall: (client, { query }) => client.recall(query as never),
  session: (client, { id, query }) => client.session({ session_id: id, ...query }),
  sessions: (client, { query }) => client.sessions(query),
  users: (client, { query }) => client.users(query),
  memory: (client, { id, query }) => client.memory(id, query),
  history: (client, { id, query }) => client.history(id, query),
  memories: (client, { query }) => client.memories(query),
  update: (client, { id, query, body }) => client.update(id, body as never, { ...query, ifVersions: [3, 4] }),
  forget: (client, { id, query }) => client.forget(id, { ...query, ifVersions: [3, 4] }),
  forgetMany: (client, { query }) => client.forgetMany(query),
  consolidate: (client, { query }) => client.consolidate(query),
  consolidations: (client, { query }) => client.consolidations(query),
  consolidation: (client, { id, query }) => client.consolidation({ id, ...query }),
  undo: (client, { id }) => client.undo(id),
  events: (client, { query }) => client.events({ ...query, last_event_id: KEY }).next(),
  exportMemories: (client, { query }) => client.exportMemories(query).next(),
  importMemories: (client, { query }) => client.importMemories(lines('{"sampled":"ü 🎉"}'), query),
  backup: (client) => client.backup().next(),
};

async function* lines(...texts: string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield new TextEncoder().encode(text);
}

/** What the headers that operations have must say. */
const HEADERS: Record<string, string> = { 'Idempotency-Key': KEY, 'If-Match': '"3", "4"', 'Last-Event-ID': KEY };

interface Sent {
  method: string;
  url: URL;
  headers: IncomingHttpHeaders;
  body: string;
}

/** A service that takes note of what it is sent and answers little. */
async function recorder(): Promise<{ client: MemoryClient; sent: Sent[] }> {
  const sent: Sent[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk;
    const { method = '', url = '', headers } = request;
    sent.push({ method, url: new URL(url, 'http://service'), headers, body });
    response.end(url.startsWith('/events') ? 'data: {"id":"1"}\n\n' : '{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return { client: new MemoryClient({ url: `http://127.0.0.1:${port}`, onWarning: () => {} }), sent };
}

/** A query string as requests write it: lists for what comes again, metadata by its keys. */
function getQuery({ searchParams }: URL): Record<string, string[]> {
  return Object.fromEntries([...new Set(searchParams.keys())].map((name) => [name, searchParams.getAll(name)]));
}

/** How a number, or whatever a sample is, stands in a query string. */
function written(sample: unknown): string[] {
  const values = Array.isArray(sample) ? sample : [sample];
  return values.map((value) => (value === 1e-7 ? '0.00000010000000000000' : String(value)));
}

/** A JSON Schema without what only describes, with maps written as OpenAPI documents write them. */
function bare(schema: unknown): unknown {
  const text = JSON.stringify(schema, (key, value) => {
    // The service shows examples beside the schema.
    if (['description', 'examples'].includes(key) || key.startsWith('x-')) return undefined;
    const { patternProperties, ...rest } = value ?? {};
    return patternProperties?.['^.*$'] ? { ...rest, additionalProperties: patternProperties['^.*$'] } : value;
  });
  return JSON.parse(text);
}

describe('the methods of the client', () => {
  it('are the operations of the service, by name, method and path', async () => {
    const described = (await describedOperations()).map(({ name, method, path }) => [name, { method, path }] as const);
    const known = Object.entries(OPERATIONS).map(([name, { method, path }]) => [name, { method, path }] as const);
    expect(Object.fromEntries(known)).toEqual(Object.fromEntries(described));
    const methods = Object.getOwnPropertyNames(MemoryClient.prototype).filter((name) => name !== 'constructor');
    // `scope` is about who is asked for, and asks nothing itself.
    expect(methods.sort()).toEqual([...described.map(([name]) => name), 'scope'].sort());
  });

  it.each(Object.keys(OPERATIONS) as (keyof typeof OPERATIONS)[])(
    '%s sends what the service takes, where it takes it',
    async (name) => {
      const operation = (await describedOperations()).find((described) => described.name === name) as Described;
      const of = (place: Parameter['in']) => operation.parameters.filter((parameter) => parameter.in === place);
      const samples = of('query').map((parameter) => [parameter.name, getSample(parameter.schema)] as const);
      const query = Object.fromEntries(
        samples.map(([key, sample]) => (key === 'metadata.<key>' ? ['metadata', { 'a.b c': sample }] : [key, sample])),
      );
      const body = operation.body && { sampled: 'ü 🎉' };
      const { client, sent } = await recorder();
      await CALLS[name](client, { id: 'a b/ü?&=#%', query, body });
      // Beside the call, the version is asked for.
      const { url, headers, ...request } = sent.find(
        ({ url: { pathname } }) => name === 'health' || pathname !== '/health',
      ) as Sent;
      expect(request.method).toBe(operation.method);
      expect(url.pathname).toBe(operation.path.replace(/\{\w+\}/, encodeURIComponent('a b/ü?&=#%')));
      expect(getQuery(url)).toEqual(
        Object.fromEntries(samples.map(([key, sample]) => [key.replace('<key>', 'a.b c'), written(sample)])),
      );
      expect(of('header').map((header) => [header.name, headers[header.name.toLowerCase()]])).toEqual(
        of('header').map((header) => [header.name, HEADERS[header.name]]),
      );
      expect(request.body.trim()).toBe(body === undefined ? '' : JSON.stringify(body));
      expect(headers['content-type']).toBe(operation.type);
    },
  );

  it.each(Object.keys(SCHEMAS) as (keyof typeof SCHEMAS)[])(
    '%s takes and answers what the service describes',
    async (name) => {
      const operation = (await describedOperations()).find((described) => described.name === name) as Described;
      const schemas: { request?: object; options?: object; response: object } = SCHEMAS[name];
      const { request, options = {}, response } = schemas;
      expect(bare(operation.response)).toEqual(bare(response));
      if (operation.body && request) {
        expect(bare(operation.body)).toEqual(bare(request));
        return;
      }
      const described = operation.parameters.filter(
        ({ name: id }) => id !== 'memory_id' && !(name === 'undo' && id === 'id'),
      );
      const fields = described.map(({ name: field, schema, in: place }) => {
        if (place === 'header') return field === 'If-Match' ? [] : [['last_event_id', bare(schema)]];
        return [[field, bare(schema)]];
      });
      const { 'metadata.<key>': metadataKey, ...properties } = Object.fromEntries(fields.flat());
      const { metadata, ...expected } =
        (bare(request ?? options) as { properties?: Record<string, unknown> }).properties ?? {};
      expect(properties).toEqual(expected);
      expect(metadataKey === undefined).toBe(metadata === undefined);
    },
  );

  it('know every code by its status', () => {
    for (const [code, { status }] of Object.entries(ERRORS)) expect(CODE_OF_STATUS[status]).toBe(code);
  });
});
