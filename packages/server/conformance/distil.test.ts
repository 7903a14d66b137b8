import type { ConsolidationResponse, ErrorResponse, Memory, StoreRequest } from '@memoryd/contract';
import { openAdministration } from '@memoryd/engine';
import { beforeAll, describe, expect, it } from 'vitest';
import { uniqueWord } from './database-files.ts';
import { databaseHolds, newDatabase } from './databases.ts';
import type { Answer, Request } from './http.ts';
import { eventually } from './process.ts';
import { Client, useServer } from './under-test.ts';

/** Disables automatic consolidation. The default embedder stays on. */
const MANUAL_CONSOLIDATION = { SERVICE_CONSOLIDATION_INTERVAL_SECONDS: '0' };
const PURGE_TIMEOUT_MS = 5_000;

/** Related memories about one greenhouse. */
const GREENHOUSE = [
  'Mara planted twelve tomato seedlings in the Aldgrove greenhouse.',
  'The tomato seedlings in the Aldgrove greenhouse need water every second day.',
  'Mara moved the tomato plants in the Aldgrove greenhouse away from the heater.',
  'The tomatoes in the Aldgrove greenhouse are ripening, Mara says.',
  'Mara picked the first ripe tomatoes in the Aldgrove greenhouse.',
];
/** Memories unrelated to the greenhouse and to each other. */
const OTHERS = [
  'The quarterly tax return is due on the last day of the month.',
  'Jonas broke his left arm while skating on the frozen canal.',
  'The train to Lyon leaves from platform nine at dawn.',
  'Our printer refuses paper that is heavier than a postcard.',
  'The violin concerto begins with a long silence.',
  'A password must be changed after ninety days.',
  'The lighthouse keeper writes down the wind at noon.',
];

interface Distilled {
  client: Client;
  /** Ids of the source memories. */
  sources: string[];
  semantic: Memory;
}

async function getSemanticMemories(client: Client): Promise<Memory[]> {
  return (await client.memories('tier=semantic')).memories;
}

/** Stores unrelated memories and the source texts, consolidates, and expects one semantic memory. */
async function distil(client: Client, texts = GREENHOUSE, fields: Partial<StoreRequest> = {}): Promise<Distilled> {
  await client.storeInOrder(OTHERS.map((content) => ({ content })));
  const sources = await client.storeInOrder(texts.map((content) => ({ content, ...fields })));
  await client.embedded();
  await client.consolidate();
  const made = await getSemanticMemories(client);
  expect(made).toHaveLength(1);
  return { client, sources, semantic: made[0] as Memory };
}

// One server for all tests, since a server with a model starts slowly. Each test uses its own namespace.
const database = await newDatabase();
const keys: string[] = [];
beforeAll(async () => {
  const administration = await openAdministration({ dbPath: database });
  for (let n = 0; n < 16; n++) {
    const { key } = await administration.keys.add({ namespace: `namespace-${n}`, scope: 'operate' });
    keys.push(key);
  }
  await administration.close();
});
const shared = useServer({ env: MANUAL_CONSOLIDATION, database });

/** A client of the shared server that sends an API key. */
class NamespaceClient extends Client {
  readonly #key: string;

  constructor(key: string) {
    super(() => shared.server);
    this.#key = key;
  }

  override send<Body>(request: Request): Promise<Answer<Body>> {
    return super.send<Body>({ ...request, headers: { ...request.headers, authorization: `Bearer ${this.#key}` } });
  }
}

/** Returns a client of an empty namespace. */
function newNamespace(): Client {
  const key = keys.shift();
  if (key === undefined) throw new Error('the tests need more namespaces');
  return new NamespaceClient(key);
}

describe('a semantic memory', () => {
  let memoryd: Client;
  let made: Distilled;

  it('a semantic memory is distilled from related memories, and lists them as its sources', async () => {
    memoryd = newNamespace();
    made = await distil(memoryd, GREENHOUSE, { tags: ['garden', 'mara'], importance: 0.7 });
    const { semantic, sources } = made;
    expect(semantic).toMatchObject({
      tier: 'semantic',
      session_id: null,
      source: 'consolidation',
      tags: ['garden', 'mara'],
      importance: 0.7,
      metadata: {},
      derived_from: sources,
      version: 1,
    });
    for (const line of semantic.content.split('\n')) expect(GREENHOUSE.join('\n')).toContain(line);
    expect((await memoryd.memory(sources[0] ?? '')).derived_from).toEqual([]);
  });

  it('a semantic memory is counted in the stats, and not created again by the next run', async () => {
    expect(await memoryd.stats()).toMatchObject({ semantic_count: 1 });
    expect(await memoryd.consolidate()).toMatchObject({ consolidated_count: 0 });
    expect(await getSemanticMemories(memoryd)).toEqual([made.semantic]);
  });
});

