import type { MemoriesResponse, SessionsResponse } from '@memoryd/contract';
import { beforeAll, describe, expect, it } from 'vitest';
import { ON_FILE } from './databases.ts';
import { useServer, WORDS_ONLY } from './under-test.ts';

type Page = { next_cursor?: string };

/** Follows `next_cursor` to the last page. */
async function getPages<P extends Page>(first: string, get: (path: string) => Promise<P>): Promise<P[]> {
  const pages = [await get(first)];
  for (let cursor = pages[0]?.next_cursor; cursor !== undefined && pages.length < 200; ) {
    const page = await get(`${first}&cursor=${encodeURIComponent(cursor)}`);
    pages.push(page);
    cursor = page.next_cursor;
  }
  return pages;
}

describe('GET /memories', () => {
  const memoryd = useServer({ env: WORDS_ONLY });
  const ids: string[] = [];
  const sameTime = '2024-03-03T03:03:03.000Z';
  beforeAll(async () => {
    ids.push(
      ...(await memoryd.storeInOrder(
        Array.from({ length: 23 }, (_, n) => ({
          content: `item ${n}`,
          session_id: `s${n % 3}`,
          source: n % 2 ? 'odd' : 'even',
          tags: [`t${n % 4}`, 'all'],
          metadata: { n, ...(n % 5 === 0 && { 'k\nl': 'nl' }) },
          created_at: n < 8 ? sameTime : `2024-03-04T00:00:${String(n).padStart(2, '0')}.000Z`,
        })),
      )),
    );
  });
  const get = (path: string) => memoryd.get<MemoriesResponse>(path);
  const getIds = (pages: MemoriesResponse[]) => pages.flatMap((page) => page.memories.map((memory) => memory.id));

  it('returns memories with the same fields as GET /memories/{id}', async () => {
    const { memories } = await get('/memories?limit=3');
    for (const memory of memories) expect(memory).toEqual(await memoryd.memory(memory.id));
  });

  it('returns the newest memory first, and the last stored memory first if times are equal', async () => {
    expect(getIds([await get('/memories')])).toEqual([...ids].reverse());
  });

  it.each(['asc', 'desc'])('returns each memory exactly once in pages in the direction %s', async (dir) => {
    const pages = await getPages(`/memories?limit=5&dir=${dir}`, get);
    expect(getIds(pages)).toEqual(dir === 'asc' ? ids : [...ids].reverse());
  });

  it('returns the page at an offset in each order, without a cursor in orders other than by creation', async () => {
    for (const order of ['created', 'changed', 'importance', 'use', 'retention']) {
      const all = await get(`/memories?order=${order}`);
      const page = await get(`/memories?order=${order}&offset=7&limit=4`);
      expect(getIds([page])).toEqual(getIds([all]).slice(7, 11));
      expect(page.total).toBe(23);
      expect('next_cursor' in page).toBe(order === 'created');
    }
  });

  it('returns no memory at an offset beyond the last', async () => {
    expect(await get('/memories?offset=23')).toEqual({ memories: [], total: 23 });
  });

  it('returns memories with the words of q, with filters, growth and pages', async () => {
    expect(getIds(await getPages('/memories?q=ITEM&limit=10', get))).toEqual([...ids].reverse());
    expect(getIds([await get('/memories?q=item%201&source=odd')])).toEqual([19, 17, 15, 13, 11, 1].map((n) => ids[n]));
    const { total, growth } = await get('/memories?q=item%201&limit=1&growth_at=2024-03-03&growth_at=2024-03-05');
    expect(total).toBe(11);
    expect(growth?.map(({ working_count }) => working_count)).toEqual([1, 11]);
    expect(await get('/memories?q=absent')).toEqual({ memories: [], total: 0 });
  });

  it.each([
    { query: 'offset=10001', message: 'offset must be a whole number from 0 to 10000' },
    { query: 'offset=-1', message: 'offset must be a whole number from 0 to 10000' },
    { query: 'order=size', message: 'order must be one of created, changed, importance, use, retention' },
    { query: 'dir=up', message: 'dir must be one of desc, asc' },
    { query: 'q=%20', message: 'q must be a string of 1 to 256 characters, at least one of them not blank' },
    { query: 'q=!', message: 'q must have a letter, a number or a sign such as €; add a word' },
    { query: 'q=item&known_at=2030-01-01', message: 'q must not come with known_at' },
  ])('refuses $query', async ({ query, message }) => {
    const refused = await memoryd.send({ path: `/memories?${query}` });
    expect(refused.status).toBe(400);
    expect(JSON.stringify(refused.body)).toContain(message);
  });

  it('refuses a cursor with an offset, in another order, or from the other direction', async () => {
    const { next_cursor = '' } = await get('/memories?limit=5');
    const cursor = encodeURIComponent(next_cursor);
    for (const [query, message] of [
      [`cursor=${cursor}&offset=5`, 'offset must not come with cursor; leave out one of them'],
      [`cursor=${cursor}&order=use`, 'cursor must not come with the order use; use offset'],
      [`cursor=${cursor}&dir=asc`, 'cursor must'],
    ]) {
      const refused = await memoryd.send({ path: `/memories?${query}` });
      expect(refused.status).toBe(400);
      expect(JSON.stringify(refused.body)).toContain(message);
    }
  });

  it.each([1, 2, 5, 22, 23, 24, 10_000])('returns each memory exactly once in pages of %i', async (limit) => {
    const pages = await getPages(`/memories?limit=${limit}`, get);
    expect(getIds(pages)).toEqual([...ids].reverse());
    expect(pages.length).toBe(Math.ceil(23 / limit));
    expect(new Set(pages.map((page) => page.total))).toEqual(new Set([23]));
  });

  const filters: { row: string; filter: string; picks: (n: number) => boolean }[] = [
    { row: 'session_id', filter: 'session_id=s1', picks: (n) => n % 3 === 1 },
    { row: 'source', filter: 'source=odd', picks: (n) => n % 2 === 1 },
    { row: 'tag', filter: 'tag=t2', picks: (n) => n % 4 === 2 },
    { row: 'two tags', filter: 'tag=all&tag=t3', picks: (n) => n % 4 === 3 },
    { row: 'metadata', filter: 'metadata.n=7', picks: (n) => n === 7 },
    { row: 'metadata in brackets', filter: 'metadata%5Bn%5D=7', picks: (n) => n === 7 },
    { row: 'metadata with a line end in its name', filter: 'metadata.k%0Al=nl', picks: (n) => n % 5 === 0 },
    { row: 'since', filter: 'since=2024-03-04T00:00:20Z', picks: (n) => n >= 20 },
    { row: 'until', filter: `until=${sameTime}`, picks: (n) => n < 8 },
    { row: 'tier', filter: 'tier=working', picks: () => true },
    { row: 'another tier', filter: 'tier=semantic', picks: () => false },
    { row: 'session_id and source', filter: 'session_id=s0&source=even', picks: (n) => n % 6 === 0 },
  ];
  it.each(filters)('filters by $row on every page', async ({ filter, picks }) => {
    const expected = ids.filter((_, n) => picks(n)).reverse();
    const pages = await getPages(`/memories?limit=3&${filter}`, get);
    expect(getIds(pages)).toEqual(expected);
    expect(pages[0]?.total).toBe(expected.length);
  });

  it('omits merged, expired and forgotten memories', async () => {
    const session_id = 'left out';
    const stored = await memoryd.storeInOrder([
      { content: 'duplicate', session_id },
      { content: 'duplicate', session_id },
      { content: 'expired', session_id, expires_at: '2001-01-01T00:00:00Z' },
      { content: 'forgotten', session_id },
    ]);
    await memoryd.forget(stored[3] ?? '');
    await memoryd.consolidate();
    const listed = await get('/memories?session_id=left%20out');
    expect([listed.total, listed.memories.length]).toEqual([1, 1]);
    await memoryd.forgetMany('session_id=left%20out');
  });

  it('returns the next page unchanged after a newer memory was stored', async () => {
    const first = await get('/memories?limit=4&tag=all');
    const late = await memoryd.store({ content: 'a newcomer', tags: ['all'] });
    const rest = await getPages(
      `/memories?limit=100&tag=all&cursor=${encodeURIComponent(first.next_cursor ?? '')}`,
      get,
    );
    expect([...getIds([first]), ...getIds(rest)]).toEqual([...ids].reverse());
    await memoryd.forget(late);
  });
});

