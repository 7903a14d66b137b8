import type { ConsolidateResponse, StoreRequest } from '@memoryd/contract';
import { beforeAll, describe, expect, it } from 'vitest';
import { newDatabase, ON_FILE } from './databases.ts';
import { expectRefused } from './refusal.ts';
import { type Client, expectCleanEnd, startClient, useServer, WORDS_ONLY } from './under-test.ts';

const FIRST_RUN_TIMEOUT_MS = 70_000;

const memoryd = useServer({ env: WORDS_ONLY });

// The first scheduled run may start up to a minute after the server. These servers start first and are tested last.
const scheduledDatabase = await newDatabase();
let oldEnough = '';
let tooYoung = '';
beforeAll(async () => {
  const before = await startClient({ env: WORDS_ONLY, database: scheduledDatabase });
  oldEnough = await before.store({ content: 'there before the server started' });
  await expectCleanEnd(before.server);
});
const smallWorkingTier = useServer({ env: { ...WORDS_ONLY, SERVICE_WORKING_MAX: '20' } });
const scheduled = useServer({
  env: { SERVICE_EMBEDDER: 'none', SERVICE_WORKING_AGE_SECONDS: '0' },
  database: scheduledDatabase,
});
const withWorkingAge = useServer({ env: { SERVICE_EMBEDDER: 'none' } });
beforeAll(async () => {
  tooYoung = await withWorkingAge.store({ content: 'stored too recently', created_at: '2001-01-01T00:00:00Z' });
});

describe('POST /consolidate', () => {
  it('POST /consolidate has null as last_sleep_at in /stats and /health before the first run', async () => {
    expect(await memoryd.stats()).toMatchObject({ last_sleep_at: null, working_count: 0, episodic_count: 0 });
    expect(await memoryd.get('/health')).toMatchObject({ last_sleep_at: null });
  });

  it('returns status "consolidated" with counts of 0 if there is nothing to do', async () => {
    expect(await memoryd.consolidate()).toMatchObject({
      status: 'consolidated',
      consolidated_count: 0,
      evicted_count: 0,
    });
  });

  it('sets last_sleep_at to the time of the run', async () => {
    const before = Date.now();
    await memoryd.consolidate();
    const { last_sleep_at } = await memoryd.stats();
    expect(last_sleep_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);
    expect(Date.parse(last_sleep_at ?? '')).toBeGreaterThanOrEqual(before - 1000);
    expect(Date.parse(last_sleep_at ?? '')).toBeLessThanOrEqual(Date.now());
    await expect.poll(() => memoryd.get('/health')).toMatchObject({ last_sleep_at });
  });

  it('promotes every working memory, and returns their number', async () => {
    const before = await memoryd.stats();
    await memoryd.storeAll(Array.from({ length: 25 }, (_, n) => ({ content: `event ${n}` })));
    expect(await memoryd.consolidate()).toMatchObject({
      status: 'consolidated',
      consolidated_count: 25,
      evicted_count: 0,
    });
    expect(await memoryd.stats()).toMatchObject({
      working_count: 0,
      episodic_count: before.episodic_count + 25,
      semantic_count: 0,
    });
  });

  it('promotes each memory only once', async () => {
    await memoryd.store({ content: 'promotes once' });
    await memoryd.consolidate();
    expect(await memoryd.consolidate()).toMatchObject({ consolidated_count: 0, evicted_count: 0 });
  });

  it('POST /consolidate does not change the id and the fields that a client wrote', async () => {
    const id = await memoryd.store({
      ...{ content: ' exact\r\ntext \u{1f98a} ', tags: ['a'], importance: 0.7, source: 'chat', session_id: 'kept' },
      ...{ created_at: '2020-01-01T00:00:00.000Z', metadata: { k: [1] }, expires_at: '2999-01-01T00:00:00.000Z' },
    });
    const before = await memoryd.memory(id);
    await memoryd.consolidate();
    expect(await memoryd.memory(id)).toEqual({ ...before, tier: 'episodic' });
  });

  it('keeps a promoted memory in recall and in its session', async () => {
    const id = await memoryd.store({ content: 'the promoted cormorant', session_id: 'promoted' });
    await memoryd.consolidate();
    expect(await memoryd.recalled('cormorant')).toEqual([id]);
    expect((await memoryd.session('promoted')).memories.map((memory) => memory.id)).toEqual([id]);
  });

  it('changes the tier that GET /memories filters by', async () => {
    const id = await memoryd.store({ content: 'changes tier', session_id: 'listed' });
    expect((await memoryd.memories('session_id=listed&tier=working')).memories.map((m) => m.id)).toEqual([id]);
    await memoryd.consolidate();
    expect((await memoryd.memories('session_id=listed&tier=working')).total).toBe(0);
    expect((await memoryd.memories('session_id=listed&tier=episodic')).memories.map((m) => m.id)).toEqual([id]);
  });

  const bodies: { row: string; headers?: Record<string, string> }[] = [
    { row: 'no content type' },
    { row: 'a JSON content type', headers: { 'content-type': 'application/json' } },
  ];
  it.each(bodies)('accepts an empty body with $row', async ({ headers = {} }) => {
    expect((await memoryd.send({ method: 'POST', path: '/consolidate', headers })).status).toBe(200);
  });
});

