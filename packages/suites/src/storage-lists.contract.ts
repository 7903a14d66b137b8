import type { MemoryRecord, SessionPlace, SessionSummaryRow, UserRow } from '@memoryd/core/ports';
import type { MemoryFilter } from '@memoryd/search';
import { propertyRuns } from '@memoryd/search/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { deeds, Life } from './life.fixture.ts';
import { ALL, NOW, type StorageUnderTest, type TestedStorage } from './storage.fixture.ts';

const PAGE = { limit: 2, maxBytes: 1e6 };

/** Contract tests: the lists of sessions and users, which read stored counts, match the memories. */
export function listStorageContract(tested: TestedStorage): void {
  const { storeMemory, beginRun } = tested;

  async function readSessions(namespace: string, filter: MemoryFilter, now: number) {
    const sessions: SessionSummaryRow[] = [];
    const totals = new Set<number>();
    let after: SessionPlace | undefined;
    do {
      const page = await tested.storage.sessions(namespace, filter, { ...PAGE, ...(after && { after }) }, now);
      sessions.push(...page.items);
      totals.add(page.total);
      after = page.next;
    } while (after);
    return { sessions, totals: [...totals] };
  }

  async function readUsers(namespace: string, now: number) {
    const users: Omit<UserRow, 'used' | 'quota'>[] = [];
    const totals = new Set<number>();
    let after: string | undefined;
    do {
      const page = await tested.storage.users(namespace, { limit: 2, ...(after !== undefined && { after }) }, now);
      users.push(...page.items.map(({ userId, counts, lastStoredAt }) => ({ userId, counts, lastStoredAt })));
      totals.add(page.total);
      after = page.next;
    } while (after !== undefined);
    return { users, totals: [...totals] };
  }

  async function readRecords(namespace: string): Promise<MemoryRecord[]> {
    const exported = await tested.storage.exportRecords(namespace);
    const records: MemoryRecord[] = [];
    for await (const record of exported.records) if ('memory' in record) records.push(record.memory);
    await exported.discard();
    return records;
  }

  function getDatabase(): StorageUnderTest {
    const { storage, lease, keys } = tested;
    const reopen = () => Promise.reject(new Error('reopen is not supported'));
    return { storage, lease, keys, reopen, close: () => tested.close() };
  }

  it('match the memories after any sequence of operations, at any time', async () => {
    let lives = 0;
    await fc.assert(
      fc.asyncProperty(deeds, async (steps) => {
        const namespace = `lists ${++lives}`;
        const life = new Life(namespace);
        let records: MemoryRecord[] = [];
        const lastStored = new Map<string, number>();
        for (const step of steps) {
          await life.happen(getDatabase(), [step]);
          records = await readRecords(namespace);
          noteLastStored(lastStored, records);
        }
        for (const now of [NOW, life.time, NOW * 2]) {
          expect(await readUsers(namespace, now)).toEqual(getUsers(records, lastStored, now));
          const filters: MemoryFilter[] = [
            {},
            { userIds: ['ann'] },
            { userIds: ['ann', ''] },
            { agentIds: ['cook'] },
            { agentIds: ['cook', ''] },
            { userIds: ['ann'], agentIds: ['cook'] },
          ];
          for (const filter of filters) {
            expect(await readSessions(namespace, filter, now)).toEqual(getSessions(records, filter, now));
          }
        }
      }),
      // Each run takes a second, and shrinking a failure takes many runs.
      { numRuns: propertyRuns(6), endOnFailure: true },
    );
  }, 120_000);

  describe('the sessions of a namespace', () => {
    const getRows = async (now: number, filter: MemoryFilter = {}) =>
      (await readSessions('default', filter, now)).sessions;

    it('the sessions of a namespace skip expired memories, and sessions whose memories have all expired', async () => {
      for (let i = 0; i < 5; i++) await storeMemory({ sessionId: `gone ${i}`, expiresAt: NOW + 100 });
      for (const [createdAt, expiresAt] of [
        [NOW, NOW + 100],
        [NOW + 1, null],
        [NOW + 2, NOW + 100],
        [NOW + 3, null],
        [NOW + 4, NOW + 100],
      ] as const)
        for (const userId of ['', 'ann']) await storeMemory({ sessionId: 'half', userId, createdAt, expiresAt });
      const half = { sessionId: 'half', total: 2, firstAt: NOW + 1, lastAt: NOW + 3 };
      expect(await readSessions('default', {}, NOW + 100)).toEqual({
        sessions: [
          { ...half, userId: '' },
          { ...half, userId: 'ann' },
        ],
        totals: [2],
      });
      expect(await getRows(NOW + 99, { userIds: ['ann'] })).toMatchObject([
        { total: 5, firstAt: NOW, lastAt: NOW + 4 },
      ]);
    });

    it('update their first and last times when those memories are forgotten or evicted', async () => {
      const stored = [];
      for (let i = 0; i < 5; i++) stored.push(await storeMemory({ sessionId: 's', createdAt: NOW + i }));
      const [first, , , fourth, last] = stored;
      await tested.storage.forget('default', first?.id ?? '');
      const run = await beginRun();
      await tested.storage.evictExcess(run, 'working', [fourth?.ordinal ?? 0, last?.ordinal ?? 0], NOW);
      expect(await getRows(NOW)).toMatchObject([{ total: 2, firstAt: NOW + 1, lastAt: NOW + 2 }]);
      await tested.storage.endRun(run, NOW);
      await tested.storage.forgetMany('default', { sessionId: 's' });
      expect(await tested.storage.sessions('default', {}, ALL, NOW)).toEqual({ items: [], total: 0 });
    });
  });

  describe('the users of a namespace', () => {
    it('the users of a namespace include users with only evicted memories, and no users without memories', async () => {
      const evicted = await storeMemory({ userId: 'ann', storedAt: NOW + 5 });
      const forgotten = await storeMemory({ userId: 'ben', storedAt: NOW });
      const run = await beginRun();
      await tested.storage.evictExcess(run, 'working', [evicted.ordinal], NOW);
      await tested.storage.endRun(run, NOW);
      await tested.storage.forget('default', forgotten.id);
      const { items, total } = await tested.storage.users('default', { limit: 5 }, NOW);
      expect({ items, total }).toMatchObject({
        items: [{ userId: 'ann', counts: { working_count: 0 }, used: { memories: 1 }, lastStoredAt: NOW + 5 }],
        total: 1,
      });
      await storeMemory({ userId: 'ben' });
      expect((await tested.storage.users('default', { limit: 5 }, NOW)).total).toBe(2);
    });

    it('the users of a namespace are counted once, in a session of another user and in a session whose memories were evicted', async () => {
      for (const userId of ['ann', 'ben', 'ann']) await storeMemory({ userId, sessionId: 's' });
      const evicted = await storeMemory({ userId: 'cem', sessionId: 's' });
      const run = await beginRun();
      await tested.storage.evictExcess(run, 'working', [evicted.ordinal], NOW);
      await tested.storage.endRun(run, NOW);
      await storeMemory({ userId: 'cem', sessionId: 's' });
      const { items, total } = await tested.storage.users('default', { limit: 5 }, NOW);
      expect([items.length, total]).toEqual([3, 3]);
      expect(await tested.storage.integrity()).toEqual([]);
    });

    it('the users of a namespace keep the time of the last store after that memory is forgotten, until their last memory is forgotten', async () => {
      const getLastStored = async () =>
        (await tested.storage.users('default', { limit: 5 }, NOW)).items.map((user) => user.lastStoredAt);
      const { id } = await storeMemory({ userId: 'ann', storedAt: NOW });
      const latest = await storeMemory({ userId: 'ann', storedAt: NOW + 9 });
      await storeMemory({ userId: 'ann', storedAt: NOW + 3 });
      await tested.storage.forget('default', latest.id);
      await tested.storage.update({ namespace: 'default', id, content: 'changed', at: NOW + 20 });
      expect(await getLastStored()).toEqual([NOW + 9]);
      expect(await tested.storage.integrity()).toEqual([]);
      await tested.storage.forgetMany('default', { userIds: ['ann'] });
      await storeMemory({ userId: 'ann', storedAt: NOW + 4 });
      expect(await getLastStored()).toEqual([NOW + 4]);
    });
  });
}

