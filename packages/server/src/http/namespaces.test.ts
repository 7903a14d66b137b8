import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { type Engine, openEngine } from '@memoryd/engine';
import type { InjectOptions, RouteOptions } from 'fastify';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createMetrics } from '../metrics/metrics.ts';
import { engineSettings } from '../settings/engine-settings.ts';
import { readSettings } from '../settings/read.ts';
import { buildApp } from './app.ts';
import type { App } from './routes/route.ts';

/*
 * Responses must not depend on the content of other namespaces. This test sends every kind of request to a namespace in an
 * otherwise empty database, and again in a database with another namespace. The other namespace has the same texts under
 * the same ids and a thousand more, and gets the same requests before each step. All responses must be equal, byte for
 * byte.
 */

const folder = mkdtempSync(join(tmpdir(), 'memoryd-namespaces-'));
afterAll(() => rmSync(folder, { recursive: true }));
const telemetry = { report: () => {} };
const START = Date.UTC(2026, 0, 1);
const HOUR_MS = 60 * 60 * 1000;

/** A response without the parts that differ from request to request. */
interface ComparableResponse {
  step: string;
  status: number;
  headers: Record<string, unknown>;
  body: string;
}

/** Ids that exist in no namespace. */
const UNKNOWN_IDS: ForeignIds = {
  memory: 'unknown',
  consolidation: 'unknown',
  change: 'unknown',
  import: 'unknown',
  event: 'unknown.1',
};

/** Returns the response to an earlier step. */
type GetResponse = (step: string) => { json(): { id: string; next_cursor: string; import_id: string }; body: string };

/** A request of a namespace. `operator`: with a key of the scope `operate`; `foreign`: for ids of another namespace. */
type Step = InjectOptions & { step: string; operator?: true; foreign?: true };

/** Ids that exist only in another namespace. */
interface ForeignIds {
  memory: string;
  consolidation: string;
  change: string;
  import: string;
  event: string;
}

const TEXTS = [
  'Ada is allergic to peanuts',
  'Ben waters the ferns on Sundays',
  'The ferns stand in the kitchen beside the peanuts',
  'Ada moved to Lisbon in May',
];

const memory = (content: string, more: object = {}) => ({ content, tags: ['plant'], source: 'notes', ...more });

/** The requests of a namespace: every route, every filter, and errors. */
function* script(getResponse: GetResponse, foreignIds: ForeignIds): Iterable<Step> {
  yield* writes(getResponse);
  yield* events(getResponse);
  yield* reads(getResponse);
  yield* foreign(foreignIds);
  yield* foreign(UNKNOWN_IDS);
  yield* others();
  yield* consolidations(getResponse);
  yield* imports(getResponse);
  yield* recalls();
  yield* recallHistory(getResponse);
  yield* changes(getResponse);
  yield* mcp(foreignIds);
  yield* mcp(UNKNOWN_IDS);
  const forget = { method: 'DELETE', url: `/forget/${getResponse('store 0').json().id}` } as const;
  yield { step: 'forget', ...forget };
  yield { step: 'forget again', ...forget };
  for (const query of [
    'session_id=s1&tag=plant',
    'external_id=document',
    'source=notes',
    'metadata.room=attic',
    'before=2030-01-01T00:00:00Z',
  ]) {
    yield { step: `forget ${query}`, method: 'DELETE', url: `/memories?${query}` };
  }
  yield { step: 'stats at the end', url: '/stats' };
}

