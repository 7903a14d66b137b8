import { toFloats } from '@memoryd/search';
import { expect, it } from 'vitest';
import { LATER, MODEL, type TestedStorage, vector } from './storage.fixture.ts';

/** Contract tests of the reads for maps: outlines, revisions, the state of a scope, and first vectors. */
export function outlineStorageContract(tested: TestedStorage): void {
  const { storeMemory, putVector } = tested;
  const read = (...args: [filter?: object, page?: object]) => {
    const [filter = {}, page = {}] = args;
    return tested.storage.outlines('default', filter, { limit: 10, ...page }, LATER);
  };

  it('returns outlines of the live memories that match a filter, newest first, page by page', async () => {
    const all = [];
    for (let i = 0; i < 5; i++) all.push(await storeMemory({ tags: i === 3 ? ['a', 'b'] : [], content: `text ${i}` }));
    await storeMemory({ namespace: 'other' });
    await storeMemory({ expiresAt: LATER - 1 });
    const ordinals = all.map(({ ordinal }) => ordinal).reverse();
    expect((await read()).map(({ ordinal }) => ordinal)).toEqual(ordinals);
    const first = await read({}, { limit: 2 });
    const second = await read({}, { limit: 2, after: first[1] });
    expect([...first, ...second].map(({ ordinal }) => ordinal)).toEqual(ordinals.slice(0, 4));
    const [tagged, ...others] = await read({ tags: ['b'] });
    expect(others).toEqual([]);
    const { ordinal, id, createdAt, sessionId, userId, agentId } = all[3] as (typeof all)[number];
    const outline = { ordinal, id, createdAt, sessionId, userId, agentId, revision: 1, tier: 'working', tag: 'a' };
    expect(tagged).toEqual({ ...outline, text: '' });
  });

  it('returns the beginnings of texts, but none of a text of more than 64 KiB', async () => {
    await storeMemory({ content: `äöü${'x'.repeat(100)}` });
    await storeMemory({ content: 'y'.repeat(65 * 1024) });
    expect((await read({}, { textChars: 4 })).map(({ text }) => text)).toEqual(['', 'äöüx']);
  });

  it('returns outlines of the users and agents of a filter only', async () => {
    await storeMemory({ userId: 'ben' });
    const own = await storeMemory({ userId: 'ada', agentId: 'cook' });
    const shared = await storeMemory();
    expect((await read({ userIds: ['ada'] })).map(({ ordinal }) => ordinal)).toEqual([own.ordinal]);
    const withShared = await read({ userIds: ['ada', ''] });
    expect(withShared.map(({ ordinal }) => ordinal)).toEqual([shared.ordinal, own.ordinal]);
    expect(await read({ userIds: ['ada'], agentIds: ['guide'] })).toEqual([]);
  });

  it('returns the revisions of readable memories by id, and of no others', async () => {
    const [own, changed] = [await storeMemory({ userId: 'ada' }), await storeMemory({ userId: 'ada' })];
    const [other, expired] = [await storeMemory({ userId: 'ben' }), await storeMemory({ expiresAt: LATER - 1 })];
    const elsewhere = await storeMemory({ namespace: 'other' });
    await tested.storage.update({ namespace: 'default', id: changed.id, at: LATER, content: 'another text' });
    const ids = [own.id, own.id, changed.id, other.id, expired.id, elsewhere.id, 'nobody'];
    const getRevisions = async (of: object) => [...(await tested.storage.revisions('default', ids, of, LATER))].sort();
    const hers = [
      [own.id, 1],
      [changed.id, 2],
    ];
    expect(await getRevisions({ userIds: ['ada'] })).toEqual(hers.sort());
    expect(await getRevisions({})).toEqual([...hers, [other.id, 1]].sort());
    await tested.storage.forget('default', own.id);
    expect(await getRevisions({ userIds: ['ada'] })).toEqual([[changed.id, 2]]);
    expect(await tested.storage.revisions('default', [], {}, LATER)).toEqual(new Map());
  });

  it('returns another state of a scope after each change of its memories, and the same after others', async () => {
    const getState = () => tested.storage.scopeState('default', { userIds: ['ada'] }, LATER);
    expect(await getState()).toEqual({ count: 0, lastOrdinal: 0, changedAt: 0 });
    const { id, ordinal } = await storeMemory({ userId: 'ada' });
    const stored = await getState();
    expect(stored).toMatchObject({ count: 1, lastOrdinal: ordinal });
    await storeMemory({ userId: 'ben' });
    expect(await getState()).toEqual(stored);
    await tested.storage.update({ namespace: 'default', id, at: LATER, content: 'another text' });
    expect(await getState()).toEqual({ count: 1, lastOrdinal: ordinal, changedAt: LATER });
    await tested.storage.forget('default', id);
    expect((await getState()).count).toBe(0);
  });

  it('returns the first vector of each memory that has one', async () => {
    await tested.openNew();
    const [one, several, none, rejected] = [
      await storeMemory(),
      await storeMemory(),
      await storeMemory(),
      await storeMemory(),
    ];
    expect(await tested.storage.firstVectors('default', [one.ordinal])).toBeUndefined();
    await tested.storage.useModel(MODEL);
    await putVector(one, 3);
    await putVector(several, 5, 6);
    // As of a text that the model rejects.
    await putVector(rejected);
    const ordinals = [none.ordinal, rejected.ordinal, one.ordinal, several.ordinal];
    const found = await tested.storage.firstVectors('default', ordinals);
    expect(found?.modelId).toBe(MODEL);
    expect([...(found?.ordinals ?? [])].sort()).toEqual([one.ordinal, several.ordinal].sort());
    const bytes = (found?.vectors.length ?? 0) / 2;
    for (const [i, ordinal] of (found?.ordinals ?? []).entries()) {
      const values = toFloats(found?.vectors.slice(i * bytes, (i + 1) * bytes) as Uint8Array);
      const expected = vector(ordinal === one.ordinal ? 3 : 5);
      for (const [at, component] of expected.entries()) expect(values[at]).toBeCloseTo(component, 2);
    }
    await tested.storage.useModel('another-model');
    expect((await tested.storage.firstVectors('default', ordinals))?.ordinals).toEqual([]);
  });
}
