import { MemoryClient, type MemoryEvent } from '@memoryd/client';
import type { MemoryApi } from '@memoryd/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { send } from './http.ts';
import { useServer, WORDS_ONLY } from './under-test.ts';

/*
 * Two users, each with two agents, do the same things with the same words in one namespace; and each of them does them once
 * more in a namespace alone. What each is answered must be the same in both: then nothing of the others was returned,
 * counted, merged, superseded, exported, streamed or forgotten through it, and nothing of its own was lost to them.
 */

const OWNERS = ['ada', 'ben'].flatMap((user) => ['cook', 'guide'].map((agent) => ({ user, agent })));
const OPERATIONS = 500;
/** 10,000 operations in all in `npm run test:long`. */
const RUNS = process.env.LONG_TESTS ? 20 : 1;

const owner = fc.nat({ max: OWNERS.length - 1 });
const text = fc.constantFrom('I like tea', 'I like tea ', 'my door code is 4711', 'the red heron nests here', 'tea');
const session_id = fc.constantFrom('default', 'monday', 'tuesday');
const tag = fc.constantFrom('home', 'work');
/** A memory by its place among all that were stored, of any owner; those of others are asked for as well. */
const place = fc.nat({ max: 1000 });
/** By a key that is bound, or by one of the namespace that names the owner; over REST with the SDK, or over MCP. */
const door = fc.constantFrom('bound', 'scope', 'bound mcp', 'mcp');

