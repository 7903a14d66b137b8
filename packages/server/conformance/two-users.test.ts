import { MemoryClient, type MemoryEvent } from '@memoryd/client';
import type {
  MemoryApi,
  RecallResponse,
  StoreOptions,
  StoreRequest,
  StoreResponse,
  UpdateManyResponse,
} from '@memoryd/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { send } from './http.ts';
import { useServer, WORDS_ONLY } from './under-test.ts';

/*
 * Isolation test. Two users with two agents each (four owners) send random operations with overlapping texts to one shared
 * namespace. The operations of each owner also run in a separate namespace. Both responses must be equal. This proves that
 * no memory of another owner was returned, counted, merged, superseded, exported, streamed or forgotten, and that no own
 * memory was lost.
 */

const OWNERS = ['ada', 'ben'].flatMap((user) => ['cook', 'guide'].map((agent) => ({ user, agent })));
const OPERATIONS = 500;
/** `npm run test:long` runs 10,000 operations in total. */
const RUNS = process.env.LONG_TESTS ? 20 : 1;

const owner = fc.nat({ max: OWNERS.length - 1 });
const text = fc.constantFrom('I like tea', 'I like tea ', 'my door code is 4711', 'the red heron nests here', 'tea');
const session_id = fc.constantFrom('default', 'monday', 'tuesday');
const tag = fc.constantFrom('home', 'work');
/** Index into the stored memories of all owners, so that operations also target memories of others. */
const index = fc.nat({ max: 1000 });
/** An owner-bound key, or a namespace key with owner parameters; over REST with the client, or over MCP. */
const access = fc.constantFrom('bound', 'scope', 'bound mcp', 'mcp');

/** Ids that all owners choose for their changes of many memories; undefined for an id that the service assigns. */
const change_id = fc.option(fc.constantFrom('the-first-change', 'the-second-change'), { nil: undefined });