function* writes(getResponse: GetResponse): Iterable<Step> {
  const store = { method: 'POST', url: '/store' } as const;
  for (const [i, content] of TEXTS.entries()) {
    const payload = memory(content, { session_id: `s${i % 2}`, metadata: { room: i } });
    yield { step: `store ${i}`, ...store, payload };
  }
  const supersedes = getResponse('store 3').json().id;
  yield { step: 'store a correction', ...store, payload: memory('Ada moved to Porto in May', { supersedes }) };
  const named = memory('The document says nine', { external_id: 'document' });
  yield { step: 'store with an external id', ...store, payload: named };
  yield { step: 'store with this id again', ...store, payload: { ...named, content: 'The document says ten' } };
  const idempotent = { ...store, headers: { 'idempotency-key': 'once' } };
  yield { step: 'store once', ...idempotent, payload: memory('only once') };
  yield { step: 'store once again', ...idempotent, payload: memory('only once') };
  yield { step: 'store another with that key', ...idempotent, payload: memory('something else') };
  const payload = [memory('one of a batch'), { content: 7 }, memory('Ada is allergic to peanuts')];
  yield { step: 'store a batch', method: 'POST', url: '/store/batch?similar=2', payload };
  const similar = memory('Ada moved to Porto in June');
  yield { step: 'store, and find similar memories', method: 'POST', url: '/store?similar=3', payload: similar };
  const update = { method: 'PUT', url: `/update/${getResponse('store 1').json().id}` } as const;
  yield { step: 'update', ...update, payload: { content: 'Ben waters the ferns daily' } };
  yield { step: 'update an old version', ...update, headers: { 'if-match': '"1"' }, payload: { importance: 1 } };
}

function* events(getResponse: GetResponse): Iterable<Step> {
  yield { step: 'events', url: '/events' };
  yield { step: 'events after an unknown one', url: '/events?type=updated', headers: { 'last-event-id': 'unknown.1' } };
  const [, first = ''] = /^id: (.*)$/m.exec(getResponse('events after an unknown one').body) ?? [];
  yield { step: 'events after the first', url: '/events', headers: { 'last-event-id': first } };
}

function* reads(getResponse: GetResponse): Iterable<Step> {
  for (const url of ['/', '/stats', '/stats/history', '/health', '/readyz', '/livez', '/metrics'])
    yield { step: url, url };
  const written = `/memories/${getResponse('store 1').json().id}`;
  yield { step: 'a memory', url: written };
  yield { step: 'memories by their id', url: `/memories?id=${getResponse('store 1').json().id.slice(-8)}` };
  yield { step: 'an old version', url: `${written}/history?known_at=2026-01-01T02:00:00Z` };
  for (const list of ['/memories', '/sessions', '/session/s1', `${written}/history`]) yield* pages(list, getResponse);
  yield { step: 'related memories', url: `${written}/related?limit=20` };
  for (const order of ['created', 'changed', 'importance', 'use', 'retention']) {
    yield { step: `memories by ${order}`, url: `/memories?order=${order}&dir=asc&offset=1` };
  }
  for (const field of FACETS) {
    yield { step: `values of ${field}`, url: `/facets?field=${field}` };
    yield { step: `the first value of ${field} with a prefix`, url: `/facets?field=${field}&prefix=p&limit=1` };
  }
  for (const field of ['tier', 'source', 'tag', 'session_id', 'user_id', 'agent_id']) {
    yield { step: `growth by ${field}`, url: `/growth?step=day&field=${field}&timezone=Asia/Tokyo` };
  }
  const moments = 'growth_at=2026-01-01T02:00:00Z&growth_at=2027-01-01';
  yield { step: 'growth', url: `/memories?${moments}&limit=1` };
  for (const filter of FILTERS) {
    yield { step: `memories with ${filter}`, url: `/memories?${filter}` };
    yield { step: `sessions with ${filter}`, url: `/sessions?${filter}` };
  }
  for (const filter of [...FILTERS, ...MOMENTS, 'q=ferns']) {
    yield { step: `memories that can be listed with ${filter}`, url: `/memories?${filter}&order=importance` };
    yield { step: `tags with ${filter}`, url: `/facets?field=tag&${filter}` };
    yield { step: `growth with ${filter}`, url: `/growth?step=month&${filter}` };
    yield { step: `a map with ${filter}`, url: `/map?${filter}` };
  }
  for (const moment of MOMENTS) {
    for (const list of ['/memories', '/sessions', '/session/s1', '/export']) {
      yield { step: `${list} with ${moment}`, url: `${list}?${moment}` };
    }
  }
}

const FACETS = ['tag', 'session_id', 'source', 'tier', 'user_id', 'agent_id', 'metadata.room'];

const MOMENTS = ['current=true', 'as_of=2026-01-01T02:00:00Z', 'known_at=2026-01-01T02:00:00Z'];

/** Requests a whole list, its first page and its second page. */
function* pages(list: string, getResponse: GetResponse): Iterable<Step> {
  yield { step: `all of ${list}`, url: list };
  yield { step: `the first of ${list}`, url: `${list}?limit=1` };
  const { next_cursor: cursor } = getResponse(`the first of ${list}`).json();
  yield { step: `the next of ${list}`, url: `${list}?limit=1&cursor=${cursor}` };
}