const stored = { content: text, session_id, tags: fc.subarray(['home', 'work']) };
const operation = fc.oneof(
  { weight: 24, arbitrary: fc.record({ owner, door, verb: fc.constant('store'), ...stored }) },
  { weight: 3, arbitrary: fc.record({ owner, door, verb: fc.constant('correct'), ...stored, place }) },
  {
    weight: 3,
    arbitrary: fc.record({
      owner,
      door,
      verb: fc.constant('storeOnce'),
      content: text,
      key: fc.constantFrom('k', 'l'),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      owner,
      door,
      verb: fc.constant('storeBatch'),
      some: fc.array(text, { minLength: 1, maxLength: 3 }),
    }),
  },
  {
    weight: 9,
    arbitrary: fc.record({
      owner,
      door,
      verb: fc.constant('recall'),
      query: text,
      tag: fc.option(tag),
      shared: fc.boolean(),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({ owner, door, verb: fc.constantFrom('memories', 'sessions'), tag: fc.option(tag) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ owner, door, verb: fc.constantFrom('stats', 'exportMemories', 'users', 'consolidations') }),
  },
  { weight: 3, arbitrary: fc.record({ owner, door, verb: fc.constant('session'), session_id }) },
  { weight: 9, arbitrary: fc.record({ owner, door, verb: fc.constantFrom('memory', 'history', 'forget'), place }) },
  { weight: 6, arbitrary: fc.record({ owner, door, verb: fc.constant('update'), place, content: text }) },
  { weight: 3, arbitrary: fc.record({ owner, door, verb: fc.constant('forgetMany'), session_id, tag }) },
  { weight: 3, arbitrary: fc.record({ owner, door, verb: fc.constant('forgetAndImport'), place }) },
  { weight: 1, arbitrary: fc.record({ verb: fc.constant('consolidate') }) },
  { weight: 1, arbitrary: fc.record({ verb: fc.constant('storeShared'), content: text, session_id }) },
);
type Operation = typeof operation extends fc.Arbitrary<infer Drawn> ? Drawn : never;
type Owned = Extract<Operation, { owner: number }>;

/** Ways in which one owner reaches its memories in one namespace. */
type Doors = Record<Owned['door'], MemoryApi>;

const memoryd = useServer({ env: { ...WORDS_ONLY, SERVICE_RATE_LIMIT: '0' } });
let operatorKey: string | undefined;

async function addKey(fields: object): Promise<string> {
  const headers = operatorKey ? { authorization: `Bearer ${operatorKey}` } : {};
  const answer = await memoryd.ok<{ key: string }>({ method: 'POST', path: '/keys', headers, json: fields });
  return answer.key;
}

function newClient(apiKey: string): MemoryClient {
  return new MemoryClient({ url: `http://127.0.0.1:${memoryd.server.port}`, apiKey, retries: 0 });
}

/** One namespace, with what was stored there. */
class World {
  readonly #operator: MemoryClient;
  /** By owner. */
  readonly #doors = new Map<number, Doors>();
  readonly #streams = new Map<number, { events: MemoryEvent[]; ended: Promise<void> }>();
  readonly #leaving = new AbortController();
  /** Ids by the order in which they were stored; undefined for what is stored in another world alone. */
  readonly ids: (string | undefined)[] = [];

  private constructor(operator: MemoryClient) {
    this.#operator = operator;
  }

  static async open(namespace: string, owners: readonly number[]): Promise<World> {
    const world = new World(newClient(await addKey({ namespace, scope: 'operate' })));
    const appKey = await addKey({ namespace, scope: 'write' });
    const app = newClient(appKey);
    for (const one of owners) {
      const { user, agent } = OWNERS[one] as (typeof OWNERS)[number];
      const key = await addKey({ namespace, scope: 'write', user_id: user, agent_id: agent });
      const [bound, scoped] = [newClient(key), app.scope({ userId: user, agentId: agent })];
      const named = `user_id=${user}&agent_id=${agent}`;
      const mcp = overMcp(scoped, appKey, named);
      world.#doors.set(one, { bound, scope: scoped, 'bound mcp': overMcp(bound, key, ''), mcp });
      world.#follow(one, bound);
    }
    return world;
  }

  #follow(one: number, api: MemoryApi): void {
    const events: MemoryEvent[] = [];
    const stream = api.events({ last_event_id: 'from the start' }, this.#leaving.signal);
    const ended = (async () => {
      for await (const event of stream) events.push(event);
    })().catch(() => {});
    this.#streams.set(one, { events, ended });
  }

  /** Does an operation; answers what came of it without what differs from one world to another. */
  async perform(one: Owned): Promise<unknown> {
    const api = (this.#doors.get(one.owner) as Doors)[one.door];
    try {
      return this.#comparable(await this.#call(api, one));
    } catch (error) {
      const { code, message } = error as { code?: string; message: string };
      return { code, message };
    }
  }

  async #call(api: MemoryApi, one: Owned): Promise<unknown> {
    const filter = { ...('tag' in one && one.tag && { tag: [one.tag] }) };
    switch (one.verb) {
      case 'store':
        return this.#note(await api.store({ content: one.content, session_id: one.session_id, tags: one.tags }));
      case 'correct': {
        const { content, session_id: session, tags } = one;
        return this.#note(await api.store({ content, session_id: session, tags, supersedes: this.#id(one.place) }));
      }
      case 'storeOnce':
        return this.#note(await api.store({ content: one.content }, { idempotencyKey: one.key }));
      case 'storeBatch': {
        const answer = await api.storeBatch(one.some.map((content) => ({ content })));
        for (const result of answer.results) if ('id' in result) this.#note(result);
        return answer;
      }
      case 'recall': {
        const { results, total } = await api.recall({ query: one.query, top_k: 1000, shared: one.shared, ...filter });
        // Word statistics of the namespace may put them in another order.
        return { total, results: results.map(({ id, content }) => this.#name(id) + content).sort() };
      }
      case 'memories':
        return api.memories(filter);
      case 'sessions':
        return api.sessions(filter);
      case 'session':
        return api.session({ session_id: one.session_id });
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
        const chosen = lines[one.place % Math.max(1, lines.length)];
        if (chosen !== undefined && 'id' in JSON.parse(chosen)) await api.forget(JSON.parse(chosen).id);
        return [await api.importMemories(getBytes([header, ...lines])), await api.memories({ limit: 1000 })];
      }
      case 'memory':
        return api.memory(this.#id(one.place));
      case 'history':
        return api.history(this.#id(one.place));
      case 'forget':
        return api.forget(this.#id(one.place));
      case 'update':
        return api.update(this.#id(one.place), { content: one.content });
      case 'forgetMany':
        return api.forgetMany({ session_id: one.session_id, tag: one.tag });
    }
  }

  /** Does what is about all owners. */
  async operate(one: Exclude<Operation, Owned>): Promise<void> {
    if (one.verb === 'consolidate') await this.#operator.consolidate();
    else this.#note(await this.#operator.store({ content: one.content, session_id: one.session_id }));
  }

  /** Returns the events of an owner, once nothing more comes. */
  async told(one: number): Promise<unknown> {
    const { id } = this.#note(await (this.#doors.get(one) as Doors).bound.store({ content: 'the last' }));
    const { events } = this.#streams.get(one) as { events: MemoryEvent[] };
    await expect.poll(() => events.some((event) => 'memory_ids' in event && event.memory_ids[0] === id)).toBe(true);
    return events.map((event) => this.#comparable(event));
  }

  async leave(): Promise<void> {
    this.#leaving.abort();
    await Promise.all(Array.from(this.#streams.values(), ({ ended }) => ended));
  }

  #note<Stored extends { id: string }>(answer: Stored): Stored {
    this.ids.push(answer.id);
    return answer;
  }

  #id(place: number): string {
    return this.ids[place % Math.max(1, this.ids.length)] ?? 'nobody';
  }

  #name(id: string): string {
    return `#${this.ids.indexOf(id)} `;
  }

  #comparable(value: unknown): unknown {
    return JSON.parse(
      JSON.stringify(value, (key, inner) => {
        if (/(_at|_from|_until)$|^(at|retention|id|access_count|next_cursor|redacted|purge)$/.test(key)) {
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

async function* getBytes(lines: readonly string[]): AsyncIterable<Uint8Array> {
  for (const line of lines) yield new TextEncoder().encode(line);
}

/** The tools of MCP, each call in a request of its own; what models have no tool for goes by `otherwise`. */
function overMcp(otherwise: MemoryApi, key: string, named: string): MemoryApi {
  async function call<Answer>(name: string, args: object, more = '', meta: object = {}): Promise<Answer> {
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args, _meta: meta } };
    const headers = { authorization: `Bearer ${key}`, accept: 'application/json, text/event-stream' };
    const path = `/mcp?${named}${more}`;
    const { text } = await send(memoryd.server.port, { method: 'POST', path, headers, json: message });
    const { result } = JSON.parse(/^data: (.+)$/m.exec(text)?.[1] ?? '{}');
    if (result.isError) throw result._meta.error;
    return result.structuredContent;
  }
  return {
    ...(otherwise as MemoryApi),
    ...pickMethods(otherwise),
    store: (request, { idempotencyKey } = {}) =>
      call('store', request, '', { 'memoryd/idempotencyKey': idempotencyKey }),
    recall: ({ shared, ...request }) => call('recall', request, shared ? '&shared=true' : ''),
    session: (request) => call('session', request),
    update: (memory_id, request) => call('update', { memory_id, ...request }),
    forget: (memory_id) => call('forget', { memory_id }),
    stats: () => call('stats', {}),
  };
}

/** The methods that models have no tool for. */
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
  };
}

let latest = 0;

/**
 * Resolves when the clock shows a time that it has not shown before. Memories of the same millisecond stand in the order in
 * which they were stored or imported, and a millisecond may begin between two of them in one world and not in another.
 */
async function waitForAnotherMillisecond(): Promise<void> {
  latest = Math.max(latest, Date.now());
  while (Date.now() <= latest) await new Promise((resolve) => setTimeout(resolve, 1));
}

/** One namespace in which all owners work, and one for each alone. */
class Worlds {
  static #count = 0;
  readonly #together: World;
  readonly #alone: World[];

  private constructor(together: World, alone: World[]) {
    this.#together = together;
    this.#alone = alone;
  }

  static async open(): Promise<Worlds> {
    const name = `run-${++Worlds.#count}`;
    const alone = await Promise.all(OWNERS.map((_, i) => World.open(`${name}-alone-${i}`, [i])));
    return new Worlds(await World.open(`${name}-together`, [...OWNERS.keys()]), alone);
  }

  /** Does an operation together with the others and alone, and expects the same answer. */
  async perform(one: Operation): Promise<void> {
    await waitForAnotherMillisecond();
    if (!('owner' in one)) {
      for (const world of [this.#together, ...this.#alone]) await world.operate(one);
      return;
    }
    const own = this.#alone[one.owner] as World;
    const [answer, expected] = [await this.#together.perform(one), await own.perform(one)];
    // What one has stored is there in its own world alone.
    for (const world of this.#alone) world.ids.length = this.#together.ids.length;
    expect({ one, answer }).toEqual({ one, answer: expected });
  }

  async expectToldAlike(): Promise<void> {
    for (const [i, world] of this.#alone.entries()) {
      const told = await this.#together.told(i);
      world.ids.length = this.#together.ids.length - 1;
      expect(told).toEqual(await world.told(i));
    }
    for (const world of [this.#together, ...this.#alone]) await world.leave();
  }
}

describe('what two users with two agents each do in one namespace', () => {
  it('is answered and told as if each were alone', async () => {
    operatorKey ??= await addKey({ namespace: 'default', scope: 'operate' });
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { minLength: OPERATIONS, maxLength: OPERATIONS }), async (operations) => {
        const worlds = await Worlds.open();
        for (const one of operations) await worlds.perform(one);
        await worlds.expectToldAlike();
      }),
      { numRuns: RUNS, endOnFailure: true },
    );
  }, 600_000);
});
