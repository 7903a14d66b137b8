import type { EmbeddingBatch, MemoryVectors, NewMemory } from '@memoryd/core';
import type { NamespaceUser } from '@memoryd/core/ports';
import { STATE_SIZE } from '@memoryd/minilm/parts';
import { beforeEach, describe, expect, it } from 'vitest';
import { BATCH, MODEL, NOW, type TestedStorage, vector } from './storage.fixture.ts';

/** Contract tests of the `VectorStorage` port. */
export function vectorStorageContract(tested: TestedStorage): void {
  const { storeMemory, search, getAdmitted, putVector } = tested;

  it('reports no embedding model until a model is used', async () => {
    await tested.openNew();
    await storeMemory();
    expect((await tested.storage.stats('default', NOW)).embedding).toBeNull();
    await tested.storage.useModel(MODEL);
    expect((await tested.storage.stats('default', NOW)).embedding).toEqual({ modelId: MODEL, embedded: 0, total: 1 });
  });

  describe('storage with an embedding model', () => {
    beforeEach(async () => {
      await tested.storage.useModel(MODEL);
    });

    it('finds the nearest memory and returns its cosine', async () => {
      const stored = [];
      for (let i = 0; i < 30; i++) {
        stored.push(await storeMemory());
        await putVector(stored[i] as { ordinal: number }, i);
      }
      const signals = await search('', {}, NOW + 1e6, vector(7));
      const row = signals.ordinals.indexOf((stored[7] as { ordinal: number }).ordinal);
      expect(row).toBeGreaterThanOrEqual(0);
      expect(signals.cosines[row]).toBeCloseTo(1, 2);
      expect(Math.max(...signals.cosines.slice(0, signals.candidateCount))).toBe(signals.cosines[row]);
    });

    it('keeps the ranges of cosines with each model, and returns those of the model in use', async () => {
      expect(await tested.storage.cosineScales()).toBeUndefined();
      const scales = { latin: { unrelated: 0.7, related: 0.9 } };
      await tested.storage.keepCosineScales(MODEL, scales);
      expect(await tested.storage.cosineScales()).toEqual(scales);
      await tested.storage.useModel('another-model');
      expect(await tested.storage.cosineScales()).toBeUndefined();
      await tested.storage.useModel(MODEL);
      expect(await tested.storage.cosineScales()).toEqual(scales);
    });

    it('uses the best cosine over the parts of a memory', async () => {
      const stored = await storeMemory();
      expect(await putVector(stored, 1, 2, 3)).toEqual([stored.ordinal]);
      const signals = await search('', {}, NOW + 1e6, vector(3));
      expect(getAdmitted(signals)).toEqual([stored.ordinal]);
      expect(signals.cosines[0]).toBeCloseTo(1, 2);
    });

    it('applies the filter before it selects the nearest memories', async () => {
      const far = await storeMemory({ tags: ['mine'] });
      await putVector(far, 40);
      for (let i = 0; i < 60; i++) await putVector(await storeMemory(), 5);
      expect(getAdmitted(await search('', { tags: ['mine'] }, NOW + 1e6, vector(5)))).toEqual([far.ordinal]);
    });

    it('returns pending memories in order of arrival until they have vectors', async () => {
      const [a, b] = [await storeMemory(), await storeMemory()];
      const waiting = await tested.storage.pendingEmbeddings(MODEL, BATCH);
      expect(waiting).toMatchObject({
        isInUse: true,
        reembed: false,
        memories: [
          { ordinal: a.ordinal, revision: 1, content: a.content },
          { ordinal: b.ordinal, revision: 1, content: b.content },
        ],
        waiting: 2,
      });
      await putVector(a, 1);
      expect((await tested.storage.pendingEmbeddings(MODEL, BATCH)).memories.map((m) => m.ordinal)).toEqual([
        b.ordinal,
      ]);
      expect((await tested.storage.stats('default', NOW)).pendingEmbeddings).toBe(1);
    });

    it('limits a batch of pending memories by number and by characters, but returns at least one', async () => {
      const long = await storeMemory({ content: '語'.repeat(500) });
      const short = [
        await storeMemory({ content: 'a' }),
        await storeMemory({ content: 'b' }),
        await storeMemory({ content: 'c' }),
      ];
      const ordinals = async (limit: number, maxChars: number) =>
        (await tested.storage.pendingEmbeddings(MODEL, { limit, maxChars, maxReembeddingChars: 1 })).memories.map(
          (memory) => memory.ordinal,
        );
      expect(await ordinals(10, 100)).toEqual([long.ordinal]);
      expect(await ordinals(10, 502)).toEqual([long.ordinal, short[0]?.ordinal, short[1]?.ordinal]);
      expect(await ordinals(2, 1e6)).toEqual([long.ordinal, short[0]?.ordinal]);
    });

    it('returns pending memories newest first on request', async () => {
      const stored = [
        await storeMemory({ content: 'a' }),
        await storeMemory({ content: 'bcdef' }),
        await storeMemory({ content: 'g' }),
      ];
      const [first, second, third] = stored.map(({ ordinal }) => ordinal);
      const newest = async (limit: number, maxChars: number) =>
        (await tested.storage.pendingEmbeddings(MODEL, { ...BATCH, limit, maxChars, newest: true })).memories.map(
          (memory) => memory.ordinal,
        );
      expect(await newest(2, 1e6)).toEqual([third, second]);
      expect(await newest(10, 5)).toEqual([third]);
      expect(await newest(10, 1e6)).toEqual([third, second, first]);
    });

    describe('with long texts', () => {
      const LONG = { ...BATCH, long: true } as const;
      const content = 'lantern '.repeat(1000);
      const readLong = async (modelId = MODEL) => (await tested.storage.pendingEmbeddings(modelId, LONG)).memories;
      const getCosine = async ({ ordinal }: { ordinal: number }, axis: number) => {
        const signals = await search('lantern', {}, NOW + 1e6, vector(axis));
        return signals.cosines[signals.ordinals.indexOf(ordinal)];
      };
      const putPiece = ({ ordinal }: { ordinal: number }, piece: Omit<MemoryVectors, 'ordinal' | 'revision'>) =>
        tested.storage.putVectors(MODEL, [{ ordinal, revision: 1, ...piece }]);

      it('finds a memory by the pieces of its text that have vectors, and returns it as pending from their end on', async () => {
        const stored = await storeMemory({ content });
        await storeMemory({ content: 'lantern oil' });
        expect(await readLong()).toEqual([{ ordinal: stored.ordinal, revision: 1, content }]);
        expect(await putPiece(stored, { vectors: [vector(1), vector(2)], next: 3000 })).toEqual([stored.ordinal]);
        expect(await getCosine(stored, 2)).toBeCloseTo(1, 2);
        await tested.reopen();
        expect(await readLong()).toEqual([{ ordinal: stored.ordinal, revision: 1, content, from: 3000 }]);
        expect((await tested.storage.stats('default', NOW)).pendingEmbeddings).toBe(2);
        expect(await putPiece(stored, { vectors: [], from: 3000, next: 4000 })).toEqual([stored.ordinal]);
        expect(await putPiece(stored, { vectors: [vector(3)], from: 4000 })).toEqual([stored.ordinal]);
        for (const axis of [1, 2, 3]) expect(await getCosine(stored, axis)).toBeCloseTo(1, 2);
        expect(await readLong()).toEqual([]);
        expect((await tested.storage.stats('default', NOW)).pendingEmbeddings).toBe(1);
      });

      it('skips a piece that does not begin where the vectors of the memory end', async () => {
        const stored = await storeMemory({ content });
        expect(await putPiece(stored, { vectors: [vector(1)], from: 3000 })).toEqual([]);
        await putPiece(stored, { vectors: [vector(1)], next: 3000 });
        for (const from of [0, 2000]) {
          expect(await putPiece(stored, { vectors: [vector(2)], from })).toEqual([]);
        }
        expect(await readLong()).toMatchObject([{ from: 3000 }]);
        expect(await getCosine(stored, 1)).toBeCloseTo(1, 2);
        expect(await getCosine(stored, 2)).toBeLessThan(0.5);
      });

      it('drops the pieces of an earlier text', async () => {
        const stored = await storeMemory({ content });
        await putPiece(stored, { vectors: [vector(1)], next: 3000 });
        const changed = `changed ${content}`;
        await tested.storage.update({ namespace: 'default', id: stored.id, at: NOW, content: changed });
        expect(await getCosine(stored, 1)).toBeNaN();
        expect(await putPiece(stored, { vectors: [vector(1)], from: 3000 })).toEqual([]);
        expect(await readLong()).toEqual([{ ordinal: stored.ordinal, revision: 2, content: changed }]);
      });

      it('continues the pieces of a model that is used again, and never mixes them with those of another model', async () => {
        const stored = await storeMemory({ content });
        await putPiece(stored, { vectors: [vector(1)], next: 3000 });
        expect(await tested.storage.useModel('another-model')).toBe(1);
        expect(await readLong('another-model')).toEqual([{ ordinal: stored.ordinal, revision: 1, content }]);
        await tested.storage.useModel(MODEL);
        expect((await tested.storage.stats('default', NOW)).embedding).toMatchObject({ embedded: 0, total: 1 });
        expect(await getCosine(stored, 1)).toBeCloseTo(1, 2);
        expect(await readLong()).toMatchObject([{ from: 3000 }]);
        await tested.storage.useModel('another-model');
        const { ordinal } = stored;
        const piece = { ordinal, revision: 1, vectors: [vector(2)], next: 2000 };
        expect(await tested.storage.putVectors('another-model', [piece])).toEqual([ordinal]);
        expect(await readLong('another-model')).toMatchObject([{ from: 2000 }]);
        await tested.storage.useModel(MODEL);
        expect(await readLong()).toEqual([{ ordinal, revision: 1, content }]);
        await putPiece(stored, { vectors: [vector(3)] });
        expect(await getCosine(stored, 3)).toBeCloseTo(1, 2);
        expect(await getCosine(stored, 2)).toBeLessThan(0.5);
      });

      it('returns each long text before the rests of others, whose users take turns', async () => {
        const [first, second, third] = [
          await storeMemory({ content, userId: 'ada' }),
          await storeMemory({ content, userId: 'ada' }),
          await storeMemory({ content, userId: 'bob' }),
        ];
        let after: NamespaceUser | undefined;
        const next = async () => {
          const pending = await tested.storage.pendingEmbeddings(MODEL, { ...LONG, limit: 1, after });
          ({ after } = pending);
          return pending.memories[0]?.ordinal;
        };
        expect(await next()).toBe(first.ordinal);
        await putPiece(first, { vectors: [vector(1)], next: 3000 });
        expect(await next()).toBe(third.ordinal);
        await putPiece(third, { vectors: [vector(1)], next: 3000 });
        expect(await next()).toBe(second.ordinal);
        await putPiece(second, { vectors: [vector(1)], next: 3000 });
        expect([await next(), await next(), await next()]).toEqual([third.ordinal, first.ordinal, third.ordinal]);
      });

      it('returns a memory whose text has become long as a long text', async () => {
        const stored = await storeMemory();
        await tested.storage.update({ namespace: 'default', id: stored.id, at: NOW, content });
        expect((await tested.storage.pendingEmbeddings(MODEL, BATCH)).memories).toEqual([]);
        expect(await readLong()).toEqual([{ ordinal: stored.ordinal, revision: 2, content }]);
      });
    });

    it('lets users take turns in a batch, and continues with other users in the next batch', async () => {
      for (let i = 0; i < 12; i++) await storeMemory({ userId: 'ada', content: `ada ${i}` });
      await storeMemory({ userId: 'bob', content: 'bob 0' });
      await storeMemory({ namespace: 'other', content: 'other 0' });
      const read = async (batch: Partial<EmbeddingBatch>) => {
        const { memories, after } = await tested.storage.pendingEmbeddings(MODEL, { ...BATCH, ...batch });
        return { contents: memories.map(({ content }) => content), after };
      };
      expect((await read({ limit: 6 })).contents).toEqual(['ada 0', 'bob 0', 'other 0', 'ada 1']);
      expect((await read({ limit: 4, newest: true })).contents).toEqual(['ada 11', 'bob 0', 'other 0', 'ada 10']);
      const first = await read({ limit: 1 });
      const second = await read({ limit: 1, after: first.after });
      const third = await read({ limit: 1, after: second.after });
      const fourth = await read({ limit: 1, after: third.after });
      const contents = [first, second, third, fourth].flatMap((batch) => batch.contents);
      expect(contents).toEqual(['ada 0', 'bob 0', 'other 0', 'ada 0']);
    });

    it('returns which awaited memories have vectors or are gone', async () => {
      const [pending, embedded, started, forgotten] = [
        await storeMemory(),
        await storeMemory(),
        await storeMemory(),
        await storeMemory(),
      ];
      await putVector(embedded, 1);
      const { ordinal } = started;
      await tested.storage.putVectors(MODEL, [{ ordinal, revision: 1, vectors: [vector(1)], next: 1 }]);
      await tested.storage.forget('default', forgotten.id);
      const awaited = [pending, embedded, started, forgotten].map((memory) => memory.ordinal);
      const { settled } = await tested.storage.pendingEmbeddings(MODEL, { ...BATCH, awaited });
      expect(settled).toEqual(awaited.slice(1));
    });

    it('ignores vectors of a text that has changed since it was read', async () => {
      const stored = await storeMemory();
      await tested.storage.update({ namespace: 'default', id: stored.id, at: NOW, content: 'new text' });
      expect(await putVector(stored, 1)).toEqual([]);
      expect(getAdmitted(await search('', {}, NOW + 1e6, vector(1)))).toEqual([]);
      expect((await tested.storage.pendingEmbeddings(MODEL, BATCH)).memories).toEqual([
        { ordinal: stored.ordinal, revision: 2, content: 'new text' },
      ]);
    });

    it('storage with an embedding model does not return a memory as pending after it got an empty list of vectors', async () => {
      await putVector(await storeMemory());
      expect((await tested.storage.pendingEmbeddings(MODEL, BATCH)).waiting).toBe(0);
    });

    it('never compares vectors of two models, and returns all memories as pending for a new model', async () => {
      const stored = await storeMemory();
      await putVector(stored, 1);
      await tested.storage.useModel('another-model');
      const values = vector(1);
      const request = { namespace: 'default', text: '', filter: {}, now: NOW, poolSize: 10, tailSize: 0 };
      for (const modelId of [MODEL, 'another-model']) {
        expect(getAdmitted(await tested.storage.search({ ...request, vector: { modelId, values } }))).toEqual([]);
      }
      expect((await tested.storage.pendingEmbeddings('another-model', BATCH)).memories).toHaveLength(1);
      const none = { isInUse: false, memories: [], reembed: false, waiting: 0, settled: [] };
      expect(await tested.storage.pendingEmbeddings(MODEL, BATCH)).toEqual(none);
    });

    it('ignores vectors of a model that is no longer in use', async () => {
      const stored = await storeMemory();
      await tested.storage.useModel('another-model');
      await putVector(stored, 1);
      expect((await tested.storage.pendingEmbeddings('another-model', BATCH)).memories).toHaveLength(1);
      await tested.storage.useModel(MODEL);
      expect(getAdmitted(await search('', {}, NOW + 1e6, vector(1)))).toEqual([]);
    });

    it('returns new and changed memories as pending before memories with vectors of another model', async () => {
      const [first, changed, ...others] = [
        await storeMemory(),
        await storeMemory(),
        await storeMemory(),
        await storeMemory(),
      ];
      for (const stored of [first, changed, ...others]) await putVector(stored, 1);
      const bare = await storeMemory();
      expect(await tested.storage.useModel('another-model')).toBe(4);
      const arrived = await storeMemory();
      await tested.storage.update({ namespace: 'default', id: changed.id, at: NOW, content: 'new text' });
      const batches: { reembed: boolean; ordinals: number[] }[] = [];
      for (;;) {
        const { memories, reembed } = await tested.storage.pendingEmbeddings('another-model', BATCH);
        if (memories.length === 0) break;
        batches.push({ reembed, ordinals: memories.map(({ ordinal }) => ordinal) });
        const vectors = memories.map(({ ordinal, revision }) => ({ ordinal, revision, vectors: [vector(2)] }));
        await tested.storage.putVectors('another-model', vectors);
      }
      expect(batches).toEqual([
        { reembed: false, ordinals: [changed.ordinal, bare.ordinal, arrived.ordinal] },
        { reembed: true, ordinals: [first.ordinal, ...others.map(({ ordinal }) => ordinal)] },
      ]);
    });

    it('counts the memories of a namespace that have vectors of the model in use, even after a restart', async () => {
      const stored = [await storeMemory(), await storeMemory(), await storeMemory({ namespace: 'other' })];
      for (const memory of stored) await putVector(memory, 1);
      const embedding = async (namespace: string) => (await tested.storage.stats(namespace, NOW)).embedding;
      expect(await embedding('default')).toEqual({ modelId: MODEL, embedded: 2, total: 2 });
      expect(await tested.storage.useModel('another-model')).toBe(3);
      const [first] = stored as [NewMemory & { ordinal: number }];
      await tested.storage.putVectors('another-model', [{ ordinal: first.ordinal, revision: 1, vectors: [vector(1)] }]);
      await tested.reopen();
      expect(await embedding('default')).toEqual({ modelId: 'another-model', embedded: 1, total: 2 });
      expect(await embedding('other')).toEqual({ modelId: 'another-model', embedded: 0, total: 1 });
      expect(await tested.storage.useModel('another-model')).toBe(2);
    });

    it('returns NaN as the cosine of a vector of the previous model while memories are pending for the new model', async () => {
      // A separate model, since a database stores the number of dimensions of each model.
      const shortModel = 'a model of two dimensions';
      const old = await storeMemory({ content: 'lantern oil' });
      await putVector(old, 1);
      await tested.storage.useModel(shortModel);
      const renewed = await storeMemory({ content: 'lantern wick' });
      const short = Float32Array.from([0.6, 0.8]);
      await tested.storage.putVectors(shortModel, [{ ordinal: renewed.ordinal, revision: 1, vectors: [short] }]);
      const request = { namespace: 'default', text: 'lantern', filter: {}, now: NOW + 1e6, poolSize: 10, tailSize: 0 };
      const signals = await tested.storage.search({ ...request, vector: { modelId: shortModel, values: short } });
      const getCosine = (ordinal: number) => signals.cosines[signals.ordinals.indexOf(ordinal)];
      expect(getCosine(renewed.ordinal)).toBeCloseTo(1, 2);
      expect(getCosine(old.ordinal)).toBeNaN();
    });

    it('returns the cosine NaN for a pending memory, and 0 for a memory for which the model returned no vector', async () => {
      await putVector(await storeMemory({ content: 'lantern oil' }), 1);
      const [unknown, waiting] = [
        await storeMemory({ content: 'lantern 灯笼' }),
        await storeMemory({ content: 'lantern wick' }),
      ];
      expect(await putVector(unknown)).toEqual([unknown.ordinal]);
      const signals = await search('lantern', {}, NOW + 1e6, vector(1));
      const getCosine = (ordinal: number) => signals.cosines[signals.ordinals.indexOf(ordinal)];
      expect(getCosine(unknown.ordinal)).toBe(0);
      expect(getCosine(waiting.ordinal)).toBeNaN();
    });

    describe('with token states', () => {
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

      it('returns the similarity of the query tokens to the best part of a memory', async () => {
        const stored = await storeMemory({ content: 'lantern oil' });
        await give(stored, 1, states(3, 4), states(5, 6, 7));
        expect(await getNearness(stored, 5, 9)).toBeCloseTo(0.5, 5);
        expect(await getNearness(stored, 3, 4)).toBeCloseTo(1, 5);
        expect(await getNearness(stored, 3, 5)).toBeCloseTo(0.5, 5);
      });

      it('compares the states of all pieces of a text', async () => {
        const { ordinal } = await storeMemory({ content: 'lantern oil' });
        const put = (piece: Partial<MemoryVectors>) =>
          tested.storage.putVectors(MODEL, [{ ordinal, revision: 1, vectors: [vector(1)], ...piece }]);
        await put({ states: [states(3, 4)], next: 4 });
        await put({ vectors: [], from: 4, next: 6 });
        await put({ states: [states(5, 6)], from: 6 });
        for (const axis of [4, 6]) expect(await getNearness({ ordinal }, axis)).toBeCloseTo(1, 5);
      });

      it('returns the similarity NaN if the model returned no token states or the text has changed since', async () => {
        const [stored, without] = [
          await storeMemory({ content: 'lantern oil' }),
          await storeMemory({ content: 'lantern wick' }),
        ];
        await give(stored, 1, states(3));
        await putVector(without, 1);
        expect(await getNearness(without, 3)).toBeNaN();
        await tested.storage.update({ namespace: 'default', id: stored.id, at: NOW, content: 'lantern light' });
        expect(await getNearness(stored, 3)).toBeNaN();
        await give(stored, 2, states(4));
        expect(await getNearness(stored, 4)).toBeCloseTo(1, 5);
      });

      it('ignores token states of another model', async () => {
        const stored = await storeMemory({ content: 'lantern oil' });
        await give(stored, 1, states(3));
        await tested.storage.useModel('another-model');
        await give(stored, 1, states(3));
        expect(await getNearness(stored, 3)).toBeNaN();
        await tested.storage.useModel(MODEL);
        expect(await getNearness(stored, 3)).toBeCloseTo(1, 5);
      });
    });

    it('reuses the vectors of an earlier model without re-embedding', async () => {
      const stored = await storeMemory();
      await putVector(stored, 1);
      await tested.storage.useModel('another-model');
      await tested.storage.useModel(MODEL);
      expect((await tested.storage.pendingEmbeddings(MODEL, BATCH)).waiting).toBe(0);
      expect(getAdmitted(await search('', {}, NOW + 1e6, vector(1)))).toEqual([stored.ordinal]);
    });
  });
}