const FILTERS = [
  'tag=plant',
  'tag=theirs',
  'tier=working',
  'session_id=s1',
  'source=notes',
  'external_id=document',
  'since=2026-01-01T02:00:00Z',
  'until=2026-01-01T02:00:00Z',
  'metadata.room=1',
  `filter=${encodeURIComponent('{"metadata.room": {"$gte": 1}}')}`,
];

function* recalls(): Iterable<Step> {
  yield { step: 'recall', url: '/recall?query=peanuts%20and%20ferns&explain=true&top_k=1000' };
  yield { step: 'recall the best', url: '/recall?query=who%20is%20allergic&top_k=1&min_score=0.01' };
  yield { step: 'recall of likely answers', url: '/recall?query=who%20is%20allergic&only_relevant=true' };
  yield { step: 'recall with highlights', url: '/recall?query=who%20is%20allergic&highlight=true' };
  yield { step: 'recall of a word that only others use', url: '/recall?query=zanzibar' };
  const when = 'timezone=Asia/Tokyo&asked_at=2026-01-02';
  yield {
    step: 'recall of a day',
    url: `/recall?query=what%20happened%20yesterday&superseded=false&track=false&${when}`,
  };
  for (const filter of [...FILTERS, ...MOMENTS])
    yield { step: `recall with ${filter}`, url: `/recall?query=ferns&explain=true&${filter}` };
  const payload = { query: 'ferns', explain: true, filter: { $not: { tag: 'theirs' } } };
  yield { step: 'recall with a body', method: 'POST', url: '/recall', payload };
  const asking = 'query=who%20is%20allergic&session_id=asking&budget=2000&recent=true';
  yield { step: 'context', url: `/context?${asking}&timezone=Asia/Tokyo&asked_at=2026-01-01T00:00:00Z` };
  yield { step: 'context of a filter', url: `/context?filter=${encodeURIComponent('{"tag":"x"}')}` };
  yield { step: 'context, given', method: 'POST', url: '/context', payload: { session_id: 'asking', budget: 2000 } };
  yield { step: 'context, given before', method: 'POST', url: '/context', payload: { session_id: 'asking' } };
}

/** The recalls and contexts of the namespace so far. */
function* recallHistory(getResponse: GetResponse): Iterable<Step> {
  yield* pages('/recalls', getResponse);
  yield { step: 'recalls of a memory', url: `/recalls?memory_id=${getResponse('store 1').json().id}` };
}

/** Changes of many memories, and their undos. */
function* changes(getResponse: GetResponse): Iterable<Step> {
  const change = (query: string, payload: object) => ({ method: 'PATCH', url: `/memories?${query}`, payload }) as const;
  const add_tags = ['watered'];
  for (const [i, filter] of [...FILTERS, 'q=ferns'].entries()) {
    yield { step: `change with ${filter}`, ...change(filter, { add_tags, importance: i / 100 }) };
  }
  const change_id = 'a-change-of-this-namespace';
  const named = change('q=ferns', { add_tags, remove_tags: ['plant'], metadata: { room: 'attic' }, change_id });
  yield { step: 'change with an id', ...named };
  yield { step: 'change with an id again', ...named };
  yield { step: 'another change with this id', ...change('q=peanuts', { importance: 1, change_id }) };
  const ids = [getResponse('store 0').json().id, 'theirs1'];
  yield { step: 'change memories by their ids', ...change('', { ids, importance: 0.5 }) };
  yield { step: 'change without conditions', ...change('', { importance: 0.5 }) };
  const undo = { method: 'POST', url: `/changes/${change_id}/undo` } as const;
  yield { step: 'undo a change', ...undo };
  yield { step: 'undo a change again', ...undo };
}

