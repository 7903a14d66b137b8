import type { ConsolidationRun, RunRef, StepResult, UndoOutcome } from '@memoryd/core/ports';
import { CONSOLIDATION_LEASE } from '@memoryd/core/ports';
import { describe, expect, it } from 'vitest';
import { ALL, LATER, NOW, nextRunId, oldEnough, type TestedStorage } from './storage.fixture.ts';

/** Contract tests of the `RunStorage` port. */
export function runStorageContract(tested: TestedStorage): void {
  const { storeMemory, findOrdinals, countTiers, beginRun, mergeDuplicates, evictExpired } = tested;

  describe('a consolidation run', () => {
    it('returns the number of its changes by kind', async () => {
      for (const content of ['x', 'x', 'y']) await storeMemory({ content });
      await storeMemory({ expiresAt: NOW });
      const run = await beginRun({ id: 'a run' });
      await tested.storage.promote(run, oldEnough(NOW * 2), 10);
      await tested.storage.evictExpired(run, NOW, 10);
      await tested.storage.mergeDuplicates(run, NOW, 10);
      expect(await tested.storage.endRun(run, NOW + 7)).toEqual<ConsolidationRun>({
        no: run.no,
        id: 'a run',
        state: 'completed',
        startedAt: NOW,
        endedAt: NOW + 7,
        counts: { promoted: 4, evicted: 1, merged: 1, gained: 1 },
        notes: {},
      });
    });

    it('a consolidation run is resumed after a crash with the same id and counts', async () => {
      for (let i = 0; i < 3; i++) await storeMemory();
      const left = await beginRun({ id: 'left', at: NOW + 1e6 });
      await tested.storage.promote(left, oldEnough(NOW * 2), 2);
      await tested.reopen();
      const fence = (await tested.lease.acquire(CONSOLIDATION_LEASE, 'another process', NOW + 2e6, 1000)) as number;
      const begun = await tested.storage.beginRun('default', {
        id: 'new',
        startedAt: NOW + 2e6,
        promotedUntil: NOW,
        fence,
      });
      expect(begun).toEqual({
        outcome: 'resumed',
        ref: { namespace: 'default', no: left.no, id: 'left', fence },
        promotedUntil: NOW + 1e6,
      });
      expect(await tested.storage.promote(begun.ref, oldEnough(NOW + 1e6), 2)).toEqual({ count: 1, more: false });
      expect(await tested.storage.endRun(begun.ref, NOW)).toMatchObject({ id: 'left', counts: { promoted: 3 } });
    });

    it('changes only memories of its own namespace', async () => {
      const [one, other] = [await beginRun(), await beginRun({ namespace: 'other' })];
      expect(one.no).not.toBe(other.no);
      await storeMemory();
      expect(await tested.storage.promote(other, oldEnough(NOW * 2), 10)).toEqual({ count: 0, more: false });
      expect(await tested.storage.promote(one, oldEnough(NOW * 2), 10)).toEqual({ count: 1, more: false });
    });

    it('a consolidation run can no longer write after another process has acquired the lease', async () => {
      await storeMemory({ content: 'x', expiresAt: NOW });
      await storeMemory({ content: 'x', expiresAt: NOW });
      const slow = await beginRun();
      const quick = await beginRun({ holder: 'another process', at: NOW + 1000 });
      const refused = { code: 'UNAVAILABLE' };
      await expect(tested.storage.promote(slow, oldEnough(NOW * 2), 10)).rejects.toMatchObject(refused);
      await expect(tested.storage.mergeDuplicates(slow, NOW, 10)).rejects.toMatchObject(refused);
      await expect(tested.storage.dropCandidates(slow, [])).rejects.toMatchObject(refused);
      await expect(tested.storage.evictExpired(slow, NOW, 10)).rejects.toMatchObject(refused);
      await expect(tested.storage.endRun(slow, NOW)).rejects.toMatchObject(refused);
      const { fence } = slow;
      const late = { id: 'late', startedAt: NOW, promotedUntil: NOW, fence };
      await expect(tested.storage.beginRun('default', late)).rejects.toMatchObject(refused);
      expect(await countTiers(NOW - 1)).toEqual([2, 0, 0]);
      expect((await tested.storage.promote(quick, oldEnough(NOW * 2), 10)).count).toBe(2);
    });

    async function consolidateOnce(id = nextRunId(), now = NOW): Promise<RunRef> {
      const run = await beginRun({ id, at: now });
      await all(() => tested.storage.promote(run, oldEnough(NOW + 1e6), 10));
      await all(() => tested.storage.evictExpired(run, now, 10));
      await all(() => tested.storage.mergeDuplicates(run, NOW, 10));
      await tested.storage.endRun(run, now);
      return run;
    }

    async function all(work: () => Promise<StepResult>): Promise<void> {
      while ((await work()).more);
    }

    function beginUndo(id: string, endedAfter = 0): Promise<UndoOutcome> {
      return tested.lease
        .acquire(CONSOLIDATION_LEASE, 'this process', NOW, 1000)
        .then((fence) => tested.storage.beginUndo('default', id, { fence: fence ?? 0, endedAfter }));
    }

    async function undo(id: string, atOnce = 3): Promise<void> {
      const begun = await beginUndo(id);
      if (begun.outcome !== 'begun') throw new Error(`run ${id} cannot be undone: ${begun.outcome}`);
      await all(() => tested.storage.undoSome(begun.ref, NOW, atOnce));
    }

    const getChanges = async ({ namespace, no }: RunRef) =>
      (await tested.storage.changes(namespace, no, ALL)).items.map(({ seq, ...rest }) => rest);

    it('a consolidation run is listed with its changes, newest run first', async () => {
      const [survivor, duplicate] = [
        await storeMemory({ content: 'x', tags: ['a'] }),
        await storeMemory({ content: 'x', tags: ['b'] }),
      ];
      const expired = await storeMemory({ expiresAt: NOW });
      const first = await consolidateOnce('first');
      await consolidateOnce('second');
      const { items, total } = await tested.storage.runs('default', ALL);
      expect([items.map((run) => run.id), total]).toEqual([['second', 'first'], 2]);
      expect(await tested.storage.run('default', 'first')).toEqual(items[1]);
      expect(await tested.storage.run('other', 'first')).toBeUndefined();
      expect((await tested.storage.runs('other', ALL)).total).toBe(0);
      expect(await getChanges(first)).toEqual([
        { kind: 'promoted', id: survivor.id },
        { kind: 'promoted', id: duplicate.id },
        { kind: 'promoted', id: expired.id },
        { kind: 'evicted', id: expired.id, reason: 'expired' },
        { kind: 'gained', id: survivor.id, before: { tags: ['a'], importance: 0.5 } },
        { kind: 'merged', id: duplicate.id, mergedInto: survivor.id },
      ]);
    });

    it('a consolidation run is listed page by page, and so are its changes', async () => {
      for (let i = 0; i < 3; i++) await storeMemory();
      const run = await consolidateOnce('a');
      await consolidateOnce('b');
      const [newest] = (await tested.storage.runs('default', { ...ALL, limit: 1 })).items;
      const rest = await tested.storage.runs('default', { ...ALL, limit: 1, after: newest?.no ?? 0 });
      expect([newest?.id, rest.items.map(({ id }) => id), rest.next]).toEqual(['b', ['a'], undefined]);
      const page = await tested.storage.changes('default', run.no, { ...ALL, limit: 2 });
      expect([page.items.length, page.total, page.next]).toEqual([2, 3, 2]);
      const last = await tested.storage.changes('default', run.no, { ...ALL, limit: 2, after: 2 });
      expect(last.items.map(({ seq }) => seq)).toEqual([3]);
      expect(await tested.storage.changes('other', run.no, ALL)).toEqual({ items: [], total: 0 });
    });

    it('a consolidation run does not list changes to forgotten memories', async () => {
      const [survivor, duplicate] = [await storeMemory({ content: 'x' }), await storeMemory({ content: 'x' })];
      const run = await consolidateOnce();
      await tested.storage.update({ namespace: 'default', id: duplicate.id, at: NOW, content: 'y' });
      await tested.storage.forget('default', survivor.id);
      expect(await getChanges(run)).toEqual([
        { kind: 'promoted', id: duplicate.id },
        { kind: 'merged', id: duplicate.id, mergedInto: null },
      ]);
      expect((await tested.storage.runs('default', ALL)).items[0]?.counts).toMatchObject({ promoted: 2 });
    });

    it('a consolidation run can be undone completely: tiers, duplicates, fields of merged memories, and evictions', async () => {
      const survivor = await storeMemory({ content: 'x', tags: ['a', 'shared'], importance: 0.2 });
      const duplicate = await storeMemory({ content: 'x', tags: ['shared', 'b', 'role:Ann'], importance: 0.9 });
      const evicted = await storeMemory({ content: 'gone', expiresAt: NOW + 10 });
      await tested.storage.recordAccess([
        { namespace: 'default', ordinal: survivor.ordinal, count: 2, at: NOW },
        { namespace: 'default', ordinal: duplicate.ordinal, count: 3, at: NOW + 5 },
      ]);
      const read = () =>
        Promise.all([survivor, duplicate, evicted].map(({ id }) => tested.storage.memory('default', id, LATER)));
      const before = await read();
      await consolidateOnce('a run', NOW + 10);
      expect(await countTiers(NOW)).toEqual([0, 1, 0]);
      await undo('a run', 1);
      expect(await read()).toEqual(before);
      expect(await countTiers(NOW)).toEqual([3, 0, 0]);
      expect(await findOrdinals('x')).toEqual([survivor.ordinal, duplicate.ordinal]);
      expect(await findOrdinals('x', { tags: ['b'] })).toEqual([duplicate.ordinal]);
      expect(await findOrdinals('gone', {}, NOW)).toEqual([evicted.ordinal]);
      expect(await tested.storage.run('default', 'a run')).toMatchObject({ state: 'undone', counts: { merged: 1 } });
    });

    it('restores duplicates that were evicted with their visible memory when it is undone', async () => {
      const [survivor, duplicate] = [
        await storeMemory({ content: 'said twice' }),
        await storeMemory({ content: 'said twice' }),
      ];
      await mergeDuplicates(10);
      const run = await beginRun();
      expect(await tested.storage.evictExcess(run, 'working', [survivor.ordinal], NOW)).toBe(1);
      expect((await tested.storage.endRun(run, NOW)).counts).toMatchObject({ evicted: 1 });
      for (const { id } of [survivor, duplicate])
        expect(await tested.storage.memory('default', id, LATER)).toBeUndefined();
      await undo(run.id);
      expect(await tested.storage.memory('default', survivor.id, LATER)).toMatchObject({ mergedInto: null });
      expect(await tested.storage.memory('default', duplicate.id, LATER)).toMatchObject({ mergedInto: survivor.id });
      expect(await findOrdinals('said twice')).toEqual([survivor.ordinal]);
    });

    it('keeps later accesses when it is undone', async () => {
      const [survivor, duplicate] = [await storeMemory({ content: 'x' }), await storeMemory({ content: 'x' })];
      await tested.storage.recordAccess([{ namespace: 'default', ordinal: duplicate.ordinal, count: 3, at: NOW + 5 }]);
      await consolidateOnce('a run');
      await tested.storage.recordAccess([{ namespace: 'default', ordinal: survivor.ordinal, count: 1, at: NOW + 7 }]);
      await undo('a run');
      expect(await tested.storage.memory('default', survivor.id, LATER)).toMatchObject({
        accessCount: 1,
        accessedAt: NOW + 7,
      });
      expect(await tested.storage.memory('default', duplicate.id, LATER)).toMatchObject({
        accessCount: 3,
        accessedAt: NOW + 5,
      });
    });

    it('a consolidation run can only be undone after all newer runs with changes are undone', async () => {
      const older = await storeMemory({ content: 'x', createdAt: NOW + 1 });
      const duplicate = await storeMemory({ content: 'x', createdAt: NOW + 2 });
      const first = await consolidateOnce('first');
      const oldest = await storeMemory({ content: 'x', createdAt: NOW });
      await consolidateOnce('second');
      await consolidateOnce('idle');
      const getMergedInto = async (id: string) => (await tested.storage.memory('default', id, LATER))?.mergedInto;
      expect([await getMergedInto(older.id), await getMergedInto(duplicate.id)]).toEqual([oldest.id, oldest.id]);
      expect(await beginUndo('first')).toEqual({ outcome: 'newer', id: 'second' });
      expect((await tested.storage.laterRuns('default', first.no, 10)).items).toEqual([
        { id: 'second', startedAt: NOW },
      ]);
      await undo('second');
      expect(await tested.storage.laterRuns('default', first.no, 10)).toEqual({ total: 0, items: [] });
      expect([
        await getMergedInto(older.id),
        await getMergedInto(duplicate.id),
        await getMergedInto(oldest.id),
      ]).toEqual([null, older.id, null]);
      await undo('first');
      expect([await getMergedInto(older.id), await getMergedInto(duplicate.id)]).toEqual([null, null]);
      expect(await findOrdinals('x')).toEqual([older.ordinal, duplicate.ordinal, oldest.ordinal].sort((a, b) => a - b));
    });

    it('a consolidation run has a list of later runs to undo before it, which includes unfinished runs and unfinished undos', async () => {
      const later = async (limit = 10, namespace = 'default') => {
        const { total, items } = await tested.storage.laterRuns(namespace, first.no, limit);
        return [total, ...items.map(({ id }) => id)];
      };
      const first = await consolidateOnce('first');
      await storeMemory();
      await consolidateOnce('second');
      const running = await beginRun({ id: 'running' });
      expect(await later()).toEqual([2, 'running', 'second']);
      expect(await later(1)).toEqual([2, 'running']);
      expect(await later(10, 'other')).toEqual([0]);
      await tested.storage.endRun(running, NOW);
      expect((await beginUndo('second')).outcome).toBe('begun');
      expect(await later()).toEqual([1, 'second']);
    });

    it.each(['changed', 'forgotten'] as const)(
      'merges a duplicate back into its previous memory when it is undone, unless that memory was forgotten: %s',
      async (since) => {
        const older = await storeMemory({ content: 'x', createdAt: NOW + 1 });
        const hidden = await storeMemory({ content: 'x', createdAt: NOW + 2 });
        await consolidateOnce('first');
        await storeMemory({ content: 'x', createdAt: NOW });
        await consolidateOnce('second');
        if (since === 'forgotten') await tested.storage.forget('default', older.id);
        else await tested.storage.update({ namespace: 'default', id: older.id, at: NOW, content: 'y' });
        await undo('second');
        const { mergedInto } = (await tested.storage.memory('default', hidden.id, LATER)) ?? {};
        expect(mergedInto).toBe(since === 'forgotten' ? null : older.id);
        expect(await countTiers()).toEqual([1, 1, 0]);
      },
    );

    it('restores duplicates and keeps later changes by clients when it is undone', async () => {
      const [visible, hidden, forgotten] = [
        await storeMemory({ content: 'x' }),
        await storeMemory({ content: 'x' }),
        await storeMemory({ content: 'x', tags: ['gained'] }),
      ];
      await consolidateOnce('a run');
      await tested.storage.forget('default', forgotten.id);
      const expiresAt = NOW * 2;
      await tested.storage.update({ namespace: 'default', id: visible.id, at: NOW, content: 'y', expiresAt });
      await undo('a run');
      const read = ({ id }: { id: string }) => tested.storage.memory('default', id, LATER);
      expect(await read(visible)).toMatchObject({ content: 'y', expiresAt, mergedInto: null });
      expect(await read(hidden)).toMatchObject({ content: 'x', expiresAt, mergedInto: null });
      expect(await read(forgotten)).toBeUndefined();
      expect(await findOrdinals('x')).toEqual([hidden.ordinal]);
      expect(await countTiers()).toEqual([2, 0, 0]);
    });

    const undoOfMemory = async (id: string, memoryId: string) =>
      tested.storage.undoOfMemory('default', id, memoryId, {
        fence: (await tested.lease.acquire(CONSOLIDATION_LEASE, 'this process', NOW, 1000)) ?? 0,
        endedAfter: 0,
        at: NOW + 1,
      });

    it('undoes only the changes of one memory, and later the rest of the run', async () => {
      const survivor = await storeMemory({ content: 'x', tags: ['a'] });
      const [one, other] = [await storeMemory({ content: 'x', tags: ['b'] }), await storeMemory({ content: 'x' })];
      const expired = await storeMemory({ expiresAt: NOW });
      const run = await consolidateOnce('a run');
      expect(await undoOfMemory('a run', one.id)).toMatchObject({
        outcome: 'undone',
        memory: { id: one.id },
        isDeleted: false,
      });
      const getPlace = async ({ id }: { id: string }) => {
        const { tier, mergedInto, tags } = (await tested.storage.memory('default', id, LATER)) ?? {};
        return { tier, mergedInto, tags };
      };
      expect(await getPlace(one)).toEqual({ tier: 'working', mergedInto: null, tags: ['b'] });
      expect(await getPlace(other)).toEqual({ tier: 'episodic', mergedInto: survivor.id, tags: [] });
      expect(await getPlace(survivor)).toMatchObject({ tier: 'episodic', tags: ['a', 'b'] });
      expect((await getChanges(run)).map(({ id }) => id)).not.toContain(one.id);
      expect(await undoOfMemory('a run', one.id)).toEqual({ outcome: 'unchanged' });
      expect(await undoOfMemory('a run', 'nobody')).toEqual({ outcome: 'unchanged' });
      expect(await undoOfMemory('another run', one.id)).toEqual({ outcome: 'unknown' });
      expect(await undoOfMemory('a run', expired.id)).toMatchObject({ outcome: 'undone' });
      expect(await tested.storage.run('default', 'a run')).toMatchObject({ state: 'completed' });
      await undo('a run');
      expect(await getPlace(other)).toEqual({ tier: 'working', mergedInto: null, tags: [] });
      expect(await getPlace(survivor)).toMatchObject({ tier: 'working', tags: ['a'] });
      expect(await getPlace(one)).toEqual({ tier: 'working', mergedInto: null, tags: ['b'] });
      expect(await undoOfMemory('a run', other.id)).toEqual({ outcome: 'not-completed', state: 'undone' });
    });

    it('a memory whose merge was undone is not merged again until a duplicate changes', async () => {
      const survivor = await storeMemory({ content: 'x' });
      const duplicate = await storeMemory({ content: 'x' });
      await consolidateOnce('a run');
      await undoOfMemory('a run', duplicate.id);
      await consolidateOnce('the next run');
      const getMerged = async () => (await tested.storage.memory('default', duplicate.id, LATER))?.mergedInto;
      expect(await getMerged()).toBeNull();
      await storeMemory({ content: 'x' });
      await consolidateOnce('the last run');
      expect(await getMerged()).toBe(survivor.id);
    });

    it('refuses to undo the changes of one memory that a later run has changed, and changes nothing', async () => {
      const [, duplicate] = [await storeMemory({ content: 'x' }), await storeMemory({ content: 'x' })];
      const expiring = await storeMemory({ expiresAt: NOW + 10 });
      const run = await consolidateOnce('a run');
      await consolidateOnce('later', NOW + 20);
      const before = await getChanges(run);
      expect(await undoOfMemory('a run', expiring.id)).toEqual({ outcome: 'newer', id: 'later' });
      expect(await getChanges(run)).toEqual(before);
      expect(await undoOfMemory('a run', duplicate.id)).toMatchObject({ outcome: 'undone' });
      expect(await undoOfMemory('later', expiring.id)).toMatchObject({ outcome: 'undone' });
      expect(await undoOfMemory('a run', expiring.id)).toMatchObject({ outcome: 'undone' });
    });

    it('keeps changes that clients make while it is being undone', async () => {
      const [survivor, duplicate] = [
        await storeMemory({ content: 'x' }),
        await storeMemory({ content: 'x', tags: ['a'] }),
      ];
      await consolidateOnce('a run');
      const begun = await beginUndo('a run');
      if (begun.outcome !== 'begun') throw new Error(begun.outcome);
      await tested.storage.update({ namespace: 'default', id: survivor.id, at: NOW, tags: ['mine'] });
      await all(() => tested.storage.undoSome(begun.ref, NOW, 1));
      expect(await tested.storage.memory('default', survivor.id, LATER)).toMatchObject({
        tags: ['mine'],
        tier: 'working',
      });
      expect(await tested.storage.memory('default', duplicate.id, LATER)).toMatchObject({
        tags: ['a'],
        mergedInto: null,
      });
    });

    it('a consolidation run does not restore memories that were forgotten after the run when it is undone', async () => {
      const stored = [await storeMemory({ content: 'x' }), await storeMemory({ content: 'x' }), await storeMemory()];
      await consolidateOnce('a run');
      await tested.storage.forget('default', stored[0]?.id ?? '');
      await undo('a run');
      expect(await countTiers()).toEqual([1, 0, 0]);
    });

    it('leaves all memories with a corrected text superseded when it is undone', async () => {
      const later = [
        await storeMemory({ content: 'x', createdAt: NOW + 5 }),
        await storeMemory({ content: 'x', createdAt: NOW + 6 }),
      ];
      await consolidateOnce();
      const oldest = await storeMemory({ content: 'x', createdAt: NOW });
      await consolidateOnce('a run');
      const correction = await storeMemory({ content: 'y', supersedes: later[1]?.id ?? '' });
      const corrected = async () =>
        Promise.all(
          [oldest, ...later].map(
            async ({ id }) => (await tested.storage.memory('default', id, LATER))?.supersededBy ?? null,
          ),
        );
      expect(await corrected()).toEqual([correction.id, correction.id, correction.id]);
      await undo('a run');
      expect(await corrected()).toEqual([correction.id, correction.id, correction.id]);
    });

    it('a consolidation run cannot be undone if it is unknown, not completed, already undone or too old', async () => {
      expect(await beginUndo('none')).toEqual({ outcome: 'unknown' });
      await storeMemory();
      await beginRun({ id: 'a run' });
      expect(await beginUndo('a run')).toEqual({ outcome: 'not-completed', state: 'running' });
      await consolidateOnce();
      expect(await beginUndo('a run', NOW)).toEqual({ outcome: 'too-old' });
      await undo('a run');
      expect(await beginUndo('a run')).toEqual({ outcome: 'not-completed', state: 'undone' });
    });

    it('a consolidation run is undone completely even if a crash interrupts the undo', async () => {
      for (let i = 0; i < 5; i++) await storeMemory();
      await consolidateOnce('a run');
      const begun = await beginUndo('a run');
      if (begun.outcome !== 'begun') throw new Error(begun.outcome);
      expect(await tested.storage.undoSome(begun.ref, NOW, 2)).toEqual({ count: 2, more: true });
      await tested.reopen();
      const fence = (await tested.lease.acquire(CONSOLIDATION_LEASE, 'another process', NOW + 1e6, 1000)) as number;
      const next = { id: 'next', startedAt: NOW, promotedUntil: NOW, fence };
      const left = await tested.storage.beginRun('default', next);
      expect(left).toEqual({ outcome: 'undoing', ref: { ...begun.ref, fence } });
      expect(await tested.storage.undoSome(left.ref, NOW, 10)).toEqual({ count: 3, more: false });
      expect(await countTiers()).toEqual([5, 0, 0]);
      expect((await tested.storage.run('default', 'a run'))?.state).toBe('undone');
      expect((await tested.storage.beginRun('default', next)).outcome).toBe('begun');
    });

    it('a consolidation run can revert its changes before it has ended', async () => {
      for (const content of ['x', 'x']) await storeMemory({ content });
      const run = await beginRun({ id: 'a run' });
      await tested.storage.promote(run, oldEnough(NOW + 1e6), 10);
      await tested.storage.mergeDuplicates(run, NOW, 10);
      await tested.storage.beginRevert(run, { why: 'recall fell' });
      await expect(tested.storage.promote(run, oldEnough(NOW + 1e6), 10)).rejects.toMatchObject({
        code: 'UNAVAILABLE',
      });
      await all(() => tested.storage.undoSome(run, NOW + 3, 1));
      expect(await tested.storage.run('default', 'a run')).toMatchObject({
        state: 'reverted',
        endedAt: NOW + 3,
        counts: { promoted: 2, merged: 1 },
        notes: { why: 'recall fell' },
      });
      expect(await countTiers()).toEqual([2, 0, 0]);
    });

    it('a consolidation run has a preview of its changes', async () => {
      const old = [
        await storeMemory({ content: 'x' }),
        await storeMemory({ content: ' x' }),
        await storeMemory({ content: 'y' }),
      ];
      const until = old[2]?.storedAt ?? 0;
      await storeMemory({ content: 'x', sessionId: 'other' });
      const expired = [
        await storeMemory({ content: 'z', expiresAt: NOW }),
        await storeMemory({ content: 'z', expiresAt: NOW }),
      ];
      const [a, b, c] = old.map((memory) => memory.id);
      expect(await tested.storage.planPromotion('default', oldEnough(until), 2)).toEqual({
        total: 3,
        items: [{ id: a }, { id: b }],
      });
      expect(await tested.storage.planMerge('default', NOW, 10)).toEqual({
        total: 1,
        items: [{ id: b, mergedInto: a }],
      });
      expect(await tested.storage.planEvict('default', NOW, 10)).toEqual({
        total: 2,
        items: expired.map(({ id }) => ({ id, reason: 'expired' })),
      });
      const run = await beginRun();
      expect(await tested.storage.promote(run, oldEnough(until), 10)).toMatchObject({ count: 3 });
      expect(await tested.storage.evictExpired(run, NOW, 10)).toMatchObject({ count: 2 });
      expect(await tested.storage.mergeDuplicates(run, NOW, 10)).toMatchObject({ count: 1 });
      const nothing = { total: 0, items: [] };
      expect(await tested.storage.planPromotion('default', oldEnough(until), 10)).toEqual(nothing);
      expect(await tested.storage.planMerge('default', NOW, 10)).toEqual(nothing);
      expect(await tested.storage.planEvict('default', NOW, 10)).toEqual(nothing);
      await storeMemory({ id: 'late', content: 'y' });
      expect(await tested.storage.planMerge('default', NOW, 10)).toEqual({
        total: 1,
        items: [{ id: 'late', mergedInto: c }],
      });
    });

    it('a consolidation run has a preview with the total number of merges of large groups and the first merges', async () => {
      for (let i = 0; i < 100; i++) await storeMemory({ content: `again ${i % 2}` });
      const plan = await tested.storage.planMerge('default', NOW, 60);
      expect([plan.total, plan.items.length]).toEqual([98, 60]);
      expect(new Set(plan.items.map(({ mergedInto }) => mergedInto)).size).toBe(2);
    });

    it('deletes memories that were evicted long ago, and old run records except the newest', async () => {
      const [old, duplicate] = [
        await storeMemory({ content: 'long gone', expiresAt: NOW }),
        await storeMemory({ content: 'long gone', expiresAt: NOW }),
      ];
      await all(async () => mergeDuplicates(10));
      const late = await storeMemory({ content: 'lately gone', expiresAt: NOW + 5 });
      await consolidateOnce('old');
      await consolidateOnce('late', NOW + 5);
      const run = await beginRun({ id: 'now', at: NOW + 10 });
      await all(() => tested.storage.clearArchive(run, NOW + 1, 1));
      for (const { id } of [old, duplicate])
        expect(await tested.storage.forget('default', id)).toEqual({ outcome: 'unknown' });
      expect((await tested.storage.runs('default', ALL)).items.map(({ id }) => id)).toEqual(['now', 'late']);
      expect(await tested.storage.forget('default', late.id)).toMatchObject({ outcome: 'forgotten' });
      await all(() => tested.storage.clearArchive(run, NOW + 1e6, 10));
      await tested.storage.endRun(run, NOW + 10);
      expect((await tested.storage.runs('default', ALL)).items.map(({ id }) => id)).toEqual(['now']);
    });

    it('removes its namespace from the list of namespaces when it deletes the last archived memory', async () => {
      await storeMemory({ expiresAt: NOW });
      await evictExpired(NOW, 10);
      expect(await countTiers()).toEqual([0, 0, 0]);
      expect(await tested.storage.namespaces()).toEqual(['default']);
      const run = await beginRun();
      await all(() => tested.storage.clearArchive(run, NOW + 1, 10));
      expect(await tested.storage.namespaces()).toEqual([]);
    });

    it('a consolidation run cannot write after it has ended', async () => {
      const run = await beginRun();
      await tested.storage.endRun(run, NOW);
      await expect(tested.storage.promote(run, oldEnough(NOW * 2), 10)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
      await expect(tested.storage.endRun(run, NOW)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    });
  });
}
