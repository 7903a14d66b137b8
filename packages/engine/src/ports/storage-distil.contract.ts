import { DEFAULTS } from '@memoryd/contract/limits';
import { beforeEach, describe, expect, it } from 'vitest';
import { CONSOLIDATION_LEASE } from './coordination.ts';
import { newMemory } from './new-memory.fixture.ts';
import { MODEL, NOW, nextMemory, nextRunId, oldEnough, type TestedStorage } from './storage.fixture.ts';
import type { RunRef, SeenMemory, StepResult } from './storage-consolidation.ts';
import type { MemoryFilter, NewMemory } from './storage-memories.ts';
import type { Signals } from './storage-search.ts';

const ALL = { limit: 100, maxBytes: 1e6 };
const BATCH = { limit: 5, maxChars: 1e4, maxCharsAnew: 1e4 };

/** Vectors of memories that belong together lie near one axis of these. */
function vector(axis: number, lean = 0): Float32Array {
  const values = Float32Array.from({ length: 64 }, (_, i) => (i === axis ? 1 : 0.05 * Math.sin((i + 1) * (lean + 1))));
  const length = Math.hypot(...values);
  return values.map((value) => value / length);
}

/** What every adapter of the `Storage` port does with semantic memories. */
export function distilStorageContract(tested: TestedStorage): void {
  let arrivals = 0;

  beforeEach(async () => {
    arrivals = 0;
    await tested.storage.useModel(MODEL);
  });

  type Kept = NewMemory & SeenMemory;

  /** A memory with a vector. */
  async function keep(content: string, axis: number, fields: Partial<NewMemory> = {}): Promise<Kept> {
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

  const keepAll = async (texts: readonly string[], fields: Partial<NewMemory> = {}) => {
    const kept: Kept[] = [];
    for (const text of texts) kept.push(await keep(text, 1, fields));
    return kept;
  };

  const CATS = ['The cat Mimi sleeps.', 'The cat Mimi eats fish.', 'The cat Mimi chases mice.'];

  async function all(work: () => Promise<StepResult>): Promise<void> {
    while ((await work()).more);
  }

  /** Does something in a run of its own, after everything has promoted. */
  async function inRun<T>(work: (run: RunRef) => Promise<T>, id = nextRunId()): Promise<T> {
    const run = await tested.begin({ id });
    await all(() => tested.storage.promote(run, oldEnough(NOW * 2), 100));
    const result = await work(run);
    await tested.storage.endRun(run, NOW);
    return result;
  }

  async function undo(id: string): Promise<void> {
    const fence = (await tested.lease.acquire(CONSOLIDATION_LEASE, 'this process', NOW, 1000)) as number;
    const begun = await tested.storage.beginUndo('default', id, { fence, endedAfter: 0 });
    if (begun.outcome !== 'begun') throw new Error(begun.outcome);
    await all(() => tested.storage.undoSome(begun.ref, NOW, 3));
  }

  async function distil(sources: SeenMemory[], content: string, id = 'semantic'): Promise<number> {
    const ordinal = await inRun((run) => tested.storage.distil(run, { id, content, sources, at: NOW }), `run of ${id}`);
    if (ordinal === undefined) throw new Error('not distilled');
    return ordinal;
  }

  const semantic = (id = 'semantic') => tested.storage.memory('default', id, NOW);

  async function candidates(promotedUntil = NOW * 2, limit = 100) {
    return tested.storage.distilCandidates({ namespace: 'default', ...oldEnough(promotedUntil), limit });
  }

  async function waiting(): Promise<number[]> {
    return (await candidates()).candidates.map(({ ordinal }) => ordinal);
  }

  function search(text: string, filter: MemoryFilter = {}, poolSize = 20): Promise<Signals> {
    return tested.storage.search({ namespace: 'default', text, filter, now: NOW, poolSize, tailSize: 0 });
  }

  const getOrdinals = (memories: readonly SeenMemory[]) => memories.map(({ ordinal }) => ordinal);
  const getIds = (memories: readonly NewMemory[]) => memories.map(({ id }) => id);

  describe('memories that wait to be distilled', () => {
    it('come with their neighbours, how near these are and the rare words that both hold', async () => {
      const [first, second] = (await keepAll(CATS.slice(0, 2))) as [Kept, Kept];
      const far = await keep('Taxes are due.', 40);
      const found = (await candidates()).candidates;
      expect(getOrdinals(found)).toEqual(getOrdinals([first, second, far]));
      const near = found[0]?.neighbours.find(({ ordinal }) => ordinal === second.ordinal);
      expect(near?.cosine).toBeGreaterThan(0.8);
      expect(near?.sharedRareWords).toBe(2);
      const apart = found[0]?.neighbours.find(({ ordinal }) => ordinal === far.ordinal);
      expect(apart?.cosine).toBeLessThan(0.5);
      expect(apart?.sharedRareWords).toBe(0);
    });

    it.each([
      ['has no part in what they share where it begins a turn of a session', 's', 0],
      ['is a part of what they share where it begins a title', DEFAULTS.sessionId, 1],
    ])('a name before a colon %s', async (_, sessionId, shared) => {
      for (const said of ['Ben: The rent went up.', 'Ben: Jazz is fun.']) await keep(said, 1, { sessionId });
      const [first] = (await candidates()).candidates;
      expect(first?.neighbours.map(({ sharedRareWords }) => sharedRareWords)).toEqual([shared]);
    });

    it('are told some at a time', async () => {
      const kept = await keepAll(CATS);
      const first = await candidates(NOW * 2, 2);
      expect(getOrdinals(first.candidates)).toEqual(getOrdinals(kept.slice(0, 2)));
      const request = { namespace: 'default', ...oldEnough(NOW * 2), limit: 2 };
      const second = await tested.storage.distilCandidates({ ...request, after: first.next as number });
      expect(getOrdinals(second.candidates)).toEqual(getOrdinals(kept.slice(2)));
      expect(second.next).toBeUndefined();
    });

    it('are passed over until they have promoted and have vectors', async () => {
      const [old, young] = [await keep('old', 1), await keep('young', 1)];
      await tested.storage.store({ ...young, id: 'without vectors', storedAt: NOW });
      const found = (await candidates(old.storedAt)).candidates;
      expect(getOrdinals(found)).toEqual([old.ordinal]);
      expect(found[0]?.neighbours).toEqual([]);
    });

    it('wait again when their text changes, and no more when they are forgotten', async () => {
      const [first, second, third] = (await keepAll(CATS)) as [Kept, Kept, Kept];
      await inRun((run) => tested.storage.dropCandidates(run, [first, second, third]));
      expect(await waiting()).toEqual([]);
      await tested.storage.update({ namespace: 'default', id: first.id, at: NOW, content: 'new' });
      await tested.storage.putVectors(MODEL, [{ ordinal: first.ordinal, revision: 2, vectors: [vector(1)] }]);
      expect(await waiting()).toEqual([first.ordinal]);
      await tested.storage.forget('default', first.id);
      expect(await waiting()).toEqual([]);
    });

    it('wait again when what corrected them is forgotten', async () => {
      const [corrected] = (await keepAll([CATS[0] ?? ''])) as [Kept];
      const successor = await keep('The cat Mimi is awake.', 1, { supersedes: corrected.id });
      await inRun((run) => tested.storage.dropCandidates(run, [corrected, successor]));
      expect(await waiting()).toEqual([]);
      await tested.storage.forget('default', successor.id);
      expect(await waiting()).toEqual([corrected.ordinal]);
    });

    it('stay when they have been written since they were looked at', async () => {
      const kept = await keep('text', 1);
      await tested.storage.update({ namespace: 'default', id: kept.id, at: NOW, importance: 1 });
      await inRun((run) => tested.storage.dropCandidates(run, [kept]));
      expect(await waiting()).toEqual([kept.ordinal]);
    });

    it('have no neighbours that expire, are corrected or are semantic', async () => {
      const kept = await keepAll(CATS);
      await keep('The cat Mimi visits for a day.', 1, { expiresAt: NOW * 2 });
      const wrong = await keep('The cat Mimi is a dog.', 1);
      const right = await keep('The cat Mimi is a cat.', 1, { supersedes: wrong.id });
      await distil(kept, 'Mimi is a cat.');
      const found = (await candidates()).candidates.find(({ ordinal }) => ordinal === right.ordinal);
      expect(found?.neighbours.map(({ ordinal }) => ordinal).sort()).toEqual(getOrdinals(kept));
      const group = (await semantic())?.ordinal;
      for (const neighbour of found?.neighbours ?? []) {
        expect(neighbour.group).toEqual({ semantic: group, sourceCount: 3 });
      }
    });
  });

  describe('a semantic memory', () => {
    it('has what its sources share, and waits for its vectors', async () => {
      const kept = [
        await keep('one', 1, { tags: ['a', 'b'], importance: 0.2 }),
        await keep('two', 1, { tags: ['b', 'c'], importance: 0.8 }),
      ];
      const ordinal = await distil(kept, 'both');
      expect(await semantic()).toMatchObject({
        ordinal,
        content: 'both',
        tier: 'semantic',
        sessionId: null,
        source: 'consolidation',
        tags: ['b'],
        importance: 0.8,
        createdAt: kept[1]?.createdAt,
        metadata: {},
        version: 1,
        derivedFrom: getIds(kept),
      });
      expect((await tested.storage.stats('default', NOW)).semantic_count).toBe(1);
      const { memories } = await tested.storage.pendingEmbeddings(MODEL, BATCH);
      expect(memories).toEqual([{ ordinal, revision: 1, content: 'both' }]);
      expect(await waiting()).toEqual([]);
      expect((await tested.storage.memory('default', kept[0]?.id ?? '', NOW))?.derivedFrom).toEqual([]);
    });

    it('is not made when a source was written, went, expires or is one elsewhere', async () => {
      const kept = await keepAll([...CATS, 'Mimi was sold.', 'Mimi stays for a day.']);
      const [a, b, c, d, e] = kept as [Kept, Kept, Kept, Kept, Kept];
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

    it('is found with its sources, even where only it matches well', async () => {
      const kept = await keepAll(['alpha', 'beta', 'gamma']);
      for (let i = 0; i < 5; i++) await keep('delta delta delta', 2);
      const ordinal = await distil(kept, 'delta delta delta delta');
      const signals = await search('delta', {}, 1);
      const found = Array.from(signals.ordinals.slice(0, signals.admitted));
      expect(found).toEqual([ordinal, ...getOrdinals(kept)]);
      const getRows = (into: number) => Array.from(signals.distilledInto).filter((row) => row === into).length;
      expect(getRows(found.indexOf(ordinal))).toBe(3);
      expect((await search('delta', { tier: 'semantic' }, 1)).admitted).toBe(1);
    });

    it('is found with its sources, however many are found at once', async () => {
      const [groups, size] = [50, 12];
      const sources: SeenMemory[][] = [];
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
      expect((await tested.storage.search(asked)).admitted).toBe(groups * (1 + size));
    });

    it('gets another text and other sources, unless a client has written it', async () => {
      const [a, b, c] = (await keepAll(CATS)) as [Kept, Kept, Kept];
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

    it('takes no vectors of the text that it had', async () => {
      const [a, b, c] = (await keepAll(CATS)) as [Kept, Kept, Kept];
      const ordinal = await distil([a, b], 'old');
      await inRun((run) =>
        tested.storage.refresh(run, { semantic: ordinal, content: 'new', sources: [a, b, c], at: NOW }),
      );
      await tested.storage.putVectors(MODEL, [{ ordinal, revision: 1, vectors: [vector(1)] }]);
      const { memories } = await tested.storage.pendingEmbeddings(MODEL, BATCH);
      expect(memories).toEqual([{ ordinal, revision: 2, content: 'new' }]);
    });

    it('waits for its vectors behind what clients write, by smaller batches', async () => {
      const [a, b, c, d] = (await keepAll([...CATS, 'Mimi was sold.', 'Mimi came back.'])) as [Kept, Kept, Kept, Kept];
      const first = await distil([a, b], 'one');
      const second = await distil([c, d], 'two', 'another');
      expect(await tested.storage.pendingEmbeddings(MODEL, { ...BATCH, maxCharsAnew: 4 })).toEqual({
        isInUse: true,
        anew: true,
        memories: [{ ordinal: first, revision: 1, content: 'one' }],
        waiting: 0,
      });
      await tested.storage.update({ namespace: 'default', id: 'semantic', at: NOW, content: 'mine' });
      const { anew, memories, waiting } = await tested.storage.pendingEmbeddings(MODEL, BATCH);
      expect({ anew, waiting }).toEqual({ anew: false, waiting: 1 });
      expect(memories.map(({ ordinal }) => ordinal)).not.toContain(second);
    });

    it('keeps its sources when one of them is merged into an older duplicate', async () => {
      const kept = await keepAll(CATS);
      await distil(kept, 'Mimi is a cat.');
      const older = await keep(CATS[0] ?? '', 1, { createdAt: NOW - 5 });
      await inRun((run) => all(() => tested.storage.mergeDuplicates(run, 10)));
      expect((await semantic())?.derivedFrom).toEqual([older.id, ...getIds(kept.slice(1))]);
    });
  });

  describe('a semantic memory whose sources all leave it', () => {
    const expiring = async (sources: readonly Kept[]) => {
      for (const { id } of sources)
        await tested.storage.update({ namespace: 'default', id, at: NOW, expiresAt: NOW * 2 });
    };
    const archived = (sources: readonly Kept[]) =>
      inRun(async (run) => {
        await tested.storage.evictExcess(run, 'episodic', getOrdinals(sources), NOW);
        await all(() => tested.storage.clearArchive(run, NOW, 10));
      });

    it('goes with them where they come to expire or the archive lets them go', async () => {
      const sources = await keepAll(CATS);
      await distil(sources, 'Mimi is a cat.');
      await expiring(sources);
      expect(await semantic()).toBeUndefined();
      const others = await keepAll(['Rex barks.', 'Rex is a dog.']);
      await distil(others, 'Rex is a dog.', 'another');
      await archived(others);
      expect(await semantic('another')).toBeUndefined();
    });

    it('stays where a client has given it a text, and keeps none of what was distilled', async () => {
      const sources = await keepAll(CATS);
      await distil(sources, 'Mimi is a cat.');
      await tested.storage.update({ namespace: 'default', id: 'semantic', at: NOW, content: 'mine' });
      await expiring(sources);
      expect(await semantic()).toMatchObject({ content: 'mine', tier: 'semantic', derivedFrom: [] });
      expect(await tested.storage.history('default', 'semantic', ALL, NOW)).toMatchObject({
        items: [{ content: 'mine' }],
        total: 1,
      });
      const others = await keepAll(['Rex barks.', 'Rex is a dog.']);
      await distil(others, 'Rex is a dog.', 'another');
      await tested.storage.update({ namespace: 'default', id: 'another', at: NOW, content: 'mine too' });
      await archived(others);
      expect(await semantic('another')).toMatchObject({ content: 'mine too', derivedFrom: [] });
      await tested.storage.forget('default', 'another');
      expect(await semantic('another')).toBeUndefined();
    });
  });

  describe('merging sources of two semantic memories', () => {
    it('takes neither away, nor what a client has written there', async () => {
      const [a, b, c, d] = (await keepAll([...CATS, 'Mimi is a cat.'])) as [Kept, Kept, Kept, Kept];
      await distil([a, b], 'one');
      await distil([c, d], 'other', 'other');
      await tested.storage.forget('default', c.id);
      await tested.storage.update({ namespace: 'default', id: 'other', at: NOW, content: 'mine' });
      await tested.storage.update({ namespace: 'default', id: d.id, at: NOW, content: a.content });
      expect(await inRun((run) => tested.storage.mergeDuplicates(run, 10))).toMatchObject({ count: 1 });
      expect(await semantic('other')).toMatchObject({ content: 'mine', derivedFrom: [d.id] });
      expect((await tested.storage.forget('default', a.id)) as object).toMatchObject({
        alsoForgotten: [d.id, 'other'],
      });
    });
  });

  describe('forgetting a source', () => {
    it('leaves what the others say', async () => {
      const [a, b, c] = (await keepAll(CATS, { tags: ['cat'] })) as [Kept, Kept, Kept];
      const ordinal = await distil([a, b, c], CATS.join('\n'));
      expect(await tested.storage.forget('default', c.id)).toMatchObject({ alsoForgotten: [], embedding: true });
      expect(await semantic()).toMatchObject({
        content: `${CATS[0]}\n${CATS[1]}`,
        createdAt: b.createdAt,
        derivedFrom: [a.id, b.id],
        version: 1,
      });
      const signals = await search('mice');
      expect(signals.documentFrequencies).toEqual([0]);
      expect(await tested.storage.forget('default', a.id)).toMatchObject({ alsoForgotten: [] });
      const last = await tested.storage.forget('default', b.id);
      expect(last).toMatchObject({ ordinals: [b.ordinal, ordinal], alsoForgotten: ['semantic'], embedding: false });
      expect(await semantic()).toBeUndefined();
    });

    it('leaves a text that a client has given the semantic memory', async () => {
      const kept = await keepAll(CATS);
      await distil(kept, CATS.join('\n'));
      await tested.storage.update({ namespace: 'default', id: 'semantic', at: NOW, content: 'Mimi is fine.' });
      await tested.storage.forget('default', kept[0]?.id ?? '');
      expect(await semantic()).toMatchObject({ content: 'Mimi is fine.', derivedFrom: getIds(kept.slice(1)) });
    });

    it('takes its words from a text of which a client has changed the tags alone', async () => {
      const kept = await keepAll(CATS);
      await distil(kept, CATS.join('\n'));
      await tested.storage.update({ namespace: 'default', id: 'semantic', at: NOW, tags: ['mine'] });
      await tested.storage.forget('default', kept[0]?.id ?? '');
      expect(await semantic()).toMatchObject({ content: CATS.slice(1).join('\n'), tags: ['mine'] });
    });

    it('that has left the group takes its words from the earlier texts of the semantic memory', async () => {
      const [a, b, c] = (await keepAll(CATS)) as [Kept, Kept, Kept];
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

    it('counts what went with many of them', async () => {
      await distil(await keepAll(CATS, { tags: ['cat'] }), 'Mimi is a cat.');
      await tested.storage.update({ namespace: 'default', id: 'semantic', at: NOW, tags: [] });
      expect(await tested.storage.forgetMany('default', { tag: 'cat' })).toMatchObject({ count: 4 });
    });

    it('goes with its duplicate, what corrects another and what was distilled, all at once', async () => {
      const [a, b, c] = (await keepAll(CATS, { tags: ['cat'] })) as [Kept, Kept, Kept];
      const [d] = (await keepAll(['Mimi is a cat.'])) as [Kept];
      await keep(CATS[0] ?? '', 1, { createdAt: NOW + 5 });
      await inRun((run) => all(() => tested.storage.mergeDuplicates(run, 10)));
      await distil([a, b], 'Mimi sleeps.');
      await distil([c, d], `${CATS[2]}\n${d.content}`, 'other');
      await keep('Mimi is a dog.', 2, { supersedes: d.id, tags: ['cat'] });
      expect(await tested.storage.forgetMany('default', { tag: 'cat' })).toMatchObject({ count: 6, embedding: true });
      expect(await semantic()).toBeUndefined();
      expect(await semantic('other')).toMatchObject({ content: d.content, derivedFrom: [d.id] });
      expect((await tested.storage.memory('default', d.id, NOW))?.supersededBy).toBeNull();
      expect(await tested.storage.integrity()).toEqual([]);
    });
  });

  describe('a group', () => {
    it('is closed once what was distilled from it is forgotten, until a source has another text', async () => {
      const kept = await keepAll(CATS);
      await distil(kept, 'Mimi is a cat.');
      await tested.storage.forget('default', 'semantic');
      const group = { namespace: 'default', joining: getOrdinals(kept), ...oldEnough(NOW) };
      expect(await tested.storage.readGroup(group)).toMatchObject({
        isClosed: true,
        sources: getIds(kept).map((id) => ({ id })),
      });
      await tested.storage.update({
        namespace: 'default',
        id: kept[0]?.id ?? '',
        at: NOW,
        content: 'The cat Mimi wakes.',
      });
      expect((await tested.storage.readGroup(group)).isClosed).toBe(false);
    });
  });

  describe('a source', () => {
    it('is read from where it says something', async () => {
      const [a] = (await keepAll([CATS[0] ?? ''])) as [Kept];
      const content = `${' \n\u3000'.repeat(30_000)}The cat Mimi wakes.`;
      await tested.storage.update({ namespace: 'default', id: a.id, at: NOW, content });
      const group = { namespace: 'default', joining: [a.ordinal], ...oldEnough(NOW * 2) };
      expect((await tested.storage.readGroup(group)).sources).toMatchObject([{ content: 'The cat Mimi wakes.' }]);
    });
  });

  describe('a correction that a run has found', () => {
    it('ranks above what it corrects, until it is undone', async () => {
      const [wrong, right, other] = (await keepAll(CATS)) as [Kept, Kept, Kept];
      await inRun(async (run) => {
        expect(await tested.storage.correct(run, { corrected: wrong, by: right })).toBe(true);
        expect(await tested.storage.correct(run, { corrected: other, by: right })).toBe(false);
        expect(await tested.storage.correct(run, { corrected: right, by: wrong })).toBe(false);
      }, 'correcting');
      expect((await tested.storage.memory('default', wrong.id, NOW))?.supersededBy).toBe(right.id);
      expect((await tested.storage.memory('default', right.id, NOW))?.supersedes).toBe(wrong.id);
      await undo('correcting');
      expect((await tested.storage.memory('default', wrong.id, NOW))?.supersededBy).toBeNull();
      expect((await tested.storage.memory('default', right.id, NOW))?.supersedes).toBeNull();
    });
  });

  describe('undoing', () => {
    it('removes what was distilled, and does not let it be made again', async () => {
      const kept = await keepAll(CATS);
      await distil(kept, 'Mimi is a cat.');
      await undo('run of semantic');
      expect(await semantic()).toBeUndefined();
      const group = { namespace: 'default', joining: getOrdinals(kept), ...oldEnough(NOW * 2) };
      expect((await tested.storage.readGroup(group)).isClosed).toBe(true);
    });

    it('gives a semantic memory its earlier text and sources', async () => {
      const [a, b, c] = (await keepAll(CATS)) as [Kept, Kept, Kept];
      const ordinal = await distil([a, b], 'old');
      const change = { semantic: ordinal, content: 'new', sources: [b, c], at: NOW };
      await inRun((run) => tested.storage.refresh(run, change), 'refreshing');
      await undo('refreshing');
      expect(await semantic()).toMatchObject({ content: 'old', createdAt: b.createdAt, derivedFrom: [a.id, b.id] });
    });

    it('gives a semantic memory a source back that the same run has merged, so that forgetting it takes its words', async () => {
      const [a, b, c, d] = (await keepAll(['Mimi eats.', 'Mimi runs.', 'Mimi eats.', 'Mimi is old.'])) as [
        Kept,
        Kept,
        Kept,
        Kept,
      ];
      await distil([a, b], 'Mimi eats. Mimi runs.', 'one');
      const two = await distil([c, d], 'Mimi eats. Mimi is old.', 'two');
      await inRun(async (run) => {
        await all(() => tested.storage.mergeDuplicates(run, 10));
        await tested.storage.refresh(run, { semantic: two, content: 'Mimi is old.', sources: [d], at: NOW });
      }, 'merging');
      await undo('merging');
      expect(await semantic('two')).toMatchObject({ content: 'Mimi eats. Mimi is old.', derivedFrom: [c.id, d.id] });
      await tested.storage.forget('default', c.id);
      expect(await semantic('two')).toMatchObject({ content: 'Mimi is old.' });
    });

    it('brings back no word of a source that has been forgotten since', async () => {
      const [a, b, c] = (await keepAll(CATS)) as [Kept, Kept, Kept];
      const ordinal = await distil([a, b, c], CATS.join('\n'));
      const change = { semantic: ordinal, content: 'new', sources: [a, b, c], at: NOW };
      await inRun((run) => tested.storage.refresh(run, change), 'refreshing');
      await tested.storage.forget('default', c.id);
      await undo('refreshing');
      expect(await semantic()).toMatchObject({ content: `${CATS[0]}\n${CATS[1]}`, derivedFrom: [a.id, b.id] });
    });

    it('is refused where a client has written what was distilled', async () => {
      await distil(await keepAll(CATS), 'Mimi is a cat.');
      await tested.storage.update({ namespace: 'default', id: 'semantic', at: NOW, content: 'mine' });
      await expect(undo('run of semantic')).rejects.toThrow('written');
    });
  });
}