describe('POST /consolidate with min_age_seconds', () => {
  it('POST /consolidate with min_age_seconds does not promote memories stored fewer seconds ago, regardless of created_at', async () => {
    const id = await memoryd.store({ content: 'young by storing time', created_at: '2001-01-01T00:00:00Z' });
    expect(await memoryd.consolidate('min_age_seconds=3600')).toMatchObject({ consolidated_count: 0 });
    expect((await memoryd.memory(id)).tier).toBe('working');
    expect(await memoryd.consolidate('min_age_seconds=0')).toMatchObject({ consolidated_count: 1 });
    expect((await memoryd.memory(id)).tier).toBe('episodic');
  });

  it('promotes memories stored at least that many seconds ago', async () => {
    const old = await memoryd.store({ content: 'stored first' });
    await new Promise((resolve) => setTimeout(resolve, 2100));
    const later = await memoryd.store({ content: 'stored later' });
    expect(await memoryd.consolidate('min_age_seconds=2')).toMatchObject({ consolidated_count: 1 });
    expect([(await memoryd.memory(old)).tier, (await memoryd.memory(later)).tier]).toEqual(['episodic', 'working']);
    await memoryd.consolidate();
  });

  it.each(['-1', '1.5', 'soon'])('rejects the value "%s"', async (age) => {
    await expectRefused(
      memoryd,
      { method: 'POST', path: `/consolidate?min_age_seconds=${age}` },
      { field: 'min_age_seconds' },
    );
  });
});

describe('exact duplicates in a consolidation', () => {
  const countLive = async (sessionId: string) =>
    (await memoryd.memories(`session_id=${encodeURIComponent(sessionId)}`)).total;

  const merged: { row: string; texts: string[] }[] = [
    { row: 'two equal texts', texts: ['the same text', 'the same text'] },
    { row: 'five equal texts', texts: Array.from({ length: 5 }, () => 'five of a kind') },
    { row: 'texts that differ in surrounding whitespace', texts: ['a trimmed text', '  a trimmed text\n'] },
    { row: 'texts that differ in Unicode normalization', texts: ['caf\u00e9 cr\u00e8me', 'cafe\u0301 cre\u0300me'] },
  ];
  it.each(merged)(
    'exact duplicates in a consolidation are merged for $row, and all but one are counted as evicted',
    async ({ row, texts }) => {
      const ids = await memoryd.storeInOrder(texts.map((content) => ({ content, session_id: row })));
      const answer = await memoryd.consolidate();
      expect(answer.evicted_count).toBe(texts.length - 1);
      expect(answer.consolidated_count).toBeGreaterThanOrEqual(1);
      expect(answer.consolidated_count).toBeLessThanOrEqual(texts.length);
      const memories = await Promise.all(ids.map((id) => memoryd.memory(id)));
      const survivors = memories.filter((memory) => memory.merged_into === null);
      expect(survivors.length).toBe(1);
      for (const duplicate of memories.filter((memory) => memory.merged_into !== null)) {
        expect(duplicate.merged_into).toBe(survivors[0]?.id);
      }
      expect(memories.map((memory) => memory.content)).toEqual(texts);
      const { memories: transcript, total } = await memoryd.session(row);
      expect([transcript.map((memory) => memory.id), total]).toEqual([ids, texts.length]);
      expect(await countLive(row)).toBe(1);
    },
  );

  const apart: { row: string; memories: StoreRequest[] }[] = [
    {
      row: 'in two sessions',
      memories: [
        { content: 'told', session_id: 'a' },
        { content: 'told', session_id: 'b' },
      ],
    },
    {
      row: 'that differ in case',
      memories: [
        { content: 'Told', session_id: 'c' },
        { content: 'told', session_id: 'c' },
      ],
    },
    {
      row: 'that differ in inner whitespace',
      memories: [
        { content: 'to  ld', session_id: 'd' },
        { content: 'to ld', session_id: 'd' },
      ],
    },
    {
      row: 'that differ in compatibility characters',
      memories: [
        { content: 'ﬁn', session_id: 'e' },
        { content: 'fin', session_id: 'e' },
      ],
    },
  ];
  it.each(apart)('exact duplicates in a consolidation do not include texts $row', async ({ memories }) => {
    const ids = await memoryd.storeAll(memories);
    expect((await memoryd.consolidate()).evicted_count).toBe(0);
    for (const id of ids) expect((await memoryd.memory(id)).merged_into).toBeNull();
  });

  it('exact duplicates in a consolidation appear once in recall and in the counts after a merge', async () => {
    const before = await memoryd.stats();
    await memoryd.storeAll([0, 1].map(() => ({ content: 'the duplicate pangolin', session_id: 'pangolins' })));
    await memoryd.consolidate();
    expect((await memoryd.recall('pangolin', 'top_k=10')).total).toBe(1);
    expect((await memoryd.stats()).episodic_count).toBe(before.episodic_count + 1);
  });

  it('exact duplicates in a consolidation are merged even if one of them was promoted earlier', async () => {
    const first = await memoryd.store({ content: 'told again later', session_id: 'later' });
    await memoryd.consolidate();
    await memoryd.store({ content: 'told again later', session_id: 'later' });
    expect((await memoryd.consolidate()).evicted_count).toBe(1);
    expect(await countLive('later')).toBe(1);
    expect((await memoryd.session('later')).total).toBe(2);
    expect(await memoryd.getStatus(first)).toBe(200);
  });

  it('exact duplicates in a consolidation are merged only once', async () => {
    await memoryd.storeAll([0, 1].map(() => ({ content: 'merged once', session_id: 'once' })));
    await memoryd.consolidate();
    expect((await memoryd.consolidate()).evicted_count).toBe(0);
  });

  it('exact duplicates in a consolidation are not merged into an expired memory', async () => {
    const soon = new Date(Date.now() + 300).toISOString();
    await memoryd.store({ content: 'a fading echo', session_id: 'echo', expires_at: soon });
    const lasting = await memoryd.store({ content: 'a fading echo', session_id: 'echo' });
    await new Promise((resolve) => setTimeout(resolve, 320));
    await memoryd.consolidate();
    expect(await memoryd.recalled('fading echo')).toEqual([lasting]);
  });
});

