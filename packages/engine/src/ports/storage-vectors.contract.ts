import { STATE_SIZE } from '@memoryd/minilm/parts';
import { beforeEach, describe, expect, it } from 'vitest';
import { BATCH, MODEL, NOW, type TestedStorage, vector } from './storage.fixture.ts';
import type { NewMemory } from './storage-memories.ts';

/** What every adapter of the `VectorStorage` port does. */
export function vectorStorageContract(tested: TestedStorage): void {
  const { keep, search, admitted, giveVector } = tested;

  it('names no model before one is used', async () => {
    await tested.openNew();
    await keep();
    expect((await tested.storage.stats('default', NOW)).embedding).toBeNull();
    await tested.storage.useModel(MODEL);
    expect((await tested.storage.stats('default', NOW)).embedding).toEqual({ modelId: MODEL, embedded: 0, total: 1 });
  });

  describe('vectors', () => {
    beforeEach(async () => {
      await tested.storage.useModel(MODEL);
    });

    it('finds the nearest, and says how near', async () => {
      const kept = [];
      for (let i = 0; i < 30; i++) {
        kept.push(await keep());
        await giveVector(kept[i] as { ordinal: number }, i);
      }
      const signals = await search('', {}, NOW + 1e6, vector(7));
      const row = signals.ordinals.indexOf((kept[7] as { ordinal: number }).ordinal);
      expect(row).toBeGreaterThanOrEqual(0);
      expect(signals.cosines[row]).toBeCloseTo(1, 2);
      expect(Math.max(...signals.cosines.slice(0, signals.admitted))).toBe(signals.cosines[row]);
    });

    it('takes the best of a memory’s parts', async () => {
      const kept = await keep();
      expect(await giveVector(kept, 1, 2, 3)).toEqual([kept.ordinal]);
      const signals = await search('', {}, NOW + 1e6, vector(3));
      expect(admitted(signals)).toEqual([kept.ordinal]);
      expect(signals.cosines[0]).toBeCloseTo(1, 2);
    });

    it('filters before the nearest are taken', async () => {
      const far = await keep({ tags: ['mine'] });
      await giveVector(far, 40);
      for (let i = 0; i < 60; i++) await giveVector(await keep(), 5);
      expect(admitted(await search('', { tags: ['mine'] }, NOW + 1e6, vector(5)))).toEqual([far.ordinal]);
    });

    it('lets memories wait in order of arrival until they have vectors', async () => {
      const [a, b] = [await keep(), await keep()];
      const waiting = await tested.storage.pendingEmbeddings(MODEL, BATCH);
      expect(waiting).toEqual({
        isInUse: true,
        anew: false,
        memories: [
          { ordinal: a.ordinal, revision: 1, content: a.content },
          { ordinal: b.ordinal, revision: 1, content: b.content },
        ],
        waiting: 2,
      });
      await giveVector(a, 1);
      expect((await tested.storage.pendingEmbeddings(MODEL, BATCH)).memories.map((m) => m.ordinal)).toEqual([
        b.ordinal,
      ]);
      expect((await tested.storage.stats('default', NOW)).pendingEmbeddings).toBe(1);
    });

    it('bounds a batch that waits by number and by text, but not to nothing', async () => {
      const long = await keep({ content: '語'.repeat(500) });
      const short = [await keep({ content: 'a' }), await keep({ content: 'b' }), await keep({ content: 'c' })];
      const ordinals = async (limit: number, maxChars: number) =>
        (await tested.storage.pendingEmbeddings(MODEL, { limit, maxChars, maxCharsAnew: 1 })).memories.map(
          (memory) => memory.ordinal,
        );
      expect(await ordinals(10, 100)).toEqual([long.ordinal]);
      expect(await ordinals(10, 502)).toEqual([long.ordinal, short[0]?.ordinal, short[1]?.ordinal]);
      expect(await ordinals(2, 1e6)).toEqual([long.ordinal, short[0]?.ordinal]);
    });

    it('answers the newest, newest first, where they are wanted', async () => {
      const kept = [await keep({ content: 'a' }), await keep({ content: 'bcdef' }), await keep({ content: 'g' })];
      const [first, second, third] = kept.map(({ ordinal }) => ordinal);
      const newest = async (limit: number, maxChars: number) =>
        (await tested.storage.pendingEmbeddings(MODEL, { ...BATCH, limit, maxChars, newest: true })).memories.map(
          (memory) => memory.ordinal,
        );
      expect(await newest(2, 1e6)).toEqual([third, second]);
      expect(await newest(10, 5)).toEqual([third]);
      expect(await newest(10, 1e6)).toEqual([third, second, first]);
    });

    it('drops vectors of a text that has changed meanwhile', async () => {
      const kept = await keep();
      await tested.storage.update({ namespace: 'default', id: kept.id, at: NOW, content: 'new text' });
      expect(await giveVector(kept, 1)).toEqual([]);
      expect(admitted(await search('', {}, NOW + 1e6, vector(1)))).toEqual([]);
      expect((await tested.storage.pendingEmbeddings(MODEL, BATCH)).memories).toEqual([
        { ordinal: kept.ordinal, revision: 2, content: 'new text' },
      ]);
    });

    it('lets a memory that is given no vectors wait no longer', async () => {
      await giveVector(await keep());
      expect((await tested.storage.pendingEmbeddings(MODEL, BATCH)).waiting).toBe(0);
    });

    it('never compares vectors of two models, and makes all memories wait for a new one', async () => {
      const kept = await keep();
      await giveVector(kept, 1);
      await tested.storage.useModel('another-model');
      const values = vector(1);
      const request = { namespace: 'default', text: '', filter: {}, now: NOW, poolSize: 10, tailSize: 0 };
      for (const modelId of [MODEL, 'another-model']) {
        expect(admitted(await tested.storage.search({ ...request, vector: { modelId, values } }))).toEqual([]);
      }
      expect((await tested.storage.pendingEmbeddings('another-model', BATCH)).memories).toHaveLength(1);
      const none = { isInUse: false, memories: [], anew: false, waiting: 0 };
      expect(await tested.storage.pendingEmbeddings(MODEL, BATCH)).toEqual(none);
    });

    it('keeps no vectors of a model that is not in use any more', async () => {
      const kept = await keep();
      await tested.storage.useModel('another-model');
      await giveVector(kept, 1);
      expect((await tested.storage.pendingEmbeddings('another-model', BATCH)).memories).toHaveLength(1);
      await tested.storage.useModel(MODEL);
      expect(admitted(await search('', {}, NOW + 1e6, vector(1)))).toEqual([]);
    });

    it('lets what has no vectors go before what has those of another model, be it older or changed', async () => {
      const [first, changed, ...others] = [await keep(), await keep(), await keep(), await keep()];
      for (const kept of [first, changed, ...others]) await giveVector(kept, 1);
      const bare = await keep();
      expect(await tested.storage.useModel('another-model')).toBe(4);
      const arrived = await keep();
      await tested.storage.update({ namespace: 'default', id: changed.id, at: NOW, content: 'new text' });
      const turns: { anew: boolean; ordinals: number[] }[] = [];
      for (;;) {
        const { memories, anew } = await tested.storage.pendingEmbeddings('another-model', BATCH);
        if (memories.length === 0) break;
        turns.push({ anew, ordinals: memories.map(({ ordinal }) => ordinal) });
        const vectors = memories.map(({ ordinal, revision }) => ({ ordinal, revision, vectors: [vector(2)] }));
        await tested.storage.putVectors('another-model', vectors);
      }
      expect(turns).toEqual([
        { anew: false, ordinals: [changed.ordinal, bare.ordinal, arrived.ordinal] },
        { anew: true, ordinals: [first.ordinal, ...others.map(({ ordinal }) => ordinal)] },
      ]);
    });

    it('says how many memories of a namespace the model in use has embedded, over a restart too', async () => {
      const kept = [await keep(), await keep(), await keep({ namespace: 'other' })];
      for (const memory of kept) await giveVector(memory, 1);
      const embedding = async (namespace: string) => (await tested.storage.stats(namespace, NOW)).embedding;
      expect(await embedding('default')).toEqual({ modelId: MODEL, embedded: 2, total: 2 });
      expect(await tested.storage.useModel('another-model')).toBe(3);
      const [first] = kept as [NewMemory & { ordinal: number }];
      await tested.storage.putVectors('another-model', [{ ordinal: first.ordinal, revision: 1, vectors: [vector(1)] }]);
      await tested.reopen();
      expect(await embedding('default')).toEqual({ modelId: 'another-model', embedded: 1, total: 2 });
      expect(await embedding('other')).toEqual({ modelId: 'another-model', embedded: 0, total: 1 });
      expect(await tested.storage.useModel('another-model')).toBe(2);
    });

    it('takes no cosine from vectors of the model before while memories wait for the new one', async () => {
      // A model of its own, since a database keeps the number of dimensions of a model.
      const shortModel = 'a model of two dimensions';
      const old = await keep({ content: 'lantern oil' });
      await giveVector(old, 1);
      await tested.storage.useModel(shortModel);
      const renewed = await keep({ content: 'lantern wick' });
      const short = Float32Array.from([0.6, 0.8]);
      await tested.storage.putVectors(shortModel, [{ ordinal: renewed.ordinal, revision: 1, vectors: [short] }]);
      const request = { namespace: 'default', text: 'lantern', filter: {}, now: NOW + 1e6, poolSize: 10, tailSize: 0 };
      const signals = await tested.storage.search({ ...request, vector: { modelId: shortModel, values: short } });
      const getCosine = (ordinal: number) => signals.cosines[signals.ordinals.indexOf(ordinal)];
      expect(getCosine(renewed.ordinal)).toBeCloseTo(1, 2);
      expect(getCosine(old.ordinal)).toBeNaN();
    });

    it('takes 0 for the cosine of a memory that the model has no vector for, and none while it waits', async () => {
      await giveVector(await keep({ content: 'lantern oil' }), 1);
      const [unknown, waiting] = [await keep({ content: 'lantern 灯笼' }), await keep({ content: 'lantern wick' })];
      expect(await giveVector(unknown)).toEqual([unknown.ordinal]);
      const signals = await search('lantern', {}, NOW + 1e6, vector(1));
      const getCosine = (ordinal: number) => signals.cosines[signals.ordinals.indexOf(ordinal)];
      expect(getCosine(unknown.ordinal)).toBe(0);
      expect(getCosine(waiting.ordinal)).toBeNaN();
    });

    describe('with the states of tokens', () => {
      const states = (...axes: number[]) => {
        const all = new Int8Array(axes.length * STATE_SIZE);
        for (const [token, axis] of axes.entries()) all[token * STATE_SIZE + axis] = 127;
        return all;
      };
      const getNearness = async (memory: { ordinal: number }, ...axes: number[]) => {
        const values = { modelId: MODEL, values: vector(1), states: states(...axes) };
        const request = {
          namespace: 'default',
          text: 'lantern',
          filter: {},
          now: NOW + 1e6,
          poolSize: 10,
          tailSize: 0,
        };
        const signals = await tested.storage.search({ ...request, vector: values });
        return signals.nearnesses[signals.ordinals.indexOf(memory.ordinal)];
      };
      const give = (memory: { ordinal: number }, revision: number, ...parts: Int8Array[]) =>
        tested.storage.putVectors(MODEL, [
          { ordinal: memory.ordinal, revision, vectors: parts.map((_, i) => vector(i)), states: parts },
        ]);

      it('tells how near the tokens of a memory are to those of a query, by its best part', async () => {
        const kept = await keep({ content: 'lantern oil' });
        await give(kept, 1, states(3, 4), states(5, 6, 7));
        expect(await getNearness(kept, 5, 9)).toBeCloseTo(0.5, 5);
        expect(await getNearness(kept, 3, 4)).toBeCloseTo(1, 5);
        expect(await getNearness(kept, 3, 5)).toBeCloseTo(0.5, 5);
      });

      it('tells nothing where the model told none, or the text has changed since', async () => {
        const [kept, without] = [await keep({ content: 'lantern oil' }), await keep({ content: 'lantern wick' })];
        await give(kept, 1, states(3));
        await giveVector(without, 1);
        expect(await getNearness(without, 3)).toBeNaN();
        await tested.storage.update({ namespace: 'default', id: kept.id, at: NOW, content: 'lantern light' });
        expect(await getNearness(kept, 3)).toBeNaN();
        await give(kept, 2, states(4));
        expect(await getNearness(kept, 4)).toBeCloseTo(1, 5);
      });

      it('tells nothing by the states of another model', async () => {
        const kept = await keep({ content: 'lantern oil' });
        await give(kept, 1, states(3));
        await tested.storage.useModel('another-model');
        await give(kept, 1, states(3));
        expect(await getNearness(kept, 3)).toBeNaN();
        await tested.storage.useModel(MODEL);
        expect(await getNearness(kept, 3)).toBeCloseTo(1, 5);
      });
    });

    it('goes back to an earlier model without embedding again what it had', async () => {
      const kept = await keep();
      await giveVector(kept, 1);
      await tested.storage.useModel('another-model');
      await tested.storage.useModel(MODEL);
      expect((await tested.storage.pendingEmbeddings(MODEL, BATCH)).waiting).toBe(0);
      expect(admitted(await search('', {}, NOW + 1e6, vector(1)))).toEqual([kept.ordinal]);
    });
  });
}
