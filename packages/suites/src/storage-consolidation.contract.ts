import { LIMITS } from '@memoryd/contract/limits';
import type { NewMemory } from '@memoryd/core';
import type { MemoryChange } from '@memoryd/core/ports';
import { describe, expect, it } from 'vitest';
import { ALL, LATER, NOW, nextMemory, oldEnough, type TestedStorage } from './storage.fixture.ts';

/** Contract tests of the `ConsolidationStorage` port. */
export function consolidationStorageContract(tested: TestedStorage): void {
  const { storeMemory, findOrdinals, countTiers, beginRun, promote, mergeDuplicates, evictExpired } = tested;

  const read = (id: string) => tested.storage.memory('default', id, LATER);

  /** Stores texts, merges duplicates and returns the ids of the stored memories. */
  async function merged(...contents: string[]): Promise<string[]> {
    const ids: string[] = [];
    for (const content of contents) ids.push((await storeMemory({ content })).id);
    await mergeDuplicates(10);
    return ids;
  }

  describe('consolidation', () => {
    it('promotes the memories that were stored up to a given time, in batches', async () => {
      const stored = [await storeMemory(), await storeMemory(), await storeMemory()];
      const until = (stored[1] as NewMemory).storedAt;
      expect(await promote(until, 1)).toEqual({ count: 1, more: true });
      expect(await promote(until, 5)).toEqual({ count: 1, more: false });
      expect(await countTiers()).toEqual([1, 2, 0]);
    });

    const duplicates = ['caf\u00e9 ', ' cafe\u0301', 'caf\u00e9'];

    it('merges duplicates into the oldest, which receives their tags, maximum importance and access counts', async () => {
      const [second, first, third] = [
        await storeMemory({ content: duplicates[0] as string, createdAt: NOW + 2, tags: ['b'], importance: 0.9 }),
        await storeMemory({ content: duplicates[1] as string, createdAt: NOW + 1, tags: ['a'] }),
        await storeMemory({ content: duplicates[2] as string, createdAt: NOW + 3, tags: ['b', 'c', 'role:Ann'] }),
      ];
      await tested.storage.recordAccess([{ namespace: 'default', ordinal: third.ordinal, count: 4, at: NOW }]);
      expect(await mergeDuplicates(10)).toMatchObject({ count: 2 });
      expect(await tested.storage.memory('default', first.id, LATER)).toMatchObject({
        tags: ['a', 'b', 'c', 'role:Ann'],
        importance: 0.9,
        accessCount: 4,
        mergedInto: null,
        version: 1,
      });
      for (const [i, duplicate] of [second, third].entries()) {
        expect(await tested.storage.memory('default', duplicate.id, LATER)).toMatchObject({
          content: duplicates[i * 2],
          mergedInto: first.id,
        });
      }
      expect(await findOrdinals('cafe')).toEqual([first.ordinal]);
      expect(await findOrdinals('cafe', { tags: ['c'] })).toEqual([first.ordinal]);
      expect(await countTiers()).toEqual([1, 0, 0]);
      expect((await tested.storage.session('default', 'default', ALL, NOW)).total).toBe(3);
      expect(await mergeDuplicates(10)).toEqual({ count: 0, more: false });
    });

    it('limits merged access counts, also after later accesses, to the maximum that an import accepts', async () => {
      const [first, second] = [
        await storeMemory({ content: 'duplicate' }),
        await storeMemory({ content: 'duplicate' }),
      ];
      const use = (ordinal: number, count: number, at = NOW) =>
        tested.storage.recordAccess([{ namespace: 'default', ordinal, count, at }]);
      await use(first.ordinal, 7);
      await use(second.ordinal, LIMITS.counterValue);
      expect(await mergeDuplicates(10)).toMatchObject({ count: 1 });
      await use(first.ordinal, 1, NOW + 1);
      expect(await tested.storage.memory('default', first.id, LATER)).toMatchObject({
        accessCount: LIMITS.counterValue,
        accessedAt: NOW + 1,
      });
    });

    it('merges a large group of duplicates over several steps', async () => {
      for (let i = 0; i < 150; i++) await storeMemory({ content: 'again' });
      let merged = 0;
      for (let more = true; more; ) {
        const step = await mergeDuplicates(10);
        merged += step.count;
        more = step.more;
      }
      expect(merged).toBe(149);
    });

    it.each<[string, Partial<NewMemory>]>([
      ['in another session', { sessionId: 'other' }],
      ['with another text', { content: 'same text.' }],
      ['in another case', { content: 'Same text' }],
      ['that expire at another time', { expiresAt: NOW * 2 }],
      ['of another namespace', { namespace: 'other' }],
    ])('consolidation does not merge memories %s', async (_name, fields) => {
      await storeMemory({ content: 'same text' });
      await storeMemory({ content: 'same text', ...fields });
      expect(await mergeDuplicates(10)).toEqual({ count: 0, more: false });
    });

    it('consolidation does not merge a duplicate if the oldest memory would have too many tags', async () => {
      const many = Array.from({ length: 64 }, (_, i) => `tag ${i}`);
      const oldest = await storeMemory({ content: 'same text', tags: many });
      const other = await storeMemory({ content: 'same text', tags: ['special'] });
      await storeMemory({ content: 'same text', tags: many.slice(3, 5) });
      expect(await mergeDuplicates(10)).toEqual({ count: 1, more: false });
      expect(await findOrdinals('same', { tags: ['special'] })).toEqual([other.ordinal]);
      expect(await findOrdinals('same', { tags: ['tag 4'] })).toEqual([oldest.ordinal]);
    });

    it('consolidation does not merge a memory with the memory that it supersedes', async () => {
      const old = await storeMemory({ content: 'same text' });
      await storeMemory({ content: 'same text', supersedes: old.id });
      expect((await mergeDuplicates(10)).count).toBe(0);
    });

    it('consolidation merges superseded memories and their successor once the link between them is removed', async () => {
      const [old] = [await storeMemory({ content: 'old' }), await storeMemory({ content: 'old' })];
      const [next] = [await storeMemory({ content: 'new', supersedes: old.id }), await storeMemory({ content: 'new' })];
      expect((await mergeDuplicates(10)).count).toBe(0);
      await tested.storage.update({ namespace: 'default', id: next.id, at: NOW, supersedes: null });
      expect((await mergeDuplicates(10)).count).toBe(2);
    });

    it('consolidation does not merge memories that differ in source or metadata', async () => {
      const stored = [
        await storeMemory({ content: 'x' }),
        await storeMemory({ content: 'x', source: 'mail' }),
        await storeMemory({ content: 'x', metadata: { k: '2' } }),
      ];
      expect((await mergeDuplicates(10)).count).toBe(0);
      expect(await findOrdinals('x', { source: 'mail' })).toEqual([stored[1]?.ordinal]);
      await tested.storage.update({ namespace: 'default', id: stored[2]?.id ?? '', at: NOW, metadata: {} });
      expect((await mergeDuplicates(10)).count).toBe(1);
    });

    it('merges a memory and its hidden duplicates into an older memory after the memory gets the text of the older memory', async () => {
      const [older] = await merged('y');
      const [visible = '', hidden = ''] = await merged('x', 'x');
      await tested.storage.update({ namespace: 'default', id: visible, at: NOW, content: 'y' });
      expect((await mergeDuplicates(10)).count).toBe(1);
      for (const id of [visible, hidden]) expect(await read(id)).toMatchObject({ mergedInto: older });
      expect(await findOrdinals('x')).toEqual([]);
    });

    it('merges memories once their expiry is equal', async () => {
      const stored = [await storeMemory({ content: 'x' }), await storeMemory({ content: 'x', expiresAt: NOW * 2 })];
      expect((await mergeDuplicates(10)).count).toBe(0);
      await tested.storage.update({ namespace: 'default', id: stored[1]?.id ?? '', at: NOW, expiresAt: null });
      expect((await mergeDuplicates(10)).count).toBe(1);
      expect(await findOrdinals('x')).toEqual([stored[0]?.ordinal]);
    });

    it('merges a limited number of memories per step', async () => {
      for (let i = 0; i < 90; i++) await storeMemory({ content: `again ${i % 2}` });
      const step = await mergeDuplicates(10);
      expect(step.count).toBeLessThan(50);
      expect(step.more).toBe(true);
    });

    it('consolidation does not merge tags beyond the maximum number of tags that a client can set', async () => {
      const tags = (from: number) => Array.from({ length: 64 }, (_, i) => `tag ${from + i}`);
      const first = await storeMemory({ content: 'x', tags: tags(0) });
      await storeMemory({ content: 'x', tags: tags(64) });
      await mergeDuplicates(10);
      expect((await tested.storage.memory('default', first.id, LATER))?.tags).toEqual(tags(0));
    });

    it('evicts expired memories without losing their texts', async () => {
      const stored = await storeMemory({ content: 'was here', expiresAt: NOW });
      await storeMemory({ expiresAt: NOW + 1 });
      expect(await evictExpired(NOW, 10)).toEqual({ count: 1, more: false });
      expect(await evictExpired(NOW, 10)).toEqual({ count: 0, more: false });
      expect(await countTiers(NOW)).toEqual([1, 0, 0]);
      expect(await findOrdinals('was here')).toEqual([]);
      expect(await tested.storage.forget('default', stored.id)).toMatchObject({ outcome: 'forgotten' });
    });

    it('lists what no longer holds before the others, and never a correction before what it corrects', async () => {
      const correct = (supersedes: string, importance: number) => storeMemory({ supersedes, importance });
      const unimportant = await storeMemory({ importance: 0 });
      const first = await storeMemory({ importance: 1 });
      const second = await correct(first.id, 0.5);
      const third = await correct(second.id, 0);
      const corrected = await correct(third.id, 0);
      const ended = await storeMemory({ importance: 1, createdAt: NOW - 20, validTo: NOW - 10 });
      const later = await storeMemory({ importance: 0.5, validFrom: NOW * 2 });
      await tested.storage.promote(await beginRun(), oldEnough(NOW * 2), 100);
      const least = await tested.storage.leastRetained('default', 'episodic', 100, NOW + 1e6);
      const expected = [first, second, third, ended, unimportant, later, corrected];
      expect(least.map(({ id }) => id)).toEqual(expected.map(({ id }) => id));
    });

    it('lists the memories with the lowest retention in a tier: old, unimportant and unused first', async () => {
      const DAY_MS = 86_400_000;
      const now = NOW + 100 * DAY_MS;
      const plain = await storeMemory({ storedAt: NOW });
      const duplicateAge = await storeMemory({ storedAt: NOW });
      const old = await storeMemory({ storedAt: NOW - 300 * DAY_MS });
      const important = await storeMemory({ storedAt: NOW, importance: 1 });
      const unimportant = await storeMemory({ storedAt: NOW, importance: 0 });
      const used = await storeMemory({ storedAt: NOW - 300 * DAY_MS });
      await tested.storage.recordAccess([{ namespace: 'default', ordinal: used.ordinal, count: 5, at: now - DAY_MS }]);
      await storeMemory({ storedAt: NOW, expiresAt: NOW + 1 });
      await storeMemory({ storedAt: NOW, namespace: 'other' });
      await tested.storage.promote(await beginRun(), oldEnough(now), 100);
      await storeMemory({ storedAt: NOW - 300 * DAY_MS });
      const least = await tested.storage.leastRetained('default', 'episodic', 100, now);
      const expected = [unimportant, old, plain, duplicateAge, important, used];
      expect(least).toMatchObject(expected.map(({ ordinal, id }) => ({ ordinal, id })));
      expect(await tested.storage.leastRetained('default', 'episodic', 2, now)).toEqual(least.slice(0, 2));
      expect(await tested.storage.leastRetained('default', 'semantic', 2, now)).toEqual([]);
    });

    it('evicts the given memories from a tier, once each, without losing their texts', async () => {
      const [one, two] = [await storeMemory({ content: 'was here' }), await storeMemory({ content: 'was here too' })];
      const other = await storeMemory({ content: 'was here', namespace: 'other' });
      const run = await beginRun();
      const ordinals = [one.ordinal, other.ordinal, 999_999];
      expect(await tested.storage.evictExcess(run, 'episodic', ordinals, NOW)).toBe(0);
      expect(await tested.storage.evictExcess(run, 'working', ordinals, NOW)).toBe(1);
      expect(await tested.storage.evictExcess(run, 'working', ordinals, NOW)).toBe(0);
      expect(await countTiers()).toEqual([1, 0, 0]);
      expect(await findOrdinals('was here')).toEqual([two.ordinal]);
      expect(await tested.storage.memory('other', other.id, NOW)).toBeDefined();
      expect((await tested.storage.endRun(run, NOW)).counts).toEqual({ evicted: 1 });
      expect(await tested.storage.forget('default', one.id)).toMatchObject({ outcome: 'forgotten' });
    });

    it('records the end time of the last run in the statistics of its namespace', async () => {
      expect((await tested.storage.stats('default', NOW)).lastSleepAt).toBeNull();
      await tested.storage.endRun(await beginRun(), NOW + 5);
      expect((await tested.storage.stats('default', NOW)).lastSleepAt).toBe(NOW + 5);
      expect((await tested.storage.stats('other', NOW)).lastSleepAt).toBeNull();
      // The clock was set back before this run.
      const run = await beginRun({ at: NOW - 1000 });
      expect((await tested.storage.stats('default', NOW)).lastSleepAt).toBe(NOW + 5);
      await tested.storage.endRun(run, NOW - 1000);
      expect((await tested.storage.stats('default', NOW)).lastSleepAt).toBe(NOW - 1000);
    });

    it('deletes old idempotency keys', async () => {
      const idempotency = { key: 'k', digest: 'd' };
      const { storedAt } = await storeMemory({ idempotency });
      await tested.storage.dropIdempotencyKeys(storedAt + 1, 10);
      expect(await tested.storage.store(nextMemory({ idempotency }))).toMatchObject({ outcome: 'stored' });
    });

    it('lists the memories with the lowest retention in a tier that is read in several batches', async () => {
      // PostgreSQL plans slow reads of this many rows if its statistics still say that the tables are empty.
      await tested.openNew();
      const isUnimportant = (place: number) => place % 5000 === 1;
      const many = Array.from({ length: 10_010 }, (_, i) => nextMemory({ importance: isUnimportant(i) ? 0 : 0.5 }));
      const ordinals: number[] = [];
      // In several calls, since a long statement would exceed the statement timeout.
      for (let from = 0; from < many.length; from += 500) {
        const outcomes = await tested.storage.storeMany(many.slice(from, from + 500));
        ordinals.push(...outcomes.map((stored) => (stored.outcome === 'stored' ? stored.ordinal : 0)));
      }
      const run = await beginRun();
      while ((await tested.storage.promote(run, oldEnough(NOW + 1e6), 500)).more);
      const least = await tested.storage.leastRetained('default', 'episodic', 4, NOW + 1e9);
      expect(least.map(({ ordinal }) => ordinal)).toEqual([
        ...ordinals.filter((_, i) => isUnimportant(i)),
        ordinals[0],
      ]);
      // Emptying the database takes longer than opening a new one.
      await tested.close();
    });
  });

  describe('a hidden duplicate', () => {
    it('a hidden duplicate is forgotten together with the visible memory, and the forget returns its id', async () => {
      const [visible = '', ...hidden] = await merged('x', 'x', 'x');
      const forgotten = await tested.storage.forget('default', visible);
      expect(forgotten).toMatchObject({ outcome: 'forgotten', alsoForgotten: hidden, remainingDuplicates: [] });
      for (const id of [visible, ...hidden]) expect(await read(id)).toBeUndefined();
      expect(await countTiers()).toEqual([0, 0, 0]);
    });

    it('a hidden duplicate can be forgotten alone, and the forget returns the ids of the remaining duplicates', async () => {
      const [visible = '', second = '', third = ''] = await merged('x', 'x', 'x');
      const forgotten = await tested.storage.forget('default', second);
      expect(forgotten).toMatchObject({ alsoForgotten: [], remainingDuplicates: [visible, third] });
      expect(await read(second)).toBeUndefined();
      expect(await read(third)).toMatchObject({ content: 'x', mergedInto: visible });
      await tested.storage.update({ namespace: 'default', id: visible, at: NOW, content: 'y' });
      expect(await tested.storage.forget('default', third)).toMatchObject({ remainingDuplicates: [] });
      expect(await countTiers()).toEqual([1, 0, 0]);
    });

    it('transfers its successor to the visible memory when the hidden duplicate is forgotten', async () => {
      const [visible = '', hidden = ''] = await merged('x', 'x');
      const correction = await storeMemory({ content: 'y', supersedes: hidden });
      await tested.storage.forget('default', hidden);
      expect(await read(visible)).toMatchObject({ supersededBy: correction.id });
      expect(await read(correction.id)).toMatchObject({ supersedes: visible });
    });

    it('becomes independent if it supersedes a memory', async () => {
      const other = await storeMemory();
      const [visible = '', hidden = ''] = await merged('x', 'x');
      await tested.storage.update({ namespace: 'default', id: hidden, at: NOW, supersedes: null });
      expect(await read(hidden)).toMatchObject({ mergedInto: visible });
      await tested.storage.update({ namespace: 'default', id: hidden, at: NOW, supersedes: other.id });
      expect(await read(hidden)).toMatchObject({ mergedInto: null, supersedes: other.id });
      expect(await read(other.id)).toMatchObject({ supersededBy: hidden });
    });

    it('becomes independent if its text changes', async () => {
      const [first, duplicate] = [await storeMemory({ content: 'x' }), await storeMemory({ content: 'x' })];
      await mergeDuplicates(10);
      await tested.storage.update({ namespace: 'default', id: duplicate.id, at: NOW, content: 'individual' });
      expect((await tested.storage.memory('default', duplicate.id, LATER))?.mergedInto).toBeNull();
      expect(await findOrdinals('individual')).toEqual([duplicate.ordinal]);
      expect(await findOrdinals('x')).toEqual([first.ordinal]);
      expect(await countTiers()).toEqual([2, 0, 0]);
    });

    // A change of the visible memory by a client changes the whole group.
    it.each<[string, Partial<MemoryChange>]>([
      ['another text', { content: 'changed' }],
      ['other metadata', { metadata: { k: '3' } }],
      ['other tags', { tags: ['other'] }],
      ['another importance', { importance: 0.9 }],
      ['an expiry', { expiresAt: NOW * 2 }],
    ])('stays hidden when the visible memory gets %s', async (_, change) => {
      const [visible = '', ...hidden] = await merged('x', 'x', 'x');
      await tested.storage.update({ namespace: 'default', id: visible, at: NOW, ...change });
      expect((await mergeDuplicates(10)).count).toBe(0);
      for (const id of hidden) expect(await read(id)).toMatchObject({ content: 'x', mergedInto: visible });
      expect(await countTiers()).toEqual([1, 0, 0]);
      const { ordinal } = (await read(visible)) ?? {};
      expect(await findOrdinals(change.content ?? 'x')).toEqual([ordinal]);
      if (change.content !== undefined) expect(await findOrdinals('x')).toEqual([]);
    });

    it('expires together with the visible memory, until the expiry is cleared', async () => {
      const ids = await merged('x', 'x');
      const update = (expiresAt: number | null) =>
        tested.storage.update({ namespace: 'default', id: ids[0] ?? '', at: NOW, expiresAt });
      await update(NOW + 5);
      for (const id of ids) {
        expect(await tested.storage.memory('default', id, NOW + 4)).toBeDefined();
        expect(await tested.storage.memory('default', id, NOW + 5)).toBeUndefined();
      }
      await update(null);
      for (const id of ids) expect(await tested.storage.memory('default', id, NOW + 5)).toBeDefined();
      await update(NOW + 5);
      await evictExpired(NOW + 5, 10);
      expect(await findOrdinals('x', {}, NOW + 5)).toEqual([]);
    });

    it.each([
      ['tags', { tags: ['later'] }],
      ['importance', { importance: 0.9 }],
      ['an expiry', { expiresAt: NOW + 5 }],
    ])('stays hidden when the hidden duplicate itself gets %s', async (_, change) => {
      const [visible = '', hidden = ''] = await merged('x', 'x');
      const changed = { namespace: 'default', id: hidden, at: NOW, ...change };
      expect(await tested.storage.update(changed)).toMatchObject({ outcome: 'updated', embedding: false });
      expect(await tested.storage.memory('default', hidden, NOW)).toMatchObject({ mergedInto: visible, ...change });
      await evictExpired(NOW + 5, 10);
      expect(await findOrdinals('x', {}, NOW + 5)).toEqual([(await read(visible))?.ordinal]);
    });

    it('becomes independent if its metadata changes', async () => {
      const [visible = '', hidden = ''] = await merged('x', 'x');
      const changed = { namespace: 'default', id: hidden, at: NOW, metadata: { k: '1' } };
      expect(await tested.storage.update(changed)).toMatchObject({ outcome: 'updated', embedding: true });
      expect(await findOrdinals('x', { metadata: { k: '1' } })).toEqual([(await read(hidden))?.ordinal]);
      expect((await read(visible))?.mergedInto).toBeNull();
      expect(await countTiers()).toEqual([2, 0, 0]);
    });

    it('shares its successor with the visible memory, until the successor is forgotten', async () => {
      const [first, duplicate] = [await storeMemory({ content: 'x' }), await storeMemory({ content: 'x' })];
      await mergeDuplicates(10);
      const correction = await storeMemory({ content: 'y', supersedes: duplicate.id });
      expect((await tested.storage.memory('default', first.id, LATER))?.supersededBy).toBe(correction.id);
      expect(await findOrdinals('x')).toEqual([first.ordinal, correction.ordinal]);
      await tested.storage.forget('default', correction.id);
      expect((await tested.storage.memory('default', first.id, LATER))?.supersededBy).toBeNull();
      expect((await tested.storage.memory('default', duplicate.id, LATER))?.supersededBy).toBeNull();
    });

    it('superseded duplicate names, as does the visible memory, the first remaining successor of either memory', async () => {
      const [first, duplicate] = [await storeMemory({ content: 'x' }), await storeMemory({ content: 'x' })];
      await mergeDuplicates(10);
      const corrections = [];
      for (const { id } of [first, duplicate, first, duplicate])
        corrections.push(await storeMemory({ content: 'y', supersedes: id }));
      const supersededBy = async ({ id }: NewMemory) =>
        (await tested.storage.memory('default', id, LATER))?.supersededBy;
      for (const [place, { id }] of corrections.entries()) {
        expect([await supersededBy(first), await supersededBy(duplicate)]).toEqual([id, id]);
        await tested.storage.forget('default', id);
        const left = corrections[place + 1]?.id ?? null;
        expect([await supersededBy(first), await supersededBy(duplicate)]).toEqual([left, left]);
      }
    });

    it('keeps its successor when it becomes independent, and so does the visible memory', async () => {
      const [visible = '', hidden = ''] = await merged('x', 'x');
      const correction = await storeMemory({ content: 'y', supersedes: hidden });
      await tested.storage.update({ namespace: 'default', id: hidden, at: NOW, content: 'something else' });
      expect((await read(visible))?.supersededBy).toBe(correction.id);
      expect((await read(hidden))?.supersededBy).toBe(correction.id);
      await tested.storage.forget('default', correction.id);
      expect((await read(hidden))?.supersededBy).toBeNull();
    });
  });
}
