import type { NewMemory } from '@memoryd/core';
import type { ChangedFields, ExportRecord, MemoryRecord } from '@memoryd/core/ports';
import { CONSOLIDATION_LEASE } from '@memoryd/core/ports';
import { describe, expect, it } from 'vitest';
import { ALL, MODEL, NOW, nextMemory, oldEnough, type TestedStorage } from './storage.fixture.ts';

const LATER = NOW + 1e6;

/** Contract tests: a store with the external id of a stored memory changes that memory. */
export function externalIdStorageContract(tested: TestedStorage): void {
  const { storeMemory, findOrdinals, countTiers, mergeDuplicates, evictExpired } = tested;

  /** Returns a memory that names `externalId` and gives the content and these fields. */
  function naming(externalId: string, fields: Partial<NewMemory> = {}): NewMemory {
    const { namespace: _, userId: __, agentId: ___, storedAt: ____, ...given } = fields;
    return nextMemory({
      externalId,
      content: 'the red heron',
      ...fields,
      given: Object.keys({ content: '', ...given }).filter(
        (field) => field !== 'idempotency',
      ) as (keyof ChangedFields)[],
    });
  }

  const store = (externalId: string, fields: Partial<NewMemory> = {}) =>
    tested.storage.store(naming(externalId, fields));

  async function create(externalId: string, fields: Partial<NewMemory> = {}): Promise<NewMemory & { ordinal: number }> {
    const { given: _, ...memory } = naming(externalId, fields);
    return storeMemory(memory);
  }

  const read = (id: string, now = LATER) => tested.storage.memory('default', id, now);

  async function exportAll(): Promise<ExportRecord[]> {
    const records: ExportRecord[] = [];
    for await (const record of (await tested.storage.exportRecords('default')).records) records.push(record);
    return records;
  }

  async function readAll(): Promise<MemoryRecord[]> {
    return (await exportAll()).flatMap((record) => ('memory' in record ? [record.memory] : []));
  }

  const CHANGES: [field: string, fields: Partial<NewMemory>][] = [
    ['content', { content: 'the blue heron' }],
    ['tags', { tags: ['b'] }],
    ['importance', { importance: 0.9 }],
    ['source', { source: 'mail' }],
    ['session', { sessionId: 'other' }],
    ['metadata', { metadata: { n: 2 } }],
    ['attachment', { attachment: '"longer"' }],
    ['creation time', { createdAt: NOW - 1000 }],
    ['expiry', { expiresAt: NOW * 2 }],
  ];
  const FIRST = { tags: ['a'], metadata: { n: 1, m: -0 }, attachment: '"1"', createdAt: NOW, sessionId: 'own' };

  describe('storing with the external id of a stored memory', () => {
    it.each(CHANGES)('a repeated store changes the %s and keeps the other fields', async (_field, fields) => {
      const memory = await create('x', FIRST);
      const before = await readAll();
      expect(await store('x', fields)).toMatchObject({ outcome: 'updated', id: memory.id, ordinal: memory.ordinal });
      const after = await readAll();
      expect(after).toHaveLength(1);
      const { version, updatedAt, ...rest } = after[0] as MemoryRecord;
      expect(version).toBe(2);
      expect(updatedAt).toBeGreaterThan(before[0]?.updatedAt ?? Number.NaN);
      expect(rest).toMatchObject({ ...fields, id: memory.id, externalId: 'x', storedAt: memory.storedAt });
      const unchanged = Object.entries(FIRST).filter(([field]) => !(field in fields));
      expect(rest).toMatchObject(
        Object.fromEntries(unchanged.map(([field, value]) => [field, JSON.parse(JSON.stringify(value))])),
      );
      expect(rest.history).toHaveLength('content' in fields ? 1 : 0);
      expect(await countTiers()).toEqual([1, 0, 0]);
    });

    it('a repeated store with the same values changes nothing, whatever the order of the metadata', async () => {
      const memory = await create('x', { ...FIRST, expiresAt: NOW * 2 });
      const before = await readAll();
      const repeated = await store('x', { ...FIRST, metadata: { m: -0, n: 1 }, expiresAt: NOW * 2 });
      expect(repeated).toEqual({ outcome: 'unchanged', id: memory.id });
      expect(await readAll()).toEqual(before);
    });

    it('a store that is repeated after its idempotency key has expired changes nothing', async () => {
      const idempotency = { key: 'k', digest: 'd' };
      const { id, storedAt } = await create('x', { idempotency });
      const repeated = await store('x', { idempotency, storedAt: storedAt + 2 * 24 * 60 * 60 * 1000 });
      expect(repeated).toEqual({ outcome: 'unchanged', id });
      expect(await readAll()).toMatchObject([{ id, version: 1 }]);
    });

    it('recall finds a changed memory by its new text, session, source and time only', async () => {
      const { ordinal } = await create('x', { createdAt: NOW, sessionId: 'old', source: 'chat' });
      await create('y', { createdAt: NOW, sessionId: 'new', content: 'another text' });
      await findOrdinals('heron');
      await store('x', { content: 'a blue kingfisher', sessionId: 'new', source: 'mail', createdAt: NOW + 500 });
      expect(await findOrdinals('red')).toEqual([]);
      expect(await findOrdinals('kingfisher', { sessionId: 'new', source: 'mail', since: NOW + 500 })).toEqual([
        ordinal,
      ]);
      for (const filter of [{ sessionId: 'old' }, { source: 'chat' }, { until: NOW + 499 }]) {
        expect(await findOrdinals('kingfisher', filter)).toEqual([]);
      }
      const { items } = await tested.storage.sessions('default', {}, ALL, LATER);
      expect(items).toEqual([{ sessionId: 'new', userId: '', total: 2, firstAt: NOW, lastAt: NOW + 500 }]);
      const transcript = await tested.storage.session('default', 'new', ALL, LATER);
      expect(transcript.items.map(({ externalId }) => externalId)).toEqual(['y', 'x']);
    });

    it('a changed text waits for its vectors again, and a changed session does not', async () => {
      await tested.storage.useModel(MODEL);
      await create('x');
      await tested.storage.update({ namespace: 'default', id: (await readAll())[0]?.id ?? '', at: LATER, tags: ['t'] });
      expect(await store('x', { content: 'other' })).toMatchObject({ embedding: true });
      expect(await store('x', { content: 'other', sessionId: 'moved' })).toMatchObject({ embedding: false });
    });

    it('stores of one batch with the same external id make one memory, in order', async () => {
      const batch = [
        naming('x'),
        naming('y'),
        naming('x', { content: 'two' }),
        naming('x', { content: 'three', tags: ['t'] }),
      ];
      const [x, y, ...repeats] = await tested.storage.storeMany(batch);
      expect([x, y]).toMatchObject([{ outcome: 'stored' }, { outcome: 'stored' }]);
      expect(repeats).toMatchObject([{ outcome: 'updated' }, { outcome: 'updated' }]);
      const stored = await read(batch[0]?.id ?? '');
      expect(stored).toMatchObject({ content: 'three', tags: ['t'], version: 3 });
      expect(await countTiers()).toEqual([2, 0, 0]);
    });

    it('concurrent stores of one external id make one memory', async () => {
      const outcomes = await Promise.all(Array.from({ length: 20 }, (_, i) => store('x', { content: `text ${i}` })));
      expect(outcomes.filter(({ outcome }) => outcome === 'stored')).toHaveLength(1);
      expect(await countTiers()).toEqual([1, 0, 0]);
      expect(await readAll()).toMatchObject([{ externalId: 'x', version: 20 }]);
    });

    it('users, agents and namespaces have external ids of their own', async () => {
      const owners = [
        {},
        { userId: 'ann' },
        { agentId: 'cook' },
        { userId: 'ann', agentId: 'cook' },
        { namespace: 'other' },
      ];
      for (const owner of owners) expect(await store('x', owner)).toMatchObject({ outcome: 'stored' });
      for (const [i, owner] of owners.entries()) await store('x', { ...owner, content: `of ${i}` });
      expect((await readAll()).map(({ content }) => content)).toEqual(['of 0', 'of 1', 'of 2', 'of 3']);
    });

    it('an external id and owner of the maximum length can be stored, found and forgotten', async () => {
      const [userId, agentId, externalId] = ['😀'.repeat(256), '😺'.repeat(256), '🐙'.repeat(512)];
      const { id } = await create(externalId, { userId, agentId });
      expect(await store(externalId, { userId, agentId })).toEqual({ outcome: 'unchanged', id });
      const { items } = await tested.storage.memories('default', { externalId }, ALL, LATER);
      expect(items).toMatchObject([{ id, externalId }]);
      const { count } = await tested.storage.forgetMany('default', { externalId });
      expect(count).toBe(1);
    });

    it('a forgotten memory frees its external id', async () => {
      const first = await create('x');
      await tested.storage.forget('default', first.id);
      const second = await create('x');
      expect(await readAll()).toMatchObject([{ id: second.id, version: 1 }]);
    });

    it('an idempotency key returns the first outcome of a repeated store', async () => {
      const idempotency = (key: string) => ({ idempotency: { key, digest: key } });
      const first = await create('x', idempotency('create'));
      const change = { content: 'other' };
      await store('x', { ...change, ...idempotency('change') });
      const { id } = first;
      expect(await store('x', idempotency('create'))).toMatchObject({ outcome: 'repeated', id, created: true });
      expect(await store('x', { ...change, ...idempotency('change') })).toMatchObject({
        outcome: 'repeated',
        id,
        created: false,
      });
      expect(await read(id)).toMatchObject({ content: 'other', version: 2 });
    });
  });

  describe('storing with the external id of a hidden memory', () => {
    it('an expired memory is changed, and returns to recall with a later expiry', async () => {
      const { id, ordinal } = await create('x', { expiresAt: NOW + 10 });
      expect(await store('x', { content: 'the blue heron', storedAt: LATER })).toMatchObject({
        outcome: 'updated',
        id,
      });
      expect(await findOrdinals('heron')).toEqual([]);
      await store('x', { content: 'the blue heron', expiresAt: LATER * 2, storedAt: LATER });
      expect(await findOrdinals('blue heron')).toEqual([ordinal]);
    });

    it('an archived memory returns to recall when a repeated store changes it, and not before', async () => {
      const { id, ordinal } = await create('x', { expiresAt: NOW + 10 });
      await evictExpired(NOW + 20, 10);
      expect(await store('x', { storedAt: LATER })).toEqual({ outcome: 'unchanged', id });
      await store('x', { tags: ['still expired'], storedAt: LATER });
      expect([await findOrdinals('heron'), await countTiers()]).toEqual([[], [0, 0, 0]]);
      await store('x', { expiresAt: LATER * 2, storedAt: LATER });
      expect([await findOrdinals('heron'), await countTiers()]).toEqual([[ordinal], [1, 0, 0]]);
    });

    it('a memory that was evicted because its tier was full returns with its hidden duplicates', async () => {
      const { ordinal } = await create('x');
      const duplicate = await create('y');
      await mergeDuplicates(10);
      const run = await tested.beginRun();
      await tested.storage.evictExcess(run, 'working', [ordinal], NOW);
      await tested.storage.endRun(run, NOW);
      await store('x', { importance: 1 });
      expect(await findOrdinals('heron')).toEqual([ordinal]);
      expect(await read(duplicate.id)).toMatchObject({ mergedInto: expect.any(String) });
    });

    it('an archived memory returns superseded if its text was corrected meanwhile, unless it returns with another text', async () => {
      const [first, second, third] = [await create('x'), await create('y'), await create('z')];
      const run = await tested.beginRun();
      await tested.storage.evictExcess(run, 'working', [second.ordinal, third.ordinal], NOW);
      await tested.storage.endRun(run, NOW);
      const correction = await storeMemory({ content: 'the grey heron', supersedes: first.id });
      await store('y', { importance: 1 });
      await store('z', { content: 'the blue heron' });
      const successors = [first, second, third].map(async ({ id }) => (await read(id))?.supersededBy);
      expect(await Promise.all(successors)).toEqual([correction.id, correction.id, null]);
    });

    it('a merged memory stays merged without a change, and leaves its group with another text, session or source', async () => {
      const changes = [{ content: 'other' }, { sessionId: 'other' }, { source: 'other' }, { metadata: { a: 1 } }];
      const survivor = await create('first', { tags: ['a'], importance: 0.1 });
      const hidden = [];
      for (const i of changes.keys())
        hidden.push(await create(`hidden ${i}`, { tags: [`t${i}`], importance: 0.5 + i / 10 }));
      await mergeDuplicates(10);
      const before = await readAll();
      expect(await store('first', { tags: ['a'], importance: 0.1 })).toMatchObject({ outcome: 'unchanged' });
      for (const i of changes.keys()) {
        const repeated = await store(`hidden ${i}`, { tags: [`t${i}`], importance: 0.5 + i / 10 });
        expect(repeated).toMatchObject({ outcome: 'unchanged' });
      }
      expect(await readAll()).toEqual(before);
      for (const [i, change] of changes.entries()) {
        await store(`hidden ${i}`, change);
        expect(await read(hidden[i]?.id ?? '')).toMatchObject({ mergedInto: null, ...change });
      }
      expect(await read(survivor.id)).toMatchObject({ version: 1 });
      expect((await countTiers())[0]).toBe(5);
    });

    it('a visible memory that moves to another session keeps its hidden duplicates, also after an import', async () => {
      const survivor = await create('x', { sessionId: 'old' });
      const hidden = await create('y', { sessionId: 'old' });
      await mergeDuplicates(10);
      await store('x', { sessionId: 'new' });
      expect(await read(hidden.id)).toMatchObject({ mergedInto: survivor.id, sessionId: 'old' });
      const imported = await tested.storage.importRecords('copy', await exportAll(), []);
      expect(imported.records).toEqual([{ outcome: 'imported' }, { outcome: 'imported' }]);
      expect(await tested.storage.memory('copy', hidden.id, LATER)).toMatchObject({ mergedInto: survivor.id });
    });
  });

  describe('superseding with an external id', () => {
    it('a repeated store changes which memory is superseded', async () => {
      const [one, two] = [await storeMemory(), await storeMemory()];
      const { id } = await create('x', { supersedes: one.id });
      expect(await store('x', { supersedes: two.id })).toMatchObject({ outcome: 'updated' });
      expect(await read(id)).toMatchObject({ supersedes: two.id });
      expect(await read(one.id)).toMatchObject({ supersededBy: null });
      expect(await read(two.id)).toMatchObject({ supersededBy: id });
    });

    it('a repeated store that supersedes itself, directly or through others, is refused and changes nothing', async () => {
      const { id } = await create('x');
      const middle = await storeMemory({ supersedes: id });
      const last = await storeMemory({ supersedes: middle.id });
      const before = await readAll();
      for (const supersedes of [id, middle.id, last.id]) {
        expect(await store('x', { content: 'other', supersedes })).toEqual({ outcome: 'superseding-itself' });
      }
      expect(await store('x', { content: 'other', supersedes: 'nobody' })).toEqual({ outcome: 'superseded-unknown' });
      expect(await readAll()).toEqual(before);
    });
  });

  describe('quotas with an external id', () => {
    it('a repeated store counts its new text and attachment but no memory', async () => {
      const { storage } = tested;
      await storage.setQuota('default', { memories: 1, bytes: 40 });
      await create('x', { content: 'ten bytes.', attachment: '12345678' });
      await store('x', { content: 'other text', attachment: '12' });
      const used = () => storage.usage(LATER).then(([usage]) => usage?.used);
      expect(await used()).toEqual({ memories: 1, bytes: 22 });
      const before = await readAll();
      expect(await store('x', { content: 'a text of 21 bytes...' })).toMatchObject({
        outcome: 'over-quota',
        of: 'bytes',
      });
      expect(await store('y', {})).toMatchObject({ outcome: 'over-quota', of: 'memories' });
      expect([await used(), await readAll()]).toEqual([{ memories: 1, bytes: 22 }, before]);
    });

    it('a refused repeat leaves its idempotency key free', async () => {
      await tested.storage.setQuota('default', { memories: null, bytes: 20 });
      const { id } = await create('x', { content: 'ten bytes.' });
      const request = { content: 'eleven byte', idempotency: { key: 'k', digest: 'd' } };
      expect(await store('x', request)).toMatchObject({ outcome: 'over-quota' });
      await tested.storage.setQuota('default', { memories: null, bytes: null });
      expect(await store('x', request)).toMatchObject({ outcome: 'updated', id });
    });
  });

  describe('runs over memories with external ids', () => {
    it('undoing a merge keeps the changes of a repeated store and the external ids', async () => {
      const { storage } = tested;
      const [one, two] = [await create('x', { tags: ['a'] }), await create('y', { tags: ['b'] })];
      const run = await tested.beginRun();
      await storage.mergeDuplicates(run, NOW, 10);
      await storage.endRun(run, NOW);
      await store('x', { tags: ['c'] });
      const fence = (await tested.lease.acquire(CONSOLIDATION_LEASE, 'undo', LATER, 1000)) ?? 0;
      await storage.beginUndo('default', run.id, { fence, endedAfter: 0 });
      await storage.undoSome({ ...run, fence }, LATER, 100);
      expect(await read(one.id)).toMatchObject({ tags: ['c'], externalId: 'x', mergedInto: null });
      expect(await read(two.id)).toMatchObject({ tags: ['b'], externalId: 'y', mergedInto: null });
      expect(await store('y', { tags: ['b'] })).toMatchObject({ outcome: 'unchanged' });
    });

    it('a promoted memory stays in its tier when a repeated store changes it', async () => {
      const { id } = await create('x');
      const run = await tested.beginRun();
      await tested.storage.promote(run, oldEnough(LATER), 10);
      await tested.storage.endRun(run, NOW);
      await store('x', { sessionId: 'other', content: 'new' });
      expect(await read(id)).toMatchObject({ tier: 'episodic' });
      expect(await countTiers()).toEqual([0, 1, 0]);
    });
  });

  describe('filtering by external id', () => {
    it('recall, lists, counts and sessions find the memory with an external id', async () => {
      const { ordinal, id } = await create('x', { sessionId: 's' });
      await create('y', { sessionId: 't' });
      await storeMemory({ content: 'the red heron' });
      const filter = { externalId: 'x' };
      expect(await findOrdinals('heron', filter)).toEqual([ordinal]);
      expect(await findOrdinals('heron', { externalId: 'missing' })).toEqual([]);
      expect((await tested.storage.memories('default', filter, ALL, LATER)).items).toMatchObject([{ id }]);
      expect((await tested.storage.sessions('default', filter, ALL, LATER)).items).toMatchObject([{ sessionId: 's' }]);
      expect(await tested.storage.growth('default', filter, [LATER], LATER)).toMatchObject([{ working_count: 1 }]);
    });

    it('a list by external id includes a memory that was merged into another', async () => {
      const [survivor, hidden] = [await create('x'), await create('y')];
      await mergeDuplicates(10);
      const { items } = await tested.storage.memories('default', { externalId: 'y' }, ALL, LATER);
      expect(items).toMatchObject([{ id: hidden.id, mergedInto: survivor.id }]);
    });
  });

  describe('importing external ids', () => {
    it('an export and import keep external ids, and a store then changes the imported memory', async () => {
      await create('x');
      const records = await exportAll();
      const { storage } = tested;
      for (const outcome of ['imported', 'unchanged']) {
        expect((await storage.importRecords('copy', records, [])).records).toEqual([{ outcome }]);
      }
      expect(await store('x', { namespace: 'copy', content: 'other' })).toMatchObject({ outcome: 'updated' });
      expect((await storage.memories('copy', { externalId: 'x' }, ALL, LATER)).total).toBe(1);
    });

    it('an imported memory whose external id another memory has is refused', async () => {
      await create('x');
      const records = await exportAll();
      const { storage } = tested;
      await store('x', { namespace: 'copy', content: 'the own text' });
      const { records: outcomes } = await storage.importRecords('copy', [...records, ...records], []);
      expect(outcomes).toEqual([{ outcome: 'external-id-taken' }, { outcome: 'external-id-taken' }]);
      const { items } = await storage.memories('copy', {}, ALL, LATER);
      expect(items).toMatchObject([{ content: 'the own text', externalId: 'x' }]);
    });
  });
}