// Ids of another namespace must behave like ids that do not exist.
function* foreign({ memory: id, consolidation, change, import: importId, event }: ForeignIds): Iterable<Step> {
  const ofMemory: InjectOptions[] = [
    { url: `/memories/${id}` },
    { url: `/memories/${id}/history` },
    { url: `/memories/${id}/related` },
    { url: `/recalls?memory_id=${id}` },
    { method: 'PATCH', url: '/memories', payload: { ids: [id], importance: 1 } },
    { method: 'POST', url: `/changes/${change}/undo` },
    { method: 'DELETE', url: `/memories?id=${id}` },
    { method: 'PUT', url: `/update/${id}`, payload: { importance: 1 } },
    { method: 'DELETE', url: `/forget/${id}` },
    { method: 'POST', url: '/store', payload: memory('new', { supersedes: id }) },
    { url: `/consolidations/${consolidation}` },
    { method: 'POST', url: `/corrections/${consolidation}`, payload: { accept: true } },
    { method: 'DELETE', url: `/imports/${importId}` },
    { url: '/events', headers: { 'last-event-id': event } },
  ];
  for (const request of ofMemory) yield { ...request, step: JSON.stringify(request), foreign: true };
  const undo = { method: 'POST', url: `/consolidations/${consolidation}/undo?with_later=true` } as const;
  yield { ...undo, step: `undo ${consolidation}`, operator: true, foreign: true };
  const partly = { ...undo, url: `/consolidations/${consolidation}/undo?memory_id=${id}` };
  yield { ...partly, step: `undo the change of ${id} in ${consolidation}`, operator: true, foreign: true };
}

/** The tools, resources and prompts, each in a separate request. */
function* mcp({ memory: id }: ForeignIds): Iterable<Step> {
  const headers = { accept: 'application/json, text/event-stream' };
  const call = (name: string, args: object) => ({ method: 'tools/call', params: { name, arguments: args } });
  const messages = [
    { method: 'tools/list' },
    call('memory_recall', { query: 'peanuts and ferns', top_k: 50 }),
    call('memory_session', { session_id: 's1' }),
    call('memory_session', { session_id: 'theirs' }),
    call('memory_stats', {}),
    call('memory_update', { memory_id: id, importance: 1 }),
    call('memory_forget', { memory_id: id }),
    call('memory_consolidate', { dry_run: true }),
    { method: 'resources/list' },
    { method: 'resources/read', params: { uri: `memory://${id}` } },
    { method: 'resources/read', params: { uri: 'session://theirs' } },
    { method: 'prompts/get', params: { name: 'memory_context', arguments: { task: 'Who is allergic?' } } },
  ];
  for (const message of messages) {
    const payload = { jsonrpc: '2.0', id: 1, ...message };
    yield {
      step: JSON.stringify(message),
      method: 'POST',
      url: '/mcp?tools=all&structured=true',
      headers,
      payload,
      foreign: true,
    };
  }
  for (const method of ['GET', 'DELETE'] as const) yield { step: `${method} /mcp`, method, url: '/mcp' };
}

function* others(): Iterable<Step> {
  const headers = { 'idempotency-key': 'theirs' };
  yield { step: 'store with a key of theirs', method: 'POST', url: '/store', headers, payload: memory('fresh') };
  yield { step: 'a session of theirs', url: '/session/theirs' };
  yield { step: 'nowhere', url: '/nowhere' };
  yield* owned();
}

