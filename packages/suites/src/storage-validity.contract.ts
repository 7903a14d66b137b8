import type { MemoryFilter } from '@memoryd/search';
import { propertyRuns } from '@memoryd/search/testing';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ALL, NOW, type TestedStorage } from './storage.fixture.ts';

/** Times in the tests are counted from here. The present is time 50, when all memories have arrived. */
const START = NOW - 1000;
const PRESENT = START + 50;

interface Held {
  id: string;
  text: string;
  session: string;
  begin: number;
  end: number;
  expiry: number;
  successors: Set<Held>;
}

/** The rule of validity over a few memories, which it keeps in their order of arrival. */
class Model {
  memories: Held[] = [];

  /** Returns false, and changes nothing, if the successor would supersede itself. */
  supersede(successor: Held, superseded: Held | undefined): boolean {
    const later = this.getLater(successor);
    if (superseded && later.has(superseded)) return false;
    for (const { successors } of this.memories) successors.delete(successor);
    if (!superseded) return true;
    const earlier = this.memories.slice(0, this.memories.indexOf(successor));
    const same = earlier.filter(({ text, session }) => text === superseded.text && session === superseded.session);
    for (const each of [superseded, ...same]) if (!later.has(each)) each.successors.add(successor);
    return true;
  }

  /** Returns a memory, and the memories that supersede it, directly or through others. */
  getLater(memory: Held): Set<Held> {
    const later = new Set([memory]);
    for (const each of later) for (const successor of each.successors) later.add(successor);
    return later;
  }

  forget(gone: Held): void {
    this.memories = this.memories.filter((each) => each !== gone);
    for (const { successors } of this.memories) {
      if (successors.delete(gone)) for (const next of gone.successors) successors.add(next);
    }
  }

  /** Returns the memories that replace one at a time: of each chain the first that counts. */
  getReplacing({ successors }: Held, at: number): Held[] {
    return [...successors]
      .filter(({ begin }) => begin <= at)
      .flatMap((each) => (each.expiry > 50 && each.end > at ? [each] : this.getReplacing(each, at)));
  }

  getHolding(at: number): string[] {
    const holds = (each: Held) => each.begin <= at && at < each.end && this.getReplacing(each, at).length === 0;
    return this.memories.filter((each) => each.expiry > 50 && holds(each)).map(({ id }) => id);
  }

  getSupersededBy(memory: Held, at: number): string | null {
    const [first] = this.getReplacing(memory, at).sort((a, b) => a.begin - b.begin || Number(a.id) - Number(b.id));
    return first?.id ?? null;
  }
}

const anyTime = fc.integer({ min: 0, max: 60 });
const anyEnd = fc.oneof({ weight: 2, arbitrary: fc.constant(Number.POSITIVE_INFINITY) }, anyTime);
const anyExpiry = fc.oneof({ weight: 4, arbitrary: fc.constant(Number.POSITIVE_INFINITY) }, anyTime);
const anyStep = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      step: fc.constant('store' as const),
      text: fc.integer({ min: 0, max: 2 }),
      session: fc.integer({ min: 0, max: 1 }),
      begin: anyTime,
      isGiven: fc.boolean(),
      end: anyEnd,
      expiry: anyExpiry,
      supersedes: fc.option(fc.nat({ max: 20 }), { nil: undefined, freq: 4 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ step: fc.constant('end' as const), place: fc.nat({ max: 20 }), end: anyEnd }) },
  {
    weight: 1,
    arbitrary: fc.record({ step: fc.constant('expire' as const), place: fc.nat({ max: 20 }), expiry: anyExpiry }),
  },
  { weight: 1, arbitrary: fc.record({ step: fc.constant('forget' as const), place: fc.nat({ max: 20 }) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      step: fc.constant('link' as const),
      place: fc.nat({ max: 20 }),
      supersedes: fc.option(fc.nat({ max: 20 }), { nil: undefined, freq: 4 }),
    }),
  },
);