describe('expired memories in a consolidation', () => {
  it('expired memories in a consolidation are evicted once and stay hidden', async () => {
    const { working_count, episodic_count } = await memoryd.stats();
    const counts = { working_count, episodic_count };
    const id = await memoryd.store({ content: 'a stale croissant', expires_at: '2001-01-01T00:00:00Z' });
    expect((await memoryd.consolidate()).evicted_count).toBe(1);
    expect((await memoryd.consolidate()).evicted_count).toBe(0);
    expect(await memoryd.getStatus(id)).toBe(404);
    expect(await memoryd.stats()).toMatchObject(counts);
  });
});

describe('concurrent consolidations', () => {
  it('concurrent consolidations count every memory exactly once, and concurrent calls share one run', async () => {
    const { episodic_count } = await memoryd.stats();
    await memoryd.storeAll(Array.from({ length: 60 }, (_, n) => ({ content: `crowd ${n}` })));
    const answers = await Promise.all(Array.from({ length: 12 }, () => memoryd.consolidate()));
    const counts = answers.map((answer: ConsolidateResponse) => answer.consolidated_count);
    // The first run promotes all memories; the shared second run finds none.
    expect(counts.filter((count) => count === 60).length).toBeGreaterThanOrEqual(1);
    expect(counts.filter((count) => count !== 60 && count !== 0)).toEqual([]);
    expect(await memoryd.stats()).toMatchObject({ working_count: 0, episodic_count: episodic_count + 60 });
  });

  it('concurrent consolidations promote a memory that was stored during a run', async () => {
    await memoryd.storeAll(Array.from({ length: 60 }, (_, n) => ({ content: `before ${n}` })));
    const running = memoryd.consolidate();
    const id = await memoryd.store({ content: 'stored meanwhile' });
    await memoryd.consolidate();
    await running;
    expect((await memoryd.memory(id)).tier).toBe('episodic');
  });
});

