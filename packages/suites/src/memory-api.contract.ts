import { type ErrorCode, LIMITS, type Memory, type MemoryApi, type MemoryEvent, withScope } from '@memoryd/contract';
import { WEIGHTS } from '@memoryd/search';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';

/** A `MemoryApi` under test. Its database must be empty at the start and have no other writer. */
export interface MemoryApiUnderTest {
  memory: MemoryApi;
  close(): Promise<void>;
}

/** Identifiers that are hard to encode in a path, a query string or a frame. */
const AWKWARD_IDS = ['a/b', 'a%2Fb', '50 % off?', '#1&x=y+z', 'a"b\\c', 'ключ', '日本語 🎉', 'x'.repeat(256)];

/** Unknown identifiers. Databases handle U+0000 in different ways. */
const UNKNOWN_IDS = ['nobody', '.', '..', ...AWKWARD_IDS, 'a\0b'];

/** Expects a call to reject with a MemoryError of this code and, if `path` is given, a detail with that path. */
async function expectError(call: Promise<unknown>, code: ErrorCode, path?: string): Promise<void> {
  const error: unknown = await call.then(
    (result) => expect.fail(`expected the error ${code}, but the call returned ${JSON.stringify(result)}`),
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(Error);
  expect(error).toMatchObject({ name: 'MemoryError', code, message: expect.stringMatching(/\S/) });
  if (path === undefined) return;
  const { details = [] } = error as { details?: { path: string }[] };
  expect(details.map((detail) => detail.path)).toContainEqual(expect.stringMatching(new RegExp(`^${path}(/|$)`)));
}

/**
 * Contract tests of `MemoryApi`, in process or over HTTP: each method, and each error by its code. `open` is called
 * once for all tests. The API under test must recall by words alone and must not consolidate by itself.
 */
export function memoryApiContract(open: () => Promise<MemoryApiUnderTest>): void {
  let opened: MemoryApiUnderTest;
  let memory: MemoryApi;
  beforeAll(async () => {
    opened = await open();
    memory = opened.memory;
  });
  afterAll(() => opened.close());

  async function getId(stored: Promise<{ id: string }>): Promise<string> {
    return (await stored).id;
  }

  /** Stores texts one after another, so that the order of their ids is known. */
  async function storeAll(session_id: string, contents: string[]): Promise<string[]> {
    const ids: string[] = [];
    for (const content of contents) ids.push(await getId(memory.store({ content, session_id })));
    return ids;
  }

  async function recallIds(request: Parameters<MemoryApi['recall']>[0]): Promise<string[]> {
    return (await memory.recall(request)).results.map(({ id }) => id);
  }

  /** Returns all items of a list, read in pages of at most two items. */
  async function readPages<Page extends { next_cursor?: string }, Item>(
    ask: (page: { limit: number; cursor?: string }) => Promise<Page>,
    getItems: (page: Page) => Item[],
  ): Promise<Item[]> {
    const items: Item[] = [];
    for (let cursor: string | undefined; ; ) {
      const page = await ask({ limit: 2, ...(cursor !== undefined && { cursor }) });
      expect(getItems(page).length).toBeLessThanOrEqual(2);
      items.push(...getItems(page));
      cursor = page.next_cursor;
      if (cursor === undefined) return items;
    }
  }

  describe('store', () => {
    it('stores every field of the request', async () => {
      const corrected = await getId(memory.store({ content: 'the key hangs by the door' }));
      const fields = {
        content: 'the key hangs in the kitchen',
        tags: ['home', 'keys'],
        importance: 0.75,
        source: 'notes',
        session_id: 'store fields',
        created_at: '2020-02-03T04:05:06.789Z',
        expires_at: '2999-01-01T00:00:00.000Z',
        metadata: { room: 'kitchen', floor: 1, deep: { list: [null, true, 'x'] } },
        supersedes: corrected,
      };
      const stored = await memory.store(fields);
      expect(stored).toEqual({ id: expect.stringMatching(/\S/), status: 'stored' });
      expect(await memory.memory(stored.id)).toMatchObject({ ...fields, id: stored.id, tier: 'working', version: 1 });
    });

    it('changes the memory with the external id of the request, and says whether the memory is new', async () => {
      const request = {
        content: 'draft',
        external_id: 'doc/1 ?#é🎉',
        session_id: 'external',
        tags: ['a'],
        metadata: { n: 1 },
      };
      const first = await memory.store(request);
      expect(first).toEqual({ id: expect.stringMatching(/\S/), status: 'stored', created: true });
      const repeated = { id: first.id, status: 'stored', created: false };
      expect(await memory.store(request)).toEqual(repeated);
      expect(await memory.memory(first.id)).toMatchObject({ ...request, version: 1 });
      expect(await memory.store({ content: 'final', external_id: request.external_id, source: 'mail' })).toEqual(
        repeated,
      );
      const changed = { ...request, content: 'final', source: 'mail', version: 2 };
      expect(await memory.memory(first.id)).toMatchObject(changed);
      const { external_id } = request;
      const { results } = await memory.recall({ query: 'final', external_id });
      expect(results).toMatchObject([{ id: first.id, external_id }]);
      expect((await memory.session({ session_id: 'external' })).memories).toMatchObject([{ external_id }]);
    });

    it('returns similar memories that hold now, if they are requested', async () => {
      const content = 'The ferry to Inchkeith leaves at nine from the old pier.';
      const first = { content: 'The ferry to Inchkeith leaves at seven from the old pier.' };
      const { id: outdated, ...response } = await memory.store(first, { similar: 3 });
      expect(response).toEqual({ status: 'stored', similar: [] });
      const id = await getId(memory.store({ content, supersedes: outdated }));
      await memory.store({ content: 'Bees sleep in winter.' });
      const next = { content: 'The ferry to Inchkeith leaves at ten from the old pier.' };
      const { similar = [], ...stored } = await memory.store(next, { similar: 3 });
      expect(stored).toEqual({ id: expect.stringMatching(/\S/), status: 'stored' });
      const { created_at } = await memory.memory(id);
      expect(similar).toEqual([{ id, content, created_at, score: expect.any(Number) }]);
      expect(similar[0]?.score).toBeGreaterThan(0);
      expect(similar[0]?.score).toBeLessThan(1);
      expect(await memory.store({ content: 'The ferry to Inchkeith leaves at six.' })).not.toHaveProperty('similar');
    });

    it('refuses to make a memory supersede itself', async () => {
      const id = await getId(memory.store({ content: 'x', external_id: 'circle' }));
      const next = await getId(memory.store({ content: 'y', supersedes: id }));
      const circle = memory.store({ content: 'z', external_id: 'circle', supersedes: next });
      await expectError(circle, 'CONFLICT', '/supersedes');
      expect(await memory.memory(id)).toMatchObject({ content: 'x', version: 1 });
    });

    it('refuses an integer in metadata that JSON numbers cannot represent exactly', async () => {
      const stored = memory.store({ content: 'a', metadata: { a: { n: 2 ** 53 } } });
      await expectError(stored, 'INVALID_REQUEST', '/metadata/a/n');
    });

    it('sets default values for absent fields', async () => {
      const before = Date.now();
      const id = await getId(memory.store({ content: 'a plain memory' }));
      const stored: Memory = await memory.memory(id);
      expect(stored).toMatchObject({
        tags: [],
        importance: 0.5,
        source: 'api',
        session_id: 'default',
        metadata: {},
        expires_at: null,
        supersedes: null,
      });
      expect(Date.parse(stored.created_at)).toBeGreaterThanOrEqual(before);
      expect(Date.parse(stored.created_at)).toBeLessThanOrEqual(Date.now());
    });

    it.each([
      ' two  spaces\r\n\tand a tab ',
      'e\u0301 is not \u00e9',
      'مرحبا 日本 🎉',
      '{"json": "\\u0000"}',
      'x'.repeat(70_000),
    ])('stores a text unchanged (%#)', async (content) => {
      const id = await getId(memory.store({ content, session_id: 'as it is' }));
      const { memories } = await memory.session({ session_id: 'as it is' });
      expect(memories.find((each) => each.id === id)?.content).toBe(content);
    });

    it('stores one memory for repeated requests with the same idempotency key', async () => {
      const request = { content: 'told once', session_id: 'idempotent' };
      const first = await memory.store(request, { idempotencyKey: 'told once' });
      expect(await memory.store(request, { idempotencyKey: 'told once' })).toEqual(first);
      expect(await memory.store(request, { idempotencyKey: 'told again' })).not.toEqual(first);
      expect((await memory.session({ session_id: 'idempotent' })).total).toBe(2);
    });

    it('stores two memories for two requests without an idempotency key', async () => {
      const ids = await storeAll('said twice', ['yes', 'yes']);
      expect(new Set(ids).size).toBe(2);
    });

    it('refuses an idempotency key that was used for another request', async () => {
      await memory.store({ content: 'the first' }, { idempotencyKey: 'contested' });
      await expectError(memory.store({ content: 'the second' }, { idempotencyKey: 'contested' }), 'CONFLICT');
    });

    it.each(['', 'k'.repeat(256)])(
      'refuses an idempotency key that is empty or too long (%#)',
      async (idempotencyKey) => {
        await expectError(memory.store({ content: 'x' }, { idempotencyKey }), 'INVALID_REQUEST', '/Idempotency-Key');
      },
    );

    it.each(['a\0b', '\ud800'])('refuses an idempotency key that cannot be stored (%#)', async (idempotencyKey) => {
      await expectError(memory.store({ content: 'x' }, { idempotencyKey }), 'INVALID_REQUEST');
    });

    it.each([
      ['/content', {}],
      ['/content', { content: ' \n' }],
      ['/content', { content: 7 }],
      ['/content', { content: 'nul \u0000' }],
      ['/content', { content: 'half \ud800' }],
      ['/tags', { content: 'x', tags: 'one' }],
      ['/tags', { content: 'x', tags: [''] }],
      ['/importance', { content: 'x', importance: 1.5 }],
      ['/importance', { content: 'x', importance: '1' }],
      ['/source', { content: 'x', source: 's'.repeat(257) }],
      ['/session_id', { content: 'x', session_id: '' }],
      ['/external_id', { content: 'x', external_id: '' }],
      ['/external_id', { content: 'x', external_id: 'x'.repeat(513) }],
      ['/created_at', { content: 'x', created_at: 'yesterday' }],
      ['/expires_at', { content: 'x', expires_at: '2026-02-30' }],
      ['/metadata', { content: 'x', metadata: [] }],
      ['/metadata', { content: 'x', metadata: { large: 'x'.repeat(17_000) } }],
      ['/colour', { content: 'x', colour: 'red' }],
    ])('rejects an invalid request with an error for the path %s (%#)', async (path, request) => {
      await expectError(memory.store(request as never), 'INVALID_REQUEST', path);
    });
  });

  describe('storeBatch', () => {
    it('returns an id or an error for each memory of the batch, in order', async () => {
      const good = { content: 'in a batch', session_id: 'batch' };
      const response = await memory.storeBatch([good, { ...good, content: '' }, { ...good, content: 'the other' }]);
      expect(response).toMatchObject({ stored_count: 2, failed_count: 1 });
      const [first, second, third] = response.results;
      expect(second).toMatchObject({ error: { code: 'INVALID_REQUEST', details: [{ path: '/1/content' }] } });
      const { memories } = await memory.session({ session_id: 'batch' });
      expect(memories.map(({ id, content }) => ({ id, content }))).toEqual([
        { id: (first as { id: string }).id, content: 'in a batch' },
        { id: (third as { id: string }).id, content: 'the other' },
      ]);
    });

    it('stores the batch once for repeated requests with the same idempotency key', async () => {
      const requests = [1, 2].map((n) => ({ content: `batched once ${n}`, session_id: 'batch once' }));
      const first = await memory.storeBatch(requests, { idempotencyKey: 'batched once' });
      expect(await memory.storeBatch(requests, { idempotencyKey: 'batched once' })).toEqual(first);
      expect((await memory.session({ session_id: 'batch once' })).total).toBe(2);
    });

    it('returns similar memories for each stored memory, also those of the same batch', async () => {
      const user = { user_id: 'of the mill' };
      const id = await getId(memory.store({ content: 'The mill grinds rye on Mondays.', ...user }));
      const texts = ['The mill grinds rye on Fridays.', '', 'The mill grinds rye on Sundays.'];
      const requests = texts.map((content) => ({ content, ...user }));
      await memory.store({ content: 'The mill grinds rye on Tuesdays.', user_id: 'of another mill' });
      const { results } = await memory.storeBatch(requests, { similar: 10 });
      const [first, invalid, last] = results as { id: string; similar?: { id: string }[] }[];
      const getIds = (item: typeof first) => item?.similar?.map((similar) => similar.id).sort();
      expect(getIds(first)).toEqual([id, last?.id].sort());
      expect(invalid).toEqual({ error: expect.objectContaining({ code: 'INVALID_REQUEST' }) });
      expect(getIds(last)).toEqual([id, first?.id].sort());
    });

    it('refuses a number of similar memories that is not from 1 to 10, and stores nothing', async () => {
      const at = { content: 'never stored', session_id: 'similar' };
      for (const similar of [0, 11, 1.5]) {
        await expectError(memory.store(at, { similar }), 'INVALID_REQUEST', '/similar');
        await expectError(memory.storeBatch([at], { similar }), 'INVALID_REQUEST', '/similar');
      }
      const tooMany = Array.from({ length: LIMITS.similarBatchItems + 1 }, () => at);
      await expectError(memory.storeBatch(tooMany, { similar: 1 }), 'INVALID_REQUEST');
      expect((await memory.session({ session_id: 'similar' })).total).toBe(0);
    });

    it('stores the memories of a batch with the same external id as one memory, in order', async () => {
      const at = { session_id: 'batch again', external_id: 'one' };
      const { results, stored_count } = await memory.storeBatch([
        { content: 'first', ...at },
        { content: '', ...at },
        { content: 'second', ...at },
      ]);
      const [first, invalid, second] = results as { id: string; created: boolean }[];
      expect([first, second]).toMatchObject([{ created: true }, { id: first?.id, created: false }]);
      expect(invalid).toHaveProperty('error');
      expect(stored_count).toBe(2);
      const { memories } = await memory.session({ session_id: at.session_id });
      expect(memories).toMatchObject([{ id: first?.id, content: 'second', external_id: 'one' }]);
    });

    it('stores the memories of a long batch with an idempotency key in order', async () => {
      const long = { content: 'x'.repeat(300_000) };
      const requests = [...new Array(5).fill(long), { content: 'last' }].map((request, n) => ({
        ...request,
        content: `${n} ${request.content}`,
        external_id: 'end of a long batch',
      }));
      const { results } = await memory.storeBatch(requests, { idempotencyKey: 'a long batch' });
      const id = (results[0] as { id: string }).id;
      expect(await memory.memory(id)).toMatchObject({ content: '5 last', version: 6 });
    });

    it('accepts an empty batch', async () => {
      expect(await memory.storeBatch([])).toEqual({ results: [], stored_count: 0, failed_count: 0 });
    });

    it('rejects a request that is not a list or has too many memories', async () => {
      await expectError(memory.storeBatch({ content: 'x' } as never), 'INVALID_REQUEST');
      const many = Array.from({ length: LIMITS.batchItems + 1 }, () => ({ content: 'x' }));
      await expectError(memory.storeBatch(many), 'INVALID_REQUEST');
    });
  });

  describe('recall', () => {
    it('finds a memory by its words as soon as it is stored, with the best result first', async () => {
      const [far, near] = await storeAll('recall', ['a zebrafinch flew by', 'zebrafinch, zebrafinch and okapi']);
      const { results, total } = await memory.recall({ query: 'zebrafinch and okapi' });
      expect(results.map(({ id }) => id)).toEqual([near, far]);
      expect(total).toBe(2);
      expect(results[0]).toMatchObject({ content: 'zebrafinch, zebrafinch and okapi', tags: [] });
      const scores = results.map(({ score }) => score);
      expect(scores).toEqual([...scores].sort((a, b) => b - a));
      for (const score of scores) expect(score).toSatisfy((value: number) => value >= 0 && value <= 1);
    });

    it('returns the session and the creation time of each result', async () => {
      const at = '2021-06-01T00:00:00.000Z';
      const id = await getId(memory.store({ content: 'the dibbler hides', session_id: 'woods', created_at: at }));
      const { results } = await memory.recall({ query: 'dibbler' });
      expect(results).toMatchObject([{ id, session_id: 'woods', created_at: at }]);
    });

    it('returns at most top_k results, and none if no memory matches', async () => {
      await storeAll('recall top', ['quagga one', 'quagga two', 'quagga three']);
      expect(await recallIds({ query: 'quagga', top_k: 2 })).toHaveLength(2);
      expect(await memory.recall({ query: 'thylacine' })).toEqual({ results: [], total: 0 });
    });

    it('returns only memories that match the filter', async () => {
      const shared = { content: 'the numbat sleeps', session_id: 'filtered', created_at: '2021-06-01T00:00:00Z' };
      const chosen = await getId(
        memory.store({
          ...shared,
          tags: ['a b', 'ü&='],
          source: 'zoo',
          metadata: { 'k.e y': 'v/1', age: 3, tame: true },
        }),
      );
      await memory.store({ ...shared, tags: ['a b'], created_at: '2022-06-01T00:00:00Z' });
      await memory.store({ content: 'the numbat sleeps' });
      const query = 'numbat';
      expect(await recallIds({ query })).toHaveLength(3);
      expect(await recallIds({ query, session_id: 'filtered' })).toHaveLength(2);
      expect(await recallIds({ query, tag: ['a b'] })).toHaveLength(2);
      expect(await recallIds({ query, tag: ['a b', 'ü&='] })).toEqual([chosen]);
      expect(await recallIds({ query, source: 'zoo' })).toEqual([chosen]);
      expect(await recallIds({ query, until: '2021-12-31T23:59:59+02:00' })).toEqual([chosen]);
      expect(await recallIds({ query, since: '2021-06-01T00:00:00Z', until: '2021-06-01T00:00:00Z' })).toEqual([
        chosen,
      ]);
      expect(await recallIds({ query, metadata: { 'k.e y': 'v/1' } })).toEqual([chosen]);
      expect(await recallIds({ query, metadata: { age: '3', tame: 'true' } })).toEqual([chosen]);
      expect(await recallIds({ query, metadata: { age: '4' } })).toEqual([]);
      const ü = { $or: [{ tag: 'ü&=' }, { source: 'none' }] };
      expect(await recallIds({ query, filter: { ...ü, 'metadata.age': { $gte: 3, $lt: 4 } } })).toEqual([chosen]);
      expect(await recallIds({ query, filter: { 'metadata.age': { $in: ['3', 4] } } })).toEqual([]);
      expect(await recallIds({ query, source: 'api', filter: ü })).toEqual([]);
      await expectError(recallIds({ query, metadata: { '<key>': 'v/1' } }), 'INVALID_REQUEST');
      expect(await recallIds({ query, tier: 'semantic' })).toEqual([]);
    });

    it('ranks a memory of the queried day above a memory of the day before', async () => {
      const of = { session_id: 'days' };
      const at = async (content: string, created_at: string) => getId(memory.store({ ...of, content, created_at }));
      const tulips = await at('Planted tulips', '2026-11-23T11:00:00Z');
      const roof = await at('Repaired the roof', '2026-11-24T12:00:00Z');
      const asked_at = '2026-11-25T09:00:00Z';
      expect(await recallIds({ ...of, query: 'what happened on 24 November 2026?' })).toEqual([roof, tulips]);
      expect(await recallIds({ ...of, query: 'what happened yesterday?', asked_at })).toEqual([roof, tulips]);
      // In Honolulu it was still 23 November when the roof was repaired.
      const honolulu = { ...of, asked_at, timezone: 'Pacific/Honolulu' };
      expect((await recallIds({ ...honolulu, query: 'what happened on 23 November 2026?' }))[0]).toBe(tulips);
      expect((await recallIds({ ...honolulu, query: 'what happened yesterday?' }))[0]).toBe(tulips);
      expect((await recallIds({ ...of, query: 'what happened before 24 November 2026?' }))[0]).toBe(tulips);
    });

    it('refuses an unknown time zone and an invalid time', async () => {
      await expectError(memory.recall({ query: 'x', timezone: 'Europe/Atlantis' }), 'INVALID_REQUEST', '/timezone');
      await expectError(memory.recall({ query: 'x', asked_at: 'then' }), 'INVALID_REQUEST', '/asked_at');
    });

    it('excludes superseded memories if superseded is false', async () => {
      const [old = ''] = await storeAll('superseded', ['the wombatling sleeps on hay']);
      const newer = { content: 'the wombatling sleeps on oats', session_id: 'superseded', supersedes: old };
      const id = await getId(memory.store(newer));
      expect(await recallIds({ query: 'wombatling' })).toEqual([id, old]);
      expect(await recallIds({ query: 'wombatling', superseded: true })).toEqual([id, old]);
      expect(await recallIds({ query: 'wombatling', superseded: false })).toEqual([id]);
    });

    it('recall does not count a recall with track: false as an access', async () => {
      const id = await getId(memory.store({ content: 'the potoroo digs' }));
      expect(await recallIds({ query: 'potoroo', track: false })).toEqual([id]);
      expect(await recallIds({ query: 'potoroo' })).toEqual([id]);
      await expect.poll(async () => (await memory.memory(id)).access_count).toBeGreaterThan(0);
      expect((await memory.memory(id)).access_count).toBe(1);
    });

    it('finds a memory by the words of its current tags', async () => {
      const id = await getId(memory.store({ content: 'It is due in May.', tags: ['bilby insurance', 'role:quokka'] }));
      expect(await recallIds({ query: 'bilby' })).toEqual([id]);
      expect(await recallIds({ query: 'quokka' })).toEqual([]);
      await memory.update(id, { tags: ['wallaby'] });
      expect(await recallIds({ query: 'bilby' })).toEqual([]);
      expect(await recallIds({ query: 'wallaby' })).toEqual([id]);
    });

    it('finds memories of the queried day, whatever their texts', async () => {
      const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString();
      const of = { session_id: 'dated' };
      const yesterday = await memory.store({ ...of, content: 'Painted the fence.', created_at: daysAgo(1) });
      await memory.store({ ...of, content: 'Sold the boat.', created_at: daysAgo(40) });
      expect(await recallIds({ ...of, query: 'What did I do yesterday?' })).toEqual([yesterday.id]);
      expect(await recallIds({ ...of, query: 'Was haben wir gestern gemacht?' })).toEqual([yesterday.id]);
      expect(await recallIds({ ...of, query: 'What did I do?' })).toEqual([]);
    });

    it('excludes results below min_score', async () => {
      await storeAll('recall least', ['a solitary aardwolf']);
      const [found] = (await memory.recall({ query: 'aardwolf' })).results;
      expect(await recallIds({ query: 'aardwolf', min_score: 1e-7 })).toEqual([found?.id]);
      expect(await recallIds({ query: 'aardwolf', min_score: found?.score as number })).toEqual([found?.id]);
      expect(await recallIds({ query: 'aardwolf', min_score: 1 })).toEqual([]);
    });

    it('returns only results that probably answer the query if only_relevant is true', async () => {
      // Memories of one session would increase the relevance of each other.
      const [answer] = await storeAll('relevant', ['The bettong digs for truffles under the casuarina at midnight.']);
      await storeAll('irrelevant', ['A bettong was seen on the road to the old harbour last winter.']);
      const answered = { query: 'Does the bettong dig for truffles under the casuarina at midnight?', top_k: 2 };
      const unanswered = { query: 'Which zoo bought a bettong from the circus of that famous magician?', top_k: 2 };
      expect(await recallIds(answered)).toHaveLength(2);
      expect(await recallIds({ ...answered, only_relevant: true })).toEqual([answer]);
      expect(await recallIds(unanswered)).toHaveLength(2);
      expect(await recallIds({ ...unanswered, only_relevant: true })).toEqual([]);
      expect(await recallIds({ ...unanswered, only_relevant: false })).toHaveLength(2);
    });

    it('applies the higher of min_score and the threshold of only_relevant', async () => {
      const [answer] = await storeAll('likely', ['The spotted cuscus climbs the tallest eucalyptus at dawn.']);
      await storeAll('unlikely', ['A cuscus was seen on the bridge to the new harbour last summer.']);
      const request = { query: 'Does the spotted cuscus climb the tallest eucalyptus at dawn?', top_k: 2 };
      const [best, next] = (await memory.recall(request)).results.map(({ score }) => score);
      expect(best).toBeGreaterThan(WEIGHTS.relevantScore);
      expect(next).toBeLessThan(WEIGHTS.relevantScore);
      const relevant = { ...request, only_relevant: true };
      expect(await recallIds({ ...relevant, min_score: next as number })).toEqual([answer]);
      expect(await recallIds({ ...relevant, min_score: best as number })).toEqual([answer]);
      expect(await recallIds({ ...relevant, min_score: 1 })).toEqual([]);
    });

    it('explains scores if explain is true', async () => {
      await storeAll('recall explained', ['an explained echidna']);
      const [plain] = (await memory.recall({ query: 'echidna' })).results;
      expect(plain).not.toHaveProperty('explanation');
      const [explained] = (await memory.recall({ query: 'echidnas', explain: true })).results;
      expect(explained?.explanation).toMatchObject({
        slope: expect.any(Number),
        evidence: expect.any(Object),
        matched: ['echidna'],
      });
    });

    it('returns the part of each text that matches the query if highlight is true', async () => {
      const short = 'A numbat weighs a pound.';
      const long = `${'Nothing happened on that day. '.repeat(50)}\nThe numbat sleeps in a hollow log.`;
      const [shortId, longId] = await storeAll('highlights', [short, long]);
      const request = { query: 'Where does the numbat sleep?', session_id: 'highlights' };
      const { results } = await memory.recall({ ...request, highlight: true });
      const highlights = new Map(results.map(({ id, highlight }) => [id, highlight]));
      expect(highlights.get(shortId as string)).toBe(short);
      const highlight = highlights.get(longId as string) as string;
      expect(long).toContain(highlight);
      expect(highlight).toMatch(/^Nothing.*\nThe numbat sleeps in a hollow log\.$/s);
      expect(highlight.length).toBeLessThanOrEqual(300);
      const plain = results.map(({ highlight: _, ...result }) => result);
      expect((await memory.recall(request)).results).toEqual(plain);
      expect((await memory.recall({ ...request, highlight: false })).results).toEqual(plain);
    });

    it('highlights a synonym if the text does not contain the query word', async () => {
      const content = `${'Nothing happened on that day. '.repeat(50)}The physician saw the kowari. ${'All went well. '.repeat(50)}`;
      await memory.store({ content, session_id: 'synonyms', tags: ['dasyurid'] });
      const { results } = await memory.recall({ query: 'doctor dasyurid', session_id: 'synonyms', highlight: true });
      expect(results.map(({ highlight }) => highlight)).toEqual([expect.stringMatching(/^The physician saw/)]);
    });

    it('ranks other texts above repetitions of a text in several sessions, without excluding repetitions', async () => {
      for (const room of ['a', 'b', 'c']) await storeAll(`recall said in ${room}`, ['The tarsier eats crickets.']);
      const other = await getId(
        memory.store({ content: 'What a tarsier eats must move.', session_id: 'recall said once' }),
      );
      const query = 'What does the tarsier eat?';
      const { results } = await memory.recall({ query, explain: true });
      expect(results.map(({ explanation }) => explanation?.evidence.repeat)).toEqual([0, 0, 1, 1]);
      expect(results.slice(0, 2).map(({ id }) => id)).toContain(other);
      const [first] = (await memory.recall({ query, session_id: 'recall said in a', explain: true })).results;
      expect(first?.explanation?.evidence.repeat).toBe(0);
    });

    it('ranks a superseded memory below its successor', async () => {
      const old = await getId(memory.store({ content: 'the pangolin lives in room four' }));
      const corrected = await getId(memory.store({ content: 'the pangolin lives in room five', supersedes: old }));
      const { results } = await memory.recall({ query: 'which room does the pangolin live in' });
      expect(results.map(({ id }) => id)).toEqual([corrected, old]);
      expect(results[1]).toMatchObject({ superseded_by: corrected });
    });

    it('explains the score of a successor by the superseded memory if the superseded memory matches better', async () => {
      const old = await getId(memory.store({ content: 'the axolotl lives in the tank of room four' }));
      await memory.store({ content: 'now in five', supersedes: old });
      const { results } = await memory.recall({ query: 'axolotl tank of room four', explain: true });
      const [correction, corrected] = results.map(({ score, explanation }) => ({ score, ...explanation }));
      expect(correction?.evidence_of_another).toBe(true);
      expect(corrected).not.toHaveProperty('evidence_of_another');
      expect(correction).toMatchObject({ score: corrected?.score, evidence: corrected?.evidence });
    });

    it.each(['what is 50% of a/b?', 'x=1&y=2#z', '+1 (555) 010', '"quoted" \\ back', '日本語', '🎉', 'q'.repeat(8192)])(
      'accepts any query (%#)',
      async (query) => {
        const id = await getId(memory.store({ content: query }));
        const found = await recallIds({ query, top_k: 100 });
        expect(found.length === 0 || found.includes(id)).toBe(true);
      },
    );

    it.each([
      ['/query', {}],
      ['/query', { query: '' }],
      ['/query', { query: ' \t' }],
      ['/query', { query: 'q'.repeat(8193) }],
      ['/top_k', { query: 'x', top_k: 0 }],
      ['/top_k', { query: 'x', top_k: 1001 }],
      ['/top_k', { query: 'x', top_k: 2.5 }],
      ['/tag', { query: 'x', tag: [] }],
      ['/tag', { query: 'x', tag: [''] }],
      ['/tier', { query: 'x', tier: 'lost' }],
      ['/session_id', { query: 'x', session_id: '' }],
      ['/since', { query: 'x', since: 'then' }],
      ['/min_score', { query: 'x', min_score: 1.01 }],
      ['/only_relevant', { query: 'x', only_relevant: 'maybe' }],
      ['/explain', { query: 'x', explain: 'maybe' }],
      ['/highlight', { query: 'x', highlight: 'maybe' }],
      ['/colour', { query: 'x', colour: 'red' }],
    ])('rejects an invalid request with an error for the path %s (%#)', async (path, request) => {
      await expectError(memory.recall(request as never), 'INVALID_REQUEST', path);
    });
  });

  describe('context', () => {
    it('returns standing notes and the answer to a query as a text within the budget, once in a session', async () => {
      const session_id = 'context';
      const [answer] = await storeAll(session_id, ['the theodolite is kept in the tool shed']);
      const note = await getId(memory.store({ content: 'never sell the theodolite', importance: 1, session_id }));
      const request = { query: 'Where is the theodolite kept?', filter: { session_id }, session_id: 'asking' };
      const { text, tokens, memories, omitted } = await memory.context(request);
      expect(memories.map(({ id, why }) => [id, why])).toEqual([
        [note, 'standing'],
        [answer, 'relevant'],
      ]);
      expect(text).toContain('\n  the theodolite is kept in the tool shed\n');
      expect(tokens).toBeLessThanOrEqual(800);
      expect(omitted).toBe(0);
      const nothing = { text: '', tokens: 0, memories: [], omitted: 0 };
      expect(await memory.context(request)).toEqual(nothing);
      expect((await memory.context({ ...request, reset: true })).memories).toHaveLength(2);
      const { memories: excluded } = await memory.context({
        ...{ ...request, once: false },
        exclude_texts: ['Never sell the theodolite!'],
      });
      expect(excluded.map(({ id }) => id)).toEqual([answer]);
    });

    it.each<[string, object]>([
      ['/budget', { budget: 49 }],
      ['/budget', { budget: 20_001 }],
      ['/once', { once: true }],
      ['/reset', { reset: true }],
      ['/filter', { filter: { colour: 'red' } }],
      ['/timezone', { timezone: 'nowhere' }],
      ['/exclude_texts', { exclude_texts: [1] }],
      ['/user_id', { user_id: undefined }],
      ['/colour', { colour: 'red' }],
    ])('rejects an invalid request with an error for the path %s (%#)', async (path, request) => {
      await expectError(memory.context(request as never), 'INVALID_REQUEST', path);
    });
  });

  describe('session', () => {
    it('returns the transcript, oldest first, page by page', async () => {
      const contents = ['good morning', 'hello', 'how are you', 'well', 'and you'];
      const ids = await storeAll('transcript', contents);
      const earlier = await getId(
        memory.store({ content: 'long before', session_id: 'transcript', created_at: '2000-01-01T00:00:00Z' }),
      );
      const whole = await memory.session({ session_id: 'transcript' });
      expect(whole).toMatchObject({ session_id: 'transcript', total: 6 });
      expect(whole).not.toHaveProperty('next_cursor');
      expect(whole.memories.map(({ id }) => id)).toEqual([earlier, ...ids]);
      expect(whole.memories[0]).toEqual({
        id: earlier,
        content: 'long before',
        tags: [],
        importance: 0.5,
        created_at: '2000-01-01T00:00:00.000Z',
      });
      const paged = await readPages(
        (page) => memory.session({ session_id: 'transcript', ...page }),
        ({ memories }) => memories,
      );
      expect(paged).toEqual(whole.memories);
    });

    it.each(AWKWARD_IDS)('accepts any session id (%#)', async (session_id) => {
      const id = await getId(memory.store({ content: `stored in ${session_id}`, session_id }));
      const response = await memory.session({ session_id });
      expect(response).toMatchObject({ session_id, total: 1, memories: [{ id }] });
    });

    it('returns an empty transcript for an unknown session', async () => {
      expect(await memory.session({ session_id: 'silence' })).toEqual({
        session_id: 'silence',
        memories: [],
        total: 0,
      });
    });

    it.each([
      ['/session_id', { session_id: '' }],
      ['/session_id', { session_id: 's'.repeat(257) }],
      ['/limit', { session_id: 's', limit: 0 }],
      ['/limit', { session_id: 's', limit: 10_001 }],
      ['/cursor', { session_id: 's', cursor: 'no such place' }],
    ])('rejects an invalid request with an error for the path %s (%#)', async (path, request) => {
      await expectError(memory.session(request), 'INVALID_REQUEST', path);
    });
  });

  describe('sessions', () => {
    it('returns the session of the memory with an external id', async () => {
      await memory.store({ content: 'x', session_id: 'named', external_id: 'in a named session' });
      const { sessions } = await memory.sessions({ external_id: 'in a named session' });
      expect(sessions).toMatchObject([{ session_id: 'named', total: 1 }]);
    });

    it('lists sessions by id, with counts and times, page by page', async () => {
      const tag = ['listed'];
      for (const session_id of ['list b', 'list a', 'list c', 'list a']) {
        await memory.store({ content: 'listed', session_id, tags: tag, created_at: '2021-01-01T00:00:00Z' });
      }
      const { sessions, total } = await memory.sessions({ tag });
      expect(total).toBe(3);
      const at = { first_at: '2021-01-01T00:00:00.000Z', last_at: '2021-01-01T00:00:00.000Z' };
      expect(sessions).toEqual([
        { session_id: 'list a', total: 2, ...at },
        { session_id: 'list b', total: 1, ...at },
        { session_id: 'list c', total: 1, ...at },
      ]);
      expect(
        await readPages(
          (page) => memory.sessions({ tag, ...page }),
          (page) => page.sessions,
        ),
      ).toEqual(sessions);
    });

    it('refuses an invalid limit and an invalid filter', async () => {
      await expectError(memory.sessions({ limit: 0 }), 'INVALID_REQUEST', '/limit');
      await expectError(memory.sessions({ tag: [] }), 'INVALID_REQUEST', '/tag');
    });
  });

  describe('memory', () => {
    it.each(['', ...UNKNOWN_IDS, 'x'.repeat(5000)])('returns NOT_FOUND for an unknown id (%#)', async (id) => {
      await expectError(memory.memory(id), 'NOT_FOUND');
    });

    it('returns NOT_FOUND for an expired memory', async () => {
      const id = await getId(memory.store({ content: 'long gone', expires_at: '2001-01-01T00:00:00Z' }));
      await expectError(memory.memory(id), 'NOT_FOUND');
    });
  });

  describe('history', () => {
    it('returns all texts of a memory, or the text at a given time', async () => {
      const id = await getId(memory.store({ content: 'first draft' }));
      for (const content of ['second draft', 'third draft']) await memory.update(id, { content });
      const { texts, total } = await memory.history(id);
      expect(texts.map(({ content }) => content)).toEqual(['first draft', 'second draft', 'third draft']);
      expect(total).toBe(3);
      expect(texts[2]?.held_until).toBeNull();
      expect(
        await readPages(
          (page) => memory.history(id, page),
          (page) => page.texts,
        ),
      ).toEqual(texts);
      const now = await memory.history(id, { known_at: '2999-01-01T00:00:00Z' });
      expect(now.texts).toEqual([texts[2]]);
    });

    it.each(UNKNOWN_IDS)('returns NOT_FOUND for an unknown id (%#)', async (id) => {
      await expectError(memory.history(id), 'NOT_FOUND');
      await expectError(memory.history(id, { known_at: '2999-01-01T00:00:00Z' }), 'NOT_FOUND');
    });

    it('returns NOT_FOUND for a time before the memory was stored', async () => {
      const id = await getId(memory.store({ content: 'young' }));
      await expectError(memory.history(id, { known_at: '2001-01-01T00:00:00Z' }), 'NOT_FOUND');
    });

    it('refuses an invalid time and an invalid cursor', async () => {
      const id = await getId(memory.store({ content: 'timeless' }));
      await expectError(memory.history(id, { known_at: 'once' }), 'INVALID_REQUEST', '/known_at');
      await expectError(memory.history(id, { cursor: 'no such place' }), 'INVALID_REQUEST', '/cursor');
    });
  });

  describe('known_at', () => {
    const session_id = 'what was known';
    const known: { id: string; later: string; known_at: string } = { id: '', later: '', known_at: '' };
    const tag = ['samovar'];

    beforeAll(async () => {
      known.id = await getId(
        memory.store({ content: 'the samovar is brass', session_id, tags: tag, importance: 0.25 }),
      );
      await new Promise((resolve) => setTimeout(resolve, 5));
      known.known_at = new Date().toISOString();
      await new Promise((resolve) => setTimeout(resolve, 5));
      await memory.update(known.id, { content: 'the samovar is copper', tags: [], importance: 0.75 });
      known.later = await getId(memory.store({ content: 'the samovar is sold', session_id, supersedes: known.id }));
    });

    it('returns the memories of a time as they were, with the revision of a text that has changed since', async () => {
      const { id, known_at } = known;
      const earlier = { id, content: 'the samovar is brass', revision: 1, tags: tag };
      const { results } = await memory.recall({ query: 'samovar', session_id, tag, known_at });
      expect(results).toMatchObject([earlier]);
      expect(results[0]).not.toHaveProperty('superseded_by');
      const transcript = await memory.session({ session_id, known_at });
      expect(transcript).toMatchObject({ total: 1, memories: [earlier] });
    });

    describe('memories', () => {
      it('returns lists and the history of a time as they were', async () => {
        const { id, known_at } = known;
        const earlier = { id, content: 'the samovar is brass', revision: 1, tags: tag };
        const { memories } = await memory.memories({ session_id, tag, known_at });
        expect(memories).toMatchObject([{ ...earlier, importance: 0.25, version: 1, superseded_by: null }]);
        const { sessions } = await memory.sessions({ session_id, known_at });
        expect(sessions).toMatchObject([{ session_id, total: 1 }]);
        expect((await memory.history(id, { known_at })).texts).toMatchObject([{ revision: 1 }]);
        await expectError(memory.memories({ known_at: 'then' }), 'INVALID_REQUEST', '/known_at');
      });
    });

    it('combines known_at with as_of, current and filters', async () => {
      const { id, later, known_at } = known;
      const current = await memory.recall({ query: 'samovar', session_id, current: true });
      expect(current.results.map((result) => result.id)).toEqual([later]);
      expect(await recallIds({ query: 'samovar', session_id, current: true, known_at })).toEqual([id]);
      const filter = { importance: { $lt: 0.5 } };
      expect(await recallIds({ query: 'samovar', session_id, filter, as_of: '2999-01-01', known_at })).toEqual([id]);
      expect(await recallIds({ query: 'samovar', session_id, as_of: '2001-01-01', known_at })).toEqual([]);
    });

    it('returns the present for a known_at in the future, and nothing for one before all memories', async () => {
      const request = { query: 'samovar', session_id };
      const present = await memory.recall(request);
      expect(await memory.recall({ ...request, known_at: '2999-01-01' })).toEqual(present);
      expect(present.results[0]).not.toHaveProperty('revision');
      expect(await recallIds({ ...request, known_at: '2001-01-01' })).toEqual([]);
    });

    it('refuses a known_at that is no time', async () => {
      await expectError(memory.recall({ query: 'samovar', known_at: 'then' }), 'INVALID_REQUEST', '/known_at');
    });
  });

  describe('memories', () => {
    it('returns the memory with an external id', async () => {
      await memory.storeBatch(['list a', 'list b'].map((external_id) => ({ content: 'listed by name', external_id })));
      const { memories, total } = await memory.memories({ external_id: 'list b' });
      expect([memories, total]).toMatchObject([[{ external_id: 'list b', content: 'listed by name' }], 1]);
      expect(await memory.memories({ external_id: 'list c' })).toEqual({ memories: [], total: 0 });
    });

    it('lists memories that match a filter, newest first, page by page', async () => {
      const ids = await storeAll('to be listed', ['one', 'two', 'three', 'four', 'five']);
      const filter = { session_id: 'to be listed' };
      const { memories, total } = await memory.memories(filter);
      expect(total).toBe(5);
      expect(memories.map(({ id }) => id)).toEqual(ids.toReversed());
      expect(memories[0]).toEqual(await memory.memory(ids[4] as string));
      const paged = await readPages(
        (page) => memory.memories({ ...filter, ...page }),
        (page) => page.memories,
      );
      expect(paged.map(({ id }) => id)).toEqual(ids.toReversed());
    });

    it('returns the number of matching memories per tier up to each time in growth_at, in the requested order', async () => {
      const times = ['2021-03-01T10:00:00Z', '2021-03-01T20:00:00Z', '2021-03-02T10:00:00Z'];
      for (const created_at of times) await memory.store({ content: created_at, session_id: 'growth', created_at });
      const filter = { session_id: 'growth' };
      const growth_at = ['2021-03-02T11:00:00+01:00', '2021-03-01', '2021-03-01T09:59:59Z'];
      const none = { working_count: 0, episodic_count: 0, semantic_count: 0 };
      const page = await memory.memories({ ...filter, growth_at, limit: 1 });
      expect(page.growth).toEqual([
        { ...none, at: '2021-03-02T10:00:00.000Z', working_count: 3 },
        { ...none, at: '2021-03-01T23:59:59.999Z', working_count: 2 },
        { ...none, at: '2021-03-01T09:59:59.000Z' },
      ]);
      // The moments are not part of the filter, so the cursor is valid without them.
      const rest = await memory.memories({ ...filter, cursor: page.next_cursor as string });
      expect([rest.memories.length, rest.growth]).toEqual([2, undefined]);
    });

    it('finds memories by the first or last characters of their ids, including merged memories', async () => {
      const ids = await storeAll('ids', ['the same', 'the same', 'another']);
      await memory.consolidate();
      const find = async (part: string) =>
        (await memory.memories({ id: part, session_id: 'ids' })).memories.map(({ id }) => id);
      for (const id of ids) {
        for (const part of [id, id.slice(-8), id.slice(0, -1)]) expect(await find(part), part).toEqual([id]);
      }
      expect(await find((ids[0] as string).slice(0, 4))).toEqual(ids.toReversed());
      const middle = (ids[0] as string).slice(1, -1);
      expect(await find(middle)).toEqual([]);
      expect(await memory.memories({ id: 'zzzz' })).toEqual({ memories: [], total: 0 });
    });

    it('rejects a cursor if the filters have changed, and accepts a cursor if the limit has changed', async () => {
      await storeAll('cursor', ['one', 'two', 'three']);
      const filter = { session_id: 'cursor', tier: 'working' } as const;
      const { next_cursor: cursor = '' } = await memory.memories({ ...filter, limit: 1 });
      const rest = await memory.memories({ tier: 'working', session_id: 'cursor', cursor, limit: 10 });
      expect(rest.memories).toHaveLength(2);
      for (const other of [{}, { session_id: 'cursor' }, { ...filter, source: 'api' }]) {
        await expectError(memory.memories({ ...other, cursor }), 'INVALID_REQUEST', '/cursor');
      }
    });

    it('rejects a cursor if the filters have names and values swapped, and accepts a cursor if the filters mean the same', async () => {
      const both = {
        session_id: 'swap',
        source: 'turn',
        tags: ['old', 'new'],
        metadata: { role: 'user', user: 'role' },
      };
      const swapped = { ...both, session_id: 'turn', source: 'swap' };
      for (const stored of [both, both, swapped, swapped]) await memory.store({ content: 'swapped', ...stored });
      const { next_cursor: named = '' } = await memory.memories({ metadata: { role: 'user' }, limit: 1 });
      await expectError(memory.memories({ metadata: { user: 'role' }, cursor: named }), 'INVALID_REQUEST', '/cursor');
      const { next_cursor: field = '' } = await memory.memories({ session_id: 'swap', source: 'turn', limit: 1 });
      const other = { session_id: 'turn', source: 'swap', cursor: field };
      await expectError(memory.memories(other), 'INVALID_REQUEST', '/cursor');
      const since = '2021-03-01';
      const { next_cursor: cursor = '' } = await memory.memories({ tag: ['old', 'new'], since, limit: 1 });
      const same = { tag: ['new', 'old', 'new'], since: '2021-03-01T01:00+01:00' };
      expect((await memory.memories({ ...same, cursor })).memories).toHaveLength(3);
    });

    it('refuses invalid requests', async () => {
      await expectError(memory.memories({ limit: 0 }), 'INVALID_REQUEST', '/limit');
      for (const id of ['abc', 'abc%', 'x'.repeat(37)])
        await expectError(memory.memories({ id }), 'INVALID_REQUEST', '/id');
      await expectError(memory.memories({ growth_at: ['2021-02-31'] }), 'INVALID_REQUEST', '/growth_at');
      await expectError(memory.memories({ growth_at: Array(101).fill('2021-02-03') }), 'INVALID_REQUEST', '/growth_at');
      await expectError(memory.memories({ cursor: 'no such place' }), 'INVALID_REQUEST', '/cursor');
      await expectError(memory.memories({ colour: 'red' } as never), 'INVALID_REQUEST', '/colour');
    });
  });

  describe('update', () => {
    it('changes the fields of the request, and keeps the other fields', async () => {
      const fields = { content: 'a vole', tags: ['a'], importance: 0.25, metadata: { n: 1 } };
      const id = await getId(memory.store({ ...fields, expires_at: '2999-01-01T00:00:00Z' }));
      expect(await memory.update(id, { content: 'a water vole', expires_at: null })).toEqual({ id, status: 'updated' });
      expect(await memory.memory(id)).toMatchObject({
        ...fields,
        content: 'a water vole',
        expires_at: null,
        version: 2,
      });
      const rest = { tags: ['b'], importance: 1, metadata: {}, expires_at: '2998-01-01T00:00:00.000Z' };
      await memory.update(id, rest);
      expect(await memory.memory(id)).toMatchObject({ ...rest, content: 'a water vole', version: 3 });
      expect(await recallIds({ query: 'water vole' })).toContain(id);
    });

    it('keeps duplicates hidden after the visible memory gets a new text, and expires them together with the visible memory', async () => {
      const codes = Array.from({ length: 5 }, () => 'the shed code is 7788');
      const [visible = '', ...hidden] = await storeAll('alarm', codes);
      await memory.consolidate();
      await memory.update(visible, { content: 'the shed code is 1234' });
      for (let run = 0; run < 2; run++) {
        const { results } = await memory.recall({ query: 'shed code', session_id: 'alarm', top_k: 10 });
        expect(results.map(({ content }) => content)).toEqual(['the shed code is 1234']);
        await memory.consolidate();
      }
      expect((await memory.memory(hidden[0] as string)).content).toBe('the shed code is 7788');
      await memory.update(visible, { expires_at: new Date(Date.now() - 1000).toISOString() });
      expect(await recallIds({ query: 'shed code', session_id: 'alarm' })).toEqual([]);
      expect((await memory.session({ session_id: 'alarm' })).total).toBe(0);
    });

    it('makes a memory supersede another, in place of the earlier one, until null removes the link', async () => {
      const [first = '', second = ''] = await storeAll('relinked', [
        'the yak is shorn in May',
        'the yak is shorn in June',
      ]);
      const id = await getId(memory.store({ content: 'the yak is shorn in July', session_id: 'relinked' }));
      for (const [supersedes, version] of [[first, 2] as const, [second, 3] as const, [null, 4] as const]) {
        await memory.update(id, { supersedes });
        expect(await memory.memory(id)).toMatchObject({ supersedes, version });
        for (const each of [first, second]) {
          expect((await memory.memory(each)).superseded_by).toBe(each === supersedes ? id : null);
        }
        const kept = await recallIds({ query: 'yak shorn', session_id: 'relinked', superseded: false });
        expect(kept.sort()).toEqual([first, second, id].filter((each) => each !== supersedes).sort());
      }
    });

    it('refuses a memory that would supersede itself or an unknown memory, and changes nothing', async () => {
      const id = await getId(memory.store({ content: 'a yak' }));
      const next = await getId(memory.store({ content: 'a shorn yak', supersedes: id }));
      const last = await getId(memory.store({ content: 'a yak in a coat', supersedes: next }));
      for (const [supersedes, code] of [
        [id, 'INVALID_REQUEST'] as const,
        [next, 'CONFLICT'] as const,
        [last, 'CONFLICT'] as const,
        ['unknown', 'NOT_FOUND'] as const,
        ['', 'NOT_FOUND'] as const,
        [7 as never, 'INVALID_REQUEST'] as const,
      ]) {
        await expectError(memory.update(id, { content: 'changed', supersedes }), code, '/supersedes');
      }
      expect(await memory.memory(id)).toMatchObject({
        content: 'a yak',
        supersedes: null,
        superseded_by: next,
        version: 1,
      });
    });

    it('changes a memory only if it has one of the versions in the request', async () => {
      const id = await getId(memory.store({ content: 'contested' }));
      await memory.update(id, { importance: 0.1 }, { ifVersions: [7, 1] });
      await expectError(memory.update(id, { importance: 0.2 }, { ifVersions: [1] }), 'PRECONDITION_FAILED');
      await expectError(memory.update(id, { importance: 0.2 }, { ifVersions: [] }), 'PRECONDITION_FAILED');
      expect(await memory.memory(id)).toMatchObject({ importance: 0.1, version: 2 });
    });

    it('refuses invalid requests', async () => {
      const id = await getId(memory.store({ content: 'to stay' }));
      await expectError(memory.update(id, {}), 'INVALID_REQUEST');
      await expectError(memory.update(id, { content: '' }), 'INVALID_REQUEST', '/content');
      await expectError(memory.update(id, { source: 'x' } as never), 'INVALID_REQUEST', '/source');
    });

    it.each(UNKNOWN_IDS)('returns NOT_FOUND for an unknown id (%#)', async (id) => {
      await expectError(memory.update(id, { importance: 1 }), 'NOT_FOUND');
    });
  });

  describe('forget', () => {
    it('deletes a memory permanently', async () => {
      const id = await getId(memory.store({ content: 'the forgettable dunlin', session_id: 'forgotten' }));
      expect(await memory.forget(id)).toMatchObject({ status: 'forgotten', id });
      await expectError(memory.memory(id), 'NOT_FOUND');
      await expectError(memory.forget(id), 'NOT_FOUND');
      expect(await recallIds({ query: 'dunlin' })).toEqual([]);
      expect((await memory.session({ session_id: 'forgotten' })).total).toBe(0);
    });

    it('deletes the hidden duplicates together with a visible memory, and returns their ids', async () => {
      const [visible = '', hidden = ''] = await storeAll('duplicates', ['the same plovers', 'the same plovers']);
      await memory.consolidate();
      expect((await memory.memory(hidden)).merged_into).toBe(visible);
      expect(await memory.forget(visible)).toMatchObject({ also_forgotten: [hidden] });
      await expectError(memory.memory(hidden), 'NOT_FOUND');
    });

    it('deletes a hidden duplicate alone, and returns the ids of the remaining memories with the same text', async () => {
      const [visible = '', hidden = ''] = await storeAll('one of them', ['the same avocets', 'the same avocets']);
      await memory.consolidate();
      expect(await memory.forget(hidden)).toMatchObject({ id: hidden, remaining_duplicates: [visible] });
      expect(await recallIds({ query: 'avocets' })).toEqual([visible]);
    });

    it('deletes a memory only if it has one of the versions in the request', async () => {
      const id = await getId(memory.store({ content: 'guarded' }));
      await expectError(memory.forget(id, { ifVersions: [2] }), 'PRECONDITION_FAILED');
      expect(await memory.forget(id, { ifVersions: [1] })).toMatchObject({ status: 'forgotten' });
    });

    it.each(UNKNOWN_IDS)('returns NOT_FOUND for an unknown id (%#)', async (id) => {
      await expectError(memory.forget(id), 'NOT_FOUND');
    });
  });

  describe('forgetMany', () => {
    it('deletes the memories that match all conditions, and returns their number', async () => {
      const at = { tags: ['many'], source: 'swarm', created_at: '2010-01-01T00:00:00Z' };
      for (const session_id of ['one', 'one', 'other']) await memory.store({ content: 'a midge', session_id, ...at });
      expect(await memory.forgetMany({ tag: 'many', session_id: 'one' })).toMatchObject({
        status: 'forgotten',
        forgotten_count: 2,
      });
      const rest = { tag: 'many', source: 'swarm', before: '2010-01-01T00:00:00.001Z' };
      expect(await memory.forgetMany({ ...rest, before: at.created_at })).toMatchObject({ forgotten_count: 0 });
      expect(await memory.forgetMany(rest)).toMatchObject({ forgotten_count: 1 });
    });

    it('deletes the memory with an external id, which frees the id', async () => {
      const request = { content: 'a fruit fly', external_id: 'fly' };
      const first = await memory.store(request);
      await memory.store({ content: 'a fruit fly', external_id: 'another fly' });
      expect(await memory.forgetMany({ external_id: 'fly' })).toMatchObject({ forgotten_count: 1 });
      expect(await memory.store(request)).toMatchObject({ created: true, id: expect.not.stringMatching(first.id) });
    });

    it('deletes the memories that match a metadata condition', async () => {
      for (const chat of ['7', '70']) await memory.store({ content: 'a gnat', metadata: { chat } });
      expect(await memory.forgetMany({ metadata: { chat: '7' } })).toMatchObject({ forgotten_count: 1 });
      expect((await memory.memories({ metadata: { chat: '70' } })).total).toBe(1);
    });

    it('deletes the memories that match a filter, and no other', async () => {
      for (const legs of [6, 8]) await memory.store({ content: 'a bug', metadata: { body: { legs } } });
      const filter = { 'metadata.body.legs': { $gt: 6 } };
      expect(await memory.forgetMany({ filter })).toMatchObject({ forgotten_count: 1 });
      expect((await memory.memories({ filter: { 'metadata.body.legs': { $exists: true } } })).total).toBe(1);
    });

    it('refuses an invalid or empty filter and an undefined value in a filter, and deletes nothing', async () => {
      await memory.store({ content: 'a kept bug', source: 'bugs' });
      const refused: [filter: object, path: string][] = [
        [{ sorce: 'bugs' }, '/filter/sorce'],
        [{ source: 'bugs', tag: undefined }, '/filter/tag'],
        [{ $or: [{ source: 'bugs' }, {}] }, '/filter/\\$or/1'],
        [{ source: { $in: [Number.NaN] } }, '/filter/source/\\$in/0'],
      ];
      for (const [filter, path] of refused) {
        await expectError(memory.forgetMany({ filter: filter as never }), 'INVALID_REQUEST', path);
        await expectError(memory.recall({ query: 'bug', filter: filter as never }), 'INVALID_REQUEST', path);
      }
      await expectError(memory.forgetMany({ filter: {} }), 'INVALID_REQUEST');
      expect((await memory.memories({ source: 'bugs' })).total).toBe(1);
    });

    it('refuses a placeholder of the documentation as the name of a metadata field, and deletes nothing', async () => {
      const names = ['<key>', '{key}', '<KEY>'];
      const metadata = Object.fromEntries(names.map((name) => [name, 'a placeholder']));
      const id = await getId(memory.store({ content: 'a stored placeholder', metadata }));
      for (const name of names) {
        await expectError(memory.forgetMany({ metadata: { [name]: 'a placeholder' } }), 'INVALID_REQUEST');
      }
      expect((await memory.memory(id)).metadata).toEqual(metadata);
    });

    it('rejects a request without conditions, and a request with invalid conditions', async () => {
      await expectError(memory.forgetMany({}), 'INVALID_REQUEST');
      await expectError(memory.forgetMany({ metadata: {} }), 'INVALID_REQUEST');
      await expectError(memory.forgetMany({ shared: true }), 'INVALID_REQUEST');
      await expectError(memory.forgetMany({ tag: '' }), 'INVALID_REQUEST', '/tag');
      await expectError(memory.forgetMany({ before: 'then' }), 'INVALID_REQUEST', '/before');
      await expectError(memory.forgetMany({ id: [] }), 'INVALID_REQUEST');
      await expectError(memory.forgetMany({ id: [], tag: 'a' }), 'INVALID_REQUEST', '/id');
      await expectError(memory.forgetMany({ memory_id: 'x' } as never), 'INVALID_REQUEST', '/memory_id');
    });
  });

  describe('consolidate', () => {
    it('promotes stored memories, and returns their number', async () => {
      await memory.consolidate();
      const id = await getId(memory.store({ content: 'to be promoted' }));
      expect(await memory.consolidate()).toMatchObject({
        status: 'consolidated',
        consolidated_count: expect.toSatisfy((count: number) => count >= 1),
        evicted_count: expect.any(Number),
      });
      expect((await memory.memory(id)).tier).toBe('episodic');
    });

    it('consolidate does not promote memories younger than min_age_seconds', async () => {
      const id = await getId(memory.store({ content: 'too young to promote' }));
      await memory.consolidate({ min_age_seconds: 3600 });
      expect((await memory.memory(id)).tier).toBe('working');
    });

    it('returns a plan and changes nothing if dry_run is true', async () => {
      const id = await getId(memory.store({ content: 'not yet' }));
      const planned = await memory.consolidate({ dry_run: true });
      expect(planned).toMatchObject({ status: 'planned', plan: { promote: { total: expect.any(Number) } } });
      expect(planned.plan?.promote.memories).toContainEqual({ id });
      expect((await memory.memory(id)).tier).toBe('working');
    });

    it('refuses invalid requests', async () => {
      await expectError(memory.consolidate({ min_age_seconds: -1 }), 'INVALID_REQUEST', '/min_age_seconds');
      await expectError(memory.consolidate({ dry_run: 'yes' } as never), 'INVALID_REQUEST', '/dry_run');
    });
  });

  describe('consolidations', () => {
    it('lists the runs, newest first, page by page', async () => {
      const ids: unknown[] = [];
      for (let run = 0; run < 3; run++) ids.push((await memory.consolidate()).id);
      const { consolidations, total } = await memory.consolidations({});
      expect(total).toBe(consolidations.length);
      expect(consolidations.slice(0, 3).map(({ id }) => id)).toEqual(ids.toReversed());
      expect(consolidations[0]).toMatchObject({ status: 'completed', ended_at: expect.any(String) });
      const paged = await readPages(
        (page) => memory.consolidations(page),
        (page) => page.consolidations,
      );
      expect(paged).toEqual(consolidations);
    });

    it('refuses invalid requests', async () => {
      await expectError(memory.consolidations({ limit: 0 }), 'INVALID_REQUEST', '/limit');
      await expectError(memory.consolidations({ cursor: 'NO SUCH' }), 'INVALID_REQUEST', '/cursor');
    });
  });

  describe('consolidation', () => {
    it('returns the changes of a run, page by page', async () => {
      await memory.consolidate();
      const ids = await storeAll('what a run did', ['one stint', 'two stints', 'three stints']);
      const { id } = (await memory.consolidate()) as { id: string };
      const run = await memory.consolidation({ id });
      expect(run).toMatchObject({ id, status: 'completed' });
      expect(run.total).toBe(run.changes.length);
      for (const memory_id of ids) expect(run.changes).toContainEqual({ kind: 'promoted', memory_id });
      const paged = await readPages(
        (page) => memory.consolidation({ id, ...page }),
        (page) => page.changes,
      );
      expect(paged).toEqual(run.changes);
    });

    it.each(UNKNOWN_IDS)('returns NOT_FOUND for an unknown id (%#)', async (id) => {
      await expectError(memory.consolidation({ id }), 'NOT_FOUND');
    });

    it('refuses invalid requests', async () => {
      await expectError(memory.consolidation({ id: 'x', limit: 0 }), 'INVALID_REQUEST', '/limit');
    });
  });

  describe('undo', () => {
    it('undoes a run, and rejects a second undo of that run', async () => {
      await memory.consolidate();
      const promoted = await getId(memory.store({ content: 'to be put back' }));
      const { id } = (await memory.consolidate()) as { id: string };
      expect(await memory.undo(id)).toEqual({ status: 'undone', id });
      expect((await memory.memory(promoted)).tier).toBe('working');
      expect((await memory.consolidation({ id })).status).toBe('undone');
      await expectError(memory.undo(id), 'CONFLICT');
    });

    it('rejects an undo of a run before newer runs are undone', async () => {
      await memory.store({ content: 'promoted by the first run' });
      const { id } = (await memory.consolidate()) as { id: string };
      await memory.store({ content: 'promoted by the second run' });
      await memory.consolidate();
      await expectError(memory.undo(id), 'CONFLICT');
    });

    it('undoes later runs that changed something first if with_later is true, and only these', async () => {
      const promote = async (content: string) => {
        const stored = await getId(memory.store({ content }));
        return { stored, id: (await memory.consolidate()).id as string };
      };
      const first = await promote('promoted by the run to undo');
      const undone = await promote('promoted by a run that is undone already');
      await memory.undo(undone.id);
      const second = await promote('promoted by a later run');
      const { id: idle } = (await memory.consolidate()) as { id: string };
      const third = await promote('promoted by the newest run');
      expect((await memory.consolidation({ id: first.id, limit: 1 })).later).toEqual({
        total: 2,
        consolidations: [third, second].map(({ id }) => ({ id, started_at: expect.any(String) })),
      });
      expect(await memory.undo(first.id, { with_later: true })).toEqual({
        status: 'undone',
        id: first.id,
        also_undone: [third.id, second.id],
      });
      for (const { stored, id } of [first, second, third]) {
        expect((await memory.memory(stored)).tier).toBe('working');
        expect((await memory.consolidation({ id })).status).toBe('undone');
      }
      expect((await memory.consolidation({ id: idle })).status).toBe('completed');
      expect((await memory.consolidation({ id: first.id })).later).toBeUndefined();
    });

    it('names no other run if with_later is true for the newest run', async () => {
      await memory.store({ content: 'promoted by the only run' });
      const { id } = (await memory.consolidate()) as { id: string };
      expect((await memory.consolidation({ id })).later).toEqual({ total: 0, consolidations: [] });
      expect(await memory.undo(id, { with_later: true })).toEqual({ status: 'undone', id });
    });

    it.each(UNKNOWN_IDS)('returns NOT_FOUND for an unknown id, and undoes no other run (%#)', async (id) => {
      await memory.store({ content: 'promoted by a run with another id' });
      const { id: newest } = (await memory.consolidate()) as { id: string };
      await expectError(memory.undo(id), 'NOT_FOUND');
      await expectError(memory.undo(id, { with_later: true }), 'NOT_FOUND');
      expect((await memory.consolidation({ id: newest })).status).toBe('completed');
    });

    it('refuses invalid requests', async () => {
      await expectError(memory.undo('x', { with_later: 'perhaps' as never }), 'INVALID_REQUEST', '/with_later');
      await expectError(memory.undo('x', { later: true } as never), 'INVALID_REQUEST', '/later');
    });
  });

  describe('corrections', () => {
    it('lists no corrections while none were suggested', async () => {
      for (const state of ['pending', 'accepted', 'declined'] as const) {
        expect(await memory.corrections({ state })).toEqual({ corrections: [], total: 0 });
      }
    });

    it('refuses invalid requests', async () => {
      await expectError(memory.corrections({ state: 'open' as never }), 'INVALID_REQUEST', '/state');
      await expectError(memory.corrections({ shared: true }), 'INVALID_REQUEST', '/shared');
      await expectError(memory.corrections({ cursor: 'x' }), 'INVALID_REQUEST', '/cursor');
    });
  });

  describe('decideCorrection', () => {
    it.each(UNKNOWN_IDS)('returns NOT_FOUND for an unknown id (%#)', async (id) => {
      await expectError(memory.decideCorrection(id, { accept: true }), 'NOT_FOUND');
    });

    it('refuses invalid requests', async () => {
      await expectError(memory.decideCorrection('x', {} as never), 'INVALID_REQUEST', '/accept');
      await expectError(memory.decideCorrection('x', { accept: null as never }), 'INVALID_REQUEST', '/accept');
      await expectError(memory.decideCorrection('x', { accept: true }, { user_id: '' }), 'INVALID_REQUEST', '/user_id');
    });
  });

  const SESSION = 'of two users';
  const inScope = (userId: string, agentId?: string) =>
    withScope(memory).scope({ userId, ...(agentId !== undefined && { agentId }) });

  describe('a scope', () => {
    it('isolates two users from each other, even if texts and session ids are the same', async () => {
      const words = { content: 'The corncrake calls at night', session_id: SESSION, tags: ['corncrake'] };
      const [ada, ben] = [inScope('contract-ada'), inScope('contract-ben')];
      const adas = await getId(ada.store(words));
      const bens = await getId(ben.store(words));
      await memory.consolidate();
      expect(await ben.memory(bens)).toMatchObject({ user_id: 'contract-ben', tier: 'episodic' });
      expect((await ben.recall({ query: 'corncrake' })).results.map(({ id }) => id)).toEqual([bens]);
      expect((await ben.session({ session_id: SESSION })).memories.map(({ id }) => id)).toEqual([bens]);
      expect(await ben.sessions({})).toMatchObject({ total: 1, sessions: [{ session_id: SESSION, total: 1 }] });
      expect((await ben.memories({})).memories.map(({ id }) => id)).toEqual([bens]);
      expect((await ben.stats()).episodic_count).toBe(1);
      const lines: string[] = [];
      for await (const line of ben.exportMemories()) lines.push(line);
      expect(lines.slice(1).map((line) => JSON.parse(line).id)).toEqual([bens]);
      for (const call of [
        () => ben.memory(adas),
        () => ben.history(adas),
        () => ben.update(adas, { importance: 1 }),
        () => ben.forget(adas),
        () => ben.store({ ...words, supersedes: adas }),
      ]) {
        await expectError(call(), 'NOT_FOUND');
      }
      expect(await ben.forgetMany({ tag: 'corncrake' })).toMatchObject({ forgotten_count: 1 });
      expect(await ada.memory(adas)).toMatchObject({ content: words.content });
    });

    it('recalls only the memories of its agent, and with shared: true also memories without an agent', async () => {
      const user = 'contract-cleo';
      const shared = await getId(inScope(user).store({ content: 'The dunnock sings for everyone' }));
      const cook = await getId(inScope(user, 'cook').store({ content: 'The dunnock eats in the kitchen' }));
      await inScope(user, 'guide').store({ content: 'The dunnock walks along the river' });
      const createRecallForCheck = async (withShared: boolean) =>
        (await inScope(user, 'cook').recall({ query: 'dunnock', shared: withShared })).results
          .map(({ id }) => id)
          .sort();
      expect(await createRecallForCheck(false)).toEqual([cook]);
      expect(await createRecallForCheck(true)).toEqual([shared, cook].sort());
      await expectError(inScope(user, 'cook').update(shared, { importance: 1 }), 'NOT_FOUND');
    });

    it('rejects requests for another user and methods on the whole namespace', async () => {
      const ada = inScope('contract-ada');
      const user_id = 'contract-ben';
      for (const call of [
        () => ada.store({ content: 'not mine', user_id }),
        () => ada.recall({ query: 'corncrake', user_id }),
        () => ada.forgetMany({ tag: 'corncrake', user_id }),
        () => ada.scope({ userId: user_id }).memories({}),
        () => ada.users(),
        () => ada.consolidate(),
        () => ada.consolidations({}),
      ]) {
        await expectError(call(), 'FORBIDDEN');
      }
    });

    it('rejects an invalid request, and treats an undefined request as empty', async () => {
      const [ada, ben] = [inScope('contract-ada'), inScope('contract-ben')];
      const id = await getId(ada.store({ content: 'The whinchat stays' }));
      for (const wrong of [5, 'x', [], () => {}] as never[]) {
        await expectError((async () => ben.update(id, { importance: 1 }, wrong))(), 'INVALID_REQUEST');
        await expectError((async () => ben.forget(id, wrong))(), 'INVALID_REQUEST');
        await expectError((async () => ben.memories(wrong))(), 'INVALID_REQUEST');
        await expectError((async () => ben.stats(wrong))(), 'INVALID_REQUEST');
      }
      expect((await ben.memories(undefined as never)).memories).toEqual([]);
      expect(await ada.memory(id)).toMatchObject({ importance: 0.5 });
    });

    it('forgets all memories of its user only if the request names the user', async () => {
      const dora = inScope('contract-dora');
      await dora.store({ content: 'The twite nests on the moor' });
      const requests = [{}, { shared: false }, { tag: undefined }, { metadata: {} }, { filter: {} }];
      for (const request of requests) await expectError(dora.forgetMany(request as never), 'INVALID_REQUEST');
      expect((await dora.memories({})).total).toBe(1);
      expect(await dora.forgetMany({ user_id: 'contract-dora' })).toMatchObject({ forgotten_count: 1 });
    });

    it('applies its own shared option if it is nested in another scope', async () => {
      await memory.store({ content: 'The redstart is for all', session_id: SESSION });
      const outer = withScope(memory).scope({ userId: 'contract-eve', shared: true });
      const found = async (api: MemoryApi) => (await api.recall({ query: 'redstart' })).total;
      expect(await found(outer)).toBe(1);
      expect(await found(outer.scope({ agentId: 'cook' }))).toBe(0);
      expect(await found(outer.scope({ agentId: 'cook', shared: true }))).toBe(1);
    });

    it('importMemories does not reveal whether a memory id belongs to another user', async () => {
      const theirs = await getId(inScope('contract-ada').store({ content: 'The ouzel is mine' }));
      const ben = inScope('contract-ben');
      await ben.store({ content: 'The ouzel is not mine', session_id: 'ouzel' });
      const lines: string[] = [];
      for await (const line of ben.exportMemories()) lines.push(line);
      const { forgotten_count } = await ben.forgetMany({ session_id: 'ouzel' });
      expect(forgotten_count).toBe(1);
      const own = JSON.parse(lines.find((line) => line.includes('ouzel is not')) as string);
      const header = JSON.stringify({ format: 'memoryd', version: 1 });
      const linked = (supersedes: string, id: string) =>
        ben.importMemories(asBytes([header, JSON.stringify({ ...own, id, supersedes })]));
      const known = await linked(theirs, 'contract-linked-1');
      const { import_id } = known;
      expect(known).toEqual({ ...(await linked('nobody', 'contract-linked-2')), import_id });
      expect(known).toMatchObject({ imported_count: 1, unlinked_count: 1 });
    });
  });

  describe('a request outside of a scope', () => {
    it('a request is rejected if its user_id is undefined, because only an absent user_id selects all users', async () => {
      const nobody = { user_id: undefined as never };
      const calls = [
        () => memory.store({ content: 'whose memory', ...nobody }),
        () => memory.recall({ query: 'corncrake', ...nobody }),
        () => memory.memories(nobody),
        () => memory.memory('any', nobody),
        () => memory.update('any', { importance: 1 }, nobody),
        () => memory.forget('any', nobody),
        () => memory.forgetMany({ session_id: SESSION, ...nobody }),
        () => memory.stats(nobody),
        () => memory.exportMemories(nobody)[Symbol.asyncIterator]().next(),
        () => memory.importMemories(asBytes([]), nobody),
      ];
      for (const call of calls) await expectError(call(), 'INVALID_REQUEST', '/user_id');
    });

    it('a request is rejected if it is a bulk forget whose only condition is shared', async () => {
      await expectError(memory.forgetMany({ shared: false }), 'INVALID_REQUEST');
    });
  });

  describe('users', () => {
    it('lists the users with their counts, page by page', async () => {
      await inScope('contract-dora').store({ content: 'first' });
      await inScope('contract-dora').store({ content: 'second' });
      const users = await readPages(
        (page) => memory.users(page),
        (page) => page.users,
      );
      expect(users.map(({ user_id }) => user_id)).toEqual(users.map(({ user_id }) => user_id).toSorted());
      const dora = users.find(({ user_id }) => user_id === 'contract-dora');
      expect(dora).toMatchObject({ memories: 2, working_count: 2, last_stored_at: expect.stringMatching(/Z$/) });
    });
  });

  describe('events', () => {
    /** Subscribes to events until the test ends. Resolves when the stream is open, which only an event can prove. */
    async function follow(request: Parameters<MemoryApi['events']>[0]): Promise<MemoryEvent[]> {
      const controller = new AbortController();
      const seen: MemoryEvent[] = [];
      const reading = (async () => {
        for await (const event of memory.events(request, controller.signal)) seen.push(event);
      })();
      onTestFinished(async () => {
        controller.abort();
        await reading;
      });
      await expect
        .poll(
          async () => {
            await memory.store({ content: 'is anybody there' });
            return seen.length;
          },
          { timeout: 10_000 },
        )
        .toBeGreaterThan(0);
      return seen;
    }

    const getEventTypes = (events: MemoryEvent[], id: string) =>
      events.filter((event) => 'memory_ids' in event && event.memory_ids.includes(id)).map(({ type }) => type);

    it('reports a repeated store as an update if it changes the memory, and not otherwise', async () => {
      const seen = await follow({});
      const request = { content: 'a watched dunnock', external_id: 'dunnock' };
      const id = await getId(memory.store(request));
      await memory.store(request);
      await memory.store({ ...request, content: 'a watched accentor' });
      await memory.forget(id);
      await expect.poll(() => getEventTypes(seen, id)).toEqual(['stored', 'updated', 'forgotten']);
    });

    it('reports events in the order of the changes', async () => {
      const seen = await follow({});
      const id = await getId(memory.store({ content: 'a watched wheatear' }));
      await memory.update(id, { importance: 1 });
      await memory.recall({ query: 'wheatear' });
      await memory.forget(id);
      const types = ['stored', 'updated', 'recalled', 'forgotten'];
      await expect.poll(() => getEventTypes(seen, id)).toEqual(types);
      expect(new Set(seen.map((event) => event.id)).size).toBe(seen.length);
    });

    it('reports only the requested types', async () => {
      const seen = await follow({ type: ['stored', 'forgotten'] });
      const id = await getId(memory.store({ content: 'a quiet wryneck' }));
      await memory.update(id, { importance: 1 });
      await memory.forget(id);
      await expect.poll(() => getEventTypes(seen, id)).toEqual(['stored', 'forgotten']);
    });

    it('reports with a filter the memories that matched just before the event', async () => {
      // A memory that `follow` stores has no tags.
      const seen = await follow({ filter: { $or: [{ tag: { $exists: false } }, { tag: 'before', tier: 'working' }] } });
      const request = { content: 'a filtered ortolan', tags: ['before'], metadata: { n: 1 } };
      const { results } = await memory.storeBatch([request, { ...request, tags: ['other'] }]);
      const [id, other] = results.map((result) => ('id' in result ? result.id : '')) as [string, string];
      await memory.update(id, { importance: 1 });
      await memory.recall({ query: 'filtered ortolan', filter: { 'metadata.n': 1 } });
      await memory.update(id, { tags: ['other'] });
      await memory.update(other, { tags: ['before'] });
      await memory.recall({ query: 'filtered ortolan', filter: { tag: 'other' } });
      await memory.update(id, { tags: [] });
      await memory.store({ content: 'a named ortolan', external_id: 'ortolan', tags: ['before'] });
      await memory.store({ content: 'a named ortolan', external_id: 'ortolan', tags: ['other'] });
      await memory.store({ content: 'a named ortolan', external_id: 'ortolan', source: 'other' });
      await memory.forgetMany({ external_id: 'ortolan' });
      await memory.forget(id);
      await memory.forget(other);
      await expect
        .poll(() => getEventTypes(seen, other))
        // The update that added the tag is no event of this filter.
        .toEqual(['forgotten']);
      expect(getEventTypes(seen, id)).toEqual(['stored', 'updated', 'recalled', 'updated', 'forgotten']);
      const counts = seen.flatMap((event) => ('count' in event ? [event.count] : []));
      expect(new Set(counts)).toEqual(new Set([1]));
      const named = seen.slice(seen.findIndex((event) => getEventTypes([event], id)[0] === 'recalled') + 2);
      expect(named.map(({ type }) => type)).toEqual(['stored', 'updated', 'forgotten', 'forgotten']);
    });

    it('resumes after the event last_event_id', async () => {
      const seen = await follow({ type: ['stored'] });
      const last_event_id = seen.at(-1)?.id as string;
      const id = await getId(memory.store({ content: 'meanwhile' }));
      for await (const event of memory.events({ type: ['stored'], last_event_id })) {
        expect(event.type).toBe('stored');
        if (getEventTypes([event], id).length > 0) break;
      }
    });

    it('begins with a gap event after an unknown last_event_id', async () => {
      for await (const event of memory.events({ last_event_id: 'nobody.1' })) {
        expect(event.type).toBe('gap');
        break;
      }
    });

    it('ends without an error when the signal is aborted', async () => {
      const already = memory.events({}, AbortSignal.abort());
      for await (const event of already) expect.fail(`unexpected event ${event.type}`);
      const controller = new AbortController();
      const types: string[] = [];
      for await (const event of memory.events({ last_event_id: 'nobody.1' }, controller.signal)) {
        types.push(event.type);
        controller.abort();
      }
      expect(types).toEqual(['gap']);
    });

    it('refuses invalid requests', async () => {
      const first = async (request: object) => {
        for await (const event of memory.events(request as never)) return event;
        return undefined;
      };
      await expectError(first({ type: ['eaten'] }), 'INVALID_REQUEST', '/type');
      await expectError(first({ type: [] }), 'INVALID_REQUEST', '/type');
      await expectError(first({ filter: { colour: 'red' } }), 'INVALID_REQUEST', '/filter/colour');
      await expectError(first({ colour: 'red' }), 'INVALID_REQUEST', '/colour');
    });
  });

  describe('exportMemories', () => {
    it('returns a header line and then one line per memory', async () => {
      const id = await getId(memory.store({ content: 'an exported ibis', tags: ['kept'], metadata: { n: [1] } }));
      const [header = '', ...lines] = await exportLines();
      expect(JSON.parse(header)).toMatchObject({ format: 'memoryd', version: 1, lines: lines.length });
      const memories = lines.map((line) => JSON.parse(line));
      expect(memories.find((line) => line.id === id)).toMatchObject({
        content: 'an exported ibis',
        tags: ['kept'],
        metadata: { n: [1] },
        history: [],
      });
    });

    it('lets the caller stop reading before the last line', async () => {
      for await (const line of memory.exportMemories()) {
        expect(JSON.parse(line)).toMatchObject({ format: 'memoryd' });
        break;
      }
    });
  });

  describe('importMemories', () => {
    it('restores exported memories that were forgotten later, and does not change the other memories', async () => {
      const id = await getId(memory.store({ content: 'an imported ibis', session_id: 'imported' }));
      const lines = await exportLines();
      await memory.forget(id);
      expect(await memory.importMemories(asBytes(lines))).toMatchObject({
        imported_count: 1,
        unchanged_count: lines.length - 2,
        refused_count: 0,
      });
      expect(await memory.memory(id)).toMatchObject({ content: 'an imported ibis', session_id: 'imported' });
      expect(await recallIds({ query: 'imported ibis', top_k: 1 })).toEqual([id]);
    });

    it('restores external ids, and refuses another memory with the same one', async () => {
      const stored = await memory.store({ content: 'a named ibis', external_id: 'ibis' });
      const lines = await exportLines();
      await memory.forget(stored.id);
      const own = await memory.store({ content: 'another named ibis', external_id: 'ibis' });
      const refusing = await memory.importMemories(asBytes(lines));
      expect(refusing).toMatchObject({ imported_count: 0, refused: [{ error: { code: 'CONFLICT' } }] });
      await memory.forget(own.id);
      expect(await memory.importMemories(asBytes(lines))).toMatchObject({ imported_count: 1, refused_count: 0 });
      const again = await memory.store({ content: 'a named ibis', external_id: 'ibis' });
      expect(again).toEqual({ id: stored.id, status: 'stored', created: false });
      await memory.forget(stored.id);
    });

    it('rejects an import without a header, and returns an error for each invalid line', async () => {
      const header = JSON.stringify({ format: 'memoryd', version: 1 });
      const response = await memory.importMemories(asBytes([header, '{"id":"x"}', 'no JSON']));
      expect(response).toMatchObject({ imported_count: 0, refused_count: 2 });
      expect(response.refused.map(({ line, error }) => [line, error.code])).toEqual([
        [2, 'INVALID_REQUEST'],
        [3, 'INVALID_REQUEST'],
      ]);
      await expectError(memory.importMemories(asBytes(['{"id":"x"}'])), 'INVALID_REQUEST');
      await expectError(memory.importMemories(asBytes([])), 'INVALID_REQUEST');
    });

    it('returns invalid and conflicting lines in the order of the import', async () => {
      const id = await getId(memory.store({ content: 'an ibis that stays', session_id: 'imported' }));
      const lines = await exportLines();
      const original = lines.map((line) => JSON.parse(line)).find((line) => line.id === id);
      const other = JSON.stringify({ ...original, content: 'another ibis' });
      const header = JSON.stringify({ format: 'memoryd', version: 1 });
      const { refused: refusedLines } = await memory.importMemories(asBytes([header, other, 'no JSON', other]));
      expect(refusedLines.map(({ line, error }) => [line, error.code])).toEqual([
        [2, 'CONFLICT'],
        [3, 'INVALID_REQUEST'],
        [4, 'CONFLICT'],
      ]);
    });

    it('stores a memory under a new id if its id belongs to another user, and finds it when the import is repeated', async () => {
      const stored = { content: 'an ibis of Ada', user_id: 'ada', agent_id: 'keeper' };
      const id = await getId(memory.store(stored));
      const line = (await exportLines()).map((text) => JSON.parse(text)).find((exported) => exported.id === id);
      const asBen = [
        { format: 'memoryd', version: 1 },
        { ...line, user_id: 'ben', content: 'an ibis of Ben' },
      ];
      const importAsBen = () =>
        memory.importMemories(asBytes(asBen.map((each) => JSON.stringify(each))), { user_id: 'ben' });
      const { new_ids = {} } = await importAsBen();
      const newId = new_ids[id] ?? '';
      expect(new_ids).toEqual({ [id]: expect.stringMatching(/^[0-9a-f-]{36}$/) });
      expect(await memory.memory(newId, { user_id: 'ben' })).toMatchObject({ content: 'an ibis of Ben' });
      await expectError(memory.memory(id, { user_id: 'ben' }), 'NOT_FOUND');
      expect(await memory.memory(id)).toMatchObject(stored);
      expect(await importAsBen()).toMatchObject({ imported_count: 0, unchanged_count: 1, new_ids });
    });

    it.each([
      ['supersedes', 'its-own'],
      ['superseded_by', ['its-own']],
    ])('refuses a memory whose %s is its own id', async (link, value) => {
      await getId(memory.store({ content: 'an ibis of its own', session_id: 'imported' }));
      const header = JSON.stringify({ format: 'memoryd', version: 1 });
      const lines = await exportLines();
      const own = { ...JSON.parse(lines.at(-1) ?? ''), id: 'its-own', [link]: value };
      expect(await memory.importMemories(asBytes([header, JSON.stringify(own)]))).toMatchObject({
        imported_count: 0,
        refused: [{ line: 2, error: { details: [{ path: `/${link}` }] } }],
      });
    });

    it('rejects with the error that the source of the lines throws', async () => {
      const broken = new Error('the disk broke');
      const lines = async function* () {
        yield* asBytes((await exportLines()).slice(0, 1));
        throw broken;
      };
      await expect(memory.importMemories(lines())).rejects.toBe(broken);
    });
  });

  async function exportLines(): Promise<string[]> {
    const lines: string[] = [];
    for await (const line of memory.exportMemories()) lines.push(line);
    return lines;
  }

  async function* asBytes(lines: string[]): AsyncGenerator<Uint8Array> {
    for (const line of lines) yield new TextEncoder().encode(line);
  }

  describe('stats', () => {
    it('counts memories by tier', async () => {
      await memory.consolidate();
      const before = await memory.stats();
      const id = await getId(memory.store({ content: 'to be counted' }));
      expect(await memory.stats()).toMatchObject({
        working_count: before.working_count + 1,
        episodic_count: before.episodic_count,
        db_size_mb: expect.any(Number),
        last_sleep_at: expect.stringMatching(/^\d{4}-/),
        pending_embeddings: 0,
      });
      await memory.forget(id);
      expect((await memory.stats()).working_count).toBe(before.working_count);
    });

    it('counts the memories that hold, are superseded or have ended', async () => {
      const before = await memory.stats();
      const old = await getId(memory.store({ content: 'counted once' }));
      await memory.store({ content: 'counted twice', supersedes: old, valid_from: '2020-01-01T00:00:00Z' });
      await memory.store({ content: 'ended', created_at: '2020-01-01T00:00:00Z', valid_to: '2021-01-01T00:00:00Z' });
      expect(await memory.stats()).toMatchObject({
        current_count: before.current_count + 1,
        superseded_count: before.superseded_count + 1,
        ended_count: before.ended_count + 1,
      });
    });
  });
}
