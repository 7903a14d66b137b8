import { MemoryError } from '@memoryd/contract';
import { openNewSqlite } from '@memoryd/sqlite/testing';
import { newMemory, testedStorage } from '@memoryd/suites';
import { beforeEach, describe, expect, it } from 'vitest';
import { Consolidator } from '../src/consolidation/consolidator.ts';
import { ConsolidationSchedule } from '../src/consolidation/schedule.ts';
import { createRecallForCheck, type RecallForCheck } from '../src/consolidation/self-check.ts';
import type { TierMaxima } from '../src/consolidation/steps.ts';
import { extractive } from '../src/distil/extractive.ts';
import { EventLog } from '../src/event-log.ts';
import type { Lease } from '../src/ports/coordination.ts';
import type { TelemetryEvent } from '../src/ports/runtime.ts';
import type { Storage } from '../src/ports/storage.ts';
import type { NewMemory } from '../src/ports/storage-memories.ts';
import { createSeal, uuidV7 } from '../src/system.ts';

const HOUR_MS = 3_600_000;
const ARCHIVE_MS = 30 * 24 * HOUR_MS;

const tested = testedStorage(openNewSqlite(10_000));
let storage: Storage;
let lease: Lease;
let now = 0;
let events: TelemetryEvent[];
const clock = { now: () => now };
const telemetry = { report: (event: TelemetryEvent) => events.push(event) };

beforeEach(() => {
  now = Date.UTC(2026, 0, 1);
  events = [];
  ({ storage, lease } = tested);
});

const ANY_NUMBER: TierMaxima = { episodic: 0, semantic: 0 };
const newLog = () => new EventLog(clock, uuidV7);
const recall: RecallForCheck = (...asked) => createRecallForCheck({ storage, clock })(...asked);
const consolidator = (holder = 'one', maxima = ANY_NUMBER, log = newLog(), recalled = recall) =>
  new Consolidator({
    storage,
    lease,
    clock,
    ids: uuidV7,
    telemetry,
    distiller: extractive,
    holder,
    archiveMs: ARCHIVE_MS,
    maxima,
    events: log,
    recalled,
  });

type Fields = Partial<Pick<NewMemory, 'content' | 'userId' | 'sessionId' | 'storedAt' | 'expiresAt' | 'importance'>>;

const makeMemory = (id: string, fields: Fields = {}) => newMemory({ id, createdAt: now, ...fields });

async function store(id: string, fields: Fields = {}): Promise<number> {
  const stored = await storage.store(makeMemory(id, fields));
  if (stored.outcome !== 'stored') throw new Error(`not stored: ${stored.outcome}`);
  return stored.ordinal;
}

/** Stores memories in one commit. */
async function storeAll(count: number, fields: Fields = {}): Promise<void> {
  await storage.storeMany(Array.from({ length: count }, (_, i) => makeMemory(`m${i}`, fields)));
}

const runs = () => events.filter((event) => event.event === 'consolidation_completed').length;

