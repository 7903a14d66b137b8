import type {
  ApiKeyWithSecret,
  ExportedMemory,
  StoreBatchResponse,
  StoreRequest,
  StoreResponse,
} from '@memoryd/contract';
import { beforeAll, describe, expect, it } from 'vitest';
import { readEvents } from './event-reader.ts';
import { expectError, expectRefused } from './refusal.ts';
import { type Client, useServer, WORDS_ONLY } from './under-test.ts';

type Headers = Record<string, string>;

async function storeSimilar(client: Client, json: StoreRequest, headers: Headers = {}): Promise<StoreResponse> {
  return client.ok<StoreResponse>({ method: 'POST', path: '/store?similar=10', json, headers });
}

const toIds = ({ similar }: StoreResponse) => similar?.map(({ id }) => id);

describe('POST /store?similar', () => {
  const memoryd = useServer({ env: WORDS_ONLY });

  it('returns memories about the same thing, the most similar first and at most the requested number', async () => {
    const [distant, near, nearest] = await memoryd.storeInOrder([
      { content: 'The harbour crane was painted.', user_id: 'crane' },
      { content: 'The harbour crane lifts ten tonnes in calm weather.', user_id: 'crane' },
      { content: 'The harbour crane lifts eleven tonnes.', user_id: 'crane' },
      { content: 'Bees sleep in winter.', user_id: 'crane' },
    ]);
    const request = { content: 'The harbour crane lifts twelve tonnes.', user_id: 'crane' };
    const { id, similar = [], ...rest } = await storeSimilar(memoryd, request);
    expect(rest).toEqual({ status: 'stored' });
    expect(similar.map((memory) => memory.id)).toEqual([nearest, near, distant]);
    const { content, created_at } = await memoryd.memory(nearest ?? '');
    expect(similar[0]).toEqual({ id: nearest, content, created_at, score: expect.any(Number) });
    const scores = similar.map(({ score }) => score);
    expect(scores).toEqual(scores.toSorted((one, other) => other - one));
    expect(Math.min(...scores)).toBeGreaterThan(0);
    expect(Math.max(...scores)).toBeLessThanOrEqual(1);
    await memoryd.forget(id);
    const two = await memoryd.ok<StoreResponse>({ method: 'POST', path: '/store?similar=2', json: request });
    expect(toIds(two)).toEqual([nearest, near]);
  });

  const unlike: { row: string; stored: StoreRequest }[] = [
    { row: 'an equal text', stored: { content: 'the lamp of the caf\u00e9 is lit' } },
    { row: 'a text that differs in its form only', stored: { content: ' the lamp of the cafe\u0301 is lit\n' } },
    { row: 'another subject', stored: { content: 'bees sleep in winter' } },
  ];
  it.each(unlike)('leaves out $row', async ({ row, stored }) => {
    await memoryd.store({ ...stored, user_id: row });
    expect(await storeSimilar(memoryd, { content: 'the lamp of the caf\u00e9 is lit', user_id: row })).toMatchObject({
      similar: [],
    });
  });

  it('returns one memory of several with equal texts', async () => {
    const at = { user_id: 'copies' };
    const copies = ['one', 'two'].map((session_id) => ({ content: 'The attic key is red.', session_id, ...at }));
    const ids = await memoryd.storeInOrder(copies);
    const stored = await storeSimilar(memoryd, { content: 'The attic key is green.', ...at });
    expect(toIds(stored)).toHaveLength(1);
    expect(ids).toContain(toIds(stored)?.[0]);
  });

  it('leaves out what does not hold, has expired or was forgotten', async () => {
    const at = { user_id: 'tide' };
    const text = (word: string) => `The tide mill at Pembroke grinds ${word}.`;
    const holds = await memoryd.store({ content: text('wheat'), valid_to: '2999-01-01T00:00:00Z', ...at });
    const [superseded, replaced, forgotten] = await memoryd.storeInOrder([
      { content: text('rye'), ...at },
      { content: text('oats'), ...at },
      { content: text('maize'), ...at },
    ]);
    const successor = await memoryd.store({ content: text('barley'), supersedes: superseded ?? '', ...at });
    await memoryd.storeInOrder([
      { content: text('spelt'), valid_from: '2020-01-01T00:00:00Z', valid_to: '2021-01-01T00:00:00Z', ...at },
      { content: text('millet'), valid_from: '2998-01-01T00:00:00Z', ...at },
      { content: text('rice'), expires_at: '2021-01-01T00:00:00Z', ...at },
    ]);
    await memoryd.forget(forgotten ?? '');
    const stored = await storeSimilar(memoryd, { content: text('beans'), supersedes: replaced ?? '', ...at });
    expect(toIds(stored)?.sort()).toEqual([holds, successor].sort());
  });

  it('returns a summary only if none of its sources is similar', async () => {
    const user = 'summaries';
    const toRecord = (id: string, content: string, sources: string[] = []): ExportedMemory => ({
      ...{ id, content, tags: [], importance: 0.5, source: 'test', user_id: user, metadata: {} },
      ...{ tier: sources.length > 0 ? 'semantic' : 'episodic', session_id: sources.length > 0 ? null : id },
      ...{ created_at: AT, stored_at: AT, updated_at: AT, expires_at: null, evicted_at: null, valid_from: null },
      ...{ valid_to: null, supersedes: null, superseded_by: [], merged_into: null, derived_from: sources },
      ...{ formerly_derived_from: [], version: 1, revision: 1, access_count: 0, accessed_at: null, history: [] },
      ...{ distilled_revision: sources.length > 0 ? 1 : null, awaits: [] },
    });
    const records = [
      toRecord('source-a', 'Otters fish in the mill pond at dusk.'),
      toRecord('source-b', 'Wagtails visit it too.'),
      toRecord('summary-a', 'Otters fish in the mill pond.', ['source-a', 'source-b']),
      toRecord('source-c', 'Voles live there.'),
      toRecord('source-d', 'Newts live there.'),
      toRecord('summary-b', 'Otters of the mill pond eat fish.', ['source-c', 'source-d']),
    ];
    const lines = [{ format: 'memoryd', version: 1, lines: records.length }, ...records];
    const body = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
    const headers = { 'content-type': 'application/x-ndjson' };
    expect(await memoryd.ok({ method: 'POST', path: '/import', headers, body })).toMatchObject({ refused_count: 0 });
    const stored = await storeSimilar(memoryd, { content: 'Otters fish in the mill pond at dawn.', user_id: user });
    expect(toIds(stored)).toEqual(['source-a', 'summary-b']);
  });

  it('returns only memories of the user and agent of the request', async () => {
    const owners: Pick<StoreRequest, 'user_id' | 'agent_id'>[] = [
      {},
      { user_id: 'ada' },
      { agent_id: 'cook' },
      { user_id: 'ada', agent_id: 'cook' },
      { user_id: 'ben', agent_id: 'cook' },
    ];
    const contents = ['The door code of the shed is 4711.', 'The door code of the shed is 4712.'];
    const ids = await memoryd.storeInOrder(owners.map((owner) => ({ content: contents[0] as string, ...owner })));
    for (const [i, owner] of owners.entries()) {
      const stored = await storeSimilar(memoryd, { content: contents[1] as string, ...owner });
      expect(toIds(stored), JSON.stringify(owner)).toEqual([ids[i]]);
    }
  });

  it('counts no use of the similar memories, and publishes no recall', async () => {
    const id = await memoryd.store({ content: 'The bell tower leans to the east.', user_id: 'tower' });
    const stream = await readEvents(memoryd.server.port, 'user_id=tower');
    const stored = await storeSimilar(memoryd, { content: 'The bell tower leans to the west.', user_id: 'tower' });
    expect(toIds(stored)).toEqual([id]);
    await memoryd.recall('bell tower', 'user_id=tower');
    const events = () => stream.events().map((event) => event.type);
    await expect.poll(events).toContain('recalled');
    expect(events()).toEqual(['stored', 'recalled']);
    await expect.poll(async () => (await memoryd.memory(id)).access_count).toBe(1);
    stream.leave();
  });

  it('returns the same memories for a repeated request with the same Idempotency-Key', async () => {
    const at = { user_id: 'repeated' };
    const text = (word: string) => `The night train to Lyon leaves from platform ${word}.`;
    const first = await memoryd.store({ content: text('two'), ...at });
    const json = { content: text('three'), ...at };
    const headers = { 'idempotency-key': 'similar' };
    const stored = await storeSimilar(memoryd, json, headers);
    expect(toIds(stored)).toEqual([first]);
    await memoryd.store({ content: text('four'), ...at, supersedes: first });
    const again = await storeSimilar(memoryd, json, headers);
    expect([again.id, toIds(again)]).toEqual([stored.id, [first]]);
    const batch = { method: 'POST', path: '/store/batch?similar=10', headers: { 'idempotency-key': 'batch' } };
    const items = [
      { content: text('five'), ...at },
      { content: text('six'), ...at },
    ];
    const results = async () => {
      const answer = await memoryd.ok<StoreBatchResponse>({ ...batch, json: items });
      return answer.results.map((result) => ('error' in result ? result : [result.id, toIds(result)?.toSorted()]));
    };
    const before = await results();
    await memoryd.store({ content: text('seven'), ...at });
    expect(await results()).toEqual(before);
  });

  it('leaves out the memory that a store with its external_id changes', async () => {
    const at = { user_id: 'external', external_id: 'doc' };
    const other = await memoryd.store({ content: 'The office opens at seven.', user_id: 'external' });
    const id = await memoryd.store({ content: 'The office opens at nine.', ...at });
    for (const content of ['The office opens at eight.', 'The office opens at eight.']) {
      const stored = await storeSimilar(memoryd, { content, ...at });
      expect([stored.id, stored.created, toIds(stored)]).toEqual([id, false, [other]]);
    }
  });

  it('compares the beginning of a long text only', async () => {
    const at = { user_id: 'long' };
    const id = await memoryd.store({ content: 'The lock of the canal opens at six.', ...at });
    const [five, crabs] = ['The lock of the canal opens at five.', 'x\u{1f980} '.repeat(100_000)];
    expect(toIds(await storeSimilar(memoryd, { content: `${crabs}${five}`, ...at }))).toEqual([]);
    expect(toIds(await storeSimilar(memoryd, { content: `${five} ${crabs}`, ...at }))).toContain(id);
  });

  it.each(['0', '11', '-1', '1.5', 'many', '3&similar=4'])('refuses similar=%s, and stores nothing', async (value) => {
    for (const [path, json] of [
      ['/store', { content: 'never stored' }],
      ['/store/batch', [{ content: 'never stored' }]],
    ] as const) {
      await expectRefused(memoryd, { method: 'POST', path: `${path}?similar=${value}`, json }, { field: 'similar' });
    }
  });

  it('refuses a batch of more than 1,000 memories', async () => {
    const json = Array.from({ length: 1001 }, (_, n) => ({ content: `never stored ${n}` }));
    const answer = await expectRefused(memoryd, { method: 'POST', path: '/store/batch?similar=1', json });
    expect(answer.text).toContain('1000 memories with similar; send the others');
  });
});