describe('a distilling consolidation run', () => {
  it('a distilling consolidation run has a plan with sources and text, lists the created memory, and can be undone permanently', async () => {
    const client = newNamespace();
    await client.storeInOrder(OTHERS.map((content) => ({ content })));
    const sources = await client.storeInOrder(GREENHOUSE.map((content) => ({ content })));
    await client.embedded();
    const { plan, consolidated_count } = await client.consolidate('dry_run=true');
    expect(plan?.distil).toEqual({
      total: 1,
      memories: [{ content: expect.stringContaining('Aldgrove'), derived_from: sources }],
    });
    expect(await getSemanticMemories(client)).toEqual([]);
    const run = await client.consolidate();
    expect(run.consolidated_count).toBe(consolidated_count);
    const [made] = await getSemanticMemories(client);
    expect(made?.content).toBe(plan?.distil.memories[0]?.content);
    const { changes } = await client.get<ConsolidationResponse>(`/consolidations/${run.id}`);
    expect(changes).toContainEqual({ kind: 'distilled', memory_id: made?.id, derived_from: sources });
    await client.ok({ method: 'POST', path: `/consolidations/${run.id}/undo` });
    expect(await client.getStatus(made?.id ?? '')).toBe(404);
    for (const id of sources) expect((await client.memory(id)).tier).toBe('working');
    await client.consolidate();
    expect(await getSemanticMemories(client)).toEqual([]);
  });
});

describe('an undo with later runs', () => {
  it('stops at a run whose semantic memory a client has changed, and reports and audits what it undid', async () => {
    const client = newNamespace();
    const run = async (content: string) => {
      await client.store({ content });
      return (await client.consolidate()).id as string;
    };
    const first = await run('The ferry to Hesterby was late.');
    await client.storeInOrder([...OTHERS, ...GREENHOUSE].map((content) => ({ content })));
    await client.embedded();
    const distilling = (await client.consolidate()).id as string;
    const [made] = await getSemanticMemories(client);
    await client.update(made?.id ?? '', { content: 'Written by a client.' });
    const newest = await run('The pharmacy in Quill Lane is closed.');
    const refused = await client.send({ method: 'POST', path: `/consolidations/${first}/undo?with_later=true` });
    const { code, message, details } = (refused.body as ErrorResponse).error;
    expect([refused.status, code]).toEqual([409, 'CONFLICT']);
    for (const part of [`later consolidation ${distilling}`, newest]) expect(message).toContain(part);
    expect(details?.map(({ path }) => path)).toEqual([`/memories/${made?.id}`, `/consolidations/${newest}`]);
    const states = await Promise.all(
      [first, distilling, newest].map(async (id) => (await client.consolidation(id)).status),
    );
    expect(states).toEqual(['completed', 'completed', 'undone']);
    const audited = client.server.records().filter(({ event }) => event === 'consolidation_undone');
    expect(audited.some((record) => record.component === 'audit' && record.consolidation_id === newest)).toBe(true);
  });
});

describe('a consolidation plan', () => {
  it('distils nothing from duplicates that the same run would merge', async () => {
    const memoryd = newNamespace();
    await memoryd.storeInOrder(OTHERS.map((content) => ({ content })));
    await memoryd.storeInOrder(Array.from({ length: 3 }, () => ({ content: GREENHOUSE[0] ?? '' })));
    await memoryd.embedded();
    const planned = await memoryd.consolidate('dry_run=true');
    expect(planned.plan?.merge.total).toBe(2);
    expect(planned.plan?.distil).toEqual({ total: 0, memories: [] });
    const { consolidated_count } = await memoryd.consolidate();
    expect(consolidated_count).toBe(planned.consolidated_count);
  });

  it('a consolidation plan does not refresh a semantic memory for a duplicate of a source', async () => {
    const { client: memoryd } = await distil(newNamespace());
    await memoryd.storeInOrder([{ content: GREENHOUSE[1] ?? '' }]);
    await memoryd.embedded();
    const { plan } = await memoryd.consolidate('dry_run=true');
    expect(plan?.distil).toEqual({ total: 0, memories: [] });
    const { id } = await memoryd.consolidate();
    const { changes } = await memoryd.get<ConsolidationResponse>(`/consolidations/${id}`);
    expect(changes.filter(({ kind }) => kind === 'refreshed')).toEqual([]);
  });
});

describe('recall', () => {
  it('ranks sources above their semantic memory, and returns the semantic memory with tier=semantic', async () => {
    const { client: memoryd, sources, semantic } = await distil(newNamespace());
    await memoryd.embedded();
    for (const query of ['ripe tomatoes in the Aldgrove greenhouse', 'tomato', 'What did Mara plant?']) {
      const found = await memoryd.recall(query, 'top_k=50');
      const ids = found.results.map((result) => result.id);
      const last = Math.max(...sources.map((source) => ids.indexOf(source)));
      expect(ids.indexOf(semantic.id), query).toBeGreaterThan(last);
      const getScore = (id: string) => found.results[ids.indexOf(id)]?.score ?? Number.NaN;
      for (const source of sources) expect(getScore(semantic.id)).toBeLessThanOrEqual(getScore(source));
      expect(await memoryd.recalled(query, 'tier=semantic')).toEqual([semantic.id]);
    }
  });
});

