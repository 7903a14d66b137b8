import type { MemoryFilter } from '@memoryd/search';
import { describe, expect, it } from 'vitest';
import { ALL, LATER, NOW, type TestedStorage } from './storage.fixture.ts';

/** A time between the writes of a test: memories are stored at NOW, and changed after it. */
const THEN = NOW + 500;
const known = { known: THEN };

/** Contract tests: examples of reads of what was known at a time. `validityStorageContract` compares all reads with a model. */
export function knownStorageContract(tested: TestedStorage): void {
  const list = async (filter: MemoryFilter = known) =>
    (await tested.storage.memories('default', filter, ALL, LATER)).items;
  const getRecalled = async (text: string, filter: MemoryFilter = known, limit = 10) => {
    const request = { namespace: 'default', text, filter, now: LATER, poolSize: 50, tailSize: 0 };
    const { results } = await tested.storage.searchAndRank({ ...request, ranking: { limit }, maxBytes: 1_000_000 });
    return results.map(({ memory }) => memory);
  };
  const store = (fields: Parameters<typeof tested.storeMemory>[0]) =>
    tested.storeMemory({ createdAt: NOW, storedAt: NOW, ...fields });
  const update = (id: string, fields: object, at = THEN + 1) =>
    tested.storage.update({ namespace: 'default', id, at, ...fields });

  it('returns the text of a time with its revision, and finds the memory by its present text only', async () => {
    const { id } = await store({ content: 'the kettle is blue' });
    await update(id, { content: 'the teapot is green' });
    const earlier = [expect.objectContaining({ id, content: 'the kettle is blue', earlierRevision: 1 })];
    expect(await getRecalled('teapot')).toEqual(earlier);
    expect(await getRecalled('kettle')).toEqual([]);
    expect(await list()).toEqual(earlier);
    const present = expect.objectContaining({ content: 'the teapot is green', earlierRevision: null });
    expect(await getRecalled('teapot', { known: THEN + 1 })).toEqual([present]);
    expect(await getRecalled('teapot', { known: LATER + 1 })).toEqual([present]);
  });

  it('returns no revision if a later update restored the text', async () => {
    const { id } = await store({ content: 'a kettle' });
    await update(id, { content: 'a teapot' });
    await update(id, { content: 'a kettle' }, THEN + 2);
    expect(await list()).toMatchObject([{ content: 'a kettle', earlierRevision: null }]);
  });

  it.each<{ name: string; before: object; after: object; filter: MemoryFilter }>([
    { name: 'tags', before: { tags: ['a'] }, after: { tags: ['b'] }, filter: { tags: ['a'] } },
    {
      name: 'a number of the metadata',
      before: { metadata: { size: 10 } },
      after: { metadata: { size: 2 } },
      filter: { metadata: { size: '10' } },
    },
    {
      name: 'null in the metadata',
      before: { metadata: { size: null } },
      after: { metadata: {} },
      filter: { metadata: { size: 'null' } },
    },
    {
      name: 'a condition on the metadata',
      before: { metadata: { 'a.b': 1, a: { b: 5 } } },
      after: { metadata: {} },
      filter: { condition: { field: 'metadata.a.b', operator: '$gte', value: 5 } },
    },
    {
      name: 'importance',
      before: { importance: 0.25 },
      after: { importance: 0.75 },
      filter: { condition: { field: 'importance', operator: '$lt', value: 0.5 } },
    },
  ])('filters by $name of a time', async ({ before, after, filter }) => {
    const { id } = await store({ content: 'a kettle', ...before });
    await store({ content: 'a copper kettle', ...after });
    await update(id, after);
    const found = [expect.objectContaining({ id, ...before })];
    expect(await list({ ...filter, ...known })).toEqual(found);
    expect((await getRecalled('kettle', { ...filter, ...known })).map((memory) => memory.id)).toEqual([id]);
    expect(await list(filter)).toEqual([]);
    expect(await getRecalled('kettle', filter)).toEqual([]);
  });

  it('leaves out what was stored later, and what was forgotten, expired or evicted since', async () => {
    const kept = await store({ content: 'a kettle' });
    await store({ content: 'a new kettle', storedAt: THEN + 1 });
    const forgotten = await store({ content: 'a forgotten kettle' });
    await tested.storage.forget('default', forgotten.id);
    await store({ content: 'an expired kettle', expiresAt: LATER - 1 });
    const evicted = await store({ content: 'an evicted kettle', expiresAt: THEN + 1 });
    await tested.evictExpired(THEN + 2, 10);
    await update(evicted.id, { expiresAt: null });
    expect((await list()).map(({ id }) => id)).toEqual([kept.id]);
    expect((await getRecalled('kettle')).map(({ id }) => id)).toEqual([kept.id]);
  });

  it('follows the links of a time, also after an update has moved them', async () => {
    const [a, b] = [await store({ content: 'kettle a' }), await store({ content: 'kettle b' })];
    const c = await store({ content: 'kettle c', supersedes: a.id, externalId: 'c' });
    await tested.storage.store({ ...c, supersedes: b.id, storedAt: THEN + 1, given: ['supersedes'] });
    const getSuperseded = async (filter: MemoryFilter) =>
      (await list(filter)).filter(({ supersededBy }) => supersededBy === c.id).map(({ id }) => id);
    expect(await getSuperseded(known)).toEqual([a.id]);
    expect(await getSuperseded({})).toEqual([b.id]);
    expect(await list({ ...known, externalId: 'c' })).toMatchObject([{ supersedes: a.id }]);
  });

  it('links a memory past a forgotten one from the time at which both of its links were known', async () => {
    const first = await store({ content: 'kettle a' });
    const forgotten = await store({ content: 'kettle b', supersedes: first.id });
    const last = await store({ content: 'kettle c', externalId: 'c' });
    await tested.storage.store({ ...last, supersedes: forgotten.id, storedAt: THEN + 1, given: ['supersedes'] });
    await tested.storage.forget('default', forgotten.id);
    const getSupersededBy = async (filter: MemoryFilter) =>
      (await list(filter)).find(({ id }) => id === first.id)?.supersededBy;
    expect(await getSupersededBy(known)).toBeNull();
    expect(await getSupersededBy({ known: THEN + 1 })).toBe(last.id);
  });

  it('combines a time of validity with a time of knowledge, also where only a successor has changed since', async () => {
    const replaced = await store({ content: 'kettle a' });
    const first = await store({
      content: 'kettle b',
      supersedes: replaced.id,
      validFrom: NOW + 100,
      validTo: NOW + 300,
    });
    const second = await store({ content: 'kettle c', supersedes: first.id, validFrom: NOW + 400 });
    await update(first.id, { validTo: null });
    await update(second.id, { validFrom: NOW + 200 });
    const getHolding = async (at: number, filter: MemoryFilter) => {
      const holds = { ...filter, at, holding: true as const };
      const listed = (await list(holds)).map(({ id }) => id);
      expect((await getRecalled('kettle', holds)).map(({ id }) => id)).toEqual(listed);
      return listed;
    };
    expect(await getHolding(NOW + 250, known)).toEqual([first.id]);
    expect(await getHolding(NOW + 350, known)).toEqual([replaced.id]);
    expect(await getHolding(NOW + 450, known)).toEqual([second.id]);
    for (const at of [NOW + 250, NOW + 350]) expect(await getHolding(at, {})).toEqual([second.id]);
  });

  describe('with merged duplicates', () => {
    const merge = async (at = THEN + 1) => {
      const run = await tested.beginRun();
      await tested.storage.mergeDuplicates(run, at, 10);
      await tested.storage.endRun(run, at);
    };

    it('returns duplicates directly after the memory that they were merged into later, as many as asked for', async () => {
      const first = await store({ content: 'a copper kettle', tags: ['a'] });
      const second = await store({ content: 'a copper kettle', tags: ['b'] });
      await store({ content: 'an iron kettle' });
      await merge();
      const recalled = await getRecalled('copper kettle');
      expect(recalled.map(({ id, tags }) => [id, tags]).slice(0, 2)).toEqual([
        [first.id, ['a']],
        [second.id, ['b']],
      ]);
      expect(recalled).toHaveLength(3);
      expect(await getRecalled('copper kettle', known, 1)).toMatchObject([{ id: first.id }]);
      expect(await getRecalled('copper kettle', known, 2)).toHaveLength(2);
      expect(await getRecalled('copper kettle', { ...known, tags: ['b'] })).toMatchObject([{ id: second.id }]);
      expect(await list()).toHaveLength(3);
      expect(await list({ known: THEN + 1 })).toHaveLength(2);
    });

    it('a merge that changes nothing in the memory that remains does not delay its later changes', async () => {
      const { id } = await store({ content: 'a kettle' });
      await store({ content: 'a kettle' });
      await merge(THEN + 1);
      await update(id, { importance: 0.9 }, THEN);
      expect(await list()).toMatchObject([{}, { id, importance: 0.9 }]);
    });

    it('returns a duplicate alone if the memory that it was merged into arrived later', async () => {
      const duplicate = await store({ content: 'a kettle', createdAt: NOW });
      await store({ content: 'a kettle', createdAt: NOW - 1, storedAt: THEN + 1 });
      await merge(THEN - 1);
      expect(await getRecalled('a kettle')).toMatchObject([{ id: duplicate.id }]);
      expect(await getRecalled('a kettle', { known: THEN + 1 })).toHaveLength(1);
    });

    it('counts the memories of sessions and shows transcripts as they were', async () => {
      await store({ content: 'a kettle' });
      const duplicate = await store({ content: 'a kettle' });
      await merge();
      const getSession = async (filter: MemoryFilter) =>
        (await tested.storage.sessions('default', filter, ALL, LATER)).items.map(({ total }) => total);
      expect(await getSession(known)).toEqual([2]);
      expect(await getSession({})).toEqual([1]);
      const getMerged = async (filter: MemoryFilter) =>
        (await tested.storage.session('default', 'default', ALL, LATER, {}, filter)).items.map(
          ({ mergedInto }) => mergedInto,
        );
      expect(await getMerged(known)).toEqual([null, null]);
      expect(await getMerged({ known: NOW - 1 })).toEqual([]);
      expect((await getMerged({})).filter((survivor) => survivor !== null)).toHaveLength(1);
      await tested.storage.forget('default', duplicate.id);
      expect(await getMerged(known)).toEqual([null]);
    });
  });

  it('exports the memories of a time with their texts until then', async () => {
    const { id } = await store({ content: 'first' });
    await update(id, { content: 'second', tags: ['a'] }, THEN - 1);
    await update(id, { content: 'third', tags: ['b'] });
    await store({ content: 'later', storedAt: THEN + 1 });
    const view = { moment: { at: LATER, now: LATER, known: THEN }, holding: false };
    const copy = await tested.storage.exportRecords('default', { view });
    const records: unknown[] = [];
    for await (const record of copy.records) records.push(record);
    await copy.discard();
    const memory = { id, content: 'second', tags: ['a'], revision: 2, version: 2 };
    expect(records).toMatchObject([{ memory: { ...memory, history: [{ revision: 1, content: 'first' }] } }]);
  });
}
