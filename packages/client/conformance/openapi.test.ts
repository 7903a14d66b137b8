import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  ContextRequest,
  ERRORS,
  MemoryChanges,
  MemorySelection,
  OwnScopeRequest,
  withNullFields,
} from '@memoryd/contract';
import { Type } from '@memoryd/contract/typebox';
import { describe, expect, it, onTestFinished } from 'vitest';
import { expectCleanEnd, startClient, useServer, WORDS_ONLY } from '../../server/conformance/under-test.ts';
import { resolveReferences } from '../../server/src/reference-pages/resolve-references.ts';
import { ADMINISTRATION, AdministrationClient } from '../src/administration.ts';
import { MemoryClient } from '../src/index.ts';
import { CODE_BY_STATUS } from '../src/memory-error.ts';
import { SCHEMAS } from '../src/operation-schemas.fixture.ts';
import { OPERATIONS } from '../src/operations.ts';

const memoryd = useServer({ env: WORDS_ONLY });

interface Schema {
  type?: string;
  enum?: unknown[];
  format?: string;
  properties?: Record<string, Schema>;
  items?: Schema;
  /** Schema of the JSON in a string. */
  contentSchema?: Schema;
  /** Schema of a line of a text. */
  'x-line-schema'?: Schema;
}
interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
  schema: Schema;
}
interface DescribedOperation {
  /** The method of the client; the route if there is none. */
  name: string;
  method: string;
  path: string;
  parameters: Parameter[];
  /** Media types of the request body. */
  types: string[];
  body: Schema | undefined;
  /** Schema of a line of the request body. */
  line: Schema | undefined;
  response: Schema | undefined;
}
interface Document {
  paths: Record<
    string,
    Record<
      string,
      {
        parameters?: Parameter[];
        requestBody?: { content: Record<string, { schema: Schema }> };
        responses: Record<string, { content: Record<string, { schema: Schema }> }>;
      }
    >
  >;
}

/** Operations for orchestrators, scripts and agent programs, and headers for caches, which no client implements. */
const NOT_IMPLEMENTED = new Set([
  ...['GET /readyz', 'GET /livez', 'GET /context', 'POST /hooks/{program}'],
  'If-None-Match',
]);

/** The methods of both clients by route. The document has names of its own, which read well in generated clients. */
const METHODS = new Map(
  Object.entries({ ...OPERATIONS, ...ADMINISTRATION }).map(([name, { method, path }]) => [`${method} ${path}`, name]),
);

/** Returns the operations that clients implement. */
async function getOperations(): Promise<DescribedOperation[]> {
  const { paths } = resolveReferences(await memoryd.get<Document>('/openapi.json'));
  const described = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { parameters = [], requestBody, responses }]) => ({
      name: METHODS.get(`${method.toUpperCase()} ${path}`) ?? `${method.toUpperCase()} ${path}`,
      method: method.toUpperCase(),
      path,
      parameters: parameters
        .filter(({ name }) => !NOT_IMPLEMENTED.has(name))
        .map(({ schema, ...parameter }) => ({ ...parameter, schema: schema.contentSchema ?? schema })),
      types: Object.keys(requestBody?.content ?? {}),
      body: Object.values(requestBody?.content ?? {})[0]?.schema,
      line: requestBody?.content['application/x-ndjson']?.schema['x-line-schema'],
      response: Object.values(responses['200']?.content ?? {})[0]?.schema,
    })),
  );
  return described.filter(({ name }) => !NOT_IMPLEMENTED.has(name));
}

/** Returns the operations of `MemoryClient`. */
async function getDescribedOperations(): Promise<DescribedOperation[]> {
  return (await getOperations()).filter(({ name }) => !Object.hasOwn(ADMINISTRATION, name));
}

/** Returns the operation of a method. */
async function getOperation(method: string): Promise<DescribedOperation> {
  const name = method === 'importFile' ? 'importMemories' : method;
  return (await getDescribedOperations()).find((described) => described.name === name) as DescribedOperation;
}

/** Returns a value that must be encoded correctly to arrive unchanged. */
function getSample({ type, enum: values, format, items }: Schema): unknown {
  if (values) return values[0];
  if (format === 'date-time') return '2026-01-31T09:30:00+01:00';
  if (type === 'array') return [getSample(items ?? {}), getSample(items ?? {})];
  if (type === 'integer') return 7;
  if (type === 'number') return 1e-7;
  if (type === 'boolean') return true;
  if (type === 'object') return { 'a.b c': 'a b/ü?&=#%+' };
  return 'a b/ü?&=#%+';
}

