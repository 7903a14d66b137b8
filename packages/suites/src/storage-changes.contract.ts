import type { Storage } from '@memoryd/core';
import { describe, expect, it } from 'vitest';
import { LATER, type TestedStorage } from './storage.fixture.ts';

type NewChange = Parameters<Storage['changeMany']>[1];
type ChangeProgress = Parameters<Storage['changeMany']>[2];

const HOUR_MS = 60 * 60 * 1000;
/** A time at which changes delete the record of a change at `LATER`. */
const NEXT_DAY = LATER + 25 * HOUR_MS;
const CHANGE: NewChange = {
  ...{ id: 'change', userId: '', agentId: '', digest: 'digest' },
  selection: { filter: {} },
  changes: { addTags: ['new'], removeTags: [] },
};

/** Contract tests of the records of changes of many memories: how long they live. */
export function changeStorageContract(tested: TestedStorage): void {
  const storeSome = async (count: number) => {
    for (let i = 0; i < count; i++) await tested.storeMemory();
  };
  const at = (now: number): ChangeProgress => ({ now: () => now, onChanged: () => {} });
  const change = (now: number, fields: Partial<NewChange> = {}) =>
    tested.storage.changeMany('default', { ...CHANGE, ...fields }, at(now));
  /** A change that matches no memory. */
  const changeNone = (now: number) => change(now, { id: 'none', selection: { filter: {}, ids: ['nobody'] } });
  const undo = (progress: ChangeProgress) => tested.storage.undoChange('default', CHANGE.id, {}, progress);
  /** Returns the progress of an undo whose calls of the clock are some time apart. */
  const createSlow = (stepMs: number, onChanged = () => {}): ChangeProgress => {
    let now = LATER;
    return { now: () => (now += stepMs), onChanged };
  };
  /** Deletes all expired records, and returns how many there were. */
  const countExpired = async (now: number) => {
    let [count, more] = [0, true];
    while (more) {
      const dropped = await tested.storage.dropChanges(now, 1000);
      [count, more] = [count + dropped.count, dropped.more];
    }
    return count;
  };

  describe('an undo that takes longer than an hour', () => {
    it('a repeated undo is possible for an hour after its last batch', async () => {
      await storeSome(60);
      expect(await change(LATER)).toMatchObject({ outcome: 'changed', updated: 60 });
      // The undo begins after 0.4 hours. Its three batches follow after 0.8, 1.2 and 1.6 hours.
      const undone = { outcome: 'undone', restored: 60, kept: 0 };
      expect(await undo(createSlow(0.4 * HOUR_MS))).toEqual(undone);
      expect(await undo(at(LATER + 2.5 * HOUR_MS))).toEqual(undone);
      expect(await undo(at(LATER + 2.7 * HOUR_MS))).toEqual({ outcome: 'unknown' });
    });

    it('an interrupted undo can be completed within an hour after its last batch', async () => {
      await storeSome(60);
      await change(LATER);
      const interrupt = () => {
        throw new Error('the process ends');
      };
      await expect(undo(createSlow(0.8 * HOUR_MS, interrupt))).rejects.toThrow('the process ends');
      // The first batch was after 1.6 hours.
      expect(await undo(at(LATER + 2.5 * HOUR_MS))).toEqual({ outcome: 'undone', restored: 60, kept: 0 });
    });
  });

  describe('the records of changes that can no longer be undone', () => {
    it('the next change deletes the records, even if it changes nothing', async () => {
      await storeSome(30);
      await change(LATER);
      await changeNone(NEXT_DAY);
      expect(await countExpired(NEXT_DAY)).toBe(0);
      expect(await undo(at(LATER))).toEqual({ outcome: 'unknown' });
    });

    it('a change of another namespace deletes the records', async () => {
      await storeSome(30);
      await change(LATER);
      await tested.storeMemory({ namespace: 'other' });
      await tested.storage.changeMany('other', CHANGE, at(NEXT_DAY));
      expect(await countExpired(NEXT_DAY)).toBe(0);
    });

    it('a change deletes at least as many records as it adds', async () => {
      await storeSome(130);
      await change(LATER);
      await change(NEXT_DAY, { id: 'second', changes: { addTags: [], removeTags: ['new'] } });
      expect(await countExpired(NEXT_DAY)).toBe(0);
      expect(await countExpired(NEXT_DAY + HOUR_MS)).toBe(131);
    });

    it('a change deletes only a part of many records', async () => {
      await storeSome(130);
      await change(LATER);
      await changeNone(NEXT_DAY);
      const left = await countExpired(NEXT_DAY);
      expect(left).toBeGreaterThan(0);
      expect(left).toBeLessThan(131);
    });

    it('a record that ended less than a day ago stays, and its change can be undone when the clock is right again', async () => {
      await storeSome(3);
      await change(LATER);
      // The clock may have been set forward by mistake.
      await changeNone(NEXT_DAY - 1);
      expect(await undo(at(LATER + HOUR_MS - 1))).toEqual({ outcome: 'undone', restored: 3, kept: 0 });
    });
  });
}