describe('pages of GET /memories', () => {
  const memoryd = useServer({ env: { ...WORDS_ONLY, SERVICE_MAX_ANSWER_BYTES: '20000' } });

  it('pages of GET /memories end at the maximum response size, and the next page continues', async () => {
    const ids = await memoryd.storeInOrder(
      Array.from({ length: 9 }, (_, n) => ({ content: `${n}`.repeat(n === 4 ? 50_000 : 6_000) })),
    );
    const pages = await getPages('/memories?limit=1000', (path) => memoryd.get<MemoriesResponse>(path));
    expect(pages.flatMap((page) => page.memories.map((memory) => memory.id))).toEqual(ids.reverse());
    expect(pages.length).toBeGreaterThan(2);
  });
});

describe('GET /sessions', () => {
  const memoryd = useServer({ env: WORDS_ONLY });
  // In the order of their bytes, which is the order of their code points.
  const names = ['100', '20', 'Beta', 'alpha', 'alpha/2', 'beta', 'é', '会', '🦊'];
  beforeAll(async () => {
    await memoryd.storeAll(
      [...names].reverse().flatMap((session_id) => [
        { content: 'a', session_id, created_at: '2024-01-02T00:00:00.000Z', tags: ['x'] },
        { content: 'b', session_id, created_at: '2024-01-01T00:00:00.000Z', source: 'mail' },
      ]),
    );
  });
  const get = (path: string) => memoryd.get<SessionsResponse>(path);

  it('returns each session with its total and the times of its first and last memory', async () => {
    const { sessions, total } = await get('/sessions');
    expect(total).toBe(names.length);
    expect(sessions[0]).toEqual({
      session_id: '100',
      total: 2,
      first_at: '2024-01-01T00:00:00.000Z',
      last_at: '2024-01-02T00:00:00.000Z',
    });
  });

  it('returns sessions in the order of their ids', async () => {
    expect((await get('/sessions')).sessions.map((session) => session.session_id)).toEqual(names);
  });

  it.each([1, 2, 4, 9, 100])('returns each session exactly once in pages of %i', async (limit) => {
    const pages = await getPages(`/sessions?limit=${limit}`, get);
    expect(pages.flatMap((page) => page.sessions.map((session) => session.session_id))).toEqual(names);
    expect(pages.length).toBe(Math.ceil(names.length / limit));
  });

  it('counts only memories that match a filter', async () => {
    const { sessions } = await get('/sessions?source=mail');
    expect(sessions.map((session) => session.total)).toEqual(names.map(() => 1));
    expect((await get('/sessions?tag=x&until=2024-01-01T12:00:00Z')).sessions).toEqual([]);
    expect((await get('/sessions?session_id=beta')).sessions.map((session) => session.session_id)).toEqual(['beta']);
  });

  it('omits a session whose memories are all forgotten', async () => {
    await memoryd.store({ content: 'brief', session_id: 'zzz' });
    expect((await get('/sessions')).total).toBe(names.length + 1);
    await memoryd.forgetMany('session_id=zzz');
    expect((await get('/sessions')).sessions.map((session) => session.session_id)).toEqual(names);
  });
});