const AT = '2024-01-01T00:00:00.000Z';

describe('POST /store?similar with a key of one user', () => {
  const memoryd = useServer({ env: WORDS_ONLY });
  let keys: { operator: Headers; ada: Headers; reader: Headers };
  beforeAll(async () => {
    const add = async (json: object, headers: Headers = {}): Promise<Headers> => {
      const { key } = await memoryd.ok<ApiKeyWithSecret>({ method: 'POST', path: '/keys', json, headers });
      return { authorization: `Bearer ${key}` };
    };
    const operator = await add({ namespace: 'app', scope: 'operate' });
    keys = {
      operator,
      ada: await add({ namespace: 'app', scope: 'write', user_id: 'ada' }, operator),
      reader: await add({ namespace: 'app', scope: 'read' }, operator),
    };
  });

  it('never shows a memory of another user or namespace, or a shared one', async () => {
    const content = 'My locker in the gym is number 12.';
    for (const user_id of ['ben', undefined]) {
      await memoryd.store({ content, ...(user_id && { user_id }) }, keys.operator);
      const elsewhere = { ...keys.operator, 'x-memoryd-namespace': 'elsewhere' };
      await memoryd.store({ content, user_id: 'ada' }, elsewhere);
    }
    const stored = await storeSimilar(memoryd, { content: 'My locker in the gym is number 13.' }, keys.ada);
    expect(stored.similar).toEqual([]);
    const next = await storeSimilar(memoryd, { content: 'My locker in the gym is number 14.' }, keys.ada);
    expect(toIds(next)).toEqual([stored.id]);
  });

  it('refuses a key that may only read', async () => {
    const request = { method: 'POST', path: '/store?similar=3', json: { content: 'x' }, headers: keys.reader };
    expectError(await memoryd.send(request), { code: 'FORBIDDEN' });
  });
});

describe('POST /store?similar with the bundled model', () => {
  const memoryd = useServer({ env: { SERVICE_CONSOLIDATION_INTERVAL_SECONDS: '0' } });

  it('finds a memory that shares no word with the stored text', async () => {
    const [sofa] = await memoryd.storeInOrder([
      { content: 'Our couch is made of brown leather.' },
      { content: 'Bees sleep in winter.' },
    ]);
    expect(toIds(await storeSimilar(memoryd, { content: 'They bought a grey fabric sofa.' }))).toEqual([sofa]);
  });
});