describe('a group of sources', () => {
  it('refreshes its semantic memory when it grows, instead of creating a second one', async () => {
    const { client, sources, semantic } = await distil(newNamespace(), GREENHOUSE.slice(0, 4));
    const joining = await client.store({ content: GREENHOUSE[4] ?? '', importance: 0.9 });
    await client.embedded();
    await client.consolidate();
    const [refreshed, ...more] = await getSemanticMemories(client);
    expect(more).toEqual([]);
    expect(refreshed).toMatchObject({
      id: semantic.id,
      version: 1,
      importance: 0.9,
      derived_from: [...sources, joining],
    });
  });

  it('loses its semantic memory when the text of a source changes, and the next run makes another', async () => {
    const { client, sources, semantic } = await distil(newNamespace());
    const content = 'Mara planted forty tomato seedlings in the Aldgrove greenhouse.';
    await client.update(sources[0] ?? '', { content });
    expect(await client.getStatus(semantic.id)).toBe(404);
    await client.embedded();
    await client.consolidate();
    const [next, ...more] = await getSemanticMemories(client);
    expect(more).toEqual([]);
    expect(next?.content).toContain(content);
    expect(next?.content).not.toContain('twelve');
  });

  it('a group of sources does not refresh a semantic memory that a client has updated', async () => {
    const { client, sources, semantic } = await distil(newNamespace());
    await client.update(semantic.id, { content: 'The greenhouse is doing well.' });
    await client.update(sources[0] ?? '', { content: 'Mara planted no tomatoes in the Aldgrove greenhouse.' });
    await client.embedded();
    await client.consolidate();
    expect((await getSemanticMemories(client)).map(({ content }) => content)).toEqual([
      'The greenhouse is doing well.',
    ]);
  });

  it('loses its semantic memory when a source gets an expiry, and the next run makes another without that source', async () => {
    const { client, sources, semantic } = await distil(newNamespace());
    await client.update(sources[0] ?? '', { expires_at: '2100-01-01T00:00:00Z' });
    expect(await client.getStatus(semantic.id)).toBe(404);
    await client.consolidate();
    const [next] = await getSemanticMemories(client);
    expect(next?.derived_from).toEqual(sources.slice(1));
    expect(next?.content).not.toContain(GREENHOUSE[0]);
  });
});

describe('a semantic memory that is affected by a forget', () => {
  it('ends with a forgotten source, whose words leave the bytes of the database, and the next run makes another', async () => {
    const word = uniqueWord();
    const texts = [`Mara calls the oldest tomato in the Aldgrove greenhouse ${word}.`, ...GREENHOUSE.slice(1, 4)];
    const { client, sources, semantic } = await distil(newNamespace(), texts);
    expect(semantic.content).toContain(word);
    // The history of the semantic memory gets an earlier text that quotes the source too.
    const joining = await client.store({ content: GREENHOUSE[4] ?? '' });
    await client.embedded();
    await client.consolidate();
    expect((await client.memory(semantic.id)).derived_from).toContain(joining);
    const answer = await client.forget(sources[0] ?? '');
    expect(answer.also_forgotten).toEqual([semantic.id]);
    await expectGone(word, answer);
    await client.consolidate();
    const [next] = await getSemanticMemories(client);
    expect(next?.derived_from).toEqual([...sources.slice(1), joining]);
    expect(next?.content).not.toContain(word);
    await client.embedded();
    expect(await client.recalled('Aldgrove tomato', 'tier=semantic')).toEqual([next?.id]);
  });

  it('a semantic memory that is affected by a forget is forgotten when all its sources are forgotten in one request', async () => {
    const word = uniqueWord();
    const texts = GREENHOUSE.map((text) => `${text} ${word}!`);
    const { client, semantic } = await distil(newNamespace(), texts, { tags: ['greenhouse'] });
    const answer = await client.forgetMany('tag=greenhouse');
    await expectGone(word, answer);
    expect(await client.getStatus(semantic.id)).toBe(404);
  });

  it('a semantic memory that is affected by a forget is not distilled again after a client has forgotten it, until its group of sources changes', async () => {
    const { client, sources, semantic } = await distil(newNamespace());
    await client.forget(semantic.id);
    for (const id of sources) expect(await client.getStatus(id)).toBe(200);
    await client.consolidate();
    expect(await getSemanticMemories(client)).toEqual([]);
    // These updates make consolidation examine the group again, but do not change it.
    await client.update(sources[0] ?? '', { expires_at: '2100-01-01T00:00:00Z' });
    await client.update(sources[0] ?? '', { expires_at: null });
    await client.consolidate();
    expect(await getSemanticMemories(client)).toEqual([]);
    await client.store({ content: 'A frost killed two tomato plants in the Aldgrove greenhouse.' });
    await client.embedded();
    await client.consolidate();
    expect(await getSemanticMemories(client)).toHaveLength(1);
  });
});

async function expectGone(word: string, { purge }: { purge?: 'pending' }): Promise<void> {
  if (purge === undefined) expect(await databaseHolds(database, word)).toBe(false);
  else await eventually('the purge', PURGE_TIMEOUT_MS, async () => !(await databaseHolds(database, word)) || undefined);
}