interface Arguments {
  id: string;
  query: Record<string, unknown>;
  body: unknown;
}

const KEY = 'a key';

const SAMPLED = { sampled: 'ü 🎉' };
/** Sample bodies with fields that the client handles on its own. */
const BODIES: Record<string, object> = {
  recallByBody: { ...SAMPLED, filter: { tag: 'a' } },
  updateMany: { ids: ['a', 'b'], ...SAMPLED, change_id: KEY },
};

/** Calls each method with all arguments of its operation. */
const CALLS: Record<keyof typeof OPERATIONS | 'importFile', (client: MemoryClient, args: Arguments) => unknown> = {
  root: (client) => client.root(),
  health: (client) => client.health(),
  metrics: (client) => client.metrics(),
  stats: (client, { query }) => client.stats(query),
  store: (client, { query, body }) => client.store(body as never, { ...query, idempotencyKey: KEY }),
  storeBatch: (client, { query, body }) => client.storeBatch(body as never, { ...query, idempotencyKey: KEY }),
  recall: (client, { query: { filter, ...query } }) => client.recall(query as never),
  recallByBody: (client, { body }) => client.recall(body as never),
  context: (client, { body }) => client.context(body as never),
  session: (client, { id, query }) => client.session({ session_id: id, ...query }),
  sessions: (client, { query }) => client.sessions(query),
  users: (client, { query }) => client.users(query),
  memory: (client, { id, query }) => client.memory(id, query),
  history: (client, { id, query }) => client.history(id, query),
  memories: (client, { query }) => client.memories(query),
  facets: (client, { query }) => client.facets(query as never),
  growth: (client, { query }) => client.growth(query as never),
  map: (client, { query }) => client.map(query),
  related: (client, { id, query }) => client.related(id, query),
  recalls: (client, { query }) => client.recalls(query),
  update: (client, { id, query, body }) => client.update(id, body as never, { ...query, ifVersions: [3, 4] }),
  updateMany: (client, { query, body }) => {
    const { ids, ...changes } = body as { ids: string[] };
    return client.updateMany({ ...query, ids }, changes);
  },
  undoChange: (client, { id, query }) => client.undoChange(id, query),
  forget: (client, { id, query }) => client.forget(id, { ...query, ifVersions: [3, 4] }),
  forgetMany: (client, { query }) => client.forgetMany(query),
  consolidate: (client, { query }) => client.consolidate(query),
  consolidations: (client, { query }) => client.consolidations(query),
  consolidation: (client, { id, query }) => client.consolidation({ id, ...query }),
  undo: (client, { id, query }) => client.undo(id, query),
  corrections: (client, { query }) => client.corrections(query),
  decideCorrection: (client, { id, query, body }) => client.decideCorrection(id, body as never, query),
  events: (client, { query }) => client.events({ ...query, last_event_id: KEY }).next(),
  exportMemories: (client, { query }) => client.exportMemories(query).next(),
  importMemories: (client, { query }) => client.importMemories(lines('{"sampled":"ü 🎉"}'), query),
  importFile: (client, { query, body }) => client.importFile(Buffer.from(JSON.stringify(body)), query),
  importTexts: (client, { query, body }) => client.importTexts(items(body as never), query as never),
  imports: (client, { query }) => client.imports(query),
  undoImport: (client, { id, query }) => client.undoImport(id, query),
  backup: (client) => client.backup().next(),
};

async function* items<Item>(...given: Item[]): AsyncGenerator<Item> {
  yield* given;
}

async function* lines(...texts: string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield new TextEncoder().encode(text);
}

/** Expected values of the headers of operations. */
const HEADERS: Record<string, string> = { 'Idempotency-Key': KEY, 'If-Match': '"3", "4"', 'Last-Event-ID': KEY };

interface RecordedRequest {
  method: string;
  url: URL;
  headers: IncomingHttpHeaders;
  body: string;
}