/** Requests for one user and agent of the namespace. */
function* owned(): Iterable<Step> {
  const ann = 'user_id=ann&agent_id=cook';
  const owner = { user_id: 'ann', agent_id: 'cook' };
  const payload = memory('of Ann', { ...owner, session_id: 's1', attachment: 'attached by Ann' });
  yield { step: 'store of Ann', method: 'POST', url: '/store', payload };
  const lists = [
    '/recall?query=Ann&',
    '/context?query=Ann&',
    '/memories?',
    '/sessions?',
    '/session/s1?',
    '/export?',
    '/stats?',
    '/events?',
    '/facets?field=tag&',
    '/growth?step=day&',
    '/map?',
    '/recalls?',
  ];
  yield { step: 'a session with attachments', url: '/session/s1?attachments=true' };
  const reads = [...lists, '/memories/m0?', '/memories/m0/history?', '/memories/m0/related?'];
  for (const url of reads) yield { step: `${url} of Ann`, url: `${url}${ann}&shared=true` };
  const filter = `&filter=${encodeURIComponent('{"$not": {"tag": "theirs"}}')}`;
  for (const url of ['/recall?query=Ann&', '/memories?', '/sessions?', '/session/s1?', '/export?']) {
    yield { step: `${url} of Ann with a filter`, url: `${url}${ann}${filter}` };
    yield { step: `${url} of Ann that holds`, url: `${url}${ann}&current=true` };
    yield { step: `${url} of Ann that held`, url: `${url}${ann}&as_of=2024-01-01` };
  }
  yield { step: 'events of Ann with a filter', url: `/events?${ann}${filter}` };
  yield { step: 'corrections of Ann', url: `/corrections?${ann}&shared=true` };
  yield { step: 'declined corrections', url: '/corrections?state=declined&limit=1' };
  yield { step: 'more corrections', url: '/corrections?cursor=none' };
  const decision = { accept: true };
  yield { step: 'a decision of Ann', method: 'POST', url: `/corrections/none?${ann}`, payload: decision };
  yield { step: 'users', url: '/users?limit=1' };
  yield { step: 'more users', url: '/users?cursor=none' };
  const quota = { memories: 10, bytes: null };
  yield { step: 'quota of Ann', method: 'PUT', url: '/users/ann/quota', payload: quota, operator: true };
  const hook = (session_id: string, capture: string, prompt: string) => ({
    ...{ method: 'POST', url: `/hooks/codex?user_id=una&capture=${capture}&recall=on&budget=500&deadline_ms=10000` },
    payload: { session_id, hook_event_name: 'UserPromptSubmit', prompt, turn_id: prompt, cwd: '/home/una/kitchen' },
  });
  yield { step: 'a prompt of Una', ...hook('s1', 'turns', 'The ferns of Una stand in the kitchen.') } as Step;
  // A prompt is stored while its context is searched, and then its words may count. So the one that finds something is
  // not stored: scores would depend on the speed of the test.
  yield {
    step: 'a prompt of Una in another session',
    ...hook('s2', 'off', 'Where do the ferns of Una stand?'),
  } as Step;
  yield { step: 'pause the hooks of Ann', method: 'PUT', url: '/hooks?user_id=ann', payload: { paused: true } };
  yield { step: 'hooks of Ann', url: '/hooks?user_id=ann' };
  yield { step: 'hooks of nobody', url: '/hooks' };
  yield { step: 'update of Ann', method: 'PUT', url: `/update/m0?${ann}`, payload: { importance: 1 } };
  const change = {
    method: 'PATCH',
    url: `/memories?${ann}`,
    payload: { add_tags: ['hers'], change_id: 'a-change-of-ann' },
  };
  yield { step: 'change of Ann', ...change } as Step;
  yield { step: 'undo the change of Ann', method: 'POST', url: `/changes/a-change-of-ann/undo?${ann}` };
  yield { step: 'forget of Ann', method: 'DELETE', url: `/forget/m0?${ann}` };
  const headers = { 'content-type': 'application/x-ndjson' };
  yield { step: 'import of Ann', method: 'POST', url: `/import?${ann}`, headers, payload: 'no export' };
  yield { step: 'forget some of Ann', method: 'DELETE', url: `/memories?tag=none&${ann}${filter}` };
  yield { step: 'forget all of Ann', method: 'DELETE', url: `/memories?${ann}&shared=false` };
}

function* consolidations(getResponse: GetResponse): Iterable<Step> {
  const consolidate = { method: 'POST', operator: true } as const;
  yield { step: 'plan', url: '/consolidate?dry_run=true', ...consolidate };
  yield { step: 'consolidate', url: '/consolidate?min_age_seconds=0', ...consolidate };
  const { id } = getResponse('consolidate').json();
  yield* pages(`/consolidations/${id}`, getResponse);
  yield { step: 'consolidate again', url: '/consolidate', ...consolidate };
  yield* pages('/consolidations', getResponse);
  const newest = getResponse('consolidate again').json().id;
  yield { step: 'undo', url: `/consolidations/${newest}/undo`, ...consolidate };
  yield { step: 'undo the one before', url: `/consolidations/${id}/undo?with_later=true`, ...consolidate };
  yield { step: 'stats after undoing', url: '/stats' };
  yield* copies(getResponse);
}

function* copies(getResponse: GetResponse): Iterable<Step> {
  yield { step: 'export', url: '/export' };
  const headers = { 'content-type': 'application/x-ndjson' };
  yield { step: 'import', method: 'POST', url: '/import', headers, payload: getResponse('export').body };
  // A backup contains all namespaces, so it needs the scope `operate`, which this key lacks.
  yield { step: 'backup', url: '/backup' };
}

