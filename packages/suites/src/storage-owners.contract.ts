import type { NewMemory } from '@memoryd/core';
import type { ExportRecord, MemoryRecord, PendingLink } from '@memoryd/core/ports';
import type { Owner, OwnerFilter } from '@memoryd/search';
import { describe, expect, it } from 'vitest';
import { ALL, MODEL, NOW, nextMemory, oldEnough, type TestedStorage } from './storage.fixture.ts';

const ANN = { userId: 'ann', agentId: '' };
const BEN = { userId: 'ben', agentId: '' };
const OF_ANN: OwnerFilter = { userIds: ['ann'] };

/** Contract tests: `Storage` separates the memories of different users and agents. */
export function ownerStorageContract(tested: TestedStorage): void {
  const { storeMemory, findOrdinals, beginRun } = tested;
  const getIds = (memories: readonly { id: string }[]) => memories.map(({ id }) => id);

  async function getRecords(of?: OwnerFilter): Promise<ExportRecord[]> {
    const stored = await tested.storage.exportRecords('default', of);
    const records: ExportRecord[] = [];
    for await (const record of stored.records) records.push(record);
    return records;
  }

  const memoriesIn = (records: readonly ExportRecord[]): MemoryRecord[] =>
    records.flatMap((record) => ('memory' in record ? [record.memory] : []));

  describe('memories of users and agents', () => {
    it.each<[string, OwnerFilter, string[]]>([
      ['one user', OF_ANN, ['ann', 'ann cook']],
      ['one user and shared memories', { userIds: ['ann', ''] }, ['ann', 'ann cook', 'cook', 'shared']],
      ['one agent', { agentIds: ['cook'] }, ['ann cook', 'cook']],
      [
        'one agent and memories without an agent',
        { agentIds: ['cook', ''] },
        ['ann', 'ann cook', 'ben', 'cook', 'shared'],
      ],
      ['one agent for one user', { userIds: ['ann'], agentIds: ['cook'] }, ['ann cook']],
      ['an unknown user', { userIds: ['nobody'] }, []],
      ['no filter', {}, ['ann', 'ann cook', 'ben', 'ben guide', 'cook', 'shared']],
    ])(
      'memories of users and agents are listed, found, counted, exported and read by id with the filter: %s',
      async (_who, of, expected) => {
        const owners = {
          ann: ['ann', ''],
          'ann cook': ['ann', 'cook'],
          ben: ['ben', ''],
          'ben guide': ['ben', 'guide'],
        };
        const shared = { cook: ['', 'cook'], shared: ['', ''] };
        for (const [id, [userId = '', agentId = '']] of Object.entries({ ...owners, ...shared })) {
          await storeMemory({ id, userId, agentId, content: 'the same red heron', tags: ['t'] });
        }
        const { items, total } = await tested.storage.memories('default', of, ALL, NOW * 2);
        expect([getIds(items).sort(), total]).toEqual([expected, expected.length]);
        const ordinals = items.map(({ ordinal }) => ordinal).sort((a, b) => a - b);
        expect(await findOrdinals('red heron', of)).toEqual(ordinals);
        expect(await findOrdinals('red heron', { ...of, tags: ['t'] })).toEqual(ordinals);
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
      },
    );

    it('memories of users and agents are found by a vector search for their user, even if many memories of another user are nearer', async () => {
      await tested.storage.useModel(MODEL);
      const others: { ordinal: number }[] = [];
      for (let i = 0; i < 60; i++) others.push(await storeMemory({ ...BEN, content: `something ${i}` }));
      for (const other of others) await tested.putVector(other, 5);
      const [near, far] = [
        await storeMemory({ ...ANN, content: 'one' }),
        await storeMemory({ ...ANN, content: 'two' }),
      ];
      await tested.putVector(near, 9);
      await tested.putVector(far, 30);
      const values = Float32Array.from({ length: 64 }, (_, i) => (i === 5 ? 0.9 : i === 9 ? 0.43 : 0));
      const signals = await tested.search('nothing', OF_ANN, NOW * 2, values);
      expect(tested.getAdmitted(signals)).toEqual([near.ordinal, far.ordinal]);
    });

    it('memories of users and agents are not returned for another user whose digest in an index is the same', async () => {
      // The first 48 bits of the SHA-256 of the labels of these users in the namespace `default` are equal.
      const [one, other] = ['user 18172998', 'user 23118972'].map((userId) => ({ userId, content: 'a red heron' }));
      const stored = [await storeMemory({ ...one }), await storeMemory({ ...other })];
      const search = { namespace: 'default', text: 'red heron', now: NOW * 2, poolSize: 20, tailSize: 20 };
      const ranking = { limit: 10, minScore: 0, intent: {} };
      for (const { userId, id } of stored) {
        const request = { ...search, filter: { userIds: [userId] }, ranking, maxBytes: 1000 };
        const { results, truncated } = await tested.storage.searchAndRank(request);
        expect([getIds(results.map(({ memory }) => memory)), truncated]).toEqual([[id], false]);
      }
    });

    it('memories of users and agents cannot be changed or forgotten by another user or agent', async () => {
      const { id } = await storeMemory({ ...ANN, content: 'mine' });
      const change = { namespace: 'default', id, at: NOW * 2, content: 'yours' };
      expect(await tested.storage.update({ ...change, of: { userIds: ['ben'] } })).toEqual({ outcome: 'unknown' });
      const agent = { of: { userIds: ['ann'], agentIds: ['cook'] } };
      expect(await tested.storage.update({ ...change, ...agent })).toEqual({ outcome: 'unknown' });
      expect(await tested.storage.forget('default', id, agent)).toEqual({ outcome: 'unknown' });
      expect(await tested.storage.memory('default', id, NOW * 2)).toMatchObject({ content: 'mine', version: 1 });
      expect(await tested.storage.update({ ...change, of: OF_ANN })).toMatchObject({ outcome: 'updated', owner: ANN });
      const forgotten = await tested.storage.forget('default', id, { of: OF_ANN });
      expect(forgotten).toMatchObject({ outcome: 'forgotten', deleted: [{ id, ...ANN }] });
    });

    it('memories of users and agents cannot supersede a memory of another user or agent', async () => {
      const { id } = await storeMemory(ANN);
      for (const other of [BEN, { userId: 'ann', agentId: 'cook' }, { userId: '', agentId: '' }]) {
        const outcome = await tested.storage.store(nextMemory({ ...other, supersedes: id }));
        expect(outcome).toEqual({ outcome: 'superseded-unknown' });
        const change = { namespace: 'default', id: (await storeMemory(other)).id, at: NOW, supersedes: id };
        expect(await tested.storage.update(change)).toEqual({ outcome: 'superseded-unknown' });
        expect(await tested.storage.memory('default', change.id, NOW * 2)).toMatchObject({
          supersedes: null,
          version: 1,
        });
      }
      await storeMemory({ ...ANN, supersedes: id });
      expect((await tested.storage.memory('default', id, NOW * 2))?.supersededBy).not.toBeNull();
    });

    it('memories of users and agents have separate idempotency keys per owner', async () => {
      const idempotency = { key: 'k', digest: 'd' };
      const stored = [];
      for (const owner of [ANN, BEN, { userId: 'ann', agentId: 'cook' }])
        stored.push(await storeMemory({ ...owner, idempotency }));
      const again = await tested.storage.storeMany([ANN, BEN].map((owner) => nextMemory({ ...owner, idempotency })));
      expect(again).toMatchObject(stored.slice(0, 2).map(({ id }) => ({ outcome: 'repeated', id, created: true })));
    });
  });

  describe('a session id that two users share', () => {
    it('identifies two sessions, without neighbors of another user', async () => {
      const stored: (NewMemory & { ordinal: number })[] = [];
      for (let turn = 0; turn < 6; turn++) {
        stored.push(await storeMemory({ ...(turn % 2 ? BEN : ANN), sessionId: 's', content: `turn ${turn}` }));
      }
      const sessions = await tested.storage.sessions('default', {}, { ...ALL, limit: 1 }, NOW * 2);
      expect(sessions).toMatchObject({ items: [{ sessionId: 's', userId: 'ann', total: 3 }], total: 2 });
      const next = { ...ALL, after: { sessionId: 's', userId: 'ann' } };
      expect((await tested.storage.sessions('default', {}, next, NOW * 2)).items).toMatchObject([{ userId: 'ben' }]);
      const signals = await tested.search('turn 2', OF_ANN);
      const rows = Array.from(signals.ordinals);
      const anns = stored.filter(({ userId }) => userId === 'ann').map(({ ordinal }) => ordinal);
      expect(rows.toSorted((a, b) => a - b)).toEqual(anns);
      const middle = rows.indexOf(anns[1] as number);
      expect(rows[signals.previous[middle] as number]).toBe(anns[0]);
      expect(rows[signals.next[middle] as number]).toBe(anns[2]);
      const both = await tested.search('turn');
      const sessionByOrdinal = new Map(Array.from(both.ordinals, (ordinal, row) => [ordinal, both.sessions[row]]));
      expect(new Set(anns.map((ordinal) => sessionByOrdinal.get(ordinal))).size).toBe(1);
      expect(new Set(stored.map(({ ordinal }) => sessionByOrdinal.get(ordinal))).size).toBe(2);
    });
  });

  describe('consolidation of memories with users and agents', () => {
    it('merges duplicates only if they have the same user and agent', async () => {
      const owners = [ANN, ANN, BEN, BEN, { userId: 'ann', agentId: 'cook' }, { userId: '', agentId: '' }];
      const stored = [];
      for (const owner of owners) stored.push(await storeMemory({ ...owner, content: 'I like tea.' }));
      expect((await tested.mergeDuplicates(100)).count).toBe(2);
      const merged = await Promise.all(stored.map(({ id }) => tested.storage.memory('default', id, NOW * 2)));
      const [first, , third] = stored;
      expect(merged.map((memory) => memory?.mergedInto)).toEqual([null, first?.id, null, third?.id, null, null]);
    });

    it('treats memories as neighbors only if they have the same user and agent', async () => {
      await tested.storage.useModel(MODEL);
      const stored = [];
      for (const owner of [ANN, BEN, ANN, { userId: 'ann', agentId: 'cook' }, { userId: '', agentId: '' }]) {
        const memory = await storeMemory({ ...owner, content: 'The tabby cat sleeps on the radiator.' });
        await tested.putVector(memory, 3);
        stored.push(memory);
      }
      const request = { namespace: 'default', ...oldEnough(NOW * 2), limit: 100 };
      const { candidates } = await tested.storage.distilCandidates(request);
      const [first, second, third, fourth, fifth] = stored.map(({ ordinal }) => ordinal);
      expect(candidates.map(({ ordinal, neighbors }) => [ordinal, neighbors.map((near) => near.ordinal)])).toEqual([
        [first, [third]],
        [second, []],
        [third, [first]],
        [fourth, []],
        [fifth, []],
      ]);
    });

    it('consolidation of memories with users and agents does not distil, refresh or supersede memories across users or agents', async () => {
      const stored = [];
      for (const owner of [ANN, ANN, BEN, { userId: 'ann', agentId: 'cook' }]) stored.push(await storeMemory(owner));
      await tested.promote(NOW * 2, 100);
      const [a, b, other, agents] = stored.map(({ ordinal }) => ({ ordinal, version: 1 }));
      const run = await beginRun();
      const distil = (id: string, sources: (typeof a)[]) =>
        tested.storage.distil(run, { id, content: 'both', sources: sources.flatMap((one) => one ?? []), at: NOW });
      expect(await distil('mixed', [a, other])).toBeUndefined();
      expect(await distil('mixed', [a, agents])).toBeUndefined();
      const semantic = (await distil('pure', [a, b])) as number;
      expect(await tested.storage.memory('default', 'pure', NOW * 2)).toMatchObject(ANN);
      const refreshed = { semantic, content: 'all', at: NOW };
      const sources = [a, b, other].flatMap((one) => one ?? []);
      expect(await tested.storage.refresh(run, { ...refreshed, sources })).toBe(false);
      if (!a || !other) throw new Error('not stored');
      expect(await tested.storage.correct(run, { corrected: a, by: other, at: NOW })).toBe(false);
      await tested.storage.endRun(run, NOW);
    });
  });

  describe('forgetting a user', () => {
    it('deletes all data of the user, including archive and text histories, and no data of other users', async () => {
      for (const owner of [ANN, BEN]) {
        const stored = [];
        for (let i = 0; i < 4; i++)
          stored.push(await storeMemory({ ...owner, idempotency: { key: `k${i}`, digest: 'd' } }));
        await tested.promote(NOW * 2, 100);
        const run = await beginRun();
        const sources = stored.slice(0, 2).map(({ ordinal }) => ({ ordinal, version: 1 }));
        await tested.storage.distil(run, { id: `of ${owner.userId}`, content: 'both', sources, at: NOW });
        await tested.storage.evictExcess(run, 'episodic', [stored[3]?.ordinal ?? 0], NOW);
        await tested.storage.endRun(run, NOW);
        const id = stored[2]?.id ?? '';
        await tested.storage.update({ namespace: 'default', id, at: NOW * 2, content: 'another text' });
        await tested.storage.forget('default', `of ${owner.userId}`);
      }
      const before = await getRecords({ userIds: ['ben'] });
      const deleted: unknown[] = [];
      await tested.storage.forgetMany('default', OF_ANN, (batch) => deleted.push(...batch));
      expect(deleted).toMatchObject(new Array(4).fill(ANN));
      expect(await getRecords(OF_ANN)).toEqual([]);
      expect(await getRecords()).toEqual(before);
      expect(before.filter((record) => 'declinedGroup' in record)).toHaveLength(1);
      await storeMemory({ ...ANN, idempotency: { key: 'k0', digest: 'd' } });
    });
  });

  describe('the users of a namespace', () => {
    it('the users of a namespace are listed by id, page by page, with their usage', async () => {
      await storeMemory({ userId: 'b', content: 'four', storedAt: NOW });
      await storeMemory({ userId: 'a', content: 'six ch', storedAt: NOW + 5, expiresAt: NOW + 9 });
      await storeMemory({ userId: 'a', agentId: 'x', content: 'two', storedAt: NOW + 7 });
      await storeMemory({ content: 'shared' });
      await storeMemory({ namespace: 'other', userId: 'c' });
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

    it('the users of a namespace have separate quotas, in addition to the quota of the namespace', async () => {
      await tested.storage.setUserQuota('default', 'ann', { memories: 1, bytes: 10 });
      await tested.storage.setQuota('default', { memories: 3, bytes: null });
      const { id } = await storeMemory({ ...ANN, content: 'six ch' });
      const over = { outcome: 'over-quota', holder: 'user', of: 'memories', limit: 1 };
      expect(await tested.storage.store(nextMemory({ userId: 'ann', agentId: 'cook' }))).toEqual(over);
      const change = { namespace: 'default', id, at: NOW * 2, content: 'seven' };
      expect(await tested.storage.update(change)).toMatchObject({ holder: 'user', of: 'bytes' });
      await storeMemory(BEN);
      await storeMemory(BEN);
      expect(await tested.storage.store(nextMemory(BEN))).toMatchObject({ holder: 'namespace' });
      await tested.storage.forget('default', id);
      await storeMemory({ ...ANN, content: 'six ch' });
      await tested.storage.setUserQuota('default', 'ann', { memories: null, bytes: null });
      expect(await tested.storage.userQuotas('default')).toEqual([]);
    });
  });

  describe('an import for one user', () => {
    it('stores no links to memories of another user', async () => {
      const [one, other] = [await storeMemory(ANN), await storeMemory({ ...ANN, sessionId: 's' })];
      const links = { supersedes: other.id, successors: [one.id], mergedInto: other.id };
      const bens = memoriesIn(await getRecords()).map((memory) => {
        return { memory: { ...memory, ...links, ...BEN, id: `ben's ${memory.id}` } };
      });
      const { records, waiting } = await tested.storage.importRecords('default', bens, []);
      expect(records).toEqual([{ outcome: 'imported' }, { outcome: 'imported' }]);
      expect(waiting).toHaveLength(6);
      for (const { memory } of bens) {
        const there = await tested.storage.memory('default', memory.id, NOW * 2);
        expect(there).toMatchObject({ ...BEN, supersedes: null, supersededBy: null, mergedInto: null });
      }
    });

    it('stores memories whose ids another owner has under new ids, links them, and finds them again', async () => {
      await storeMemory({ ...ANN, id: 'old', content: 'Ann lives in Oslo.' });
      await storeMemory({ ...ANN, id: 'new', content: 'Ann lives in Rome.', supersedes: 'old' });
      await storeMemory({ ...ANN, id: 'third', supersedes: 'new' });
      const before = await getRecords(OF_ANN);
      const as = (owner: Owner) => memoriesIn(before).map((memory) => ({ memory: { ...memory, ...owner } }));
      const importAs = (owner: Owner) => tested.storage.importRecords('default', as(owner), []);
      const { records, waiting } = await importAs(BEN);
      expect(waiting).toEqual([]);
      const newIds = records.map(({ newId = '' }) => newId);
      for (const id of newIds)
        expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
      expect(records).toEqual(newIds.map((newId) => ({ outcome: 'imported', newId })));
      const [old, next, third] = newIds as [string, string, string];
      const read = (id: string) => tested.storage.memory('default', id, NOW * 2, { userIds: ['ben'] });
      expect(await read(old)).toMatchObject({ content: 'Ann lives in Oslo.', supersededBy: next });
      expect(await read(next)).toMatchObject({ content: 'Ann lives in Rome.', supersedes: old, supersededBy: third });
      expect(await getRecords(OF_ANN)).toEqual(before);

      const again = records.map((record) => ({ ...record, outcome: 'unchanged' }));
      expect((await importAs(BEN)).records).toEqual(again);
      await tested.storage.forget('default', 'old');
      expect((await importAs(BEN)).records).toEqual(again);
      const ofAgent = await importAs({ userId: 'ben', agentId: 'cook' });
      expect(ofAgent.records.map(({ newId }) => newId)).toEqual([
        undefined,
        ...newIds.slice(1).map(() => expect.any(String)),
      ]);
      expect(new Set([...newIds, ...ofAgent.records.map(({ newId }) => newId)]).size).toBe(6);
      await tested.storage.update({ namespace: 'default', id: third, at: NOW * 2, content: 'changed' });
      expect((await importAs(BEN)).records[2]).toEqual({ outcome: 'different', newId: third });
    });

    it('links to the new id of a memory on a later or an earlier line, in another call', async () => {
      for (const id of ['a', 'b', 'c']) await storeMemory({ ...ANN, id, content: id });
      const [a, b, c] = memoriesIn(await getRecords()).map((memory) => ({ ...memory, ...BEN }));
      const importOne = (memory: MemoryRecord, links: PendingLink[] = []) =>
        tested.storage.importRecords('default', [{ memory }], links);
      const first = await importOne({ ...(a as MemoryRecord), supersedes: 'b' });
      expect(first.waiting).toMatchObject([{ kind: 'supersedes', id: 'b', ...BEN }]);
      const second = await importOne(b as MemoryRecord, first.waiting);
      const last = await importOne({ ...(c as MemoryRecord), successors: ['a'] });
      expect([second.waiting, last.waiting]).toEqual([[], []]);
      const [newA, newB, newC] = [first, second, last].map(({ records }) => records[0]?.newId ?? '');
      const read = (id = '') => tested.storage.memory('default', id, NOW * 2);
      expect(await read(newA)).toMatchObject({ supersedes: newB });
      expect(await read(newC)).toMatchObject({ supersededBy: newA });
    });

    it('treats a source of another user like a missing source', async () => {
      await storeMemory({ ...ANN, id: 'source' });
      const [source] = memoriesIn(await getRecords()) as [MemoryRecord];
      const semantic = { ...source, ...BEN, sessionId: null, tier: 'semantic' as const, distilledRevision: 1 };
      const own = { ...source, ...BEN, id: 'own' };
      const outcomes = async (...memories: MemoryRecord[]) => {
        const records = memories.map((memory) => ({ memory }));
        return (await tested.storage.importRecords('default', records, [])).records.map(({ outcome }) => outcome);
      };
      for (const id of ['source', 'missing']) {
        expect(await outcomes({ ...semantic, id: `only ${id}`, derivedFrom: [id] })).toEqual(['rootless']);
        const memories = [
          { ...own, id: `${id}'s` },
          { ...semantic, id: `and ${id}`, derivedFrom: [`${id}'s`, id] },
        ];
        expect(await outcomes(...memories)).toEqual(['imported', 'imported']);
        expect(await tested.storage.memory('default', `and ${id}`, NOW * 2)).toMatchObject({
          derivedFrom: [`${id}'s`],
        });
      }
    });

    it('stores a declined group that another user has', async () => {
      const declined = (userId: string) => ({ declinedGroup: 'AB'.repeat(32), userId, agentId: '' });
      for (const userId of ['ann', 'ben']) {
        for (const outcome of ['imported', 'unchanged']) {
          const { records } = await tested.storage.importRecords('default', [declined(userId)], []);
          expect(records).toEqual([{ outcome }]);
        }
      }
      expect(await getRecords()).toEqual([declined('ann'), declined('ben')]);
    });
  });
}