const stored = { content: text, session_id, tags: fc.subarray(['home', 'work']) };
const anyOperation = fc.oneof(
  { weight: 24, arbitrary: fc.record({ owner, access, verb: fc.constant('store'), ...stored }) },
  { weight: 3, arbitrary: fc.record({ owner, access, verb: fc.constant('correct'), ...stored, index }) },
  {
    weight: 3,
    arbitrary: fc.record({
      owner,
      access,
      verb: fc.constant('storeOnce'),
      content: text,
      key: fc.constantFrom('k', 'l'),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      owner,
      access,
      verb: fc.constant('storeBatch'),
      some: fc.array(text, { minLength: 1, maxLength: 3 }),
    }),
  },
  {
    weight: 9,
    arbitrary: fc.record({
      owner,
      access,
      verb: fc.constant('recall'),
      query: text,
      tag: fc.option(tag),
      shared: fc.boolean(),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({ owner, access, verb: fc.constantFrom('memories', 'sessions'), tag: fc.option(tag) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      owner,
      access,
      verb: fc.constantFrom('stats', 'exportMemories', 'users', 'consolidations'),
    }),
  },
  { weight: 3, arbitrary: fc.record({ owner, access, verb: fc.constant('session'), session_id }) },
  { weight: 9, arbitrary: fc.record({ owner, access, verb: fc.constantFrom('memory', 'history', 'forget'), index }) },
  { weight: 6, arbitrary: fc.record({ owner, access, verb: fc.constant('update'), index, content: text }) },
  { weight: 3, arbitrary: fc.record({ owner, access, verb: fc.constant('forgetMany'), session_id, tag }) },
  {
    weight: 4,
    arbitrary: fc.record({
      owner,
      access,
      verb: fc.constant('updateMany'),
      tag: fc.option(tag),
      indexes: fc.option(fc.array(index, { minLength: 1, maxLength: 5 })),
      add: tag,
      metadata: fc.option(fc.constantFrom('tea', null), { nil: undefined }),
      change_id,
    }),
  },
  { weight: 4, arbitrary: fc.record({ owner, access, verb: fc.constant('undoChange'), index, change_id }) },
  {
    weight: 2,
    arbitrary: fc.record({
      owner,
      access,
      verb: fc.constant('forgetNamed'),
      indexes: fc.array(index, { minLength: 1, maxLength: 3 }),
      tag: fc.option(tag),
    }),
  },
  { weight: 3, arbitrary: fc.record({ owner, access, verb: fc.constant('forgetAndImport'), index }) },
  {
    weight: 4,
    arbitrary: fc.record({
      owner,
      access,
      verb: fc.constant('importTexts'),
      some: fc.array(fc.record({ content: text, external_id: fc.constantFrom('1', '2', '3') }), { maxLength: 3 }),
      content_key: fc.option(fc.constantFrom('k', 'l'), { nil: undefined }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ owner, access, verb: fc.constant('imports') }) },
  { weight: 3, arbitrary: fc.record({ owner, access, verb: fc.constant('undoImport'), index }) },
  { weight: 1, arbitrary: fc.record({ verb: fc.constant('consolidate') }) },
  { weight: 1, arbitrary: fc.record({ verb: fc.constant('storeShared'), content: text, session_id }) },
);
type Operation = typeof anyOperation extends fc.Arbitrary<infer Drawn> ? Drawn : never;
type OwnerOperation = Extract<Operation, { owner: number }>;

/** APIs with which one owner accesses one namespace. */
type OwnerApis = Record<OwnerOperation['access'], MemoryApi>;

const memoryd = useServer({ env: { ...WORDS_ONLY, SERVICE_RATE_LIMIT: '0' } });
let operatorKey: string | undefined;

async function addKey(fields: object): Promise<string> {
  const headers = operatorKey ? { authorization: `Bearer ${operatorKey}` } : {};
  const answer = await memoryd.ok<{ key: string }>({ method: 'POST', path: '/keys', headers, json: fields });
  return answer.key;
}

function createClient(apiKey: string): MemoryClient {
  return new MemoryClient({ url: `http://127.0.0.1:${memoryd.server.port}`, apiKey, retries: 0 });
}

/** A namespace under test, and the ids stored in it. */
class TestNamespace {
  readonly #operator: MemoryClient;
  readonly #apis = new Map<number, OwnerApis>();
  readonly #streams = new Map<number, { events: MemoryEvent[]; ended: Promise<void> }>();
  readonly #abort = new AbortController();
  /** Ids in the order of storing; `undefined` for memories stored only in another namespace. */
  readonly ids: (string | undefined)[] = [];
  /** Ids of imports, in the same order. */
  readonly importIds: (string | undefined)[] = [];
  /** Ids of changes of many memories, in the same order. */
  readonly changeIds: (string | undefined)[] = [];

  private constructor(operator: MemoryClient) {
    this.#operator = operator;
  }

  static async open(namespace: string, owners: readonly number[]): Promise<TestNamespace> {
    const result = new TestNamespace(createClient(await addKey({ namespace, scope: 'operate' })));
    const appKey = await addKey({ namespace, scope: 'write' });
    const app = createClient(appKey);
    for (const ownerIndex of owners) {
      const { user, agent } = OWNERS[ownerIndex] as (typeof OWNERS)[number];
      const key = await addKey({ namespace, scope: 'write', user_id: user, agent_id: agent });
      const [bound, scoped] = [createClient(key), app.scope({ userId: user, agentId: agent })];
      const parameters = `user_id=${user}&agent_id=${agent}`;
      const mcp = createMcpApi(scoped, appKey, parameters);
      result.#apis.set(ownerIndex, { bound, scope: scoped, 'bound mcp': createMcpApi(bound, key, ''), mcp });
      result.#openEvents(ownerIndex, bound);
    }
    return result;
  }

  #openEvents(ownerIndex: number, api: MemoryApi): void {
    const events: MemoryEvent[] = [];
    const stream = api.events({ last_event_id: 'from the start' }, this.#abort.signal);
    const ended = (async () => {
      for await (const event of stream) events.push(event);
    })().catch(() => {});
    this.#streams.set(ownerIndex, { events, ended });
  }

  /** Executes an operation. Returns its result or error, without values that differ between namespaces. */
  async perform(operation: OwnerOperation): Promise<unknown> {
    const api = (this.#apis.get(operation.owner) as OwnerApis)[operation.access];
    try {
      return this.#normalize(await this.#call(api, operation));
    } catch (error) {
      const { code, message } = error as { code?: string; message: string };
      return { code, message };
    }
  }

  async #call(api: MemoryApi, operation: OwnerOperation): Promise<unknown> {
    const filter = { ...('tag' in operation && operation.tag && { tag: [operation.tag] }) };
    switch (operation.verb) {
      case 'store':
        return this.#note(
          await this.#store(api, {
            content: operation.content,
            session_id: operation.session_id,
            tags: operation.tags,
          }),
        );
      case 'correct': {
        const { content, session_id: session, tags } = operation;
        return this.#note(
          await this.#store(api, { content, session_id: session, tags, supersedes: this.#id(operation.index) }),
        );
      }
      case 'storeOnce':
        return this.#note(await this.#store(api, { content: operation.content }, { idempotencyKey: operation.key }));
      case 'storeBatch': {
        const answer = await api.storeBatch(operation.some.map((content) => ({ content })));
        for (const result of answer.results) if ('id' in result) this.#note(result);
        return answer;
      }
      case 'recall': {
        const { results, total } = await api.recall({
          query: operation.query,
          top_k: 1000,
          shared: operation.shared,
          ...filter,
        });
        // The order may differ, because it depends on word statistics of the namespace.
        return { total, results: results.map(({ id, content }) => this.#name(id) + content).sort() };
      }
      case 'memories':
        return api.memories(filter);
      case 'sessions':
        return api.sessions(filter);
      case 'session':
        return api.session({ session_id: operation.session_id });
      case 'users':
        return api.users();
      case 'consolidations':
        return api.consolidations({});
      case 'stats':
        return api.stats();
      case 'exportMemories':
        return (await exportLines(api)).map((line) => JSON.parse(line));
      case 'forgetAndImport': {
        const [header = '', ...lines] = await exportLines(api);
        const chosen = lines[operation.index % Math.max(1, lines.length)];
        if (chosen !== undefined && 'id' in JSON.parse(chosen)) await api.forget(JSON.parse(chosen).id);
        return [await api.importMemories(getBytes([header, ...lines])), await api.memories({ limit: 1000 })];
      }
      case 'importTexts': {
        const { some, content_key } = operation;
        const imported = await api.importTexts(fromItems(some), { from: 'jsonl', ...(content_key && { content_key }) });
        this.importIds.push(imported.import_id);
        await this.#noteImported(api);
        return imported;
      }
      case 'imports':
        return api.imports();
      case 'undoImport':
        return api.undoImport(getAt(this.importIds, operation.index));
      case 'memory':
        return api.memory(this.#id(operation.index));
      case 'history':
        return api.history(this.#id(operation.index));
      case 'forget':
        return api.forget(this.#id(operation.index));
      case 'update':
        return api.update(this.#id(operation.index), { content: operation.content });
      case 'updateMany':
        return this.#updateMany(api, operation);
      case 'undoChange':
        return api.undoChange(operation.change_id ?? getAt(this.changeIds, operation.index));
      case 'forgetNamed':
        return api.forgetMany({ id: this.#getIds(operation.indexes), ...(operation.tag && { tag: operation.tag }) });
      case 'forgetMany':
        return api.forgetMany({ session_id: operation.session_id, tag: operation.tag });
    }
  }

  async #updateMany(
    api: MemoryApi,
    { tag, indexes, add, metadata, change_id }: Extract<OwnerOperation, { verb: 'updateMany' }>,
  ): Promise<UpdateManyResponse> {
    const named = indexes ? { ids: this.#getIds(indexes) } : { source: 'api' };
    const changed = await api.updateMany(
      { ...named, ...(tag && { tag: [tag] }) },
      {
        add_tags: [add],
        ...(metadata !== undefined && { metadata: { drink: metadata } }),
        ...(change_id !== undefined && { change_id }),
      },
    );
    if (change_id === undefined) this.changeIds.push(changed.change_id);
    return changed;
  }

  /**
   * Stores a memory and reads the memories that are similar, which fails for a memory of another owner. Their number
   * depends on word statistics of the namespace.
   */
  async #store(api: MemoryApi, request: StoreRequest, options: StoreOptions = {}): Promise<StoreResponse> {
    const { similar = [], ...stored } = await api.store(request, { ...options, similar: 10 });
    for (const { id } of similar) await api.memory(id);
    return stored;
  }

  /** Executes an operation that affects all owners. */
  async performAsOperator(operation: Exclude<Operation, OwnerOperation>): Promise<void> {
    if (operation.verb === 'consolidate') await this.#operator.consolidate();
    else this.#note(await this.#operator.store({ content: operation.content, session_id: operation.session_id }));
  }

  /** Stores a last memory, waits for its event and returns all events of the owner. */
  async getEvents(ownerIndex: number): Promise<unknown> {
    const { id } = this.#note(await (this.#apis.get(ownerIndex) as OwnerApis).bound.store({ content: 'the last' }));
    const { events } = this.#streams.get(ownerIndex) as { events: MemoryEvent[] };
    await expect.poll(() => events.some((event) => 'memory_ids' in event && event.memory_ids[0] === id)).toBe(true);
    return events.map((event) => this.#normalize(event));
  }

  async close(): Promise<void> {
    this.#abort.abort();
    await Promise.all(Array.from(this.#streams.values(), ({ ended }) => ended));
  }

  #note<Stored extends { id: string }>(answer: Stored): Stored {
    this.ids.push(answer.id);
    return answer;
  }

  /** Notes the ids of memories that an import created. */
  async #noteImported(api: MemoryApi): Promise<void> {
    const { memories } = await api.memories({ limit: 1000 });
    const imported = memories.flatMap(({ id, external_id: name }) => (name === undefined ? [] : [{ id, name }]));
    imported.sort((a, b) => a.name.localeCompare(b.name));
    for (const memory of imported) if (!this.ids.includes(memory.id)) this.#note(memory);
  }

  #id(index: number): string {
    return getAt(this.ids, index);
  }

  #getIds(indexes: readonly number[]): string[] {
    return indexes.map((index) => this.#id(index));
  }

  #name(id: string): string {
    return `#${this.ids.indexOf(id)} `;
  }

  #normalize(value: unknown): unknown {
    return JSON.parse(
      JSON.stringify(value, (key, inner) => {
        if (
          /(_at|_from|_until)$|^(at|retention|id|access_count|import_id|change_id|next_cursor|redacted|purge)$/.test(
            key,
          )
        ) {
          return key === 'id' && typeof inner === 'string' && this.ids.includes(inner) ? this.#name(inner) : undefined;
        }
        const isId = typeof inner === 'string' && this.ids.includes(inner);
        if (Array.isArray(inner) && key === 'memory_ids') return inner.map((id) => this.#name(id)).sort();
        return isId ? this.#name(inner) : inner;
      }),
    );
  }
}

async function exportLines(api: MemoryApi): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of api.exportMemories()) lines.push(line);
  return lines;
}

function getAt(ids: readonly (string | undefined)[], index: number): string {
  return ids[index % Math.max(1, ids.length)] ?? 'nobody';
}

async function* fromItems<Item>(items: readonly Item[]): AsyncIterable<Item> {
  yield* items;
}

async function* getBytes(lines: readonly string[]): AsyncIterable<Uint8Array> {
  for (const line of lines) yield new TextEncoder().encode(line);
}

/** Returns an API that calls MCP tools, one request per call. Methods without an MCP tool use `fallback`. */
function createMcpApi(fallback: MemoryApi, key: string, parameters: string): MemoryApi {
  async function call<Answer>(name: string, args: object, more = '', meta: object = {}): Promise<Answer> {
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args, _meta: meta } };
    const headers = { authorization: `Bearer ${key}`, accept: 'application/json, text/event-stream' };
    const path = `/mcp?tools=all&structured=true&${parameters}${more}`;
    const { text } = await send(memoryd.server.port, { method: 'POST', path, headers, json: message });
    const { result } = JSON.parse(/^data: (.+)$/m.exec(text)?.[1] ?? '{}');
    if (result.isError) throw result._meta.error;
    return result.structuredContent;
  }
  return {
    ...(fallback as MemoryApi),
    ...pickMethods(fallback),
    store: (request, { idempotencyKey } = {}) =>
      call('memory_store', request, '', { 'memoryd/idempotencyKey': idempotencyKey }),
    // The tool returns at most 50 results. Which ones depends on word statistics of the namespace.
    async recall(request) {
      const { query, tag: tags, shared } = request;
      const args = { query, tags, top_k: 50, current: false };
      const { results } = await call<RecallResponse>('memory_recall', args, shared ? '&shared=true' : '');
      const all = await fallback.recall(request);
      expect(all.results.map(({ id }) => id)).toEqual(expect.arrayContaining(results.map(({ id }) => id)));
      return all;
    },
    session: (request) => call('memory_session', request),
    update: (memory_id, request) => call('memory_update', { memory_id, ...request }),
    forget: (memory_id) => call('memory_forget', { memory_id }),
    stats: () => call('memory_stats', {}),
  };
}

/** Returns the methods without an MCP tool. */
function pickMethods(api: MemoryApi) {
  return {
    storeBatch: api.storeBatch.bind(api),
    sessions: api.sessions.bind(api),
    users: api.users.bind(api),
    memory: api.memory.bind(api),
    history: api.history.bind(api),
    memories: api.memories.bind(api),
    forgetMany: api.forgetMany.bind(api),
    consolidations: api.consolidations.bind(api),
    exportMemories: api.exportMemories.bind(api),
    importMemories: api.importMemories.bind(api),
    importTexts: api.importTexts.bind(api),
    imports: api.imports.bind(api),
    undoImport: api.undoImport.bind(api),
  };
}

let latest = 0;

/**
 * Waits until the clock shows a new millisecond. Memories with equal times are ordered by storing or import. Without this
 * wait, two memories might have equal times in one namespace but not in the other.
 */
async function waitForNextMillisecond(): Promise<void> {
  latest = Math.max(latest, Date.now());
  while (Date.now() <= latest) await new Promise((resolve) => setTimeout(resolve, 1));
}

/** A namespace shared by all owners, and a separate one for each owner. */
class TestNamespaces {
  static #count = 0;
  readonly #shared: TestNamespace;
  readonly #separate: TestNamespace[];

  private constructor(shared: TestNamespace, separate: TestNamespace[]) {
    this.#shared = shared;
    this.#separate = separate;
  }

  static async open(): Promise<TestNamespaces> {
    const name = `run-${++TestNamespaces.#count}`;
    const separate = await Promise.all(OWNERS.map((_, i) => TestNamespace.open(`${name}-separate-${i}`, [i])));
    return new TestNamespaces(await TestNamespace.open(`${name}-shared`, [...OWNERS.keys()]), separate);
  }

  /** Executes an operation in the shared and the separate namespace, and expects equal results. */
  async perform(operation: Operation): Promise<void> {
    await waitForNextMillisecond();
    if (!('owner' in operation)) {
      for (const namespace of [this.#shared, ...this.#separate]) await namespace.performAsOperator(operation);
      return;
    }
    const own = this.#separate[operation.owner] as TestNamespace;
    const [actual, expected] = [await this.#shared.perform(operation), await own.perform(operation)];
    // Adds `undefined` for a memory, import or change of this owner, in the namespaces of the other owners.
    for (const namespace of this.#separate) {
      namespace.ids.length = this.#shared.ids.length;
      namespace.importIds.length = this.#shared.importIds.length;
      namespace.changeIds.length = this.#shared.changeIds.length;
    }
    expect({ operation, result: actual }).toEqual({ operation, result: expected });
  }

  async expectEqualEvents(): Promise<void> {
    for (const [i, namespace] of this.#separate.entries()) {
      const events = await this.#shared.getEvents(i);
      namespace.ids.length = this.#shared.ids.length - 1;
      expect(events).toEqual(await namespace.getEvents(i));
    }
    for (const namespace of [this.#shared, ...this.#separate]) await namespace.close();
  }
}

describe('two users with two agents each in one namespace', () => {
  it('two users with two agents each in one namespace get the same responses and events as in separate namespaces', async () => {
    operatorKey ??= await addKey({ namespace: 'default', scope: 'operate' });
    await fc.assert(
      fc.asyncProperty(fc.array(anyOperation, { minLength: OPERATIONS, maxLength: OPERATIONS }), async (operations) => {
        const namespaces = await TestNamespaces.open();
        for (const operation of operations) await namespaces.perform(operation);
        await namespaces.expectEqualEvents();
      }),
      { numRuns: RUNS, endOnFailure: true },
    );
  }, 600_000);
});