function* imports(getResponse: GetResponse): Iterable<Step> {
  const headers = { 'content-type': 'application/x-ndjson' };
  const lines = (...texts: object[]) => texts.map((text) => JSON.stringify(text)).join('\n');
  const importing = { method: 'POST', headers } as const;
  const payload = lines(
    { content: 'Mara prunes the ferns in March', external_id: 'chat/1' },
    { content: 'The ferns froze', external_id: 'chat/2' },
    { content: 'no external id' },
  );
  const source = '/imports?from=chatgpt&name=chats.json&content_key=digest&expected_count=3&redact=false';
  yield { step: 'import texts', url: source, ...importing, payload };
  yield { step: 'import texts again', url: source, ...importing, payload };
  yield { step: 'import nothing', url: '/imports?from=nothing', ...importing, payload: '' };
  const ann = 'user_id=ann&agent_id=cook';
  const ofAnn = lines({ content: 'Ann waters no ferns', external_id: 'chat/1' });
  yield { step: 'import texts of Ann', url: `/imports?from=claude&${ann}`, ...importing, payload: ofAnn };
  const table = 'text,owner,shelf\nMara pots the ferns,mara,top\nMara sells a fern,mara,top\n';
  const options = 'name=t.csv&source_user=mara&map=content%3Dtext%2Cuser_id%3Downer&rest=metadata&redact=true';
  for (const dryRun of [true, false]) {
    const url = `/import?from=csv&${options}&capture=turns&timezone=UTC&dry_run=${dryRun}`;
    yield { step: `import a table, with dry_run=${dryRun}`, method: 'POST', url, payload: table };
  }
  yield* pages('/imports', getResponse);
  yield { step: 'imports of Ann', url: `/imports?${ann}` };
  const { import_id: id } = getResponse('import texts of Ann').json();
  yield { step: 'undo the import of Ann as Ben', method: 'DELETE', url: `/imports/${id}?user_id=ben` };
  yield { step: 'undo the import of Ann', method: 'DELETE', url: `/imports/${id}?${ann}` };
  yield { step: 'undo', method: 'DELETE', url: `/imports/${getResponse('import texts').json().import_id}` };
}

interface WorldState {
  namespace: string;
  now: number;
  idCounts: Map<string, number>;
}

/** A service with a clock and ids that the test controls. */
class World {
  readonly #engine: Engine;
  readonly #app: App;
  readonly #state: WorldState;
  readonly #keys = new Map<string, { write: string; operate: string }>();
  /** Every route, such as `GET /memories/:memory_id`. */
  readonly routes: readonly string[];
  /** Routes without `access` in their config. */
  readonly undeclared: readonly string[];
  readonly requests: { method: string; pathname: string; parameters: string[] }[] = [];

  private constructor(engine: Engine, app: App, state: WorldState, routes: readonly RouteOptions[]) {
    this.#engine = engine;
    this.#app = app;
    this.#state = state;
    this.routes = getNames(routes);
    this.undeclared = getNames(routes.filter(({ config }) => config?.access === undefined));
  }

  static async open(name: string): Promise<World> {
    const state = { namespace: '', now: START, idCounts: new Map<string, number>() };
    const ids = {
      next() {
        const count = (state.idCounts.get(state.namespace) ?? 0) + 1;
        state.idCounts.set(state.namespace, count);
        // Ids for `theirs` have a different prefix, so that no other namespace has them.
        return state.namespace === 'theirs' ? `theirs${count}` : `m${count - 1}`;
      },
    };
    const dbPath = join(folder, `${name}.db`);
    const settings = readSettings({ dbPath, embedder: 'none', consolidationIntervalSeconds: '0', rateLimit: '0' }, {});
    const engine = await openEngine({
      ...engineSettings(settings),
      dbPath,
      telemetry,
      ids,
      clock: { now: () => state.now },
    });
    const routes: RouteOptions[] = [];
    const app = await buildApp({
      settings,
      engine,
      telemetry,
      metrics: createMetrics(),
      onRoute: (route) => routes.push(route),
    });
    return new World(engine, app, state, routes);
  }