/** Starts a service that records requests and sends minimal responses. */
async function startRecorder(): Promise<{ client: MemoryClient; sent: RecordedRequest[] }> {
  const sent: RecordedRequest[] = [];
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

/** Parses a query string. Repeated parameters become lists. */
function getQuery({ searchParams }: URL): Record<string, string[]> {
  return Object.fromEntries([...new Set(searchParams.keys())].map((name) => [name, searchParams.getAll(name)]));
}

/** Returns the expected query parameters for a sample, each with its values. */
function toParameters(name: string, sample: unknown): [name: string, values: string[]][] {
  if (name === 'filter') return [[name, [JSON.stringify(sample)]]];
  if (typeof sample === 'object' && !Array.isArray(sample)) {
    return Object.entries(sample ?? {}).map(([field, value]) => [`${name}.${field}`, [String(value)]]);
  }
  const values = Array.isArray(sample) ? sample : [sample];
  return [[name, values.map((value) => (value === 1e-7 ? '0.00000010000000000000' : String(value)))]];
}

const { user_id, agent_id, ...nullable } = ContextRequest.properties;
/** Null in a field of the body of a context means that the field is absent, except for a user or an agent. */
const CONTEXT_BODY = Type.Object(
  { ...withNullFields(Type.Object(nullable)).properties, user_id, agent_id },
  { additionalProperties: false },
);

/** Schemas of bodies that differ from the request of their method. */
const BODY_SCHEMAS: Record<string, object> = {
  context: CONTEXT_BODY,
  updateMany: Type.Object(
    { ids: MemorySelection.properties.ids, ...MemoryChanges.properties },
    { additionalProperties: false },
  ),
};

/** Methods whose request contains the id that is in the path. For other methods, this id is an argument of its own. */
const WITH_PATH_ID = ['session', 'consolidation'];

/** Removes descriptions from a JSON Schema, and converts maps to the form used in OpenAPI documents. */
function normalizeSchema(schema: unknown, ...ignored: string[]): unknown {
  const text = JSON.stringify(schema, (key, value) => {
    // In the OpenAPI document, examples are next to the schema.
    if (['description', 'examples', ...ignored].includes(key) || key.startsWith('x-')) return undefined;
    const { patternProperties, ...rest } = value ?? {};
    return patternProperties?.['^.*$'] ? { ...rest, additionalProperties: patternProperties['^.*$'] } : value;
  });
  return JSON.parse(text);
}

/** Returns the schema of a body for a comparison. In the OpenAPI document, defaults of its fields are in descriptions. */
function normalizeBody(schema: unknown): unknown {
  return normalizeSchema(schema, 'default');
}

describe('the client for operators and the OpenAPI document', () => {
  it('the client for operators and the OpenAPI document have the same operations with the same methods, paths and bodies', async () => {
    const described = (await getOperations()).filter(({ name }) => Object.hasOwn(ADMINISTRATION, name));
    expect(described.map(({ name }) => name).sort()).toEqual(Object.keys(ADMINISTRATION).sort());
    // A server of its own, because the first key ends access without a key.
    const service = await startClient({ env: WORDS_ONLY });
    const { port } = service.server;
    const client = new AdministrationClient({ url: `http://127.0.0.1:${port}` });
    const id = 'a b/ü?&=#%';
    const quota = { memories: 5, bytes: null };
    expect(await client.setUserQuota(id, quota)).toEqual({ user_id: id, quota });
    expect(await client.setQuota('kitchen', quota)).toEqual({ name: 'kitchen', quota });
    expect((await client.listNamespaces()).namespaces).toContainEqual(
      expect.objectContaining({ name: 'kitchen', quota, keys: 0 }),
    );
    const hooks = { paused: true, ignored_folders: ['/a b'], programs: [] };
    expect(await client.setHooks({ paused: true, ignored_folders: ['/a b'] }, { user_id: id })).toEqual(hooks);
    expect(await client.hooks({ user_id: id })).toEqual(hooks);
    expect(await client.hooks()).toMatchObject({ paused: false });
    expect(await client.deleteNamespace('kitchen')).toEqual({ name: 'kitchen', status: 'deleted', deleted_count: 0 });
    for (const name of ['.', '..', '', 'nobody']) {
      await expect(client.deleteNamespace(name), name).rejects.toMatchObject({ code: 'NOT_FOUND' });
    }
    expect(await client.statsHistory()).toMatchObject({ period_seconds: 300, periods: [{ recalls: 0, p50_ms: null }] });
    const { key, ...made } = await client.addKey({ namespace: 'kitchen', scope: 'operate' });
    const operator = new AdministrationClient({ url: `http://127.0.0.1:${port}`, apiKey: key });
    expect((await operator.listKeys()).keys).toMatchObject([{ id: made.id, namespace: 'kitchen', scope: 'operate' }]);
    expect(await operator.revokeKey(made.id)).toEqual({ id: made.id, status: 'revoked' });
    await expect(operator.listKeys()).rejects.toMatchObject({ code: 'UNAUTHORIZED' });
    await expectCleanEnd(service.server);
  });
});

describe('client and OpenAPI document', () => {
  it('client and OpenAPI document have the same operations with the same methods and paths', async () => {
    const described = (await getDescribedOperations()).map(({ name }) => name);
    expect(described.sort()).toEqual(Object.keys(OPERATIONS).sort());
    const methods = Object.getOwnPropertyNames(MemoryClient.prototype).filter((name) => name !== 'constructor');
    // `scope` sends no request. `recall` sends a body if the request has a filter. `importFile` is `importMemories` with
    // the options of files of other programs.
    const names = described.filter((name) => name !== 'recallByBody');
    expect(methods.sort()).toEqual([...names, 'scope', 'importFile'].sort());
  });

  it.each(Object.keys(CALLS) as (keyof typeof CALLS)[])(
    'client and OpenAPI document agree on the location of each parameter of %s',
    async (name) => {
      const operation = await getOperation(name);
      const getParameters = (place: Parameter['in']) =>
        operation.parameters.filter((parameter) => parameter.in === place);
      const samples = getParameters('query')
        .filter((parameter) => name !== 'recall' || parameter.name !== 'filter')
        .filter((parameter) => name !== 'importMemories' || Object.hasOwn(OwnScopeRequest.properties, parameter.name))
        .map((parameter) => [parameter.name, getSample(parameter.schema)] as const);
      const query = Object.fromEntries(samples);
      const body = operation.body && (BODIES[name] ?? SAMPLED);
      const { client, sent } = await startRecorder();
      await CALLS[name](client, { id: 'a b/ü?&=#%', query, body });
      // The client also sends a health request for the version check.
      const { url, headers, ...request } = sent.find(
        ({ url: { pathname } }) => name === 'health' || pathname !== '/health',
      ) as RecordedRequest;
      expect(request.method).toBe(operation.method);
      expect(url.pathname).toBe(operation.path.replace(/\{\w+\}/, encodeURIComponent('a b/ü?&=#%')));
      expect(getQuery(url)).toEqual(Object.fromEntries(samples.flatMap(([key, sample]) => toParameters(key, sample))));
      expect(getParameters('header').map((header) => [header.name, headers[header.name.toLowerCase()]])).toEqual(
        getParameters('header').map((header) => [header.name, HEADERS[header.name]]),
      );
      expect(request.body.trim()).toBe(body === undefined ? '' : JSON.stringify(body));
      const type = name === 'importFile' ? '*/*' : headers['content-type'];
      expect(operation.types).toEqual(operation.types.length > 0 ? expect.arrayContaining([type]) : []);
    },
  );

  it.each((Object.keys(SCHEMAS) as (keyof typeof SCHEMAS)[]).filter((name) => name !== 'importMemories'))(
    'client and OpenAPI document agree on the request and response schemas of %s',
    async (name) => {
      const operation = await getOperation(name);
      const schemas: { request?: object; options?: object; line?: object; response: object } = SCHEMAS[name];
      const { request, options = {}, line, response } = schemas;
      expect(normalizeBody(operation.response)).toEqual(normalizeBody(response));
      if (line) expect(normalizeBody(operation.line)).toEqual(normalizeBody(line));
      else if (operation.body && request && name !== 'importFile') {
        expect(normalizeBody(operation.body)).toEqual(normalizeBody(BODY_SCHEMAS[name] ?? request));
        if (!schemas.options) return;
      }
      const described = operation.parameters.filter(({ in: place }) => place !== 'path' || WITH_PATH_ID.includes(name));
      const fields = described.map(({ name: field, schema, in: place }) => {
        if (place === 'header') return field === 'If-Match' ? [] : [['last_event_id', normalizeSchema(schema)]];
        return [[field, normalizeSchema(schema)]];
      });
      const { metadata: metadataParameter, ...properties } = Object.fromEntries(fields.flat());
      // The ids of a selection are in the body, because they may be too many for a URL.
      const {
        metadata,
        ids: _,
        ...expected
      } = (
        normalizeSchema(schemas.options ? options : (request ?? options)) as { properties?: Record<string, unknown> }
      ).properties ?? {};
      expect(properties).toEqual(expected);
      expect(metadataParameter === undefined).toBe(metadata === undefined);
    },
  );
});

it('the client has the code of each error status', () => {
  for (const [code, { status }] of Object.entries(ERRORS)) expect(CODE_BY_STATUS[status]).toBe(code);
});
