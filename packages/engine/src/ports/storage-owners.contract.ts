import { describe, expect, it } from 'vitest';
import { ALL, MODEL, NOW, nextMemory, oldEnough, type TestedStorage } from './storage.fixture.ts';
import type { KeptMemory, KeptRecord } from './storage-kept.ts';
import type { NewMemory } from './storage-memories.ts';
import type { OwnerFilter } from './storage-owner.ts';

const ANN = { userId: 'ann', agentId: '' };
const BEN = { userId: 'ben', agentId: '' };
const OF_ANN: OwnerFilter = { userIds: ['ann'] };

/** `Storage` keeps memories of one user, or of one agent, apart from those of another. */
export function ownerStorageContract(tested: TestedStorage): void {
  const { keep, found, begin } = tested;
  const getIds = (memories: readonly { id: string }[]) => memories.map(({ id }) => id);

  async function getRecords(of?: OwnerFilter): Promise<KeptRecord[]> {
    const kept = await tested.storage.kept('default', of);
    const records: KeptRecord[] = [];
    for await (const record of kept.records) records.push(record);
    return records;
  }

  const memoriesIn = (records: readonly KeptRecord[]): KeptMemory[] =>
    records.flatMap((record) => ('memory' in record ? [record.memory] : []));

  describe('memories of users and agents', () => {
    it.each<[string, OwnerFilter, string[]]>([
      ['one user', OF_ANN, ['ann', 'ann cook']],
      ['one user and what all users share', { userIds: ['ann', ''] }, ['ann', 'ann cook', 'cook', 'shared']],
      ['one agent', { agentIds: ['cook'] }, ['ann cook', 'cook']],
      ['one agent and what all agents share', { agentIds: ['cook', ''] }, ['ann', 'ann cook', 'ben', 'cook', 'shared']],
      ['one agent for one user', { userIds: ['ann'], agentIds: ['cook'] }, ['ann cook']],
      ['nobody', { userIds: ['nobody'] }, []],
      ['anybody', {}, ['ann', 'ann cook', 'ben', 'ben guide', 'cook', 'shared']],
    ])('are listed, found, counted, exported and read by id as those of %s', async (_who, of, expected) => {
      const owners = { ann: ['ann', ''], 'ann cook': ['ann', 'cook'], ben: ['ben', ''], 'ben guide': ['ben', 'guide'] };
      const shared = { cook: ['', 'cook'], shared: ['', ''] };
      for (const [id, [userId = '', agentId = '']] of Object.entries({ ...owners, ...shared })) {
        await keep({ id, userId, agentId, content: 'the same red heron', tags: ['t'] });
      }
      const { items, total } = await tested.storage.memories('default', of, ALL, NOW * 2);
      expect([getIds(items).sort(), total]).toEqual([expected, expected.length]);
      const ordinals = items.map(({ ordinal }) => ordinal).sort((a, b) => a - b);
      expect(await found('red heron', of)).toEqual(ordinals);
      expect(await found('red heron', { ...of, tags: ['t'] })).toEqual(ordinals);
      expect((await tested.storage.stats('default', NOW * 2, of)).working_count).toBe(expected.length);
      expect(getIds(memoriesIn(await getRecords(of))).sort()).toEqual(expected);
      const transcript = await tested.storage.session('default', 'default', ALL, NOW * 2, of);
      expect([getIds(transcript.items).sort(), transcript.total]).toEqual([expected, expected.length]);
      for (const id of [...Object.keys(owners), ...Object.keys(shared)]) {
        const matches = expected.includes(id);
        expect((await tested.storage.memory('default', id, NOW * 2, of)) !== undefined).toBe(matches);
        expect((await tested.storage.history('default', id, ALL, NOW * 2, of)) !== undefined).toBe(matches);
        expect((await tested.storage.textAt('default', id, NOW * 2, NOW * 2, of)) !== undefined).toBe(matches);
      }
    });

    it('are found by meaning among those of their user alone', async () => {
      await tested.storage.useModel(MODEL);
      const others: { ordinal: number }[] = [];
      for (let i = 0; i < 60; i++) others.push(await keep({ ...BEN, content: `something ${i}` }));
      for (const other of others) await tested.giveVector(other, 5);
      const [near, far] = [await keep({ ...ANN, content: 'one' }), await keep({ ...ANN, content: 'two' })];
      await tested.giveVector(near, 9);
      await tested.giveVector(far, 30);
      const values = Float32Array.from({ length: 64 }, (_, i) => (i === 5 ? 0.9 : i === 9 ? 0.43 : 0));
      const signals = await tested.search('nothing', OF_ANN, NOW * 2, values);
      expect(tested.admitted(signals)).toEqual([near.ordinal, far.ordinal]);
    });

    it('are changed and forgotten by nobody else', async () => {
      const { id } = await keep({ ...ANN, content: 'mine' });
      const change = { namespace: 'default', id, at: NOW * 2, content: 'yours' };
      expect(await tested.storage.update({ ...change, of: { userIds: ['ben'] } })).toEqual({ outcome: 'unknown' });
      const agent = { of: { userIds: ['ann'], agentIds: ['cook'] } };
      expect(await tested.storage.update({ ...change, ...agent })).toEqual({ outcome: 'unknown' });
      expect(await tested.storage.forget('default', id, agent)).toEqual({ outcome: 'unknown' });
      expect(await tested.storage.memory('default', id, NOW * 2)).toMatchObject({ content: 'mine', version: 1 });
      expect(await tested.storage.update({ ...change, of: OF_ANN })).toMatchObject({ outcome: 'updated', owner: ANN });
      const forgotten = await tested.storage.forget('default', id, { of: OF_ANN });
      expect(forgotten).toMatchObject({ outcome: 'forgotten', owner: ANN });
    });

    it('correct none of another user or agent', async () => {
      const { id } = await keep(ANN);
      for (const other of [BEN, { userId: 'ann', agentId: 'cook' }, { userId: '', agentId: '' }]) {
        const outcome = await tested.storage.store(nextMemory({ ...other, supersedes: id }));
        expect(outcome).toEqual({ outcome: 'superseded-unknown' });
      }
      await keep({ ...ANN, supersedes: id });
      expect((await tested.storage.memory('default', id, NOW * 2))?.supersededBy).not.toBeNull();
    });

    it('have idempotency keys of their own', async () => {
      const idempotency = { key: 'k', digest: 'd' };
      const kept = [];
      for (const owner of [ANN, BEN, { userId: 'ann', agentId: 'cook' }])
        kept.push(await keep({ ...owner, idempotency }));
      const again = await tested.storage.storeMany([ANN, BEN].map((owner) => nextMemory({ ...owner, idempotency })));
      expect(again).toEqual(kept.slice(0, 2).map(({ id }) => ({ outcome: 'repeated', id })));
    });
  });

  describe('a session that two users name alike', () => {
    it('is two, and no memory of one stands beside one of the other', async () => {
      const turns: (NewMemory & { ordinal: number })[] = [];
      for (let turn = 0; turn < 6; turn++) {
        turns.push(await keep({ ...(turn % 2 ? BEN : ANN), sessionId: 's', content: `turn ${turn}` }));
      }
      const sessions = await tested.storage.sessions('default', {}, { ...ALL, limit: 1 }, NOW * 2);
      expect(sessions).toMatchObject({ items: [{ sessionId: 's', userId: 'ann', total: 3 }], total: 2 });
      const next = { ...ALL, after: { sessionId: 's', userId: 'ann' } };
      expect((await tested.storage.sessions('default', {}, next, NOW * 2)).items).toMatchObject([{ userId: 'ben' }]);
      const signals = await tested.search('turn 2', OF_ANN);
      const rows = Array.from(signals.ordinals);
      const anns = turns.filter(({ userId }) => userId === 'ann').map(({ ordinal }) => ordinal);
      expect(rows.toSorted((a, b) => a - b)).toEqual(anns);
      const middle = rows.indexOf(anns[1] as number);
      expect(rows[signals.previous[middle] as number]).toBe(anns[0]);
      expect(rows[signals.next[middle] as number]).toBe(anns[2]);
      const both = await tested.search('turn');
      const sessionByOrdinal = new Map(Array.from(both.ordinals, (ordinal, row) => [ordinal, both.sessions[row]]));
      expect(new Set(anns.map((ordinal) => sessionByOrdinal.get(ordinal))).size).toBe(1);
      expect(new Set(turns.map(({ ordinal }) => sessionByOrdinal.get(ordinal))).size).toBe(2);
    });
  });

  describe('consolidation', () => {
    it('merges texts of one user and agent alone', async () => {
      const owners = [ANN, ANN, BEN, BEN, { userId: 'ann', agentId: 'cook' }, { userId: '', agentId: '' }];
      const kept = [];
      for (const owner of owners) kept.push(await keep({ ...owner, content: 'I like tea.' }));
      expect((await tested.mergeDuplicates(100)).count).toBe(2);
      const merged = await Promise.all(kept.map(({ id }) => tested.storage.memory('default', id, NOW * 2)));
      const [first, , third] = kept;
      expect(merged.map((memory) => memory?.mergedInto)).toEqual([null, first?.id, null, third?.id, null, null]);
    });

    it('looks for what goes together among the memories of one user and agent', async () => {
      await tested.storage.useModel(MODEL);
      const kept = [];
      for (const owner of [ANN, BEN, ANN, { userId: 'ann', agentId: 'cook' }, { userId: '', agentId: '' }]) {
        const memory = await keep({ ...owner, content: 'The tabby cat sleeps on the radiator.' });
        await tested.giveVector(memory, 3);
        kept.push(memory);
      }
      const request = { namespace: 'default', ...oldEnough(NOW * 2), limit: 100 };
      const { candidates } = await tested.storage.distilCandidates(request);
      const [first, second, third, fourth, fifth] = kept.map(({ ordinal }) => ordinal);
      expect(candidates.map(({ ordinal, neighbours }) => [ordinal, neighbours.map((near) => near.ordinal)])).toEqual([
        [first, [third]],
        [second, []],
        [third, [first]],
        [fourth, []],
        [fifth, []],
      ]);
    });

    it('distils, refreshes and corrects nothing with a memory of another user or agent', async () => {
      const kept = [];
      for (const owner of [ANN, ANN, BEN, { userId: 'ann', agentId: 'cook' }]) kept.push(await keep(owner));
      await tested.promote(NOW * 2, 100);
      const [a, b, other, agents] = kept.map(({ ordinal }) => ({ ordinal, version: 1 }));
      const run = await begin();
      const distil = (id: string, sources: (typeof a)[]) =>
        tested.storage.distil(run, { id, content: 'both', sources: sources.flatMap((one) => one ?? []), at: NOW });
      expect(await distil('mixed', [a, other])).toBeUndefined();
      expect(await distil('mixed', [a, agents])).toBeUndefined();
      const semantic = (await distil('pure', [a, b])) as number;
      expect(await tested.storage.memory('default', 'pure', NOW * 2)).toMatchObject(ANN);
      const refreshed = { semantic, content: 'all', at: NOW };
      const sources = [a, b, other].flatMap((one) => one ?? []);
      expect(await tested.storage.refresh(run, { ...refreshed, sources })).toBe(false);
      if (!a || !other) throw new Error('not kept');
      expect(await tested.storage.correct(run, { corrected: a, by: other })).toBe(false);
      await tested.storage.endRun(run, NOW);
    });
  });

  describe('forgetting a user', () => {
    it('removes what was distilled, the archive, histories and all else of the user, and nothing of others', async () => {
      for (const owner of [ANN, BEN]) {
        const kept = [];
        for (let i = 0; i < 4; i++) kept.push(await keep({ ...owner, idempotency: { key: `k${i}`, digest: 'd' } }));
        await tested.promote(NOW * 2, 100);
        const run = await begin();
        const sources = kept.slice(0, 2).map(({ ordinal }) => ({ ordinal, version: 1 }));
        await tested.storage.distil(run, { id: `of ${owner.userId}`, content: 'both', sources, at: NOW });
        await tested.storage.evictExcess(run, 'episodic', [kept[3]?.ordinal ?? 0], NOW);
        await tested.storage.endRun(run, NOW);
        const id = kept[2]?.id ?? '';
        await tested.storage.update({ namespace: 'default', id, at: NOW * 2, content: 'another text' });
        await tested.storage.forget('default', `of ${owner.userId}`);
      }
      const before = await getRecords({ userIds: ['ben'] });
      const told: unknown[] = [];
      await tested.storage.forgetMany('default', OF_ANN, ({ owned }) => told.push(...owned));
      expect(told).toEqual([{ ...ANN, count: 4 }]);
      expect(await getRecords(OF_ANN)).toEqual([]);
      expect(await getRecords()).toEqual(before);
      expect(before.filter((record) => 'declinedGroup' in record)).toHaveLength(1);
      await keep({ ...ANN, idempotency: { key: 'k0', digest: 'd' } });
    });
  });

  describe('the users of a namespace', () => {
    it('are listed in the order of their ids, page by page, with what they hold', async () => {
      await keep({ userId: 'b', content: 'four', storedAt: NOW });
      await keep({ userId: 'a', content: 'six ch', storedAt: NOW + 5, expiresAt: NOW + 9 });
      await keep({ userId: 'a', agentId: 'x', content: 'two', storedAt: NOW + 7 });
      await keep({ content: 'shared' });
      await keep({ namespace: 'other', userId: 'c' });
      await tested.storage.setUserQuota('default', 'b', { memories: 7, bytes: null });
      const first = await tested.storage.users('default', { limit: 1 }, NOW * 2);
      const none = { semantic_count: 0, episodic_count: 0 };
      expect(first).toEqual({
        items: [
          {
            userId: 'a',
            counts: { ...none, working_count: 1 },
            used: { memories: 2, bytes: 9 },
            quota: { memories: null, bytes: null },
            lastStoredAt: NOW + 7,
          },
        ],
        total: 2,
        next: 'a',
      });
      const second = await tested.storage.users('default', { limit: 5, after: 'a' }, NOW * 2);
      expect(second.next).toBeUndefined();
      expect(second.items).toMatchObject([
        { userId: 'b', used: { memories: 1, bytes: 4 }, quota: { memories: 7, bytes: null } },
      ]);
      expect(await tested.storage.userQuotas('default')).toEqual([{ userId: 'b', memories: 7, bytes: null }]);
    });

    it('may each hold what their quota says, whatever others hold', async () => {
      await tested.storage.setUserQuota('default', 'ann', { memories: 1, bytes: 10 });
      await tested.storage.setQuota('default', { memories: 3, bytes: null });
      const { id } = await keep({ ...ANN, content: 'six ch' });
      const over = { outcome: 'over-quota', holder: 'user', of: 'memories', most: 1 };
      expect(await tested.storage.store(nextMemory({ userId: 'ann', agentId: 'cook' }))).toEqual(over);
      const change = { namespace: 'default', id, at: NOW * 2, content: 'seven' };
      expect(await tested.storage.update(change)).toMatchObject({ holder: 'user', of: 'bytes' });
      await keep(BEN);
      await keep(BEN);
      expect(await tested.storage.store(nextMemory(BEN))).toMatchObject({ holder: 'namespace' });
      await tested.storage.forget('default', id);
      await keep({ ...ANN, content: 'six ch' });
      await tested.storage.setUserQuota('default', 'ann', { memories: null, bytes: null });
      expect(await tested.storage.userQuotas('default')).toEqual([]);
    });
  });

  describe('an import', () => {
    it('links no memory to one of another user, and takes none whose id another user has', async () => {
      const [one, other] = [await keep(ANN), await keep({ ...ANN, sessionId: 's' })];
      await keep({ ...ANN, id: 'third', supersedes: one.id });
      const records = memoriesIn(await getRecords());
      const bens = records.map((memory) => ({ memory: { ...memory, userId: 'ben' } }));
      const refused = await tested.storage.importKept('default', bens, []);
      expect(refused.outcomes).toEqual(['different', 'different', 'different']);
      const renamed = records.map((memory) => {
        const links = { supersedes: other.id, supersededBy: one.id, mergedInto: other.id };
        return { memory: { ...memory, ...links, userId: 'ben', id: `ben's ${memory.id}` } };
      });
      const imported = await tested.storage.importKept('default', renamed, []);
      expect(imported.outcomes).toEqual(['imported', 'imported', 'imported']);
      for (const { memory } of renamed) {
        const there = await tested.storage.memory('default', memory.id, NOW * 2);
        expect(there).toMatchObject({ ...BEN, supersedes: null, supersededBy: null, mergedInto: null });
      }
    });
  });
}