  async addNamespace(namespace: string): Promise<void> {
    const [write, operate] = [
      await this.#engine.keys.add({ namespace, scope: 'write' }),
      await this.#engine.keys.add({ namespace, scope: 'operate' }),
    ];
    this.#keys.set(namespace, { write: write.key, operate: operate.key });
  }

  async openApi(): Promise<OpenApi> {
    return (await this.#app.inject('/openapi.json')).json();
  }

  /** Sends a request of a namespace. New records get ids of the sequence `idNamespace`. */
  async send(
    namespace: string,
    { step, operator, headers, ...request }: Step,
    idNamespace = namespace,
  ): Promise<ComparableResponse> {
    this.#state.namespace = idNamespace;
    const keys = this.#keys.get(namespace);
    const authorization = `Bearer ${operator ? keys?.operate : keys?.write}`;
    const options = { ...request, headers: { ...headers, authorization } };
    const { pathname, searchParams } = new URL(String(request.url), 'http://localhost');
    this.requests.push({ method: request.method ?? 'GET', pathname, parameters: [...searchParams.keys()] });
    // Uses of memories are recorded some seconds after a recall; without fake timers, retention would depend on the speed
    // of the test.
    if (pathname === '/recall' || pathname === '/mcp') vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    let response = pathname === '/events' ? await this.#readStreamStart(options) : await this.#app.inject(options);
    // On a busy machine, the counts of /health take longer to be read than a response waits for them.
    while (pathname === '/health' && response.statusCode === 503) response = await this.#app.inject(options);
    vi.useRealTimers();
    const { date: _date, 'x-request-id': _id, 'content-disposition': _name, ...others } = response.headers;
    delete others['content-length'];
    return { step, status: response.statusCode, headers: others, body: normalize(response.body) };
  }

  tick(): void {
    this.#state.now += HOUR_MS;
  }

  async close(): Promise<void> {
    await this.#app.close();
    await this.#engine.close();
  }

  /** Returns the first events of a stream, which are available as soon as it is open. */
  async #readStreamStart(options: InjectOptions) {
    const response = await this.#app.inject({ ...options, payloadAsStream: true });
    const stream = response.stream() as Readable;
    let body = '';
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      body += chunk;
    });
    for (let previousLength = -1; previousLength !== body.length; ) {
      previousLength = body.length;
      await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    }
    stream.destroy();
    return { headers: response.headers, statusCode: response.statusCode, body };
  }
}

function getNames(routes: readonly RouteOptions[]): string[] {
  return routes.flatMap(({ method, url }) => [method].flat().map((one) => `${one} ${url}`));
}

interface OpenApi {
  paths: Record<string, Record<string, { parameters?: { name: string; in: string }[] }>>;
}

/**
 * Removes the parts of a body that depend on timing: request id, uptime, time of a check, pending purges and the content
 * of cursors.
 */
function normalize(body: string): string {
  return (
    body
      .replace(/"request_id":"[^"]*"/, '"request_id":""')
      // Cursors are encrypted, so only their length is compared.
      .replace(/"next_cursor":"([\w-]+)"/, (_, cursor: string) => `"next_cursor":${cursor.length}`)
      .replace(/"uptime_seconds":\d+/, '"uptime_seconds":0')
      .replace(/"checked_at":"[^"]*"/, '"checked_at":""')
      .replace(',"purge":"pending"', '')
  );
}

/** Runs the script as the namespace `ours`, with `beforeStep` before each step. */
async function run(
  world: World,
  foreignIds: ForeignIds,
  beforeStep: (step: Step) => Promise<unknown>,
): Promise<ComparableResponse[]> {
  const responses: ComparableResponse[] = [];
  const getResponse: GetResponse = (name) => {
    const { body = '' } = responses.find(({ step }) => step === name) ?? {};
    return { body, json: () => JSON.parse(body) };
  };
  for (const step of script(getResponse, foreignIds)) {
    if (!step.foreign) await beforeStep(step);
    responses.push(await world.send('ours', step));
    world.tick();
  }
  return responses;
}