/** Counts the sessions among the memories of an export. */
function getSessions(records: readonly MemoryRecord[], { userIds, agentIds }: MemoryFilter, now: number) {
  const sessions = new Map<string, SessionSummaryRow>();
  for (const { sessionId, userId, agentId, createdAt, ...record } of records) {
    if (sessionId === null || !isLive(record, now)) continue;
    if (!(userIds?.includes(userId) ?? true) || !(agentIds?.includes(agentId) ?? true)) continue;
    const key = `${sessionId}\0${userId}`;
    const session = sessions.get(key) ?? { sessionId, userId, total: 0, firstAt: createdAt, lastAt: createdAt };
    sessions.set(key, {
      ...session,
      total: session.total + 1,
      firstAt: Math.min(session.firstAt, createdAt),
      lastAt: Math.max(session.lastAt, createdAt),
    });
  }
  return { sessions: getSorted(sessions), totals: [sessions.size] };
}

/** Updates the time of the last store of each user. Drops users without memories. */
function noteLastStored(lastStored: Map<string, number>, records: readonly MemoryRecord[]): void {
  for (const { userId, storedAt, tier } of records)
    if (tier !== 'semantic') lastStored.set(userId, Math.max(lastStored.get(userId) ?? storedAt, storedAt));
  for (const userId of [...lastStored.keys()])
    if (!records.some((record) => record.userId === userId)) lastStored.delete(userId);
}

/** Counts the users among the memories of an export. */
function getUsers(records: readonly MemoryRecord[], lastStored: ReadonlyMap<string, number>, now: number) {
  const users = new Map<string, Omit<UserRow, 'used' | 'quota'>>();
  for (const { userId, ...record } of records) {
    if (userId === '') continue;
    const counts = { working_count: 0, episodic_count: 0, semantic_count: 0 };
    const user = users.get(userId) ?? { userId, counts, lastStoredAt: lastStored.get(userId) ?? NaN };
    if (isLive(record, now)) user.counts[`${record.tier}_count`]++;
    users.set(userId, user);
  }
  return { users: getSorted(users), totals: [users.size] };
}

function getSorted<T>(byKey: ReadonlyMap<string, T>): T[] {
  return [...byKey].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, value]) => value);
}

function isLive(
  { evictedAt, mergedInto, expiresAt }: Pick<MemoryRecord, 'evictedAt' | 'mergedInto' | 'expiresAt'>,
  now: number,
): boolean {
  return evictedAt === null && mergedInto === null && (expiresAt === null || expiresAt > now);
}