describe('consolidation', () => {
  it('promotes, merges and evicts, and returns the counts', async () => {
    for (const id of ['a', 'b', 'c']) await store(id);
    for (const id of ['duplicate 1', 'duplicate 2', 'duplicate 3']) await store(id, { content: 'same' });
    await store('expired', { expiresAt: now });
    expect(await consolidator().consolidate('default', 0)).toMatchObject({
      state: 'completed',
      startedAt: now,
      endedAt: now,
      counts: { promoted: 7, evicted: 1, merged: 2, gained: 1 },
    });
    expect(await storage.stats('default', now)).toMatchObject({
      working_count: 0,
      episodic_count: 4,
      lastSleepAt: now,
    });
  });

  it('promotes only memories that were stored at least the minimum age ago', async () => {
    await store('old', { storedAt: now - HOUR_MS });
    await store('young', { storedAt: now - HOUR_MS + 1 });
    expect((await consolidator().consolidate('default', HOUR_MS)).counts.promoted).toBe(1);
    expect((await storage.memory('default', 'young', now))?.tier).toBe('working');
  });

  it('promotes more memories than one batch contains', async () => {
    await storeAll(1201);
    expect((await consolidator().consolidate('default', 0)).counts.promoted).toBe(1201);
  });

  it('evicts only the memories with the lowest retention if a tier exceeds its maximum', async () => {
    for (const [id, importance] of [
      ['a', 0.5],
      ['b', 0],
      ['c', 1],
      ['d', 0.2],
    ] as const)
      await store(id, { importance });
    const run = await consolidator('one', { episodic: 2, semantic: 0 }).consolidate('default', 0);
    expect(run.counts).toEqual({ promoted: 4, evicted: 2 });
    const left = await Promise.all(['a', 'b', 'c', 'd'].map((id) => storage.memory('default', id, now)));
    expect(left.map((memory) => memory?.id)).toEqual(['a', undefined, 'c', undefined]);
    expect((await consolidator('one', { episodic: 2, semantic: 0 }).consolidate('default', 0)).counts).toEqual({});
  });

  it('evicts more memories than one retention ranking contains, but no working memories', async () => {
    await storeAll(5300, { storedAt: now - HOUR_MS });
    await store('young');
    const run = await consolidator('one', { episodic: 100, semantic: 0 }).consolidate('default', HOUR_MS);
    expect(run.counts).toEqual({ promoted: 5300, evicted: 5200 });
    expect(await storage.stats('default', now)).toMatchObject({ working_count: 1, episodic_count: 100 });
  });

  it('consolidation does not evict a memory because of its age alone', async () => {
    await store('old', { storedAt: 0, importance: 0 });
    expect((await consolidator().consolidate('default', 0)).counts).toEqual({ promoted: 1 });
  });

  it('consolidation is not reverted if merging removes a neighbor of a text that begins like many other texts', async () => {
    const header =
      'Weekly status report of the platform team, written for the steering group and for everybody who follows the ' +
      'migration of the billing service to the new data centre in Oslo. It lists what was done, what is planned for the ' +
      'coming week, which risks are known, who looks after each of them, and what the team needs from others to go on with it.';
    const report = (week: number, more = '') =>
      `${header} ${more}Week ${week}. Number ${week} topic${week} detail${week}.`;
    const appendix =
      'Appendix with a good many more words about servers racks cables cooling vendors invoices contracts people holidays ' +
      'training budget. ';
    for (let week = 0; week < 14; week++) {
      await store(`report ${week}`, { content: report(week), sessionId: 's' });
      await store(`thanks ${week}`, { content: `Thanks, noted as item ${week} by colleague${week}`, sessionId: 's' });
      await store(`lunch ${week}`, { content: `Lunch option ${week} was soup${week}`, sessionId: 's' });
    }
    await store('longer', { content: report(99, appendix.repeat(2)), sessionId: 's' });
    await consolidator().consolidate('default', 0);
    await store('duplicate', { content: report(3), sessionId: 's' });
    now += HOUR_MS;
    expect(await consolidator().consolidate('default', 0)).toMatchObject({ state: 'completed', counts: { merged: 1 } });
  });

  it('consolidation is reverted if an affected memory is no longer recalled by its own words', async () => {
    await store('a', { content: 'the lighthouse keeper plays chess' });
    await store('duplicate', { content: ' the lighthouse keeper plays chess' });
    let asked = 0;
    // Each memory is found before the run and not after it.
    const hiding: RecallForCheck = async (...question) => (++asked > 2 ? [] : recall(...question));
    const run = await consolidator('one', ANY_NUMBER, newLog(), hiding).consolidate('default', 0);
    expect(run).toMatchObject({ state: 'reverted', endedAt: now, notes: { no_longer_recalled: ['a', 'duplicate'] } });
    expect(events.at(-1)).toMatchObject({ level: 'error', event: 'consolidation_reverted' });
    for (const id of ['a', 'duplicate']) {
      expect(await storage.memory('default', id, now)).toMatchObject({ tier: 'working', mergedInto: null });
    }
  });

  it('consolidation is reverted if a memory is no longer recalled by its own words, even if another user has its text', async () => {
    const content = 'the lighthouse keeper plays chess';
    await store('a', { content, userId: 'ann', sessionId: 's' });
    now += 5;
    for (let i = 0; i < 12; i++) await store(`b${i}`, { content, userId: 'ben', sessionId: `${i}` });
    const hiding: RecallForCheck = async (...question) =>
      (await storage.memory('default', 'a', now))?.tier === 'episodic' ? [] : recall(...question);
    const { state, notes } = await consolidator('one', ANY_NUMBER, newLog(), hiding).consolidate('default', 0);
    expect({ state, lost: notes.no_longer_recalled }).toEqual({
      state: 'reverted',
      lost: expect.arrayContaining(['a']),
    });
  });

  it('consolidation is not reverted if memories stored during the run outrank an affected memory', async () => {
    const touched = await store('a', { content: 'the lighthouse keeper plays chess' });
    let asked = 0;
    const crowded: RecallForCheck = async (...question) => {
      if (++asked === 2) {
        now += 5;
        for (let i = 0; i < 12; i++) await store(`crowd ${i}`, { content: 'the lighthouse keeper plays chess' });
      }
      const found = await recall(...question);
      if (asked === 2) expect(found.slice(0, 10).map(({ ordinal }) => ordinal)).not.toContain(touched);
      return found;
    };
    const run = await consolidator('one', ANY_NUMBER, newLog(), crowded).consolidate('default', 0);
    expect([run.state, asked]).toEqual(['completed', 2]);
  });

  it.each([
    { what: 'has a similar score and is outranked by others', fall: 0.04, state: 'completed' },
    { what: 'has a lower score and is outranked by others', fall: 0.06, state: 'reverted' },
  ])('consolidation is $state if an affected memory $what', async ({ fall, state }) => {
    const touched = await store('a', { content: 'the lighthouse keeper plays chess' });
    for (let i = 0; i < 12; i++) await store(`b${i}`, { content: `the lighthouse keeper plays game${i}` });
    now += 5;
    let asked = 0;
    const falling: RecallForCheck = async (...question) => {
      const found = await recall(...question);
      const own = found.findIndex(({ ordinal }) => ordinal === touched);
      const isAsked = question[1].endsWith('chess');
      const place = isAsked && ++asked === 2 ? found.length : own;
      const { score = 0 } = found[own] ?? {};
      const others = found.filter(({ ordinal }) => ordinal !== touched);
      const moved = { ordinal: touched, score: place === own ? score : score - fall };
      return own === -1 ? found : [...others.slice(0, place), moved, ...others.slice(place)];
    };
    expect((await consolidator('one', ANY_NUMBER, newLog(), falling).consolidate('default', 0)).state).toBe(state);
    expect(asked).toBe(2);
  });

  it('consolidation is not reverted if an affected memory is outranked by a memory with the same text', async () => {
    const touched = await store('a', { content: 'the lighthouse keeper plays chess' });
    const same = await store('b', { content: 'the lighthouse keeper plays chess', sessionId: 'another' });
    for (let i = 0; i < 12; i++) await store(`c${i}`, { content: `the lighthouse keeper plays game${i}` });
    now += 5;
    let asked = 0;
    const changing: RecallForCheck = async (...question) => {
      const found = await recall(...question);
      if (!question[1].endsWith('chess')) return found;
      const [best, repeat] = ++asked === 2 ? [same, touched] : [touched, same];
      const others = found.filter(({ ordinal }) => ordinal > same);
      return [{ ordinal: best, score: 0.9 }, ...others, { ordinal: repeat, score: 0.5 }];
    };
    expect((await consolidator('one', ANY_NUMBER, newLog(), changing).consolidate('default', 0)).state).toBe(
      'completed',
    );
    expect(asked).toBe(2);
  });

  it('consolidation is not reverted if an affected memory expires during the run', async () => {
    await store('expiring', { content: 'a passing shower', expiresAt: now + 5 });
    let asked = 0;
    const slow: RecallForCheck = (...question) => {
      if (++asked === 2) now += 5;
      return recall(...question);
    };
    const run = await consolidator('one', ANY_NUMBER, newLog(), slow).consolidate('default', 0);
    expect([run.state, asked]).toEqual(['completed', 2]);
  });

  it('consolidation is not reverted if a duplicate is evicted with the memory that it was merged into', async () => {
    await store('kept', { content: 'the harbour wall', importance: 1 });
    for (const id of ['one', 'two']) await store(id, { content: 'the lighthouse keeper', importance: 0 });
    const run = await consolidator('one', { episodic: 1, semantic: 0 }).consolidate('default', 0);
    expect(run).toMatchObject({ state: 'completed', counts: { promoted: 3, merged: 1, evicted: 1 } });
  });

  it('completes if recall is unavailable for the check of affected memories', async () => {
    await store('a');
    const busy: RecallForCheck = () =>
      Promise.reject(new MemoryError('UNAVAILABLE', 'too many texts wait to be embedded'));
    expect((await consolidator('one', ANY_NUMBER, newLog(), busy).consolidate('default', 0)).state).toBe('completed');
    await store('b');
    let asked = 0;
    const busyLater: RecallForCheck = (...question) => (++asked > 1 ? busy(...question) : recall(...question));
    expect((await consolidator('one', ANY_NUMBER, newLog(), busyLater).consolidate('default', 0)).state).toBe(
      'completed',
    );
  });

  it('consolidation publishes progress events', async () => {
    const log = newLog();
    const stream = log.follow(createSeal('0'.repeat(32)), 'default', {})[Symbol.asyncIterator]();
    await store('a');
    const run = await consolidator('one', ANY_NUMBER, log).consolidate('default', 0);
    const published: unknown[] = [];
    while (published.length < 3) published.push((await stream.next()).value);
    expect(published).toMatchObject([
      { type: 'consolidation', state: 'started' },
      { type: 'consolidation', state: 'progress', changed_count: 1 },
      { type: 'consolidation', state: 'completed', run_id: run.id, consolidated_count: 1, evicted_count: 0 },
    ]);
  });

  it('shares a queued run between calls, and starts a new run for calls after the start of that run', async () => {
    const one = consolidator();
    const first = one.consolidate('default', 0);
    await expect.poll(async () => (await storage.runs('default', { limit: 1, maxBytes: 1e6 })).total).toBe(1);
    const later = [one.consolidate('default', 0), one.consolidate('default', 0), one.consolidate('default', 0)];
    await Promise.all([first, ...later]);
    expect(runs()).toBe(2);
  });

  it('uses the smallest minimum age of all calls that share a run', async () => {
    await store('young');
    const one = consolidator();
    const running = one.consolidate('default', HOUR_MS);
    const shared = [one.consolidate('default', HOUR_MS), one.consolidate('default', 0)];
    expect(await running).toBeDefined();
    expect((await Promise.all(shared)).map((run) => run.counts.promoted)).toEqual([1, 1]);
  });

  it('waits while another process consolidates the same database', async () => {
    await lease.acquire('consolidation', 'another process', now, 10_000);
    const run = consolidator().consolidate('default', 0);
    await new Promise((resolve) => setTimeout(resolve, 250));
    expect(runs()).toBe(0);
    await lease.release('consolidation', 'another process');
    await run;
    expect(runs()).toBe(1);
  });

  it('starts after the lease of a killed process expires', async () => {
    await lease.acquire('consolidation', 'killed', now, 10_000);
    const run = consolidator().consolidate('default', 0);
    now += 10_000;
    await run;
    expect(runs()).toBe(1);
  });

  it('completes the interrupted run of another process under the id of that run', async () => {
    await storeAll(3);
    const fence = (await lease.acquire('consolidation', 'killed', now, 10_000)) as number;
    const begin = { id: 'left', startedAt: now, promotedUntil: now, fence };
    await storage.promote((await storage.beginRun('default', begin)).ref, { promotedUntil: now, now }, 2);
    now += 10_000;
    await store('later');
    expect(await consolidator().consolidate('default', 0)).toMatchObject({
      id: 'left',
      state: 'completed',
      startedAt: now - 10_000,
      endedAt: now,
      counts: { promoted: 4 },
    });
    expect((await storage.runs('default', { limit: 10, maxBytes: 1e6 })).total).toBe(1);
  });

  it('completes the interrupted undo of another process before it starts a run', async () => {
    await storeAll(3);
    const { id } = await consolidator().consolidate('default', 0);
    const fence = (await lease.acquire('consolidation', 'killed', now, 10_000)) as number;
    const begun = await storage.beginUndo('default', id, { fence, endedAfter: 0 });
    if (begun.outcome !== 'begun') throw new Error(begun.outcome);
    await storage.undoSome(begun.ref, now, 2);
    now += 10_000;
    const run = await consolidator().consolidate('default', 0);
    expect([run.id === id, run.counts.promoted]).toEqual([false, 3]);
    expect((await storage.run('default', id))?.state).toBe('undone');
  });

  it('consolidation is undone after all queued runs have ended', async () => {
    await store('a');
    const one = consolidator();
    const first = await one.consolidate('default', 0);
    await store('b');
    const second = one.consolidate('default', 0);
    expect(await one.undo('default', first.id)).toMatchObject({ outcome: 'newer', id: (await second).id });
    expect(await one.undo('default', (await second).id)).toMatchObject({ outcome: 'begun' });
    expect(await one.undo('default', first.id)).toMatchObject({ outcome: 'begun' });
    expect((await storage.stats('default', now)).working_count).toBe(2);
  });

  it('consolidation cannot be undone if the run is older than the archive period', async () => {
    await store('a');
    const { id } = await consolidator().consolidate('default', 0);
    now += ARCHIVE_MS;
    await store('b');
    const later = await consolidator().consolidate('default', 0);
    expect(await consolidator().undo('default', id, true)).toEqual({ outcome: 'too-old', alsoUndone: [] });
    expect((await storage.run('default', later.id))?.state).toBe('completed');
  });

  /** Stores a memory and consolidates, several times. Returns the ids of the runs, oldest first. */
  async function consolidateEach(...memories: string[]): Promise<[string, ...string[]]> {
    const ids: string[] = [];
    for (const memory of memories) {
      await store(memory);
      ids.push((await consolidator().consolidate('default', 0)).id);
    }
    return ids as [string, ...string[]];
  }

  const getStates = async () =>
    (await storage.runs('default', { limit: 1000, maxBytes: 1e6 })).items.map((run) => run.state);

  it('a consolidation run is undone with all later runs, and no queued run starts in between', async () => {
    const [first, ...later] = await consolidateEach(...Array.from({ length: 12 }, (_, n) => `memory ${n}`));
    const one = consolidator();
    const undone = one.undo('default', first, true);
    const next = one.consolidate('default', 0);
    expect(await undone).toMatchObject({ outcome: 'begun', alsoUndone: later.toReversed() });
    expect((await next).counts).toEqual({ promoted: 12 });
    expect(await getStates()).toEqual(['completed', ...Array.from({ length: 12 }, () => 'undone')]);
  });

  it('a consolidation run is undone by a repeated call after a stop between later runs and a crash inside one', async () => {
    const [first, ...later] = await consolidateEach('a', 'b', 'c', 'd');
    const log = newLog();
    const stopping = consolidator('one', ANY_NUMBER, log);
    const stopped = expect(stopping.undo('default', first, true)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    for await (const event of log.follow(createSeal('0'.repeat(32)), 'default', {})) {
      if ('state' in event && event.state === 'undone') break;
    }
    await stopping.stop();
    await stopped;
    const states = (await getStates()).join(' ');
    expect(states).toMatch(/^(undone )+(undoing )?(completed ?)+$/);
    const undone = states.split(' ').filter((state) => state === 'undone').length;
    const [crashed = ''] = later.toReversed().slice(undone);
    const fence = (await lease.acquire('consolidation', 'killed', now, 10_000)) as number;
    expect((await storage.beginUndo('default', crashed, { fence, endedAfter: 0 })).outcome).toBe('begun');
    now += 10_000;
    expect(await consolidator().undo('default', first, true)).toMatchObject({
      outcome: 'begun',
      alsoUndone: later.toReversed().slice(undone),
    });
    expect(await getStates()).toEqual(Array.from({ length: 4 }, () => 'undone'));
    expect(await storage.stats('default', now)).toMatchObject({ working_count: 4, episodic_count: 0 });
  });

  it('stops at a later run with a semantic memory that a client has changed', async () => {
    const [first] = await consolidateEach('a');
    await store('b');
    await store('c');
    const fence = (await lease.acquire('consolidation', 'one', now, 10_000)) as number;
    const { ref } = await storage.beginRun('default', { id: 'distilling', startedAt: now, promotedUntil: now, fence });
    await storage.promote(ref, { promotedUntil: now, now }, 10);
    const sources = await Promise.all(
      ['b', 'c'].map(async (id) => {
        const { ordinal = 0, version = 0 } = (await storage.memory('default', id, now)) ?? {};
        return { ordinal, version };
      }),
    );
    await storage.distil(ref, { id: 'semantic', content: 'both', sources, at: now });
    await storage.endRun(ref, now);
    await lease.release('consolidation', 'one');
    await storage.update({ namespace: 'default', id: 'semantic', at: now, content: 'mine' });
    const [newest] = await consolidateEach('d');
    expect(await consolidator().undo('default', first, true)).toEqual({
      ...{ outcome: 'written', ids: ['semantic'] },
      ...{ refusedBy: 'distilling', alsoUndone: [newest] },
    });
    expect(await getStates()).toEqual(['undone', 'completed', 'completed']);
  });

  it('consolidation has a plan with the counts of the next run, and planning changes nothing', async () => {
    for (const id of ['a', 'b']) await store(id, { content: 'same' });
    await store('expired', { expiresAt: now });
    const before = await storage.stats('default', now);
    const plan = await consolidator().plan('default', 0);
    expect(await storage.stats('default', now)).toEqual(before);
    const totals = { promoted: plan.promote.total, merged: plan.merge.total, evicted: plan.evict.total };
    expect(totals).toEqual({ promoted: 3, merged: 1, evicted: 1 });
    expect((await consolidator().consolidate('default', 0)).counts).toMatchObject(totals);
  });

  it('consolidation has a plan that does not evict a memory that the run would merge', async () => {
    await store('kept', { importance: 1 });
    for (const [id, importance] of [
      ['survivor', 0.2],
      ['duplicate', 0],
      ['alone', 0.1],
    ] as const)
      await store(id, { content: id === 'alone' ? 'else' : 'same', importance });
    const limited = consolidator('one', { episodic: 1, semantic: 0 });
    const { merge, evict } = await limited.plan('default', 0);
    expect(merge.items).toEqual([{ id: 'duplicate', mergedInto: 'survivor' }]);
    expect(evict.items.map(({ id }) => id)).toEqual(['alone', 'survivor']);
    expect((await limited.consolidate('default', 0)).counts.evicted).toBe(evict.total);
  });

  it('purges archived memories and run records older than the archive period', async () => {
    await store('gone', { expiresAt: now });
    await consolidator().consolidate('default', 0);
    now += ARCHIVE_MS;
    await consolidator().consolidate('default', 0);
    expect(await storage.forget('default', 'gone')).toMatchObject({ outcome: 'forgotten' });
    await store('gone again', { expiresAt: now });
    await consolidator().consolidate('default', 0);
    now += ARCHIVE_MS + 1;
    // The first of these runs only establishes that the time has passed.
    for (let run = 0; run < 2; run++) await consolidator().consolidate('default', 0);
    expect(await storage.forget('default', 'gone again')).toEqual({ outcome: 'unknown' });
    expect((await storage.runs('default', { limit: 10, maxBytes: 1e6 })).total).toBe(2);
  });

  it('purges old archived memories and idempotency keys even if the run is reverted', async () => {
    await storage.store(
      newMemory({ id: 'gone', storedAt: now, expiresAt: now, idempotency: { key: 'a key', digest: 'one' } }),
    );
    await consolidator().consolidate('default', 0);
    now += ARCHIVE_MS + 1;
    // This run only establishes that the time has passed.
    await consolidator().consolidate('default', 0);
    await store('a', { content: 'the lighthouse keeper plays chess' });
    let asked = 0;
    const hiding: RecallForCheck = async (...question) => (++asked > 1 ? [] : recall(...question));
    const run = await consolidator('one', ANY_NUMBER, newLog(), hiding).consolidate('default', 0);
    expect(run.state).toBe('reverted');
    expect(await storage.forget('default', 'gone')).toEqual({ outcome: 'unknown' });
    const again = newMemory({ id: 'again', storedAt: now, idempotency: { key: 'a key', digest: 'another' } });
    expect(await storage.store(again)).toMatchObject({ outcome: 'stored' });
  });

  it('purges nothing if the clock is ahead during one run only', async () => {
    await store('archived', { expiresAt: now });
    const { id } = await consolidator().consolidate('default', 0);
    now += 2 * ARCHIVE_MS;
    await consolidator().consolidate('default', 0);
    now -= 2 * ARCHIVE_MS;
    expect(await consolidator().undo('default', id)).toMatchObject({ outcome: 'begun' });
    expect(await storage.forget('default', 'archived')).toMatchObject({ outcome: 'forgotten' });
  });

  it('promotes memories whose storing time is ahead of the clock by at least the minimum age', async () => {
    await store('far ahead', { storedAt: now + 365 * 24 * HOUR_MS });
    await store('ahead', { storedAt: now + HOUR_MS });
    await store('hardly ahead', { storedAt: now + HOUR_MS - 1 });
    expect((await consolidator().plan('default', HOUR_MS)).promote.total).toBe(2);
    expect((await consolidator().consolidate('default', HOUR_MS)).counts.promoted).toBe(2);
    expect((await storage.memory('default', 'hardly ahead', now))?.tier).toBe('working');
    expect((await consolidator().consolidate('default', 0)).counts.promoted).toBe(1);
  });

  it('completes an interrupted run after the clock was set back, and uses the current time for promotion', async () => {
    now += 365 * 24 * HOUR_MS;
    const fence = (await lease.acquire('consolidation', 'killed', now, 10_000)) as number;
    await storage.beginRun('default', { id: 'left', startedAt: now, promotedUntil: now, fence });
    now -= 365 * 24 * HOUR_MS;
    await store('old', { storedAt: now - HOUR_MS });
    await store('young');
    expect(await consolidator().consolidate('default', HOUR_MS)).toMatchObject({ id: 'left', counts: { promoted: 1 } });
    expect((await storage.memory('default', 'young', now))?.tier).toBe('working');
  });

  it('completes and reports a plausible duration if the clock is set forward or back during the run', async () => {
    for (const jump of [365 * 24 * HOUR_MS, -365 * 24 * HOUR_MS]) {
      await store(`kept before ${jump}`);
      const jumping: RecallForCheck = (...question) => {
        now += jump;
        return recall(...question);
      };
      const run = await consolidator('one', ANY_NUMBER, newLog(), jumping).consolidate('default', 0);
      expect(run.state).toBe('completed');
      const { latency_ms } = events.at(-1)?.facts ?? {};
      expect(latency_ms).toBeGreaterThanOrEqual(0);
      expect(latency_ms).toBeLessThan(60_000);
    }
  });

  it('completes and logs a warning if its lease cannot be released', async () => {
    await store('kept');
    const own = lease;
    const release = () => Promise.reject(new Error('the database is busy'));
    lease = { acquire: (...of) => own.acquire(...of), release };
    expect(await consolidator().consolidate('default', 0)).toMatchObject({
      state: 'completed',
      counts: { promoted: 1 },
    });
    expect(events.at(-1)).toMatchObject({ level: 'warn', event: 'lease_not_released' });
  });

  it('rejects queued runs when the consolidator stops', async () => {
    await lease.acquire('consolidation', 'another process', now, 10_000);
    const one = consolidator();
    const run = one.consolidate('default', 0);
    const refused = expect(run).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await one.stop();
    await refused;
  });

  it('rejects queued plans when the consolidator stops', async () => {
    const one = consolidator();
    const plans = Array.from({ length: 3 }, () => one.plan('default', 0));
    const refused = plans.map((plan) => expect(plan).rejects.toMatchObject({ code: 'UNAVAILABLE' }));
    await one.stop();
    await Promise.all(refused);
  });
});

describe('the consolidation schedule', () => {
  function schedule(intervalMs: number, running = consolidator()) {
    return new ConsolidationSchedule({
      storage,
      consolidator: running,
      clock,
      telemetry,
      intervalMs,
      workingAgeMs: HOUR_MS,
      alwaysNamespace: 'default',
    });
  }

  it('consolidates a namespace once per interval', async () => {
    await store('old', { storedAt: now - HOUR_MS });
    const everyHalfSecond = schedule(500);
    everyHalfSecond.start();
    await expect.poll(runs).toBe(1);
    expect((await storage.memory('default', 'old', now))?.tier).toBe('episodic');
    await new Promise((resolve) => setTimeout(resolve, 1100));
    expect(runs()).toBe(1);
    now += 500;
    await expect.poll(runs).toBe(2);
    everyHalfSecond.stop();
  });

  it('consolidates after the clock is set forward, and again after it is set back', async () => {
    await consolidator().consolidate('default', 0);
    now += 24 * HOUR_MS;
    const everyHalfSecond = schedule(500);
    everyHalfSecond.start();
    await expect.poll(runs).toBe(2);
    now -= 24 * HOUR_MS;
    await expect.poll(runs).toBe(3);
    everyHalfSecond.stop();
  });

  it('consolidates even if the recorded time of the last run is in the future', async () => {
    now += HOUR_MS;
    await consolidator().consolidate('default', 0);
    now -= HOUR_MS;
    const everyHalfSecond = schedule(500);
    everyHalfSecond.start();
    await expect.poll(runs).toBe(2);
    everyHalfSecond.stop();
  });

  it('reports no failure and starts no further run if the consolidator stops while a run is queued', async () => {
    await storage.store({ ...newMemory({ id: 'of another', storedAt: now }), namespace: 'another' });
    const own = lease;
    await own.acquire('consolidation', 'another process', now, 10_000);
    let asked = false;
    lease = {
      acquire: (...of) => {
        asked = true;
        return own.acquire(...of);
      },
      release: (...of) => own.release(...of),
    };
    const running = consolidator();
    const everyHalfSecond = schedule(500, running);
    everyHalfSecond.start();
    await expect.poll(() => asked).toBe(true);
    everyHalfSecond.stop();
    await running.stop();
    await new Promise((resolve) => setImmediate(resolve));
    expect(events).toEqual([]);
  });
});