/** Contract tests: every read follows the rule of validity. */
export function validityStorageContract(tested: TestedStorage): void {
  const toTime = (time: number) => (time === Number.POSITIVE_INFINITY ? null : START + time);
  const list = async (filter: MemoryFilter) => (await tested.storage.memories('default', filter, ALL, PRESENT)).items;
  const recall = async (filter: MemoryFilter) => {
    const request = { namespace: 'default', text: 'needle', filter, now: PRESENT, poolSize: 50, tailSize: 0 };
    const found = await tested.storage.searchAndRank({ ...request, ranking: { limit: 50 }, maxBytes: 1_000_000 });
    return found.results.map(({ memory }) => memory);
  };
  const getIds = (memories: readonly { id: string }[]) => memories.map(({ id }) => id).sort();

  /** Stores, changes or forgets a memory in the database and in the model. */
  async function perform(model: Model, step: Step): Promise<void> {
    if (step.step === 'store') return store(model, step);
    const memory = model.memories[step.place % Math.max(1, model.memories.length)];
    if (!memory || memory.expiry <= 50) return;
    // So that an index must follow the change.
    await recall({});
    const change = { namespace: 'default', id: memory.id, at: PRESENT };
    if (step.step === 'forget') {
      await tested.storage.forget('default', memory.id);
      return model.forget(memory);
    }
    if (step.step === 'expire') {
      await tested.storage.update({ ...change, expiresAt: toTime(step.expiry) });
      memory.expiry = step.expiry;
      return;
    }
    if (step.step === 'link') return link(model, memory, step.supersedes);
    const { outcome } = await tested.storage.update({ ...change, validTo: toTime(step.end) });
    expect(outcome).toBe(step.end > memory.begin ? 'updated' : 'no-period');
    if (step.end > memory.begin) memory.end = step.end;
  }

  async function link(model: Model, memory: Held, place: number | undefined): Promise<void> {
    const superseded = place === undefined ? undefined : model.memories[place % model.memories.length];
    const change = { namespace: 'default', id: memory.id, at: PRESENT, supersedes: superseded?.id ?? null };
    const { outcome } = await tested.storage.update(change);
    expect(outcome).toBe(model.supersede(memory, superseded) ? 'updated' : 'superseding-itself');
  }

  async function store(model: Model, step: Extract<Step, { step: 'store' }>): Promise<void> {
    const { begin, isGiven } = step;
    const end = step.end > begin ? step.end : Number.POSITIVE_INFINITY;
    const { length } = model.memories;
    // Mostly one of the last memories, so that chains grow.
    const superseded = step.supersedes === undefined ? undefined : model.memories[length - 1 - (step.supersedes % 3)];
    const stored = await tested.storeMemory({
      content: `needle ${step.text}`,
      sessionId: `session ${step.session}`,
      createdAt: START + (isGiven ? 0 : begin),
      storedAt: START,
      validFrom: isGiven ? START + begin : null,
      validTo: toTime(end),
      expiresAt: toTime(step.expiry),
      supersedes: superseded?.id ?? null,
    });
    const memory = { id: stored.id, text: stored.content, session: stored.sessionId, begin, end, expiry: step.expiry };
    const held = { ...memory, successors: new Set<Held>() };
    model.memories.push(held);
    if (superseded) model.supersede(held, superseded);
  }

  it('lists and recalls what holds at any time, after any stores, links, ends, expiries and forgets', async () => {
    await fc.assert(
      fc
        .asyncProperty(
          fc.array(anyStep, { minLength: 4, maxLength: 14 }),
          fc.array(anyTime, { minLength: 3, maxLength: 3 }),
          async (steps, times) => {
            const model = new Model();
            for (const step of steps) await perform(model, step);
            for (const time of [...times, 50]) {
              const filter = { at: START + time, holding: true as const };
              const expected = model.getHolding(time).sort();
              expect(getIds(await list(filter)), `listed at ${time}`).toEqual(expected);
              expect(getIds(await recall(filter)), `recalled at ${time}`).toEqual(expected);
              for (const memory of await list({ at: START + time })) {
                const held = model.memories.find(({ id }) => id === memory.id) as Held;
                expect(memory.supersededBy, `${memory.id} at ${time}`).toBe(model.getSupersededBy(held, time));
              }
              const unreplaced = getIds(await list({ at: START + time })).filter(
                (id) => model.getSupersededBy(model.memories.find((each) => each.id === id) as Held, time) === null,
              );
              expect(getIds(await recall({ at: START + time, superseded: false }))).toEqual(unreplaced);
            }
            expect((await tested.storage.stats('default', PRESENT)).current_count).toBe(model.getHolding(50).length);
          },
        )
        .afterEach(async () => {
          await tested.storage.deleteNamespace('default');
        }),
      { numRuns: propertyRuns(100) },
    );
  }, 120_000);

  it('counts the memories that hold, are superseded and have ended, of a namespace, of a user and in all', async () => {
    const ada = { userId: 'ada' };
    const old = await tested.storeMemory({ validTo: PRESENT, createdAt: START, ...ada });
    await tested.storeMemory({ createdAt: START, supersedes: old.id, ...ada });
    const replacedForATime = await tested.storeMemory({ createdAt: START });
    await tested.storeMemory({ createdAt: START, supersedes: replacedForATime.id, validTo: PRESENT + 1 });
    await tested.storeMemory({ createdAt: START, validFrom: PRESENT + 1, ...ada });
    await tested.storeMemory({ createdAt: PRESENT + 1 });
    const expired = await tested.storeMemory({ createdAt: START, expiresAt: PRESENT, ...ada });
    await tested.storeMemory({ createdAt: START, expiresAt: PRESENT, supersedes: expired.id, ...ada });
    await tested.storeMemory({ createdAt: START, namespace: 'other' });
    const count = async (now: number, userIds?: string[]) => {
      const stats = await tested.storage.stats('default', now, userIds ? { userIds } : {});
      return [stats.current_count, stats.superseded_count, stats.ended_count];
    };
    expect(await count(PRESENT)).toEqual([2, 2, 1]);
    expect(await count(PRESENT, ['ada'])).toEqual([1, 1, 1]);
    expect(await count(PRESENT + 1)).toEqual([4, 1, 2]);
    expect(await tested.storage.totals(PRESENT)).toMatchObject({
      current_count: 3,
      superseded_count: 2,
      ended_count: 1,
    });
  });
}

type Step = typeof anyStep extends fc.Arbitrary<infer Drawn> ? Drawn : never;
