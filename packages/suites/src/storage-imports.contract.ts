import type { NewMemory, StoreOutcome } from '@memoryd/core';
import type { MemoryRecord } from '@memoryd/core/ports';
import { describe, expect, it } from 'vitest';
import type { TestedStorage } from './storage.fixture.ts';
import { LATER, NOW, nextMemory } from './storage.fixture.ts';

const ADA = { userId: 'ada', agentId: '' };
const PAGE = { limit: 100, maxBytes: 1e6 };

/** Contract tests of the `ImportStorage` port, and of stores that belong to an import. */
export function importStorageContract(tested: TestedStorage): void {
  let begun = 0;
  const begin = async (fields: { contentKey?: string; userId?: string; name?: string; namespace?: string } = {}) => {
    const { namespace = 'default', ...others } = fields;
    const id = `import-${++begun}`;
    const import_ = { id, agentId: '', userId: '', format: 'chatgpt' as const, startedAt: NOW + begun, ...others };
    return tested.storage.beginImport(namespace, import_);
  };
  /** Begins an import, and returns functions that store its texts. */
  const beginNew = async (fields: { userId?: string; namespace?: string } = {}) => {
    const { userId = '', namespace = 'default' } = fields;
    const { id } = await begin(fields);
    const toMemory = ([externalId, content]: readonly [string, string], others: Partial<NewMemory> = {}) =>
      nextMemory({
        ...{ namespace, userId, externalId, content, given: ['content'] as const },
        imported: { importId: id, digest: content },
        ...others,
      });
    const storeAll = (texts: readonly (readonly [string, string])[], others: Partial<NewMemory> = {}) =>
      tested.storage.storeMany(texts.map((text) => toMemory(text, others)));
    const undo = () => tested.storage.undoImport(namespace, id, { of: {}, at: LATER });
    return { id, toMemory, storeAll, undo };
  };
  const getKinds = (outcomes: readonly StoreOutcome[]) => outcomes.map(({ outcome }) => outcome);
  const getTexts = async (namespace = 'default') => {
    const { items } = await tested.storage.memories(namespace, {}, PAGE, LATER);
    return items.map(({ content }) => content).sort();
  };
  const getImport = (id: string) => tested.storage.importRun('default', id, {});

  describe('imports', () => {
    it('an import of the same owner, format and content key is continued under its id, and others are new', async () => {
      const { id } = await begin({ contentKey: 'k', userId: 'ada' });
      await tested.storage.endImport('default', id, NOW);
      await tested.reopen();
      expect(await begin({ contentKey: 'k', userId: 'ada' })).toEqual({ outcome: 'begun', id });
      expect(await getImport(id)).toMatchObject({ endedAt: null, ...ADA, format: 'chatgpt', memoryCount: 0 });
      const others = [{ contentKey: 'k' }, { contentKey: 'l', userId: 'ada' }, { userId: 'ada' }, { userId: 'ada' }];
      for (const other of others) expect((await begin(other)).id).toBe(`import-${begun}`);
      expect((await begin({ contentKey: 'k', userId: 'ada', namespace: 'other' })).id).toBe(`import-${begun}`);
    });

    it('imports are listed newest first, by owner and in pages', async () => {
      const ids: string[] = [];
      for (const userId of ['ada', 'ben', 'ada', '']) ids.push((await begin({ userId, name: `of ${userId}` })).id);
      const list = async (of: object, after?: number) =>
        tested.storage.imports('default', { ...PAGE, limit: 2, ...(after !== undefined && { after }) }, of);
      const first = await list({});
      expect(first.items.map(({ id }) => id)).toEqual([ids[3], ids[2]]);
      expect(first.total).toBe(4);
      expect((await list({}, first.next)).items.map(({ id }) => id)).toEqual([ids[1], ids[0]]);
      const ofAda = await list({ userIds: ['ada'] });
      expect(ofAda.items.map(({ id, name }) => [id, name])).toEqual([
        [ids[2], 'of ada'],
        [ids[0], 'of ada'],
      ]);
      expect(ofAda).toMatchObject({ total: 2 });
      expect(ofAda).not.toHaveProperty('next');
      expect(await tested.storage.importRun('default', ids[1] as string, { userIds: ['ada'] })).toBeUndefined();
    });

    it('texts of an import are stored once, and a repeat changes only texts that changed in the source', async () => {
      const first = await beginNew();
      expect(
        getKinds(
          await first.storeAll([
            ['a', 'one'],
            ['b', 'two'],
          ]),
        ),
      ).toEqual(['stored', 'stored']);
      const again = await beginNew();
      const names = ['one', 'two, corrected', 'three'].map((digest, i) => {
        return { userId: '', agentId: '', externalId: 'abc'[i] as string, aliases: [], digest };
      });
      expect(await tested.storage.unchangedTexts('default', names)).toEqual([true, false, false]);
      const outcomes = await again.storeAll([
        ['a', 'one'],
        ['b', 'two, corrected'],
        ['c', 'three'],
      ]);
      expect(getKinds(outcomes)).toEqual(['unchanged', 'updated', 'stored']);
      expect(await getTexts()).toEqual(['one', 'three', 'two, corrected']);
      expect(await tested.storage.unchangedTexts('default', names)).toEqual([true, true, true]);
      expect(await getImport(first.id)).toMatchObject({ importedCount: 2, memoryCount: 2 });
      expect(await getImport(again.id)).toMatchObject({ importedCount: 1, memoryCount: 1 });
    });

    it('an external id that occurs twice in one import is compared with its first text', async () => {
      const { storeAll, undo } = await beginNew();
      const texts = [
        ['a', 'one'],
        ['a', 'one'],
        ['a', 'two'],
        ['b', 'x'],
      ] as const;
      expect(getKinds(await storeAll(texts))).toEqual(['stored', 'unchanged', 'updated', 'stored']);
      expect(await getTexts()).toEqual(['two', 'x']);
      expect(await undo()).toMatchObject({ forgotten: 2, kept: 0 });
    });

    it('an import does not change memories that someone changed, or that were stored in another way', async () => {
      const first = await beginNew();
      const changed = first.toMemory(['a', 'one']);
      await tested.storage.storeMany([changed]);
      await tested.storage.update({ namespace: 'default', id: changed.id, at: LATER, importance: 0.9 });
      await tested.storeMemory({ externalId: 'hook', content: 'by a hook' });
      const again = await beginNew();
      const outcomes = await again.storeAll([
        ['a', 'one, corrected'],
        ['hook', 'by an import'],
      ]);
      expect(getKinds(outcomes)).toEqual(['unchanged', 'unchanged']);
      expect(await getTexts()).toEqual(['by a hook', 'one']);
      expect(await first.undo()).toMatchObject({ forgotten: 0, kept: 1 });
      expect(await getTexts()).toEqual(['by a hook', 'one']);
      expect(await again.storeAll([['c', 'three']])).toMatchObject([{ outcome: 'stored' }]);
    });

    it('a text is unchanged if it was stored under an alias, unless an import stored the memory with the alias', async () => {
      await tested.storeMemory({ externalId: 'hook', content: 'by a hook' });
      await (await beginNew()).storeAll([['text', 'of an import']]);
      const name = { userId: '', agentId: '', externalId: 'new', digest: '' };
      const names = [['text'], ['text', 'hook'], ['nobody']].map((aliases) => ({ ...name, aliases }));
      const ofAda = { ...name, userId: 'ada', aliases: ['hook'] };
      expect(await tested.storage.unchangedTexts('default', [...names, ofAda])).toEqual([false, true, false, false]);
    });

    it('a memory that a text replaces must exist, and a text over a quota is not stored', async () => {
      await tested.storage.setUserQuota('default', 'ada', { memories: 2, bytes: null });
      const { storeAll, id } = await beginNew({ userId: 'ada' });
      expect(getKinds(await storeAll([['a', 'one']], { supersedes: 'nobody' }))).toEqual(['superseded-unknown']);
      const outcomes = await storeAll([
        ['a', 'one'],
        ['b', 'two'],
        ['c', 'three'],
      ]);
      expect(getKinds(outcomes)).toEqual(['stored', 'stored', 'over-quota']);
      expect(await getImport(id)).toMatchObject({ importedCount: 2, memoryCount: 2 });
    });

    it('texts of a user do not change memories of another user with the same external id', async () => {
      const [ada, ben] = [await beginNew({ userId: 'ada' }), await beginNew({ userId: 'ben' })];
      await ada.storeAll([['a', 'of ada']]);
      expect(getKinds(await ben.storeAll([['a', 'of ben']]))).toEqual(['stored']);
      expect(await ada.undo()).toMatchObject({ forgotten: 1, kept: 0 });
      expect(await getTexts()).toEqual(['of ben']);
    });
  });

  describe('the undo of an import', () => {
    it('an undo forgets what the import created, in batches, and deletes the import', async () => {
      await tested.storeMemory({ content: 'of another' });
      const { storeAll, id } = await beginNew();
      const texts = Array.from({ length: 250 }, (_, i) => [`${i}`, `text ${i}`] as const);
      await storeAll(texts);
      const deleted: string[][] = [];
      const undone = await tested.storage.undoImport('default', id, { of: {}, at: LATER }, (batch) => {
        deleted.push(batch.map((memory) => memory.id));
      });
      expect(undone).toMatchObject({ forgotten: 250, kept: 0 });
      expect(deleted.map(({ length }) => length)).toEqual([100, 100, 50]);
      expect(await getTexts()).toEqual(['of another']);
      expect(await getImport(id)).toBeUndefined();
      expect(await tested.storage.undoImport('default', id, { of: {}, at: LATER })).toBeUndefined();
    });

    it('an undo forgets long texts in smaller batches', async () => {
      const { storeAll, id } = await beginNew();
      const text = 'many words '.repeat(60_000);
      await storeAll([0, 1, 2].map((i) => [`${i}`, `${text} ${i}`] as const));
      const sizes: number[] = [];
      const undone = await tested.storage.undoImport('default', id, { of: {}, at: LATER }, (batch) =>
        sizes.push(batch.length),
      );
      expect(undone).toMatchObject({ forgotten: 3, kept: 0 });
      expect(sizes).toEqual([1, 1, 1]);
    });

    it('an undo of an import of another owner finds nothing, and nothing happens', async () => {
      const { storeAll, id } = await beginNew({ userId: 'ada' });
      await storeAll([['a', 'one']]);
      const undo = (userId: string) =>
        tested.storage.undoImport('default', id, { of: { userIds: [userId] }, at: LATER });
      expect(await undo('ben')).toBeUndefined();
      expect(await tested.storage.undoImport('other', id, { of: {}, at: LATER })).toBeUndefined();
      expect(await storeAll([['b', 'two']])).toMatchObject([{ outcome: 'stored' }]);
      expect(await undo('ada')).toMatchObject({ forgotten: 2 });
    });

    /** Begins two imports. The later one changes 150 of 250 texts of the first, and adds one. */
    const importTwice = async () => {
      const [first, later] = [await beginNew(), await beginNew()];
      const texts = Array.from({ length: 250 }, (_, i) => [`${i}`, `text ${i}`] as const);
      await first.storeAll(texts);
      await later.storeAll([...texts.slice(100).map(([id]) => [id, 'corrected'] as const), ['new', 'new']]);
      return { first, later };
    };

    it('an undo of a later import keeps the memories of the first one that it changed, with their newest text', async () => {
      const { first, later } = await importTwice();
      expect(await getImport(first.id)).toMatchObject({ importedCount: 250, memoryCount: 250 });
      expect(await getImport(later.id)).toMatchObject({ importedCount: 1, memoryCount: 1 });
      expect(await later.undo()).toMatchObject({ forgotten: 1, kept: 150 });
      expect(await getImport(later.id)).toBeUndefined();
      expect(new Set(await getTexts())).toEqual(new Set(['corrected']));
      expect(await getImport(first.id)).toMatchObject({ memoryCount: 250 });
      expect(await first.undo()).toMatchObject({ forgotten: 250, kept: 0 });
      expect(await getTexts()).toEqual([]);
    });

    it('an undo of a first import moves the memories that a later one changed to the later one', async () => {
      const { first, later } = await importTwice();
      expect(await first.undo()).toMatchObject({ forgotten: 100, kept: 150 });
      expect(await getImport(later.id)).toMatchObject({ importedCount: 1, memoryCount: 151 });
      expect(await later.undo()).toMatchObject({ forgotten: 151, kept: 0 });
      expect(await getTexts()).toEqual([]);
    });

    it('an undo of a first import forgets memories that an import changed whose own undo was interrupted', async () => {
      const { first, later } = await importTwice();
      const interrupted = tested.storage.undoImport('default', later.id, { of: {}, at: LATER }, () => {
        throw new Error('killed');
      });
      await expect(interrupted).rejects.toThrow('killed');
      expect(await first.undo()).toMatchObject({ forgotten: 250, kept: 0 });
      expect(await later.undo()).toMatchObject({ forgotten: 0, kept: 0 });
      expect(await getTexts()).toEqual([]);
    });

    it('a memory that its own import changed back is forgotten with this import', async () => {
      const { first, later } = await importTwice();
      await first.storeAll([['249', 'text 249']]);
      expect(await later.undo()).toMatchObject({ forgotten: 1, kept: 149 });
      expect(await first.undo()).toMatchObject({ forgotten: 250, kept: 0 });
    });

    it.each(['first', 'later'] as const)(
      'a memory that two imports and then a person changed stays if both are undone, the %s one before the other',
      async (start) => {
        const both = { first: await beginNew(), later: await beginNew() };
        const memory = both.first.toMemory(['a', 'one']);
        await tested.storage.storeMany([memory]);
        await both.later.storeAll([['a', 'two']]);
        await tested.storage.update({ namespace: 'default', id: memory.id, at: LATER, importance: 0.9 });
        expect(await both[start].undo()).toMatchObject({ forgotten: 0, kept: 1 });
        const rest = start === 'first' ? { forgotten: 0, kept: 0 } : { forgotten: 0, kept: 1 };
        expect(await both[start === 'first' ? 'later' : 'first'].undo()).toMatchObject(rest);
        expect(await getTexts()).toEqual(['two']);
      },
    );

    it('an undo keeps a merged duplicate that a later import changed, as a memory of the later import', async () => {
      const [first, later] = [await beginNew(), await beginNew()];
      await first.storeAll([
        ['a', 'the same'],
        ['b', 'other'],
      ]);
      await later.storeAll([['b', 'the same']]);
      await tested.promote(LATER, 10);
      expect(await tested.mergeDuplicates(10)).toMatchObject({ count: 1 });
      expect(await first.undo()).toMatchObject({ forgotten: 1, kept: 1 });
      expect(await getTexts()).toEqual(['the same']);
      expect(await later.undo()).toMatchObject({ forgotten: 1, kept: 0 });
      expect(await getTexts()).toEqual([]);
    });

    it('an undo that was interrupted continues, and its import accepts no texts meanwhile', async () => {
      const { id } = await begin({ contentKey: 'k' });
      const memories = Array.from({ length: 150 }, (_, i) =>
        nextMemory({ externalId: `${i}`, imported: { importId: id, digest: '' } }),
      );
      await tested.storage.storeMany(memories);
      const interrupted = tested.storage.undoImport('default', id, { of: {}, at: LATER }, () => {
        throw new Error('killed');
      });
      await expect(interrupted).rejects.toThrow('killed');
      expect(await getImport(id)).toMatchObject({ memoryCount: 50 });
      expect(await begin({ contentKey: 'k' })).toEqual({ outcome: 'undoing', id });
      const late = nextMemory({ externalId: 'late', imported: { importId: id, digest: '' } });
      const unknown = nextMemory({ externalId: 'late', imported: { importId: 'nobody', digest: '' } });
      expect(getKinds(await tested.storage.storeMany([late, unknown]))).toEqual(['import-undone', 'import-undone']);
      expect(await tested.storage.undoImport('default', id, { of: {}, at: LATER })).toMatchObject({ forgotten: 50 });
      expect(await getTexts()).toEqual([]);
      expect((await begin({ contentKey: 'k' })).outcome).toBe('begun');
    });

    it.each([
      ['the imported memory', -1000],
      ['the other memory', 1000],
    ])('an undo keeps a duplicate of other origin, if consolidation kept %s visible', async (_, age) => {
      const own = await tested.storeMemory({ content: 'the same', createdAt: NOW });
      const { storeAll, undo } = await beginNew();
      await storeAll([['a', 'the same']], { createdAt: NOW + age });
      await tested.promote(LATER, 10);
      expect(await tested.mergeDuplicates(10)).toMatchObject({ count: 1 });
      expect(await getTexts()).toEqual(['the same']);
      expect(await undo()).toMatchObject({ forgotten: 1, kept: 0 });
      const { items } = await tested.storage.memories('default', {}, PAGE, LATER);
      expect(items.map(({ id }) => id)).toEqual([own.id]);
      expect(await tested.findOrdinals('the same')).toEqual([own.ordinal]);
    });

    it('a new end of an imported memory does not count as a change of the imported duplicates merged into it', async () => {
      const { storeAll, undo } = await beginNew();
      await storeAll([
        ['a', 'the same'],
        ['b', 'the same'],
      ]);
      await tested.promote(LATER, 10);
      expect(await tested.mergeDuplicates(10)).toMatchObject({ count: 1 });
      const ending = { given: ['validTo'] as const, validTo: LATER + 5 };
      expect(getKinds(await storeAll([['a', 'ended']], ending))).toEqual(['updated']);
      expect(await undo()).toMatchObject({ forgotten: 2, kept: 0 });
      expect(await getTexts()).toEqual([]);
    });

    it('a merge and a recall of an imported memory do not count as changes', async () => {
      const { storeAll, undo } = await beginNew();
      const [one] = await storeAll([
        ['a', 'the same'],
        ['b', 'the same'],
      ]);
      await tested.storage.recordAccess([
        { namespace: 'default', ordinal: (one as { ordinal: number }).ordinal, count: 3, at: LATER },
      ]);
      await tested.promote(LATER, 10);
      expect(await tested.mergeDuplicates(10)).toMatchObject({ count: 1 });
      expect(await undo()).toMatchObject({ forgotten: 2, kept: 0 });
      expect(await getTexts()).toEqual([]);
    });
  });

  describe('data of imports', () => {
    it('a forgotten memory does not belong to its import, and its text is stored again by a repeat', async () => {
      const { storeAll, id, toMemory } = await beginNew();
      const memory = toMemory(['a', 'one']);
      await tested.storage.storeMany([memory]);
      await tested.storage.forget('default', memory.id);
      expect(await getImport(id)).toMatchObject({ importedCount: 1, memoryCount: 0 });
      expect(getKinds(await storeAll([['a', 'one']]))).toEqual(['stored']);
    });

    it('the imports of a user are deleted when all memories of the user are forgotten', async () => {
      const [ada, ben] = [await beginNew({ userId: 'ada' }), await beginNew({ userId: 'ben' })];
      for (const { storeAll } of [ada, ben]) await storeAll([['a', 'one']]);
      await tested.storage.forgetMany('default', { userIds: ['ada'], sessionId: 'default' });
      expect(await getImport(ada.id)).toMatchObject({ memoryCount: 0 });
      await tested.storage.forgetMany('default', { userIds: ['ada'] });
      expect(await getImport(ada.id)).toBeUndefined();
      expect(await getImport(ben.id)).toMatchObject({ memoryCount: 1 });
    });

    it('the imports of a namespace are deleted with the namespace', async () => {
      const [own, other] = [await beginNew(), await beginNew({ namespace: 'other' })];
      for (const { storeAll } of [own, other]) await storeAll([['a', 'one']]);
      await tested.storage.deleteNamespace('default');
      expect(await getImport(own.id)).toBeUndefined();
      expect(await other.undo()).toMatchObject({ forgotten: 1 });
      expect((await tested.storage.usage(NOW)).map(({ name }) => name)).toEqual([]);
    });

    it('records of an export belong to the import that stores them', async () => {
      const { id, undo } = await beginNew();
      const records = ['x', 'y'].map((name) => ({ memory: toRecord(name) }));
      await tested.storage.importRecords('default', records, [], id);
      await tested.storage.update({ namespace: 'default', id: 'y', at: LATER, content: 'rewritten' });
      expect(await getImport(id)).toMatchObject({ importedCount: 2, memoryCount: 2 });
      expect(await undo()).toMatchObject({ forgotten: 1, kept: 1 });
      expect(await getTexts()).toEqual(['rewritten']);
      await expect(tested.storage.importRecords('default', records, [], id)).rejects.toMatchObject({
        code: 'CONFLICT',
      });
      expect(await getTexts()).toEqual(['rewritten']);
    });
  });
}

function toRecord(id: string): MemoryRecord {
  const { namespace: _, ...memory } = nextMemory({ id });
  return {
    ...memory,
    tier: 'working',
    updatedAt: memory.storedAt,
    evictedAt: null,
    successors: [],
    mergedInto: null,
    derivedFrom: [],
    formerlyDerivedFrom: [],
    version: 1,
    revision: 1,
    distilledRevision: null,
    accessCount: 0,
    accessedAt: null,
    history: [],
    awaits: [],
  };
}
