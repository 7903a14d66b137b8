import { LIMITS } from '@memoryd/contract';
import type { NewMemory } from '@memoryd/core';
import type { MemoryFilter } from '@memoryd/search';
import { propertyRuns } from '@memoryd/search/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { newMemory } from './new-memory.fixture.ts';
import { NOW, type TestedStorage } from './storage.fixture.ts';

const STEPS = ['day', 'week', 'month'] as const;
type Step = (typeof STEPS)[number];

/** Zones whose clocks skip or repeat midnight, skip a day, change by half an hour, or had offsets with seconds. */
const ZONES = [
  ...['UTC', 'Europe/Berlin', 'America/St_Johns', 'America/Toronto', 'America/Sao_Paulo', 'Asia/Beirut'],
  ...['Pacific/Apia', 'Australia/Lord_Howe', 'Asia/Kathmandu', 'Africa/Monrovia', 'Africa/Casablanca', '+05:30'],
];

/** Contract tests: facets and growth count the memories that match. */
export function countStorageContract(tested: TestedStorage): void {
  const { storeMemory } = tested;

  async function storeAll(memories: Partial<NewMemory>[]): Promise<void> {
    let stored = 0;
    for (let from = 0; from < memories.length; from += 1000) {
      const batch = memories.slice(from, from + 1000);
      await tested.storage.storeMany(
        batch.map((fields) => newMemory({ id: `counted ${stored++}`, createdAt: NOW, storedAt: NOW, ...fields })),
      );
    }
  }

  describe('a facet', () => {
    const getFacet = (field: string, filter: MemoryFilter = {}, prefix?: string, limit = 100, now = NOW) =>
      tested.storage.facet('default', filter, { field, prefix, limit }, now);
    const getPairs = async (...args: Parameters<typeof getFacet>) =>
      (await getFacet(...args)).values.map(({ value, count }) => [value, count]);

    it('counts the values of each field, most frequent first and then by value', async () => {
      await storeMemory({ tags: ['b', 'a'], sessionId: 's', source: 'x', userId: 'ann', agentId: 'cook' });
      await storeMemory({ tags: ['c'], sessionId: 't', source: 'x', userId: 'ben' });
      await storeMemory({ tags: ['c', 'ß'], sessionId: 't', source: 'y' });
      for (const filter of [{}, { since: 0 }]) {
        expect(await getPairs('tag', filter)).toEqual(Object.entries({ c: 2, a: 1, b: 1, ß: 1 }));
        expect(await getPairs('session_id', filter)).toEqual([
          ['t', 2],
          ['s', 1],
        ]);
        expect(await getPairs('source', filter)).toEqual([
          ['x', 2],
          ['y', 1],
        ]);
        expect(await getPairs('tier', filter)).toEqual([['working', 3]]);
        expect(await getPairs('user_id', filter)).toEqual([
          ['', 1],
          ['ann', 1],
          ['ben', 1],
        ]);
        expect(await getPairs('agent_id', filter)).toEqual([
          ['', 2],
          ['cook', 1],
        ]);
      }
      expect(await getFacet('tag', {}, undefined, 1)).toEqual({
        values: [{ value: 'c', count: 2 }],
        total: 4,
        isPartial: false,
      });
    });

    it('counts scalars of metadata by their JSON text, and no null, object, array or long text', async () => {
      const long = 'x'.repeat(LIMITS.facetValueChars);
      const values = [1, 1, 1.5, true, 'true', 'null', null, { a: 1 }, [1], long, `${long}x`, 'Zoë'];
      for (const value of values) await storeMemory({ metadata: { 'a.b "c"': value } });
      await storeMemory({ metadata: { a: { 'b "c"': 5 } } });
      expect(await getPairs('metadata.a.b "c"')).toEqual([
        ...[
          ['1', 2],
          ['true', 2],
          ['1.5', 1],
          ['Zoë', 1],
          ['null', 1],
          [long, 1],
        ],
      ]);
      const [{ value = '' } = {}] = (await getFacet('metadata.a.b "c"')).values;
      const { total } = await tested.storage.memories(
        'default',
        { metadata: { 'a.b "c"': value } },
        { limit: 1, maxBytes: 1000 },
        NOW * 2,
      );
      expect(total).toBe(2);
    });

    it.each(['user_id', 'session_id', 'tag', 'metadata.name'])(
      'finds values of %s by the beginning, in any case, with signs that are no wildcards',
      async (field) => {
        const names = [
          'Ann',
          'anna',
          'ÄNN',
          'änn',
          'b*',
          'bb',
          'b?x',
          'b[',
          'b]',
          'b^',
          '^b',
          'b-c',
          'b.',
          'b\\',
          '😀 x',
        ];
        for (const name of names)
          await storeMemory({ userId: name, sessionId: name, tags: [name], metadata: { name } });
        const find = async (prefix: string) => (await getFacet(field, {}, prefix)).values.map(({ value }) => value);
        expect(await find('AN')).toEqual(['Ann', 'anna']);
        expect(await find('än')).toEqual(['ÄNN', 'änn']);
        for (const name of ['b*', 'b?', 'b[', 'b]', 'b^', '^', 'b-', 'b.', 'b\\', '😀']) {
          expect(await find(name)).toEqual(names.filter((each) => each.startsWith(name)));
        }
        expect(await getFacet(field, {}, 'B', 2)).toMatchObject({ total: 9, values: [{}, {}] });
        expect(await find('c')).toEqual([]);
      },
    );

    it('counts no forgotten, evicted, merged or expired memory, also in stored counts', async () => {
      const [forgotten, evicted] = [await storeMemory({ userId: 'ann' }), await storeMemory({ userId: 'ben' })];
      await storeMemory({ userId: 'cem', expiresAt: NOW + 100 });
      await storeMemory({ userId: 'dan', expiresAt: NOW + 100 });
      await storeMemory({ userId: 'dan' });
      await storeMemory({ expiresAt: NOW + 100 });
      await tested.storage.forget('default', forgotten.id);
      const run = await tested.beginRun();
      await tested.storage.evictExcess(run, 'working', [evicted.ordinal], NOW);
      await tested.storage.endRun(run, NOW);
      for (const filter of [{}, { source: 'api' }]) {
        expect(await getPairs('user_id', filter, undefined, 9, NOW)).toEqual([
          ['dan', 2],
          ['', 1],
          ['cem', 1],
        ]);
        expect(await getPairs('user_id', filter, undefined, 9, NOW + 100)).toEqual([['dan', 1]]);
      }
      expect(await getPairs('session_id', {}, undefined, 9, NOW + 100)).toMatchObject([[expect.any(String), 1]]);
      expect(await getPairs('session_id', { userIds: ['cem'] }, undefined, 9, NOW + 100)).toEqual([]);
    });

    it('shows a caller of one user no values of other users', async () => {
      for (const name of ['ann', 'ben', ''])
        await storeMemory({
          ...{ userId: name, agentId: `agent ${name}`, sessionId: `session ${name}`, source: `source ${name}` },
          ...{ tags: [`tag ${name}`], metadata: { name: `name ${name}` } },
        });
      for (const field of ['user_id', 'agent_id', 'session_id', 'source', 'tag', 'metadata.name']) {
        const own = await getFacet(field, { userIds: ['ann'] });
        expect(own).toMatchObject({ total: 1, values: [{ count: 1 }] });
        expect(own.values[0]?.value).toMatch(/ann$/);
        const shared = await getFacet(field, { userIds: ['ann', ''] });
        expect(shared.total).toBe(2);
        expect(JSON.stringify(shared)).not.toContain('ben');
      }
    });

    it('counts the newest 10,000 memories, and all of them where counts are stored', async () => {
      const tooMany = LIMITS.countedMemories + 1;
      await storeAll(
        Array.from({ length: tooMany }, (_, i) => ({
          ...{
            createdAt: NOW + i,
            source: i === 0 ? 'oldest' : 'api',
            userId: `user ${i % 3}`,
            sessionId: `s ${i % 2}`,
          },
        })),
      );
      expect(await getFacet('source')).toEqual({
        values: [{ value: 'api', count: tooMany - 1 }],
        total: 1,
        isPartial: true,
      });
      expect(await getFacet('source', { since: NOW + 1 })).toMatchObject({ isPartial: false });
      expect(await getPairs('user_id')).toEqual([
        ['user 0', 3334],
        ['user 1', 3334],
        ['user 2', 3333],
      ]);
      expect(await getPairs('session_id')).toEqual([
        ['s 0', 5001],
        ['s 1', 5000],
      ]);
      expect(await getFacet('user_id')).toMatchObject({ isPartial: false });
      const { values, steps } = await tested.storage.growthSteps(
        'default',
        {},
        { step: 'month', timezone: 'UTC', field: 'source' },
        NOW,
      );
      expect({ values, steps }).toEqual({
        values: ['api'],
        steps: [{ from: NOW, count: tooMany, values: [tooMany - 1] }],
      });
      // A new database takes less time than forgetting ten thousand memories.
      await tested.openNew();
    });
  });

  describe('the growth', () => {
    const getGrowth = (step: Step, timezone: string, filter: MemoryFilter = {}, field?: 'tag' | 'user_id') =>
      tested.storage.growthSteps('default', filter, { step, timezone, ...(field && { field }) }, NOW);

    it('returns no periods without memories', async () => {
      expect(await getGrowth('day', 'Europe/Berlin', {}, 'tag')).toEqual({ steps: [], total: 0, values: [] });
    });

    it.each([
      ['a day of 23 hours', 'Europe/Berlin', '2025-03-29T23:00Z', '2025-03-30T22:00Z'],
      ['a day of 25 hours', 'Europe/Berlin', '2025-10-25T22:00Z', '2025-10-26T23:00Z'],
      ['a day whose midnight is skipped', 'Asia/Beirut', '2025-03-29T22:00Z', '2025-03-30T21:00Z'],
      ['a day that begins twice', 'America/St_Johns', '2010-11-07T02:30Z', '2010-11-08T03:30Z'],
      ['a day after a skipped one', 'Pacific/Apia', '2011-12-30T10:00Z', '2011-12-31T10:00Z'],
    ])('counts %s from its first to its last millisecond', async (_, zone, begin, end) => {
      const [from, until] = [Date.parse(begin), Date.parse(end)];
      for (const createdAt of [from - 1, from, until - 1, until]) await storeMemory({ createdAt });
      const { steps } = await getGrowth('day', zone);
      expect(steps.map(({ count }) => count)).toEqual([1, 2, 1]);
      expect(steps.slice(1).map((step) => step.from)).toEqual([from, until]);
    });

    it('counts the most frequent values of a field in each period, with none as an empty text', async () => {
      const day = 86_400_000;
      for (let i = 0; i < 12; i++) {
        for (let n = 0; n <= i; n++) await storeMemory({ createdAt: NOW + (n % 2) * day, tags: [`t${i + 10}`, 'all'] });
      }
      await storeMemory({ createdAt: NOW, tags: [] });
      const { values, steps } = await getGrowth('day', 'UTC', {}, 'tag');
      expect(values).toEqual(['all', ...Array.from({ length: 9 }, (__, i) => `t${21 - i}`)]);
      expect(steps.map((step) => step.values?.slice(0, 3))).toEqual([
        [42, 6, 6],
        [36, 6, 5],
      ]);
      await tested.storage.forgetMany('default', { tag: 'all' });
      expect(await getGrowth('day', 'UTC', {}, 'tag')).toEqual({
        steps: [{ from: NOW, count: 1, values: [1] }],
        values: [''],
        total: 1,
      });
    });

    it('matches a model at any time, in any zone', async () => {
      const years = fc.constantFrom(1700, 1883, 1919, 1972, 2010, 2011, 2025, 2039, 2087, 9990);
      const time = fc.oneof(
        { weight: 3, arbitrary: fc.tuple(years, fc.integer({ min: 0, max: 365 * 86_400_000 })) },
        fc.tuple(fc.constant(2011), fc.integer({ min: 0, max: 10 * 86_400_000 })),
      );
      await fc.assert(
        fc.asyncProperty(
          fc.array(time, { minLength: 1, maxLength: 25 }),
          fc.constantFrom(...ZONES),
          fc.constantFrom(...STEPS),
          async (times, zone, step) => {
            const all = times.map(([year, ms]) => new Date(0).setUTCFullYear(year) + ms);
            // The days of the change of clocks, and their edges.
            const near = all.flatMap((at) => [at, at + 3_600_000, at + 90_000_000]);
            await storeAll(near.map((createdAt) => ({ createdAt })));
            const { steps, total } = await getGrowth(step, zone);
            await tested.storage.forgetMany('default', { source: 'api' });
            expect(total).toBe(near.length);
            expect(steps.map(({ from, count }) => [from, count])).toEqual(countByPeriod(near, zone, step));
          },
        ),
        { numRuns: propertyRuns(10), endOnFailure: true },
      );
    }, 120_000);
  });
}