describe('the status endpoints:', () => {
  const memoryd = useServer({ env: WORDS_ONLY });

  it('GET /health returns its nine documented fields', async () => {
    expect(await memoryd.get('/health')).toMatchObject({
      ...{ status: 'healthy', version: expect.stringMatching(/^\d+\.\d+\.\d+/), db_connected: true },
      ...{ db_size_mb: expect.any(Number), working_count: 0, episodic_count: 0, semantic_count: 0 },
      ...{ last_sleep_at: null, uptime_seconds: expect.any(Number) },
    });
  });

  it('GET /health and GET / return the same version', async () => {
    const [health, root] = await Promise.all([
      memoryd.get<{ version: string }>('/health'),
      memoryd.get<{ version: string }>('/'),
    ]);
    expect(health.version).toBe(root.version);
  });

  it('GET /health returns the whole seconds since the start', async () => {
    const { uptime_seconds } = await memoryd.get<{ uptime_seconds: number }>('/health');
    expect(Number.isInteger(uptime_seconds)).toBe(true);
    expect(uptime_seconds).toBeGreaterThanOrEqual(0);
    expect(uptime_seconds).toBeLessThan(600);
  });

  it('GET / returns status "running", the version and the three counts', async () => {
    expect(await memoryd.get('/')).toEqual({
      status: 'running',
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      working_count: expect.any(Number),
      episodic_count: expect.any(Number),
      semantic_count: expect.any(Number),
    });
  });

  it('GET /stats returns counts, size, last consolidation and pending embeddings', async () => {
    // On PostgreSQL, no token states are in the memory of the service.
    const { token_states_cache: _, ...stats } = await memoryd.stats();
    expect(stats).toEqual({
      ...{ working_count: 0, episodic_count: 0, semantic_count: 0 },
      ...{ current_count: 0, superseded_count: 0, ended_count: 0 },
      ...{ db_size_mb: expect.any(Number), last_sleep_at: null, next_sleep_at: null, pending_embeddings: 0 },
    });
  });

  it('GET /, GET /stats and GET /health return equal counts', async () => {
    await memoryd.storeAll([{ content: 'one' }, { content: 'two' }, { content: 'three' }]);
    await memoryd.consolidate();
    await memoryd.store({ content: 'four' });
    const counts = { working_count: 1, episodic_count: 3, semantic_count: 0 };
    for (const path of ['/', '/stats']) expect(await memoryd.get(path), path).toMatchObject(counts);
    await expect.poll(() => memoryd.get('/health')).toMatchObject(counts);
  });

  it.runIf(ON_FILE)('GET /stats returns a larger size after a long text was stored', async () => {
    const before = (await memoryd.stats()).db_size_mb;
    await memoryd.store({ content: `ballast${' '.repeat(800_000)}.` });
    expect((await memoryd.stats()).db_size_mb).toBeGreaterThan(before + 0.5);
  });
});
