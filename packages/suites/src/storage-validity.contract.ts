import { isDeepStrictEqual } from 'node:util';
import type { NewMemory, Storage } from '@memoryd/core';
import type { MemoryFilter } from '@memoryd/search';
import { propertyRuns } from '@memoryd/search/testing';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ALL, NOW, type TestedStorage } from './storage.fixture.ts';
import { type Held, Model, type Question, type State } from './validity-model.fixture.ts';

/** Times in the tests are counted from here. Reads are at the present, writes at the time of a clock that may be set back. */
const START = NOW - 1000;
const PRESENT = 50;

// Few times, so that memories often begin and end at the same time.
const anyTime = fc.integer({ min: 0, max: 12 }).map((step) => 5 * step);
const anyEnd = fc.oneof({ weight: 2, arbitrary: fc.constant(Number.POSITIVE_INFINITY) }, anyTime);
const anyExpiry = fc.oneof({ weight: 6, arbitrary: fc.constant(Number.POSITIVE_INFINITY) }, anyTime);
const anyText = fc.integer({ min: 0, max: 2 }).map((number) => `needle ${number}`);
const anyTag = fc.constantFrom('a', 'b');
const anySession = fc.integer({ min: 0, max: 1 }).map((number) => `session ${number}`);
const place = fc.nat({ max: 20 });
/** Time that passes before a step. Negative if the clock is set back. */
const passed = fc.oneof({ weight: 5, arbitrary: fc.integer({ min: 0, max: 8 }) }, fc.integer({ min: -15, max: -1 }));
const anyStep = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      step: fc.constant('store' as const),
      passed,
      text: anyText,
      tag: anyTag,
      session: anySession,
      begin: anyTime,
      isGiven: fc.boolean(),
      end: fc.oneof({ weight: 3, arbitrary: fc.constant(Number.POSITIVE_INFINITY) }, anyTime),
      expiry: anyExpiry,
      supersedes: fc.oneof({ weight: 2, arbitrary: fc.constant(undefined) }, place),
    }),
  },
  { weight: 6, arbitrary: fc.record({ step: fc.constant('repeat' as const), passed, place, created: anyTime }) },
  {
    weight: 4,
    arbitrary: fc.record({
      step: fc.constant('update' as const),
      passed,
      place,
      change: fc.oneof(
        anyText.map((content) => ({ content })),
        anyTag.map((tag) => ({ tags: [tag] })),
        fc.constantFrom(0.25, 0.75).map((importance) => ({ importance })),
        anyEnd.map((end) => ({ validTo: toTime(end) })),
        anyTime.map((begin) => ({ validFrom: START + begin })),
        anyExpiry.map((expiry) => ({ expiresAt: toTime(expiry) })),
      ),
    }),
  },
  { weight: 1, arbitrary: fc.record({ step: fc.constant('move' as const), passed, place, session: anySession }) },
  { weight: 2, arbitrary: fc.record({ step: fc.constant('relink' as const), passed, place, superseded: place }) },
  { weight: 4, arbitrary: fc.record({ step: fc.constant('merge' as const), passed }) },
  { weight: 1, arbitrary: fc.record({ step: fc.constant('undo' as const), passed }) },
  { weight: 2, arbitrary: fc.record({ step: fc.constant('forget' as const), passed, place }) },
);
type StoredMemory = NonNullable<Awaited<ReturnType<Storage['memory']>>>;
type Step = typeof anyStep extends fc.Arbitrary<infer Drawn> ? Drawn : never;
type StepOf<Name extends Step['step']> = Extract<Step, { step: Name }>;

function toTime(time: number): number | null {
  return time === Number.POSITIVE_INFINITY ? null : START + time;
}

function fromTime(time: number | null): number {
  return time === null ? Number.POSITIVE_INFINITY : time - START;
}