/** Stores a thousand similar texts in another namespace, and returns some of its ids. */
async function fillOthers(world: World): Promise<ForeignIds> {
  const others = async (request: Omit<Step, 'step'>) =>
    (await world.send('others', { step: '', ...request }, 'theirs')).body;
  const similar = Array.from({ length: 1000 }, (_, i) =>
    memory(`${TEXTS[i % TEXTS.length]} in zanzibar ${i}`, {
      ...{ tags: ['theirs', 'plant'], session_id: 'theirs' },
      external_id: i === 0 ? 'document' : `document ${i}`,
    }),
  );
  await others({ method: 'POST', url: '/store/batch', payload: similar });
  const headers = { 'idempotency-key': 'theirs' };
  const stored = await others({ method: 'POST', url: '/store', headers, payload: memory('their text') });
  const run = await others({ method: 'POST', url: '/consolidate', operator: true });
  const headersOfLines = { 'content-type': 'application/x-ndjson' };
  const line = JSON.stringify({ content: 'their text', external_id: 'their chat' });
  const importing = { method: 'POST', url: '/imports?from=jsonl', headers: headersOfLines, payload: line } as const;
  const imported = await others(importing);
  const changing = { method: 'PATCH', url: '/memories?source=notes', payload: { importance: 0.1 } } as const;
  const changed = await others(changing);
  const events = await others({ url: '/events', headers: { 'last-event-id': 'unknown.1' } });
  const foreignIds = {
    memory: JSON.parse(stored).id as string,
    consolidation: JSON.parse(run).id as string,
    change: JSON.parse(changed).change_id as string,
    import: JSON.parse(imported).import_id as string,
    event: /^id: (.*)$/m.exec(events)?.[1] ?? '',
  };
  for (const id of Object.values(foreignIds)) expect(id).toMatch(/^theirs/);
  return foreignIds;
}

describe('a namespace', () => {
  let alone: World;
  let crowded: World;

  let aloneResponses: ComparableResponse[];
  let crowdedResponses: ComparableResponse[];

  beforeAll(async () => {
    [alone, crowded] = [await World.open('alone'), await World.open('crowded')];
    for (const namespace of ['others', 'ours']) await crowded.addNamespace(namespace);
    const foreignIds = await fillOthers(crowded);
    await alone.addNamespace('ours');
    aloneResponses = await run(alone, foreignIds, async () => {});
    crowdedResponses = await run(crowded, foreignIds, (step) => crowded.send('others', step));
  }, 300_000);
  afterAll(async () => {
    await alone.close();
    await crowded.close();
  });

  it('gets the same responses, byte for byte, regardless of other namespaces', () => {
    const [expected, actual] = [aloneResponses, crowdedResponses];
    expect(actual.map(({ step }) => step)).toEqual(expected.map(({ step }) => step));
    for (const [i, response] of actual.entries()) expect(response, response.step).toEqual(expected[i]);
    expect(actual.filter(({ status }) => status === 200).length).toBeGreaterThan(actual.length / 2);
  });

  it('a namespace is tested with every route and every query parameter', async () => {
    const wasRequested = (route: string, parameter?: string) => {
      const [method, pattern = ''] = route.split(' ');
      const path = new RegExp(`^${pattern.replace(/:\w+|\{\w+\}/g, '[^/]+')}$`);
      return alone.requests.some(
        (one) =>
          one.method === method &&
          path.test(one.pathname) &&
          (!parameter || one.parameters.some((name) => name === parameter)),
      );
    };
    // Keys and namespaces belong to the whole database and are for operators.
    const isPage = (route: string) => /^(HEAD|OPTIONS) | \/(docs|redoc|ui|openapi\.json|keys|namespaces)/.test(route);
    expect(alone.routes.filter((route) => !isPage(route) && !wasRequested(route))).toEqual([]);
    const parameters = Object.entries((await alone.openApi()).paths).flatMap(([path, operations]) =>
      Object.entries(operations).flatMap(([method, { parameters: all = [] }]) =>
        all
          .filter((parameter) => parameter.in === 'query')
          .map(({ name }) => ({ route: `${method.toUpperCase()} ${path}`, name })),
      ),
    );
    expect(parameters.length).toBeGreaterThan(30);
    const named = ({ name }: { name: string }) => (name === 'metadata' ? 'metadata.room' : name);
    expect(parameters.filter((one) => !wasRequested(one.route, named(one)))).toEqual([]);
  });

  it('a namespace is accessed only through routes with an access level', () => {
    expect(alone.undeclared).toEqual([]);
  });
});