describe('two servers on one database', () => {
  it('two servers on one database share consolidation runs and promote every memory once', async () => {
    const { episodic_count } = await memoryd.stats();
    const second = await startClient({ env: WORDS_ONLY, database: memoryd.server.database });
    await memoryd.storeAll(Array.from({ length: 60 }, (_, n) => ({ content: `shared ${n}` })));
    const answers = await Promise.all([
      memoryd.consolidate(),
      second.consolidate(),
      memoryd.consolidate(),
      second.consolidate(),
    ]);
    const promoted = new Set(answers.map((answer) => answer.consolidated_count));
    expect([...promoted].sort((a, b) => b - a)[0]).toBe(60);
    expect([...promoted].every((count) => count === 0 || count === 60)).toBe(true);
    for (const client of [memoryd, second]) {
      expect(await client.stats()).toMatchObject({ working_count: 0, episodic_count: episodic_count + 60 });
    }
    await expectCleanEnd(second.server);
  });
});

describe('SERVICE_EPISODIC_MAX', () => {
  const memoryd = useServer({ env: { ...WORDS_ONLY, SERVICE_EPISODIC_MAX: '3' } });

  it('makes a consolidation evict the episodic memories with the lowest retention', async () => {
    const importances = [0.9, 0.1, 0.5, 1, 0.2, 0.6];
    const ids = await memoryd.storeInOrder(
      importances.map((importance, n) => ({ content: `gannet ${n}`, importance })),
    );
    expect(await memoryd.stats()).toMatchObject({ working_count: 6, episodic_count: 0 });
    const planned = await memoryd.consolidate('dry_run=true');
    expect(await memoryd.consolidate()).toMatchObject({ consolidated_count: 6, evicted_count: 3 });
    const least = [1, 4, 2].map((n) => ({ id: ids[n], reason: 'maximum' }));
    expect(planned).toMatchObject({ evicted_count: 3, plan: { evict: { total: 3, memories: least } } });
    expect(await memoryd.stats()).toMatchObject({ working_count: 0, episodic_count: 3 });
    const expected = importances.flatMap((importance, n) => (importance > 0.5 ? [ids[n]] : []));
    expect((await memoryd.recalled('gannet', 'top_k=10')).sort()).toEqual(expected.sort());
    expect((await memoryd.memories()).memories.map(({ id }) => id).sort()).toEqual(expected);
    expect(await memoryd.consolidate()).toMatchObject({ evicted_count: 0 });
  });
});

describe('SERVICE_WORKING_MAX', () => {
  it('makes stores promote the oldest working memories when three quarters of the maximum are exceeded', async () => {
    const ids = await smallWorkingTier.storeInOrder(Array.from({ length: 30 }, (_, n) => ({ content: `queue ${n}` })));
    const stats = await smallWorkingTier.stats();
    expect(stats.working_count).toBeLessThanOrEqual(15);
    expect(stats.working_count).toBeGreaterThan(0);
    expect(stats.working_count + stats.episodic_count).toBe(30);
    expect((await smallWorkingTier.memory(ids[0] ?? '')).tier).toBe('episodic');
    expect((await smallWorkingTier.memory(ids[29] ?? '')).tier).toBe('working');
  });

  it('keeps the promoted memories in recall', async () => {
    expect((await smallWorkingTier.recall('queue', 'top_k=100')).total).toBe(30);
  });
});

// Each test waits for a scheduled run; running them concurrently saves time.
describe.runIf(ON_FILE).concurrent('a scheduled consolidation', () => {
  /** Waits for the first scheduled run. */
  const waitForConsolidation = (client: Client) =>
    expect
      .poll(async () => (await client.stats()).last_sleep_at, { timeout: FIRST_RUN_TIMEOUT_MS, interval: 500 })
      .not.toBeNull();

  it(
    'starts within a minute of the server start and promotes memories of the working age',
    async () => {
      await waitForConsolidation(scheduled);
      expect((await scheduled.memory(oldEnough)).tier).toBe('episodic');
      const { last_sleep_at, next_sleep_at } = await scheduled.stats();
      expect(Date.parse(next_sleep_at ?? '') - Date.parse(last_sleep_at ?? '')).toBe(3_600_000);
    },
    FIRST_RUN_TIMEOUT_MS + 10_000,
  );

  it(
    'a scheduled consolidation does not promote memories younger than the working age, regardless of created_at',
    async () => {
      await waitForConsolidation(withWorkingAge);
      expect((await withWorkingAge.memory(tooYoung)).tier).toBe('working');
    },
    FIRST_RUN_TIMEOUT_MS + 10_000,
  );

  it(
    'a scheduled consolidation does not run if the interval is 0',
    async () => {
      await waitForConsolidation(scheduled);
      expect(await smallWorkingTier.stats()).toMatchObject({ last_sleep_at: null, next_sleep_at: null });
    },
    FIRST_RUN_TIMEOUT_MS + 10_000,
  );
});