/** Contract tests: every read follows the rule of validity, at any time and by what was known at any time. */
export function validityStorageContract(tested: TestedStorage): void {
  /** Performs steps on the database and on the model. */
  class Steps {
    readonly model = new Model();
    readonly #stored = new Map<string, NewMemory>();
    #clock = 10;
    #storedCount = 0;
    #lastRun: string | undefined;

    async perform(step: Step): Promise<void> {
      this.#clock = Math.max(0, this.#clock + step.passed);
      // So that an index must follow the change.
      await recall({});
      switch (step.step) {
        case 'store':
          return this.#store(step);
        case 'merge':
          return this.#merge();
        case 'undo':
          return this.#undo();
        default: {
          const memory = this.model.memories[step.place % Math.max(1, this.model.memories.length)];
          if (memory) await this.#change(memory, step);
        }
      }
    }

    #store(step: StepOf<'store'>): Promise<void> {
      const { begin, isGiven } = step;
      const { memories } = this.model;
      // Mostly one of the last memories, so that chains grow.
      const superseded =
        step.supersedes === undefined ? undefined : memories[memories.length - 1 - (step.supersedes % 3)];
      return this.#storeNew({
        content: step.text,
        tags: [step.tag],
        sessionId: step.session,
        createdAt: START + (isGiven ? 0 : begin),
        validFrom: isGiven ? START + begin : null,
        validTo: step.end > begin ? toTime(step.end) : null,
        expiresAt: toTime(step.expiry),
        supersedes: superseded?.id ?? null,
      });
    }

    /** Stores a duplicate of a memory. */
    async #repeat({ id }: Held, { created }: StepOf<'repeat'>): Promise<void> {
      const of = await this.#read(id);
      const begin = of.validFrom === null ? of.createdAt : START + created;
      const { content, tags, validFrom, validTo, expiresAt } = of;
      const fields = { content, tags, validFrom, validTo, expiresAt, sessionId: of.sessionId as string };
      await this.#storeNew({ ...fields, createdAt: begin });
    }

    async #storeNew(fields: Partial<NewMemory>): Promise<void> {
      const { model } = this;
      const externalId = `external ${++this.#storedCount}`;
      const stored = await tested.storeMemory({ ...fields, storedAt: START + this.#clock, externalId });
      this.#stored.set(stored.id, stored);
      const state = { from: this.#clock, ...toState(await this.#read(stored.id)) };
      const held = { id: stored.id, storedAt: this.#clock, expiry: fromTime(stored.expiresAt), states: [state] };
      model.store(held);
      const superseded = stored.supersedes === null ? undefined : model.find(stored.supersedes);
      if (superseded) model.supersede(held, superseded, this.#clock);
    }

    async #read(id: string): Promise<StoredMemory> {
      const read = await tested.storage.memory('default', id, 0);
      if (!read) throw new Error(`memory ${id} is missing`);
      return read;
    }

    async #change(memory: Held, step: StepOf<'repeat' | 'update' | 'move' | 'relink' | 'forget'>): Promise<void> {
      const { model } = this;
      const change = { namespace: 'default', id: memory.id, at: START + this.#clock };
      const stored = { ...(this.#stored.get(memory.id) as NewMemory), storedAt: change.at };
      switch (step.step) {
        case 'repeat':
          return this.#repeat(memory, step);
        case 'update':
          await tested.storage.update({ ...change, ...step.change });
          return this.#observe();
        case 'move':
          await tested.storage.store({ ...stored, sessionId: step.session, given: ['sessionId'] });
          return this.#observe();
        case 'relink': {
          const superseded = model.memories[step.superseded % model.memories.length] as Held;
          const relinked = { ...stored, supersedes: superseded.id, given: ['supersedes' as const] };
          const { outcome } = await tested.storage.store(relinked);
          await this.#observe();
          if (outcome !== 'updated') return;
          model.unlink(memory, this.#clock);
          return model.supersede(memory, superseded, this.#clock);
        }
        case 'forget': {
          const forgotten = await tested.storage.forget('default', memory.id);
          if (forgotten.outcome !== 'forgotten') throw new Error(forgotten.outcome);
          for (const id of [...forgotten.alsoForgotten, memory.id]) model.forget(model.find(id) as Held);
        }
      }
    }

    async #merge(): Promise<void> {
      const at = START + this.#clock;
      const run = await tested.beginRun();
      while ((await tested.storage.mergeDuplicates(run, at, 10)).more);
      await tested.storage.endRun(run, at);
      this.#lastRun = run.id;
      await this.#observe();
    }

    async #undo(): Promise<void> {
      if (this.#lastRun === undefined) return;
      const { fence } = await tested.beginRun();
      const begun = await tested.storage.beginUndo('default', this.#lastRun, { fence, endedAfter: 0 });
      this.#lastRun = undefined;
      if (begun.outcome !== 'begun') return;
      while ((await tested.storage.undoSome(begun.ref, START + this.#clock, 10)).more);
      await this.#observe();
    }

    /** Brings the present state of all memories, which other tests cover, into the model. */
    async #observe(): Promise<void> {
      for (const memory of this.model.memories) {
        const read = await this.#read(memory.id);
        memory.expiry = fromTime(read.expiresAt);
        const { from: _, ...before } = this.model.getPresent(memory);
        const present = toState(read);
        if (isDeepStrictEqual(present, before)) continue;
        // A memory is a duplicate at the earliest when the other one arrives.
        const survivor =
          present.mergedInto === before.mergedInto ? undefined : this.model.find(present.mergedInto ?? '');
        this.model.change(memory, Math.max(this.#clock, survivor?.storedAt ?? 0), present);
      }
    }
  }

  const list = async (filter: MemoryFilter) =>
    (await tested.storage.memories('default', filter, ALL, START + PRESENT)).items;
  const recall = async (filter: MemoryFilter) => {
    const request = { namespace: 'default', text: 'needle', filter, now: START + PRESENT, poolSize: 50, tailSize: 0 };
    const found = await tested.storage.searchAndRank({ ...request, ranking: { limit: 50 }, maxBytes: 1_000_000 });
    return found.results.map(({ memory }) => memory);
  };
  const getIds = (memories: readonly { id: string }[]) => memories.map(({ id }) => id).sort();

  async function expectReads(model: Model, question: Question, tag: string): Promise<void> {
    const { at, known } = question;
    const times = { at: START + at, known: START + known };
    const when = `at ${at}, known at ${known}`;
    const visible = model.getVisible(question);
    const listed = await list(times);
    expect(getIds(listed), `listed ${when}`).toEqual(getIds(visible));
    for (const memory of listed) {
      const { state, ...held } = visible.find(({ id }) => id === memory.id) as (typeof visible)[number];
      const isOther = state.text !== model.getPresent(held).text;
      expect(memory, `${memory.id} ${when}`).toMatchObject({
        ...{ content: state.text, tags: state.tag.split(','), importance: state.importance, version: state.version },
        ...{ sessionId: state.session, validTo: toTime(state.end), supersedes: state.supersedes },
        earlierRevision: isOther ? expect.any(Number) : null,
        supersededBy: model.getSupersededBy(memory.id, question),
      });
    }
    const recalled = await recall(times);
    expect(getIds(recalled), `recalled ${when}`).toEqual(getIds(visible));
    for (const { id, content } of recalled) {
      expect(content, `${id} ${when}`).toBe(visible.find((memory) => memory.id === id)?.state.text);
    }
    const holding = visible.filter((memory) => model.holds(memory, question));
    const unreplaced = visible.filter(({ id }) => model.getSupersededBy(id, question) === null);
    const tagged = holding.filter(({ state }) => state.tag.split(',').includes(tag));
    const holds = { ...times, holding: true as const };
    expect(getIds(await list(holds)), `listed as holding ${when}`).toEqual(getIds(holding));
    expect(getIds(await recall(holds)), `recalled as holding ${when}`).toEqual(getIds(holding));
    expect(getIds(await recall({ ...times, superseded: false })), `unreplaced ${when}`).toEqual(getIds(unreplaced));
    expect(getIds(await list({ ...holds, tags: [tag] })), `listed with ${tag} ${when}`).toEqual(getIds(tagged));
    expect(getIds(await recall({ ...holds, tags: [tag] })), `recalled with ${tag} ${when}`).toEqual(getIds(tagged));
    const sessions = await tested.storage.sessions('default', holds, ALL, START + PRESENT);
    const inSessions = holding.map(({ state }) => state.session);
    expect(sessions.items.map(({ sessionId, total }) => [sessionId, total])).toEqual(
      [...new Set(inSessions)].sort().map((id) => [id, inSessions.filter((session) => session === id).length]),
    );
  }

  it('reads what held and what was known at any time, after any writes, merges, undos and steps of the clock', async () => {
    await fc.assert(
      fc
        .asyncProperty(
          fc.array(anyStep, { minLength: 4, maxLength: 16 }),
          fc.array(fc.tuple(anyTime, anyTime, anyTag), { minLength: 3, maxLength: 3 }),
          async (drawn, questions) => {
            const steps = new Steps();
            for (const step of drawn) await steps.perform(step);
            for (const [at, known, tag] of [...questions, [PRESENT, PRESENT, 'a'] as const]) {
              await expectReads(steps.model, { at, known, now: PRESENT }, tag);
            }
          },
        )
        .afterEach(async () => {
          await tested.storage.deleteNamespace('default');
        }),
      { numRuns: propertyRuns(150) },
    );
  }, 600_000);

  it('counts the memories that hold, are superseded and have ended, of a namespace, of a user and in all', async () => {
    const present = START + PRESENT;
    const ada = { userId: 'ada' };
    const old = await tested.storeMemory({ validTo: present, createdAt: START, ...ada });
    await tested.storeMemory({ createdAt: START, supersedes: old.id, ...ada });
    const replacedForATime = await tested.storeMemory({ createdAt: START });
    await tested.storeMemory({ createdAt: START, supersedes: replacedForATime.id, validTo: present + 1 });
    await tested.storeMemory({ createdAt: START, validFrom: present + 1, ...ada });
    await tested.storeMemory({ createdAt: present + 1 });
    const expired = await tested.storeMemory({ createdAt: START, expiresAt: present, ...ada });
    await tested.storeMemory({ createdAt: START, expiresAt: present, supersedes: expired.id, ...ada });
    await tested.storeMemory({ createdAt: START, namespace: 'other' });
    const count = async (now: number, userIds?: string[]) => {
      const stats = await tested.storage.stats('default', now, userIds ? { userIds } : {});
      return [stats.current_count, stats.superseded_count, stats.ended_count];
    };
    expect(await count(present)).toEqual([2, 2, 1]);
    expect(await count(present, ['ada'])).toEqual([1, 1, 1]);
    expect(await count(present + 1)).toEqual([4, 1, 2]);
    expect(await tested.storage.totals(present)).toMatchObject({
      current_count: 3,
      superseded_count: 2,
      ended_count: 1,
    });
  });
}

function toState(memory: StoredMemory): Omit<State, 'from'> {
  const { content: text, tags, importance, sessionId, version, supersedes, mergedInto } = memory;
  return {
    ...{ text, tag: tags.join(), importance, session: sessionId as string, version, supersedes, mergedInto },
    begin: fromTime(memory.validFrom ?? memory.createdAt),
    end: fromTime(memory.validTo),
  };
}