/** Counts times by the period that began last. Searches the beginning of each period minute by minute. */
function countByPeriod(times: readonly number[], zone: string, step: Step): [from: number, count: number][] {
  const format = new Intl.DateTimeFormat('en-CA-u-ca-iso8601', {
    ...{ timeZone: zone, era: 'short', year: 'numeric', month: '2-digit', day: '2-digit' },
  });
  const getPeriod = (time: number): number => {
    const parts = Object.fromEntries(format.formatToParts(time).map(({ type, value }) => [type, value]));
    const year = parts.era?.startsWith('B') ? 1 - Number(parts.year) : Number(parts.year);
    const date = new Date(0).setUTCFullYear(year, Number(parts.month) - 1, Number(parts.day));
    if (step === 'day') return date;
    if (step === 'month') return new Date(date).setUTCDate(1);
    return date - ((new Date(date).getUTCDay() + 6) % 7) * 86_400_000;
  };
  const getBegin = (time: number): number => {
    // The latest period that had begun by then, also if the clocks were set back after its first midnight.
    const period = Math.max(getPeriod(time), getPeriod(time - 3_600_000), getPeriod(time - 7_200_000));
    let [before, at] = [period - 2 * 86_400_000, period + 2 * 86_400_000];
    // Clocks are set back by at most an hour after midnight, so the first minute of the period is found below.
    while (at - before > 1000) {
      const middle = Math.floor((before + at) / 2000) * 1000;
      if (getPeriod(middle) >= period) at = middle;
      else before = middle;
    }
    for (let earlier = at - 7_200_000; earlier < at; earlier += 60_000) {
      if (getPeriod(earlier) < period) continue;
      let first = earlier;
      while (getPeriod(first - 1000) >= period) first -= 1000;
      return first;
    }
    return at;
  };
  const counts = new Map<number, number>();
  for (const time of times) counts.set(getBegin(time), (counts.get(getBegin(time)) ?? 0) + 1);
  return [...counts].sort(([one], [other]) => one - other);
}
