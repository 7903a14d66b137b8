import { DEFAULTS } from '@memoryd/contract/limits';
import type { NewMemory } from '@memoryd/core';
import type { MemoryVersion, RunRef, StepResult } from '@memoryd/core/ports';
import { CONSOLIDATION_LEASE } from '@memoryd/core/ports';
import type { MemoryFilter, Signals } from '@memoryd/search';
import { beforeEach, describe, expect, it } from 'vitest';
import { newMemory } from './new-memory.fixture.ts';
import { LATER, MODEL, NOW, nextMemory, nextRunId, oldEnough, type TestedStorage } from './storage.fixture.ts';

const ALL = { limit: 100, maxBytes: 1e6 };
const BATCH = { limit: 5, maxChars: 1e4, maxReembeddingChars: 1e4 };

/** Returns a unit vector near one axis. Vectors of related memories lie near the same axis. */
function vector(axis: number, lean = 0): Float32Array {
  const values = Float32Array.from({ length: 64 }, (_, i) => (i === axis ? 1 : 0.05 * Math.sin((i + 1) * (lean + 1))));
  const length = Math.hypot(...values);
  return values.map((value) => value / length);
}

/** Contract tests of the `DistilStorage` port. */
export function distilStorageContract(tested: TestedStorage): void {
  let arrivals = 0;

  beforeEach(async () => {
    arrivals = 0;
    await tested.storage.useModel(MODEL);
  });

  type StoredMemory = NewMemory & MemoryVersion;

  /** Stores a memory with a vector. */
  async function storeMemory(content: string, axis: number, fields: Partial<NewMemory> = {}): Promise<StoredMemory> {
    arrivals++;
    const at = NOW + arrivals;
    const memory = newMemory({ id: `memory-${arrivals}`, content, createdAt: at, storedAt: at, ...fields });
    const stored = await tested.storage.store(memory);
    if (stored.outcome !== 'stored') throw new Error(stored.outcome);
    await tested.storage.putVectors(MODEL, [
      { ordinal: stored.ordinal, revision: 1, vectors: [vector(axis, arrivals)] },
    ]);
    return { ...memory, ordinal: stored.ordinal, version: 1 };
  }

  const storeAll = async (texts: readonly string[], fields: Partial<NewMemory> = {}) => {
    const stored: StoredMemory[] = [];
    for (const text of texts) stored.push(await storeMemory(text, 1, fields));
    return stored;
  };

  /** Stores memories with one vector each in two calls, which is faster than `storeMemory`. */
  async function storeTogether(
    count: number,
    getFields: (i: number) => Partial<NewMemory>,
    getVector: (i: number) => Float32Array,
  ): Promise<void> {
    const stored = await tested.storage.storeMany(
      Array.from({ length: count }, (_, i) => nextMemory({ id: `memory-${++arrivals}`, ...getFields(i) })),
    );
    const vectors = stored.map((each, i) => {
      if (each.outcome !== 'stored') throw new Error(each.outcome);
      return { ordinal: each.ordinal, revision: 1, vectors: [getVector(i)] };
    });
    await tested.storage.putVectors(MODEL, vectors);
  }

  const CATS = ['The cat Mimi sleeps.', 'The cat Mimi eats fish.', 'The cat Mimi chases mice.'];

  async function all(work: () => Promise<StepResult>): Promise<void> {
    while ((await work()).more);
  }

  /** Runs work in a separate consolidation run, after promoting all memories. */
  async function inRun<T>(work: (run: RunRef) => Promise<T>, id = nextRunId()): Promise<T> {
    const run = await tested.beginRun({ id });
    await all(() => tested.storage.promote(run, oldEnough(NOW * 2), 100));
    const result = await work(run);
    await tested.storage.endRun(run, NOW);
    return result;
  }

  /** Undoes a run. `meanwhile` happens after the undo has begun, and before the first change is undone. */
  async function undo(id: string, meanwhile = async () => {}): Promise<void> {
    const fence = (await tested.lease.acquire(CONSOLIDATION_LEASE, 'this process', NOW, 1000)) as number;
    const begun = await tested.storage.beginUndo('default', id, { fence, endedAfter: 0 });
    if (begun.outcome !== 'begun') throw new Error(begun.outcome);
    await meanwhile();
    await all(() => tested.storage.undoSome(begun.ref, NOW, 3));
  }

  async function distil(sources: MemoryVersion[], content: string, id = 'semantic'): Promise<number> {
    const ordinal = await inRun((run) => tested.storage.distil(run, { id, content, sources, at: NOW }), `run of ${id}`);
    if (ordinal === undefined) throw new Error('not distilled');
    return ordinal;
  }

  const semantic = (id = 'semantic') => tested.storage.memory('default', id, LATER);

  async function candidates(promotedUntil = NOW * 2, limit = 100) {
    return tested.storage.distilCandidates({ namespace: 'default', ...oldEnough(promotedUntil), limit });
  }

  async function waiting(): Promise<number[]> {
    return (await candidates()).candidates.map(({ ordinal }) => ordinal);
  }

  function search(text: string, filter: MemoryFilter = {}, poolSize = 20): Promise<Signals> {
    return tested.storage.search({ namespace: 'default', text, filter, now: NOW, poolSize, tailSize: 0 });
  }

  const getOrdinals = (memories: readonly MemoryVersion[]) => memories.map(({ ordinal }) => ordinal);
  const getIds = (memories: readonly NewMemory[]) => memories.map(({ id }) => id);

  describe('distillation candidates', () => {
    it('distillation candidates are returned with their neighbors, the cosines and the numbers of shared rare words', async () => {
      const [first, second] = (await storeAll(CATS.slice(0, 2))) as [StoredMemory, StoredMemory];
      const far = await storeMemory('Taxes are due.', 40);
      const found = (await candidates()).candidates;
      expect(getOrdinals(found)).toEqual(getOrdinals([first, second, far]));
      const near = found[0]?.neighbors.find(({ ordinal }) => ordinal === second.ordinal);
      expect(near?.cosine).toBeGreaterThan(0.8);
      expect(near?.sharedRareWords).toBe(2);
      const apart = found[0]?.neighbors.find(({ ordinal }) => ordinal === far.ordinal);
      expect(apart?.cosine).toBeLessThan(0.5);
      expect(apart?.sharedRareWords).toBe(0);
    });

    it.each([
      ['do not share the name before a colon as a rare word in a session', 's', 0],
      ['share the name before a colon as a rare word outside of a session', DEFAULTS.sessionId, 1],
    ])('distillation candidates %s', async (_, sessionId, shared) => {
      for (const said of ['Ben: The rent went up.', 'Ben: Jazz is fun.']) await storeMemory(said, 1, { sessionId });
      const [first] = (await candidates()).candidates;
      expect(first?.neighbors.map(({ sharedRareWords }) => sharedRareWords)).toEqual([shared]);
    });

    it('distillation candidates are returned in batches', async () => {
      const stored = await storeAll(CATS);
      const first = await candidates(NOW * 2, 2);
      expect(getOrdinals(first.candidates)).toEqual(getOrdinals(stored.slice(0, 2)));
      const request = { namespace: 'default', ...oldEnough(NOW * 2), limit: 2 };
      const second = await tested.storage.distilCandidates({ ...request, after: first.next as number });
      expect(getOrdinals(second.candidates)).toEqual(getOrdinals(stored.slice(2)));
      expect(second.next).toBeUndefined();
    });

    it('distillation candidates are only memories that are old enough to be promoted and have vectors', async () => {
      const [old, young] = [await storeMemory('old', 1), await storeMemory('young', 1)];
      await tested.storage.store({ ...young, id: 'without vectors', storedAt: NOW });
      const found = (await candidates(old.storedAt)).candidates;
      expect(getOrdinals(found)).toEqual([old.ordinal]);
      expect(found[0]?.neighbors).toEqual([]);
    });

    it('distillation candidates are pending again if their text changes, until they are forgotten', async () => {
      const [first, second, third] = (await storeAll(CATS)) as [StoredMemory, StoredMemory, StoredMemory];
      await inRun((run) => tested.storage.dropCandidates(run, [first, second, third]));
      expect(await waiting()).toEqual([]);
      await tested.storage.update({ namespace: 'default', id: first.id, at: NOW, content: 'new' });
      await tested.storage.putVectors(MODEL, [{ ordinal: first.ordinal, revision: 2, vectors: [vector(1)] }]);
      expect(await waiting()).toEqual([first.ordinal]);
      await tested.storage.forget('default', first.id);
      expect(await waiting()).toEqual([]);
    });

    it('distillation candidates are pending again if their successor is forgotten', async () => {
      const [corrected] = (await storeAll([CATS[0] ?? ''])) as [StoredMemory];
      const successor = await storeMemory('The cat Mimi is awake.', 1, { supersedes: corrected.id });
      await inRun((run) => tested.storage.dropCandidates(run, [corrected, successor]));
      expect(await waiting()).toEqual([]);
      await tested.storage.forget('default', successor.id);
      expect(await waiting()).toEqual([corrected.ordinal]);
    });

    it('distillation candidates remain pending if they were changed after they were read', async () => {
      const stored = await storeMemory('text', 1);
      await tested.storage.update({ namespace: 'default', id: stored.id, at: NOW, importance: 1 });
      await inRun((run) => tested.storage.dropCandidates(run, [stored]));
      expect(await waiting()).toEqual([stored.ordinal]);
    });

    it('distillation candidates have no neighbors that expire, are superseded or are semantic memories', async () => {
      const stored = await storeAll(CATS);
      await storeMemory('The cat Mimi visits for a day.', 1, { expiresAt: NOW * 2 });
      const wrong = await storeMemory('The cat Mimi is a dog.', 1);
      const right = await storeMemory('The cat Mimi is a cat.', 1, { supersedes: wrong.id });
      await distil(stored, 'Mimi is a cat.');
      const found = (await candidates()).candidates.find(({ ordinal }) => ordinal === right.ordinal);
      expect(found?.neighbors.map(({ ordinal }) => ordinal).sort((a, b) => a - b)).toEqual(getOrdinals(stored));
      const group = (await semantic())?.ordinal;
      for (const neighbor of found?.neighbors ?? []) {
        expect(neighbor.group).toEqual({ semantic: group, sourceCount: 3 });
      }
    });
  });

  describe('memories that earlier distilling rules passed over', () => {
    const requeue = (limit = 2) =>
      inRun(async (run) => {
        let [count, calls] = [0, 0];
        for (let more = true; more; calls++) {
          const done = await tested.storage.requeuePassedOver(run, limit);
          count += done.count;
          more = done.more;
        }
        return { count, calls };
      });
    const drop = async (memories: MemoryVersion[]) => {
      await inRun((run) => tested.storage.dropCandidates(run, memories));
    };

    it('memories that earlier distilling rules passed over are queued again once, in batches, newest first, but not sources and memories that expire', async () => {
      const sources = await storeAll(CATS);
      await distil(sources, 'Mimi is a cat.');
      const expiring = await storeMemory('The cat Mimi visits for a day.', 1, { expiresAt: NOW * 2 });
      const passed = await storeAll(['Rex barks.', 'Rex is a dog.', 'Rex sleeps.']);
      await drop([expiring, ...passed]);
      await inRun((run) => tested.storage.requeuePassedOver(run, 2));
      expect(await waiting()).toEqual(getOrdinals(passed.slice(1)));
      expect(await requeue()).toEqual({ count: 1, calls: 4 });
      expect(await waiting()).toEqual(getOrdinals(passed));
      await drop(passed);
      expect(await requeue()).toEqual({ count: 0, calls: 1 });
      expect(await waiting()).toEqual([]);
    });
  });

  describe('the rare words of a memory', () => {
    it('the rare words of a memory are rare among the memories of its owner, however often another user writes the words', async () => {
      await storeAll(CATS, { userId: 'ann' });
      await storeTogether(
        20,
        (i) => ({ userId: 'ben', content: `The cat Mimi visits, day ${i}.` }),
        () => vector(1),
      );
      const found = (await candidates()).candidates;
      const getShared = (user: string) => found.find(({ userId }) => userId === user)?.neighbors[0]?.sharedRareWords;
      expect([getShared('ann'), getShared('ben')]).toEqual([2, 0]);
    });
  });

  describe('the background cosine of an owner', () => {
    const DAY_MS = 24 * 60 * 60 * 1000;
    const DAYS = 60;
    const background = (userId: string) =>
      tested.storage.backgroundCosine({ namespace: 'default', owner: { userId, agentId: '' }, now: NOW });

    /** Returns one of 62 vectors with cosines of .39. */
    const getTurnVector = (turn: number) => {
      const length = Math.hypot(1, 0.8);
      return Float32Array.from({ length: 64 }, (_, i) => (i === 0 ? 0.8 : i === turn + 1 ? 1 : 0) / length);
    };
    const COSINE = 0.64 / 1.64;

    /** Stores texts on the first and the last of `DAYS` days. */
    function storeConversation(userId: string): Promise<void> {
      const getTurn = (i: number) => {
        const createdAt = NOW - (i < 20 ? DAYS * DAY_MS : 0) + i;
        return { userId, createdAt, content: `Fact ${i} of ${userId}.` };
      };
      return storeTogether(40, getTurn, getTurnVector);
    }

    function storeDailyNotes(userId: string, getNote: (day: number) => string): Promise<void> {
      const getFields = (day: number) => {
        const createdAt = NOW - (day + 1) * DAY_MS;
        return { userId, createdAt, content: getNote(day), tags: [`day-${day}`], sessionId: `day-${day}` };
      };
      return storeTogether(DAYS - 1, getFields, (day) => vector(63, day));
    }

    it('the background cosine of an owner does not depend on the memories of other users', async () => {
      await storeConversation('ann');
      await storeDailyNotes('ben', () => 'All is well.');
      await storeDailyNotes('', (day) => `Day ${day} went well.`);
      await storeTogether(
        60,
        (i) => ({ userId: 'cleo', content: `Story ${i}.` }),
        (i) => vector(i + 1),
      );
      expect(await background('ann')).toBeCloseTo(COSINE, 1);
    });

    it.each([
      ['the same note every day', () => 'All is well.'],
      ['nearly the same note every day', (day: number) => `Day ${day} went well.`],
    ])('stays the same if the owner also writes %s', async (_, getNote) => {
      await storeConversation('ann');
      await storeDailyNotes('ann', getNote);
      expect(await background('ann')).toBeCloseTo(COSINE, 1);
    });

    it('the background cosine of an owner is that of unrelated texts if the owner has few texts', async () => {
      await storeTogether(15, (i) => ({ content: `Fact ${i}.` }), getTurnVector);
      expect(await background('')).toBe(0.1);
    });
  });

  describe('a semantic memory', () => {
    it('a semantic memory has the common tags and the maximum importance of its sources, and is pending for vectors', async () => {
      const stored = [
        await storeMemory('one', 1, { tags: ['a', 'b'], importance: 0.2 }),
        await storeMemory('two', 1, { tags: ['b', 'c'], importance: 0.8 }),
      ];
      const ordinal = await distil(stored, 'both');
      expect(await semantic()).toMatchObject({
        ordinal,
        content: 'both',
        tier: 'semantic',
        sessionId: null,
        source: 'consolidation',
        tags: ['b'],
        importance: 0.8,
        createdAt: stored[1]?.createdAt,
        metadata: {},
        version: 1,
        derivedFrom: getIds(stored),
      });
      expect((await tested.storage.stats('default', NOW)).semantic_count).toBe(1);
      const { memories } = await tested.storage.pendingEmbeddings(MODEL, BATCH);
      expect(memories).toEqual([{ ordinal, revision: 1, content: 'both' }]);
      expect(await waiting()).toEqual([]);
      expect((await tested.storage.memory('default', stored[0]?.id ?? '', LATER))?.derivedFrom).toEqual([]);
    });

    it('a semantic memory holds from the time at which all its sources hold', async () => {
      const [first = '', ...others] = CATS;
      const sources = [await storeMemory(first, 1, { validFrom: NOW + 50 }), ...(await storeAll(others))];
      await distil(sources, 'Mimi is a cat.');
      expect(await semantic()).toMatchObject({ validFrom: NOW + 50, validTo: null });
      const listHolding = async (at: number) =>
        (await tested.storage.memories('default', { tier: 'semantic', holding: true, at }, ALL, NOW)).total;
      expect([await listHolding(NOW + 49), await listHolding(NOW + 50)]).toEqual([0, 1]);
    });

    it('a semantic memory is not created if a source was changed or forgotten, expires, or already has a semantic memory', async () => {
      const stored = await storeAll([...CATS, 'Mimi was sold.', 'Mimi stays for a day.']);
      const [a, b, c, d, e] = stored as [StoredMemory, StoredMemory, StoredMemory, StoredMemory, StoredMemory];
      await tested.storage.update({ namespace: 'default', id: c.id, at: NOW, importance: 1 });
      await tested.storage.forget('default', d.id);
      await tested.storage.update({ namespace: 'default', id: e.id, at: NOW, expiresAt: NOW * 2 });
      await inRun(async (run) => {
        for (const other of [c, d, { ...e, version: 2 }]) {
          expect(
            await tested.storage.distil(run, { id: 'never', content: 'x', sources: [a, other], at: NOW }),
          ).toBeUndefined();
        }
        expect(
          await tested.storage.distil(run, { id: 'semantic', content: 'x', sources: [a, b], at: NOW }),
        ).toBeDefined();
        expect(
          await tested.storage.distil(run, { id: 'never', content: 'x', sources: [a, b], at: NOW }),
        ).toBeUndefined();
      });
      expect((await tested.storage.memories('default', { tier: 'semantic' }, ALL, NOW)).total).toBe(1);
    });

    it('a semantic memory is found together with its sources, even if only the semantic memory matches the query', async () => {
      const stored = await storeAll(['alpha', 'beta', 'gamma']);
      for (let i = 0; i < 5; i++) await storeMemory('delta delta delta', 2);
      const ordinal = await distil(stored, 'delta delta delta delta');
      const signals = await search('delta', {}, 1);
      const found = Array.from(signals.ordinals.slice(0, signals.candidateCount));
      expect(found).toEqual([ordinal, ...getOrdinals(stored)]);
      const getRows = (into: number) => Array.from(signals.distilledInto).filter((row) => row === into).length;
      expect(getRows(found.indexOf(ordinal))).toBe(3);
      expect((await search('delta', { tier: 'semantic' }, 1)).candidateCount).toBe(1);
    });

    it('a semantic memory is found together with its sources, even if the query matches 50 semantic memories', async () => {
      const [groups, size] = [50, 12];
      const sources: MemoryVersion[][] = [];
      for (let i = 0; i < groups; i++) {
        const memories = Array.from({ length: size }, (_, j) => nextMemory({ content: `alpha ${i} ${j}` }));
        const stored = await tested.storage.storeMany(memories);
        sources.push(stored.map((each) => ({ ordinal: each.outcome === 'stored' ? each.ordinal : 0, version: 1 })));
      }
      await inRun(async (run) => {
        for (const [i, of] of sources.entries()) {
          await tested.storage.distil(run, { id: `semantic ${i}`, content: `delta ${i}`, sources: of, at: NOW });
        }
      });
      const asked = { namespace: 'default', text: 'delta', filter: {}, now: NOW + 1e6, poolSize: groups, tailSize: 0 };
      expect((await tested.storage.search(asked)).candidateCount).toBe(groups * (1 + size));
    });

    it('a semantic memory can get a new text and new sources unless a client has changed it', async () => {
      const [a, b, c] = (await storeAll(CATS)) as [StoredMemory, StoredMemory, StoredMemory];
      const ordinal = await distil([a, b], 'old');
      const change = { semantic: ordinal, content: 'new', sources: [a, c], at: NOW + 5 };
      expect(await inRun((run) => tested.storage.refresh(run, change))).toBe(true);
      expect(await semantic()).toMatchObject({ content: 'new', derivedFrom: [a.id, c.id], version: 1 });
      const { memories } = await tested.storage.pendingEmbeddings(MODEL, BATCH);
      expect(memories).toEqual([{ ordinal, revision: 2, content: 'new' }]);
      await tested.storage.update({ namespace: 'default', id: 'semantic', at: NOW, tags: ['mine'] });
      expect(await inRun((run) => tested.storage.refresh(run, { ...change, content: 'newer' }))).toBe(false);
      expect(await semantic()).toMatchObject({ content: 'new', version: 2 });
      const group = { namespace: 'default', semantic: ordinal, joining: [], ...oldEnough(NOW) };
      expect((await tested.storage.readGroup(group)).isClosed).toBe(true);
    });

    it('stays pending for vectors after it gets the vectors of an earlier text', async () => {
      const [a, b, c] = (await storeAll(CATS)) as [StoredMemory, StoredMemory, StoredMemory];
      const ordinal = await distil([a, b], 'old');
      await inRun((run) =>
        tested.storage.refresh(run, { semantic: ordinal, content: 'new', sources: [a, b, c], at: NOW }),
      );
      await tested.storage.putVectors(MODEL, [{ ordinal, revision: 1, vectors: [vector(1)] }]);
      const { memories } = await tested.storage.pendingEmbeddings(MODEL, BATCH);
      expect(memories).toEqual([{ ordinal, revision: 2, content: 'new' }]);
    });

    it('a semantic memory is embedded after texts of clients, in smaller batches', async () => {
      const [a, b, c, d] = (await storeAll([...CATS, 'Mimi was sold.', 'Mimi came back.'])) as [
        StoredMemory,
        StoredMemory,
        StoredMemory,
        StoredMemory,
      ];
      const first = await distil([a, b], 'one');
      const second = await distil([c, d], 'two', 'another');
      expect(await tested.storage.pendingEmbeddings(MODEL, { ...BATCH, maxReembeddingChars: 4 })).toMatchObject({
        isInUse: true,
        reembed: true,
        memories: [{ ordinal: first, revision: 1, content: 'one' }],
        waiting: 0,
      });
      await tested.storage.update({ namespace: 'default', id: 'semantic', at: NOW, content: 'mine' });
      const { reembed, memories, waiting } = await tested.storage.pendingEmbeddings(MODEL, BATCH);
      expect({ reembed, waiting }).toEqual({ reembed: false, waiting: 1 });
      expect(memories.map(({ ordinal }) => ordinal)).not.toContain(second);
    });

    it('a semantic memory has the older duplicate as its source after a source is merged into that duplicate', async () => {
      const stored = await storeAll(CATS);
      await distil(stored, 'Mimi is a cat.');
      const older = await storeMemory(CATS[0] ?? '', 1, { createdAt: NOW - 5 });
      await inRun((run) => all(() => tested.storage.mergeDuplicates(run, NOW, 10)));
      expect((await semantic())?.derivedFrom).toEqual([older.id, ...getIds(stored.slice(1))]);
    });
  });

  it('a semantic memory is deleted when one of its sources is evicted, and the other sources are pending again', async () => {
    const sources = await storeAll(CATS);
    await distil(sources, 'Mimi is a cat.');
    const [evicted, ...others] = getOrdinals(sources);
    await inRun((run) => tested.storage.evictExcess(run, 'episodic', [evicted as number], NOW));
    expect(await semantic()).toBeUndefined();
    expect(await waiting()).toEqual(others);
  });

  describe('a semantic memory that loses all its sources', () => {
    const expiring = async (sources: readonly StoredMemory[]) => {
      for (const { id } of sources)
        await tested.storage.update({ namespace: 'default', id, at: NOW, expiresAt: NOW * 2 });
    };
    const archived = (sources: readonly StoredMemory[]) =>
      inRun(async (run) => {
        await tested.storage.evictExcess(run, 'episodic', getOrdinals(sources), NOW);
        await all(() => tested.storage.clearArchive(run, NOW, 10));
      });

    it('a semantic memory that loses all its sources is deleted if the sources get an expiry or are deleted from the archive', async () => {
      const sources = await storeAll(CATS);
      await distil(sources, 'Mimi is a cat.');
      await expiring(sources);
      expect(await semantic()).toBeUndefined();
      const others = await storeAll(['Rex barks.', 'Rex is a dog.']);
      await distil(others, 'Rex is a dog.', 'another');
      await archived(others);
      expect(await semantic('another')).toBeUndefined();
    });

    it('a semantic memory that loses all its sources is retained if a client has written its text, but its distilled texts are deleted', async () => {
      const sources = await storeAll(CATS);
      await distil(sources, 'Mimi is a cat.');
      await tested.storage.update({ namespace: 'default', id: 'semantic', at: NOW, content: 'mine' });
      await expiring(sources);
      expect(await semantic()).toMatchObject({ content: 'mine', tier: 'semantic', derivedFrom: [] });
      expect(await tested.storage.history('default', 'semantic', ALL, NOW)).toMatchObject({
        items: [{ content: 'mine' }],
        total: 1,
      });
      const others = await storeAll(['Rex barks.', 'Rex is a dog.']);
      await distil(others, 'Rex is a dog.', 'another');
      await tested.storage.update({ namespace: 'default', id: 'another', at: NOW, content: 'mine too' });
      await archived(others);
      expect(await semantic('another')).toMatchObject({ content: 'mine too', derivedFrom: [] });
      await tested.storage.forget('default', 'another');
      expect(await semantic('another')).toBeUndefined();
    });
  });

  describe('merging the sources of two semantic memories', () => {
    it('keeps both memories, and the text that a client has written', async () => {
      const [a, b, c, d] = (await storeAll([...CATS, CATS[0] ?? ''])) as [
        StoredMemory,
        StoredMemory,
        StoredMemory,
        StoredMemory,
      ];
      await distil([a, b], 'one');
      await distil([c, d], 'other', 'other');
      await tested.storage.update({ namespace: 'default', id: 'other', at: NOW, content: 'mine' });
      await tested.storage.forget('default', c.id);
      expect(await inRun((run) => tested.storage.mergeDuplicates(run, NOW, 10))).toMatchObject({ count: 1 });
      expect(await semantic('other')).toMatchObject({ content: 'mine', derivedFrom: [d.id] });
      expect((await tested.storage.forget('default', a.id)) as object).toMatchObject({
        alsoForgotten: [d.id, 'semantic', 'other'],
      });
    });

    it('deletes both memories once the text of the remaining source changes', async () => {
      const [a, b, c, d] = (await storeAll([...CATS, CATS[0] ?? ''])) as StoredMemory[];
      await distil([a, b] as StoredMemory[], 'one');
      await distil([c, d] as StoredMemory[], 'other', 'other');
      await inRun((run) => tested.storage.mergeDuplicates(run, NOW, 10));
      expect([await semantic(), await semantic('other')]).not.toContain(undefined);
      await tested.storage.update({ namespace: 'default', id: a?.id ?? '', at: NOW, content: 'The cat Mimi left.' });
      expect([await semantic(), await semantic('other')]).toEqual([undefined, undefined]);
    });
  });

  describe('forgetting a source of a semantic memory', () => {
    it('ends the semantic memory, and queues the other sources', async () => {
      const [a, b, c] = (await storeAll(CATS, { tags: ['cat'] })) as [StoredMemory, StoredMemory, StoredMemory];
      const ordinal = await distil([a, b, c], CATS.join('\n'));
      const gone = await tested.storage.forget('default', c.id);
      expect(gone).toMatchObject({ ordinals: [c.ordinal, ordinal], alsoForgotten: ['semantic'] });
      expect(await semantic()).toBeUndefined();
      expect(await waiting()).toEqual([a.ordinal, b.ordinal]);
    });

    it('keeps the text of the semantic memory if a client has written it', async () => {
      const stored = await storeAll(CATS);
      await distil(stored, CATS.join('\n'));
      await tested.storage.update({ namespace: 'default', id: 'semantic', at: NOW, content: 'Mimi is fine.' });
      await tested.storage.forget('default', stored[0]?.id ?? '');
      expect(await semantic()).toMatchObject({ content: 'Mimi is fine.', derivedFrom: getIds(stored.slice(1)) });
    });

    it('ends the semantic memory even if a client has changed its tags', async () => {
      const stored = await storeAll(CATS);
      await distil(stored, CATS.join('\n'));
      await tested.storage.update({ namespace: 'default', id: 'semantic', at: NOW, tags: ['mine'] });
      await tested.storage.forget('default', stored[0]?.id ?? '');
      expect(await semantic()).toBeUndefined();
    });

    it('removes the words of a former source from earlier texts of the semantic memory', async () => {
      const [a, b, c] = (await storeAll(CATS)) as [StoredMemory, StoredMemory, StoredMemory];
      const ordinal = await distil([a, b, c], CATS.join('\n'));
      const content = CATS.slice(1).join('\n');
      await inRun((run) => tested.storage.refresh(run, { semantic: ordinal, content, sources: [b, c], at: NOW + 5 }));
      expect((await tested.storage.history('default', 'semantic', ALL, NOW))?.total).toBe(2);
      await tested.storage.forget('default', a.id);
      expect(await tested.storage.history('default', 'semantic', ALL, NOW)).toMatchObject({
        items: [{ content }],
        total: 1,
      });
      expect(await semantic()).toMatchObject({ content, derivedFrom: [b.id, c.id] });
    });

    it('adds semantic memories that are deleted too to the number that a bulk forget returns', async () => {
      await distil(await storeAll(CATS, { tags: ['cat'] }), 'Mimi is a cat.');
      await tested.storage.update({ namespace: 'default', id: 'semantic', at: NOW, tags: [] });
      expect(await tested.storage.forgetMany('default', { tag: 'cat' })).toMatchObject({ count: 4 });
    });

    it('forgetting a source of a semantic memory is possible in one bulk forget with a duplicate, a successor and a semantic memory', async () => {
      const [a, b, c] = (await storeAll(CATS, { tags: ['cat'] })) as [StoredMemory, StoredMemory, StoredMemory];
      const [d] = (await storeAll(['Mimi is a cat.'])) as [StoredMemory];
      await storeMemory(CATS[0] ?? '', 1, { createdAt: NOW + 5 });
      await inRun((run) => all(() => tested.storage.mergeDuplicates(run, NOW, 10)));
      await distil([a, b], 'Mimi sleeps.');
      await distil([c, d], `${CATS[2]}\n${d.content}`, 'other');
      await storeMemory('Mimi is a dog.', 2, { supersedes: d.id, tags: ['cat'] });
      expect(await tested.storage.forgetMany('default', { tag: 'cat' })).toMatchObject({ count: 6 });
      expect(await semantic()).toBeUndefined();
      expect(await semantic('other')).toBeUndefined();
      expect((await tested.storage.memory('default', d.id, LATER))?.supersededBy).toBeNull();
      expect(await tested.storage.integrity()).toEqual([]);
    });
  });

  describe('a distillation group', () => {
    it('a distillation group is closed after its semantic memory is forgotten, until the text of a source changes', async () => {
      const stored = await storeAll(CATS);
      await distil(stored, 'Mimi is a cat.');
      await tested.storage.forget('default', 'semantic');
      const group = { namespace: 'default', joining: getOrdinals(stored), ...oldEnough(NOW) };
      expect(await tested.storage.readGroup(group)).toMatchObject({
        isClosed: true,
        sources: getIds(stored).map((id) => ({ id })),
      });
      await tested.storage.update({
        namespace: 'default',
        id: stored[0]?.id ?? '',
        at: NOW,
        content: 'The cat Mimi wakes.',
      });
      expect((await tested.storage.readGroup(group)).isClosed).toBe(false);
    });
  });

  describe('a source of a distillation group', () => {
    it('a source of a distillation group is read without leading white space', async () => {
      const [a] = (await storeAll([CATS[0] ?? ''])) as [StoredMemory];
      const content = `${' \n\u3000'.repeat(30_000)}The cat Mimi wakes.`;
      await tested.storage.update({ namespace: 'default', id: a.id, at: NOW, content });
      const group = { namespace: 'default', joining: [a.ordinal], ...oldEnough(NOW * 2) };
      expect((await tested.storage.readGroup(group)).sources).toMatchObject([{ content: 'The cat Mimi wakes.' }]);
    });
  });

  describe('a correction by a consolidation run', () => {
    it('supersedes the corrected memory until the run is undone', async () => {
      const [wrong, right, other] = (await storeAll(CATS)) as [StoredMemory, StoredMemory, StoredMemory];
      await inRun(async (run) => {
        expect(await tested.storage.correct(run, { corrected: wrong, by: right, at: NOW })).toBe(true);
        expect(await tested.storage.correct(run, { corrected: other, by: right, at: NOW })).toBe(false);
        expect(await tested.storage.correct(run, { corrected: right, by: wrong, at: NOW })).toBe(false);
      }, 'correcting');
      expect((await tested.storage.memory('default', wrong.id, LATER))?.supersededBy).toBe(right.id);
      expect((await tested.storage.memory('default', right.id, LATER))?.supersedes).toBe(wrong.id);
      await undo('correcting');
      expect((await tested.storage.memory('default', wrong.id, LATER))?.supersededBy).toBeNull();
      expect((await tested.storage.memory('default', right.id, LATER))?.supersedes).toBeNull();
    });
  });

  describe('an update of the memory that another supersedes', () => {
    const update = (id: string, supersedes: string | null) =>
      tested.storage.update({ namespace: 'default', id, at: NOW, supersedes });

    it('ends the summaries of the superseded memory, which can be distilled again once the link is removed', async () => {
      const [a, b, c] = (await storeAll(CATS)) as [StoredMemory, StoredMemory, StoredMemory];
      await distil([a, b], 'Mimi is a cat.');
      expect(await update(c.id, a.id)).toMatchObject({ outcome: 'updated' });
      expect(await semantic()).toBeUndefined();
      await inRun((run) => tested.storage.dropCandidates(run, [a, b, { ...c, version: 2 }]));
      expect(await waiting()).toEqual([]);
      await update(c.id, null);
      expect(await waiting()).toEqual([a.ordinal]);
    });

    it('refuses a summary that would supersede its own source, and does not link it to equal texts', async () => {
      const [a, b, same] = (await storeAll(['Mimi eats.', 'Mimi runs.', 'Mimi eats.'])) as [
        StoredMemory,
        StoredMemory,
        StoredMemory,
      ];
      await distil([a, b], 'Mimi is a cat.');
      expect(await update('semantic', a.id)).toEqual({ outcome: 'superseding-itself' });
      expect(await update('semantic', same.id)).toMatchObject({ outcome: 'updated' });
      const supersededBy = async ({ id }: StoredMemory) =>
        (await tested.storage.memory('default', id, LATER))?.supersededBy;
      expect([await supersededBy(a), await supersededBy(same)]).toEqual([null, 'semantic']);
    });
  });

  describe('undoing a distillation run', () => {
    it('removes the semantic memory, and prevents a new distillation of its group', async () => {
      const stored = await storeAll(CATS);
      await distil(stored, 'Mimi is a cat.');
      await undo('run of semantic');
      expect(await semantic()).toBeUndefined();
      const group = { namespace: 'default', joining: getOrdinals(stored), ...oldEnough(NOW * 2) };
      expect((await tested.storage.readGroup(group)).isClosed).toBe(true);
    });

    it('restores the earlier text and sources of the semantic memory', async () => {
      const [a, b, c] = (await storeAll(CATS)) as [StoredMemory, StoredMemory, StoredMemory];
      const ordinal = await distil([a, b], 'old');
      const change = { semantic: ordinal, content: 'new', sources: [b, c], at: NOW };
      await inRun((run) => tested.storage.refresh(run, change), 'refreshing');
      await undo('refreshing');
      expect(await semantic()).toMatchObject({ content: 'old', createdAt: b.createdAt, derivedFrom: [a.id, b.id] });
    });

    it('restores merged sources, so that forgetting one ends the semantic memory', async () => {
      const [a, b, c, d] = (await storeAll(['Mimi eats.', 'Mimi runs.', 'Mimi eats.', 'Mimi is old.'])) as [
        StoredMemory,
        StoredMemory,
        StoredMemory,
        StoredMemory,
      ];
      await distil([a, b], 'Mimi eats. Mimi runs.', 'one');
      const two = await distil([c, d], 'Mimi eats. Mimi is old.', 'two');
      await inRun(async (run) => {
        await all(() => tested.storage.mergeDuplicates(run, NOW, 10));
        await tested.storage.refresh(run, { semantic: two, content: 'Mimi is old.', sources: [d], at: NOW });
      }, 'merging');
      await undo('merging');
      expect(await semantic('two')).toMatchObject({ content: 'Mimi eats. Mimi is old.', derivedFrom: [c.id, d.id] });
      await tested.storage.forget('default', c.id);
      expect(await semantic('two')).toBeUndefined();
    });

    it('undoing a distillation run does not restore the words of a source that was forgotten after the run', async () => {
      const [a, b, c] = (await storeAll(CATS)) as [StoredMemory, StoredMemory, StoredMemory];
      const ordinal = await distil([a, b, c], CATS.join('\n'));
      const change = { semantic: ordinal, content: 'new', sources: [a, b, c], at: NOW };
      await inRun((run) => tested.storage.refresh(run, change), 'refreshing');
      await tested.storage.forget('default', c.id);
      await undo('refreshing');
      expect(await semantic()).toBeUndefined();
    });

    it('undoing a distillation run ends a semantic memory whose earlier text was deleted, and queues its sources', async () => {
      const [a, b, c] = (await storeAll(CATS)) as [StoredMemory, StoredMemory, StoredMemory];
      const ordinal = await distil([a, b, c], CATS.join('\n'));
      const change = { semantic: ordinal, content: 'new', sources: [b, c], at: NOW };
      await inRun((run) => tested.storage.refresh(run, change), 'refreshing');
      await tested.storage.forget('default', a.id);
      await undo('refreshing');
      expect(await semantic()).toBeUndefined();
      expect(await waiting()).toEqual([b.ordinal, c.ordinal]);
    });

    const writeOwnText = async () => {
      const change = { namespace: 'default', id: 'semantic', at: NOW, content: 'mine' };
      expect(await tested.storage.update(change)).toMatchObject({ outcome: 'updated' });
    };

    it('keeps the text and the sources of a refreshed semantic memory that a client writes during the undo', async () => {
      const [a, b, c] = (await storeAll(CATS)) as [StoredMemory, StoredMemory, StoredMemory];
      const ordinal = await distil([a, b], 'old');
      const change = { semantic: ordinal, content: 'new', sources: [b, c], at: NOW };
      await inRun((run) => tested.storage.refresh(run, change), 'refreshing');
      await undo('refreshing', writeOwnText);
      expect(await semantic()).toMatchObject({ content: 'mine', createdAt: c.createdAt, derivedFrom: [b.id, c.id] });
      // The group of these sources is not declined, because its semantic memory stays.
      const group = { namespace: 'default', joining: getOrdinals([b, c]), ...oldEnough(NOW * 2) };
      expect((await tested.storage.readGroup(group)).isClosed).toBe(false);
      expect(await tested.storage.integrity()).toEqual([]);
    });

    it('keeps a new semantic memory that a client writes during the undo', async () => {
      const stored = await storeAll(CATS);
      await distil(stored, 'Mimi is a cat.');
      await undo('run of semantic', writeOwnText);
      expect(await semantic()).toMatchObject({ content: 'mine', derivedFrom: getIds(stored) });
    });

    it('keeps a semantic memory whose former sources were all forgotten', async () => {
      const [a, b, c] = (await storeAll(CATS)) as [StoredMemory, StoredMemory, StoredMemory];
      const ordinal = await distil([a], 'old');
      await inRun(
        (run) => tested.storage.refresh(run, { semantic: ordinal, content: 'new', sources: [b, c], at: NOW }),
        'refreshing',
      );
      await tested.storage.forget('default', a.id);
      await undo('refreshing');
      expect(await semantic()).toMatchObject({ derivedFrom: [b.id, c.id] });
    });

    it('undoing a distillation run is rejected if a client has changed the semantic memory', async () => {
      await distil(await storeAll(CATS), 'Mimi is a cat.');
      const sources = await storeAll(['Mimi runs.', 'Mimi jumps.']);
      await tested.storage.update({ namespace: 'default', id: 'semantic', at: NOW, content: 'mine' });
      // Even if a later run must be undone first, so that no run is undone in vain.
      await inRun((run) => tested.storage.distil(run, { id: 'later', content: 'x', sources, at: NOW }), 'later run');
      await expect(undo('run of semantic')).rejects.toThrow('written');
      await undo('later run');
      await expect(undo('run of semantic')).rejects.toThrow('written');
    });
  });
}
