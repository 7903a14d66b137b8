import type { NewMemory } from '@memoryd/core';
import type { CorrectionState, RunRef } from '@memoryd/core/ports';
import { describe, expect, it } from 'vitest';
import { ALL, LATER, NOW, nextMemory, nextRunId, type TestedStorage } from './storage.fixture.ts';

/** A stored memory that the tests compare. */
interface Stored {
  id: string;
  ordinal: number;
  version: number;
}

/** Contract tests of the `CorrectionStorage` port. */
export function correctionStorageContract(tested: TestedStorage): void {
  let suggestions = 0;

  async function store(content: string, fields: Partial<NewMemory> = {}): Promise<Stored> {
    const memory = nextMemory({ content, ...fields });
    const stored = await tested.storage.store(memory);
    if (stored.outcome !== 'stored') throw new Error(stored.outcome);
    return { id: memory.id, ordinal: stored.ordinal, version: 1 };
  }

  async function inRun<T>(work: (run: RunRef) => Promise<T>): Promise<T> {
    const run = await tested.beginRun({ id: nextRunId() });
    const result = await work(run);
    await tested.storage.endRun(run, NOW);
    return result;
  }

  const owner = (userId = '', agentId = '') => ({ userId, agentId });

  /** Suggests corrections in a run. Returns the number of new suggestions. */
  function suggest(pairs: readonly [Stored, Stored][], { of = owner(), maxPending = 100, at = NOW } = {}) {
    const suggested = pairs.map(([earlier, later]) => {
      suggestions++;
      return { id: `correction-${String(suggestions).padStart(6, '0')}`, earlier, later, reason: 'name' as const };
    });
    return inRun((run) => tested.storage.suggestCorrections(run, of, suggested, { at, maxPending }));
  }

  const list = (state: CorrectionState = 'pending', of = {}, now = LATER) =>
    tested.storage.corrections('default', state, ALL, now, of);

  async function pendingId(): Promise<string> {
    const { items } = await list();
    expect(items).toHaveLength(1);
    return items[0]?.id as string;
  }

  const decide = (id: string, accept: boolean, of = {}) =>
    tested.storage.decideCorrection({ namespace: 'default', id, accept, at: LATER, of });

  const read = (id: string) => tested.storage.memory('default', id, LATER);

  /** Stores two memories and suggests that the second one corrects the first. */
  async function suggestPair(fields: Partial<NewMemory> = {}) {
    const earlier = await store('The key is in the hall.', fields);
    const later = await store('The key is in the kitchen.', fields);
    const { userId = '', agentId = '' } = fields;
    expect(await suggest([[earlier, later]], { of: owner(userId, agentId) })).toBe(1);
    return { earlier, later };
  }

  describe('a suggested correction', () => {
    it('a suggestion is listed with both texts, and changes neither memory', async () => {
      const earlier = await store('The key is in the hall.', { userId: 'ada', createdAt: NOW - 5 });
      const later = await store('The key is in the kitchen.', { userId: 'ada', createdAt: NOW - 3 });
      const before = [await read(earlier.id), await read(later.id)];
      await suggest([[earlier, later]], { of: owner('ada'), at: NOW + 7 });
      const id = await pendingId();
      expect(await list()).toEqual({
        total: 1,
        items: [
          {
            ...{ id, state: 'pending', reason: 'name', userId: 'ada', agentId: '' },
            earlier: { id: earlier.id, content: 'The key is in the hall.', createdAt: NOW - 5 },
            later: { id: later.id, content: 'The key is in the kitchen.', createdAt: NOW - 3 },
            suggestedAt: NOW + 7,
            decidedAt: null,
          },
        ],
      });
      expect([await read(earlier.id), await read(later.id)]).toEqual(before);
    });

    it('a suggestion is stored once, however often it is suggested', async () => {
      const { earlier, later } = await suggestPair();
      expect(await suggest([[earlier, later]])).toBe(0);
      expect((await list()).total).toBe(1);
    });

    it('a suggestion is left out for memories that have changed since they were read, and for memories of different owners', async () => {
      const earlier = await store('hall');
      const later = await store('kitchen');
      const ofBen = await store('attic', { userId: 'ben' });
      expect(await suggest([[{ ...earlier, version: 2 }, later]])).toBe(0);
      expect(await suggest([[earlier, { ...later, version: 2 }]])).toBe(0);
      expect(await suggest([[earlier, ofBen]])).toBe(0);
      expect(await suggest([[earlier, ofBen]], { of: owner('ben') })).toBe(0);
      expect((await list()).total).toBe(0);
    });

    it('a suggestion is left out once an owner has as many pending suggestions as allowed, whatever other owners have', async () => {
      const of = owner('ada');
      const memories = [];
      for (let i = 0; i < 4; i++) memories.push(await store(`note ${i}`, { userId: 'ada' }));
      const [a, b, c, d] = memories as [Stored, Stored, Stored, Stored];
      expect(
        await suggest(
          [
            [a, b],
            [a, c],
            [a, d],
          ] as [Stored, Stored][],
          { of, maxPending: 2 },
        ),
      ).toBe(2);
      expect(await suggest([[b, c]], { of, maxPending: 2 })).toBe(0);
      await suggestPair({ userId: 'ben' });
      // An outdated suggestion leaves room for another one.
      await tested.storage.forget('default', c.id);
      expect(await suggest([[a, d]], { of, maxPending: 2 })).toBe(1);
    });

    it('a suggestion is listed latest first, in pages, and only for the owners of the request', async () => {
      for (const userId of ['ada', 'ben', 'ada']) await suggestPair({ userId, agentId: 'cook' });
      const all = (await list()).items;
      expect(all.map(({ userId }) => userId)).toEqual(['ada', 'ben', 'ada']);
      expect(all.map(({ id }) => id)).toEqual(
        all
          .map(({ id }) => id)
          .sort()
          .reverse(),
      );
      const first = await tested.storage.corrections('default', 'pending', { ...ALL, limit: 2 }, LATER);
      expect(first).toEqual({ items: all.slice(0, 2), total: 3, next: all[1]?.id });
      const second = await tested.storage.corrections(
        'default',
        'pending',
        { ...ALL, limit: 2, after: first.next as string },
        LATER,
      );
      expect(second).toEqual({ items: all.slice(2), total: 3 });
      const short = await tested.storage.corrections('default', 'pending', { ...ALL, maxBytes: 1 }, LATER);
      expect(short).toEqual({ items: all.slice(0, 1), total: 3, next: all[0]?.id });
      expect((await list('pending', { userIds: ['ben'] })).items).toEqual([all[1]]);
      expect((await list('pending', { agentIds: ['cook'] })).total).toBe(3);
      expect((await list('pending', { userIds: ['ben'], agentIds: ['guide'] })).total).toBe(0);
    });
  });

  describe('a pending correction', () => {
    const change = (id: string, fields: object) =>
      tested.storage.update({ namespace: 'default', id, at: LATER - 1, ...fields });

    it.each<[string, (pair: { earlier: Stored; later: Stored }) => Promise<unknown>]>([
      ['the earlier memory is forgotten', ({ earlier }) => tested.storage.forget('default', earlier.id)],
      ['the later memory is forgotten', ({ later }) => tested.storage.forget('default', later.id)],
      ['the earlier text changes', ({ earlier }) => change(earlier.id, { content: 'The key is lost.' })],
      ['the later text changes', ({ later }) => change(later.id, { content: 'The key is lost.' })],
      ['the earlier memory ends', ({ earlier }) => change(earlier.id, { validTo: LATER + 1 })],
      ['the later memory expires', ({ later }) => change(later.id, { expiresAt: LATER + 1 })],
      ['the later memory begins first', ({ later }) => change(later.id, { validFrom: 1 })],
      ['another memory supersedes the earlier one', ({ earlier }) => store('attic', { supersedes: earlier.id })],
      ['another memory supersedes the later one', ({ later }) => store('attic', { supersedes: later.id })],
      [
        'the later memory supersedes another one',
        async ({ later }) => change(later.id, { supersedes: (await store('attic')).id }),
      ],
    ])('disappears when %s', async (_, end) => {
      const pair = await suggestPair();
      const id = await pendingId();
      await end(pair);
      expect(await list()).toEqual({ items: [], total: 0 });
      for (const accept of [true, false]) expect(await decide(id, accept)).toEqual({ outcome: 'unknown' });
      for (const state of ['accepted', 'declined'] as const) expect((await list(state)).total).toBe(0);
    });

    it('stays when other fields of its memories change', async () => {
      const { earlier, later } = await suggestPair();
      await change(earlier.id, { tags: ['home'] });
      await change(later.id, { importance: 1 });
      await pendingId();
    });
  });

  describe('a decision on a correction', () => {
    it('links the later memory to the earlier one if it is accepted, and says which memory changed', async () => {
      const { earlier, later } = await suggestPair({ userId: 'ada' });
      const id = await pendingId();
      const decided = await decide(id, true);
      expect(decided).toMatchObject({
        outcome: 'decided',
        changed: { id: later.id, owner: { userId: 'ada', agentId: '' } },
      });
      expect(await read(later.id)).toMatchObject({ supersedes: earlier.id, version: 2, updatedAt: LATER });
      expect(await read(earlier.id)).toMatchObject({ supersededBy: later.id });
      expect((await list()).total).toBe(0);
      expect((await list('accepted')).items).toMatchObject([{ id, state: 'accepted', decidedAt: LATER }]);
      expect(await decide(id, true)).toEqual({ outcome: 'decided' });
      expect(await read(later.id)).toMatchObject({ version: 2 });
    });

    it('ends the summaries of the earlier memory if it is accepted', async () => {
      const { earlier } = await suggestPair();
      const { ordinal, version } = earlier;
      await inRun(async (run) => {
        await tested.storage.promote(run, { promotedUntil: NOW * 2, now: NOW * 2 }, 100);
        const summary = { id: 'summary', content: 'The key: hall.', sources: [{ ordinal, version }], at: NOW };
        expect(await tested.storage.distil(run, summary)).toBeGreaterThan(0);
      });
      await decide(await pendingId(), true);
      expect(await read('summary')).toBeUndefined();
    });

    it('changes nothing if it is declined, and the pair is never suggested again', async () => {
      const { earlier, later } = await suggestPair();
      const id = await pendingId();
      const before = [await read(earlier.id), await read(later.id)];
      expect(await decide(id, false)).toEqual({ outcome: 'decided' });
      expect([await read(earlier.id), await read(later.id)]).toEqual(before);
      expect(await suggest([[earlier, later]])).toBe(0);
      expect((await list()).total).toBe(0);
      expect((await list('declined')).items).toMatchObject([{ id, state: 'declined', decidedAt: LATER }]);
    });

    it('removes the link if an accepted correction is declined, even after the earlier memory was evicted', async () => {
      const { earlier, later } = await suggestPair();
      const id = await pendingId();
      await decide(id, true);
      await inRun((run) => tested.storage.evictExcess(run, 'working', [earlier.ordinal, later.ordinal], LATER));
      expect(await decide(id, false)).toMatchObject({ outcome: 'decided', changed: { id: later.id } });
      const memories = await tested.storage.session('default', 'default', ALL, LATER);
      expect(memories.items.map(({ supersedes, supersededBy }) => [supersedes, supersededBy])).toEqual([
        [null, null],
        [null, null],
      ]);
      // Both memories stay evicted.
      expect(await read(earlier.id)).toBeUndefined();
      expect(await read(later.id)).toBeUndefined();
    });

    it('a correction can be accepted after it was declined, unless one of its memories has changed since', async () => {
      const { earlier, later } = await suggestPair();
      const id = await pendingId();
      await decide(id, false);
      expect(await decide(id, true)).toMatchObject({ outcome: 'decided', changed: { id: later.id } });
      await decide(id, false);
      await tested.storage.update({ namespace: 'default', id: earlier.id, at: LATER, content: 'The key is lost.' });
      expect(await decide(id, true)).toEqual({ outcome: 'outdated' });
      expect(await read(later.id)).toMatchObject({ supersedes: null });
      expect((await list('declined')).total).toBe(1);
    });

    it('leaves a link that a client has set since', async () => {
      const { earlier, later } = await suggestPair();
      const id = await pendingId();
      const other = await store('attic');
      await decide(id, true);
      await tested.storage.update({ namespace: 'default', id: later.id, at: LATER, supersedes: other.id });
      expect(await decide(id, false)).toEqual({ outcome: 'decided' });
      expect(await read(later.id)).toMatchObject({ supersedes: other.id });
      expect(await read(earlier.id)).toMatchObject({ supersededBy: null });
    });

    it('a decision is refused for other users and agents, and for other namespaces', async () => {
      const { later } = await suggestPair({ userId: 'ada', agentId: 'cook' });
      const id = await pendingId();
      for (const of of [{ userIds: ['ben'] }, { userIds: ['ada'], agentIds: ['guide'] }, { userIds: [''] }]) {
        expect(await decide(id, true, of)).toEqual({ outcome: 'unknown' });
      }
      const elsewhere = { namespace: 'other', id, accept: true, at: LATER, of: {} };
      expect(await tested.storage.decideCorrection(elsewhere)).toEqual({ outcome: 'unknown' });
      expect(await read(later.id)).toMatchObject({ supersedes: null });
      expect(await decide(id, true, { userIds: ['ada'], agentIds: ['cook'] })).toMatchObject({ outcome: 'decided' });
    });
  });

  it('a decided correction is deleted with each of its memories, and not listed once one of them has expired', async () => {
    for (const accept of [true, false]) {
      const { earlier } = await suggestPair();
      await decide(await pendingId(), accept);
      await tested.storage.forget('default', earlier.id);
    }
    for (const state of ['accepted', 'declined'] as const) expect((await list(state)).total).toBe(0);
    const { later } = await suggestPair();
    await decide(await pendingId(), false);
    await tested.storage.update({ namespace: 'default', id: later.id, at: LATER, expiresAt: LATER + 1 });
    expect((await list('declined')).total).toBe(1);
    expect((await list('declined', {}, LATER + 1)).total).toBe(0);
  });

  it('compared memories are those that hold without an end, with the beginning of their texts', async () => {
    const plain = await store('The key is in the hall.', { tags: ['home'], validFrom: NOW - 9 });
    const superseded = await store('kitchen');
    const successor = await store('attic', { supersedes: superseded.id, createdAt: NOW + 3 });
    const ending = await store('cellar', { validTo: LATER });
    const ordinals = [plain, superseded, successor, ending].map(({ ordinal }) => ordinal);
    const compared = await tested.storage.comparedMemories('default', ordinals, 7);
    expect(compared.sort((a, b) => a.ordinal - b.ordinal)).toEqual([
      { ordinal: plain.ordinal, version: 1, content: 'The key', tags: ['home'], beginsAt: NOW - 9 },
      { ordinal: successor.ordinal, version: 1, content: 'attic', tags: [], beginsAt: NOW + 3 },
    ]);
  });
}
