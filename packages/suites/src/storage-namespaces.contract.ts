import type { NewMemory } from '@memoryd/core';
import type { Quota } from '@memoryd/core/ports';
import { propertyRuns } from '@memoryd/search/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { newMemory } from './new-memory.fixture.ts';
import { NOW, type TestedStorage } from './storage.fixture.ts';

const NONE = { memories: 0, bytes: 0 };

let arrivals = 0;

type QuotaStep = { kind: 'store' | 'change'; text: string } | { kind: 'forget' };

/** A model of a quota without a database: all texts that each memory has had. */
class QuotaModel {
  readonly texts = new Map<string, string[]>();
  readonly #quota: Quota;

  constructor(quota: Quota) {
    this.#quota = quota;
  }

  get used(): Quota {
    return { memories: this.texts.size, bytes: Buffer.byteLength([...this.texts.values()].flat().join('')) };
  }

  pick(which: number): string | undefined {
    return [...this.texts.keys()][which % this.texts.size];
  }

  /** Gives a new or existing memory a text. Returns false if that would exceed the quota. */
  give(id: string, text: string): boolean {
    const texts = this.texts.get(id) ?? [];
    if (texts.at(-1) === text) return true;
    const { memories, bytes } = this.used;
    if (texts.length === 0 && memories >= this.#quota.memories) return false;
    if (bytes + Buffer.byteLength(text) > this.#quota.bytes) return false;
    this.texts.set(id, [...texts, text]);
    return true;
  }
}

/** Contract tests of the `NamespaceStorage` port. */
export function namespaceStorageContract(tested: TestedStorage): void {
  const nextMemory = (fields: Partial<NewMemory> = {}) =>
    newMemory({ namespace: 'a', id: `memory-${++arrivals}`, content: 'text', createdAt: NOW, ...fields });

  async function storeMemory(fields: Partial<NewMemory> = {}): Promise<string> {
    const memory = nextMemory(fields);
    expect(await tested.storage.store(memory)).toMatchObject({ outcome: 'stored' });
    return memory.id;
  }

  const change = (id: string, content: string) => tested.storage.update({ namespace: 'a', id, at: NOW, content });
  const usedBy = async (name: string) =>
    (await tested.storage.usage(NOW)).find((namespace) => namespace.name === name)?.used;

  describe('the usage of a namespace', () => {
    it('the usage of a namespace is the number of its memories and the bytes of their texts', async () => {
      await storeMemory({ content: 'four' });
      await storeMemory({ content: 'für 文 😀' });
      await storeMemory({ namespace: 'b', content: 'other' });
      expect(await usedBy('a')).toEqual({ memories: 2, bytes: 4 + 13 });
      expect(await usedBy('b')).toEqual({ memories: 1, bytes: 5 });
      expect((await tested.storage.stats('a', NOW)).textBytes).toBe(17);
    });

    it('includes the bytes of attachments, and decreases by them when their memories are forgotten', async () => {
      await storeMemory({ content: 'four' });
      const id = await storeMemory({ content: 'four', userId: 'ada', attachment: 'für 文 😀' });
      expect(await usedBy('a')).toEqual({ memories: 2, bytes: 4 + 4 + 13 });
      expect((await tested.storage.stats('a', NOW, { userIds: ['ada'] })).textBytes).toBe(4 + 13);
      await tested.storage.forget('a', id);
      expect(await usedBy('a')).toEqual({ memories: 1, bytes: 4 });
    });

    it('increases with each new text of a memory, and decreases when the memory is forgotten', async () => {
      const id = await storeMemory({ content: 'first' });
      await change(id, 'the second');
      await change(id, 'the second');
      expect(await usedBy('a')).toEqual({ memories: 1, bytes: 15 });
      await tested.storage.forget('a', id);
      expect(await usedBy('a')).toBeUndefined();
    });

    it('includes merged, expired and evicted memories until they are deleted', async () => {
      await storeMemory({ content: 'duplicate' });
      await storeMemory({ content: 'duplicate' });
      await storeMemory({ content: 'brief', expiresAt: NOW + 1 });
      const run = await tested.beginRun({ namespace: 'a' });
      await tested.storage.promote(run, { promotedUntil: NOW, now: NOW }, 10);
      await tested.storage.mergeDuplicates(run, NOW, 10);
      await tested.storage.evictExpired(run, NOW + 1, 10);
      expect(await usedBy('a')).toEqual({ memories: 3, bytes: 23 });
      await tested.storage.clearArchive(run, NOW + 2, 10);
      expect(await usedBy('a')).toEqual({ memories: 2, bytes: 18 });
    });

    it('excludes semantic memories, but includes the bytes of texts that clients wrote to them', async () => {
      const sources = [await storeMemory({ content: 'one' }), await storeMemory({ content: 'two' })];
      const run = await tested.beginRun({ namespace: 'a' });
      await tested.storage.promote(run, { promotedUntil: NOW, now: NOW }, 10);
      const seen = await Promise.all(
        sources.map(async (id) => ({ ordinal: (await tested.storage.memory('a', id, NOW))?.ordinal ?? 0, version: 1 })),
      );
      await tested.storage.distil(run, { id: 'distilled', content: 'both', sources: seen, at: NOW });
      expect(await usedBy('a')).toEqual({ memories: 2, bytes: 6 });
      await change('distilled', 'mine now');
      await change('distilled', 'mine again');
      expect(await usedBy('a')).toEqual({ memories: 2, bytes: 6 + 18 });
      await tested.storage.forget('a', 'distilled');
      expect(await usedBy('a')).toEqual({ memories: 2, bytes: 6 });
    });
  });

  describe('a quota', () => {
    it('limits the number of memories, and forgetting a memory makes room for another', async () => {
      await tested.storage.setQuota('a', { memories: 2, bytes: null });
      const first = await storeMemory();
      await storeMemory();
      expect(await tested.storage.store(nextMemory())).toEqual({
        outcome: 'over-quota',
        holder: 'namespace',
        of: 'memories',
        limit: 2,
      });
      expect((await tested.storage.stats('a', NOW)).working_count).toBe(2);
      await tested.storage.forget('a', first);
      await storeMemory();
      expect(await tested.storage.store(nextMemory())).toMatchObject({ outcome: 'over-quota' });
    });

    it('limits the exact number of UTF-8 bytes of all texts', async () => {
      await tested.storage.setQuota('a', { memories: null, bytes: 6 });
      await storeMemory({ content: '文' });
      expect(await tested.storage.store(nextMemory({ content: '文x' }))).toEqual({
        outcome: 'over-quota',
        holder: 'namespace',
        of: 'bytes',
        limit: 6,
      });
      await storeMemory({ content: '文' });
    });

    it('rejects a new text if it does not fit in addition to the earlier text, without changing the memory', async () => {
      await tested.storage.setQuota('a', { memories: 1, bytes: 10 });
      const id = await storeMemory({ content: 'sixsix' });
      expect(await tested.storage.update({ namespace: 'a', id, at: NOW, content: 'fives', tags: ['new'] })).toEqual({
        outcome: 'over-quota',
        holder: 'namespace',
        of: 'bytes',
        limit: 10,
      });
      expect(await tested.storage.memory('a', id, NOW)).toMatchObject({ content: 'sixsix', tags: [], version: 1 });
      expect(await change(id, 'four')).toMatchObject({ outcome: 'updated' });
      expect(await tested.storage.update({ namespace: 'a', id, at: NOW, importance: 1 })).toMatchObject({
        outcome: 'updated',
      });
    });

    it('applies only to its own namespace', async () => {
      await tested.storage.setQuota('a', { memories: 1, bytes: 1 });
      await storeMemory({ namespace: 'b' });
      await storeMemory({ namespace: 'b' });
    });

    it('lets a batch store the memories that fit, in order', async () => {
      await tested.storage.setQuota('a', { memories: 2, bytes: 10 });
      const outcomes = await tested.storage.storeMany([
        nextMemory({ content: 'four' }),
        nextMemory({ content: 'far too long a text' }),
        nextMemory({ content: 'more' }),
        nextMemory({ content: 'x' }),
        nextMemory({ namespace: 'b', content: 'any length is fine here' }),
      ]);
      expect(outcomes.map(({ outcome }) => outcome)).toEqual([
        'stored',
        'over-quota',
        'stored',
        'over-quota',
        'stored',
      ]);
    });

    it('counts the bytes of the earlier memories of a batch', async () => {
      await tested.storage.setQuota('a', { memories: null, bytes: 10 });
      const batch = ['four', 'four', 'six six', 'xx', 'x'].map((content) => nextMemory({ content }));
      const over = { outcome: 'over-quota', holder: 'namespace', of: 'bytes', limit: 10 };
      const stored = expect.objectContaining({ outcome: 'stored' });
      expect(await tested.storage.storeMany(batch)).toEqual([stored, stored, over, stored, over]);
      expect(await usedBy('a')).toEqual({ memories: 3, bytes: 10 });
    });

    it('a quota of a user is counted per user in a batch, and a memory that it refuses takes no room of the namespace', async () => {
      await tested.storage.setQuota('a', { memories: 4, bytes: 12 });
      await tested.storage.setUserQuota('a', 'ann', { memories: 2, bytes: 6 });
      const batch = [
        { userId: 'ann', content: 'four' },
        { userId: 'ann', content: 'four' },
        { userId: 'ann', content: 'xx' },
        { userId: 'ann', content: 'x' },
        { userId: 'ben', content: 'xxxx' },
        { userId: '', content: 'xx' },
        { userId: '', content: 'x' },
      ];
      const outcomes = await tested.storage.storeMany(batch.map(nextMemory));
      const over = (holder: 'namespace' | 'user', of: 'memories' | 'bytes', limit: number) => {
        return { outcome: 'over-quota', holder, of, limit };
      };
      const stored = expect.objectContaining({ outcome: 'stored' });
      expect(outcomes).toEqual([
        ...[stored, over('user', 'bytes', 6), stored, over('user', 'memories', 2)],
        ...[stored, stored, over('namespace', 'memories', 4)],
      ]);
      expect(await usedBy('a')).toEqual({ memories: 4, bytes: 12 });
    });

    it('allows a repeated store request with an idempotency key even if the quota is used up', async () => {
      await tested.storage.setQuota('a', { memories: 1, bytes: null });
      const idempotency = { key: 'k', digest: 'd' };
      const id = await storeMemory({ idempotency });
      expect(await tested.storage.store(nextMemory({ idempotency }))).toMatchObject({
        outcome: 'repeated',
        id,
        created: true,
      });
    });

    it('a quota does not affect existing memories, and applies immediately after a change', async () => {
      await storeMemory();
      await storeMemory();
      await tested.storage.setQuota('a', { memories: 1, bytes: null });
      expect((await tested.storage.stats('a', NOW)).working_count).toBe(2);
      expect(await tested.storage.store(nextMemory())).toMatchObject({ outcome: 'over-quota' });
      await tested.storage.setQuota('a', { memories: 0, bytes: null });
      await storeMemory();
      await tested.storage.setQuota('a', { memories: null, bytes: null });
      await storeMemory();
    });

    it('a quota is never exceeded by any sequence of stores, changes and forgets', async () => {
      const text = fc.stringMatching(/^[a-c文]{1,6}$/);
      const pick = fc.nat(20);
      const step = fc.oneof(
        fc.record({ kind: fc.constant('store' as const), text }),
        fc.record({ kind: fc.constant('change' as const), text, pick }),
        fc.record({ kind: fc.constant('forget' as const), pick }),
      );
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
          const quota = { memories: 4, bytes: 40 };
          const namespace = `n${++arrivals}`;
          await tested.storage.setQuota(namespace, quota);
          const model = new QuotaModel(quota);
          for (const next of steps) {
            const id = next.kind === 'store' ? `memory-${++arrivals}` : model.pick(next.pick);
            if (id !== undefined) await take(namespace, model, id, next);
          }
          const stored = (await tested.storage.usage(NOW)).find(({ name }) => name === namespace);
          expect(stored?.used).toEqual(model.used);
        }),
        { numRuns: propertyRuns(20) },
      );
    });

    async function take(namespace: string, model: QuotaModel, id: string, step: QuotaStep): Promise<void> {
      switch (step.kind) {
        case 'store': {
          const { outcome } = await tested.storage.store(nextMemory({ namespace, id, content: step.text }));
          return expect(outcome).toBe(model.give(id, step.text) ? 'stored' : 'over-quota');
        }
        case 'change': {
          const { outcome } = await tested.storage.update({ namespace, id, at: NOW, content: step.text });
          return expect(outcome).toBe(model.give(id, step.text) ? 'updated' : 'over-quota');
        }
        case 'forget':
          model.texts.delete(id);
          expect(await tested.storage.forget(namespace, id)).toMatchObject({ outcome: 'forgotten' });
      }
    }
  });

  describe('the usage of all namespaces', () => {
    it('the usage of all namespaces is listed by name, with the quota and the number of unrevoked keys of each namespace', async () => {
      await storeMemory({ namespace: 'b', content: 'text' });
      await tested.storage.setQuota('a', { memories: 5, bytes: 0 });
      const key = {
        namespace: 'c',
        userId: '',
        agentId: '',
        scope: 'read' as const,
        name: '',
        digest: 'ab',
        createdAt: NOW,
        expiresAt: null,
        lastUsedAt: null,
        revokedAt: null,
      };
      await tested.keys.add({ ...key, id: 'good' });
      await tested.keys.add({ ...key, id: 'bad' });
      await tested.keys.revoke('bad', NOW);
      const empty = { working_count: 0, episodic_count: 0, semantic_count: 0 };
      const none = { memories: null, bytes: null };
      expect(await tested.storage.usage(NOW)).toEqual([
        { name: 'a', counts: empty, used: NONE, quota: { memories: 5, bytes: 0 }, keys: 0 },
        { name: 'b', counts: { ...empty, working_count: 1 }, used: { memories: 1, bytes: 4 }, quota: none, keys: 0 },
        { name: 'c', counts: empty, used: NONE, quota: none, keys: 1 },
      ]);
    });

    it('the usage of all namespaces has totals of memories and bytes, and the time of the last consolidation', async () => {
      await storeMemory({ content: 'abc' });
      await storeMemory({ namespace: 'b', content: 'de' });
      await storeMemory({ namespace: 'b', content: 'gone', expiresAt: NOW });
      expect(await tested.storage.totals(NOW)).toMatchObject({ working_count: 2, textBytes: 9, lastSleepAt: null });
      const run = await tested.beginRun({ namespace: 'b' });
      await tested.storage.promote(run, { promotedUntil: NOW, now: NOW }, 10);
      await tested.storage.endRun(run, NOW + 5);
      const { working_count, episodic_count, lastSleepAt } = await tested.storage.totals(NOW);
      expect({ working_count, episodic_count, lastSleepAt }).toEqual({
        working_count: 1,
        episodic_count: 1,
        lastSleepAt: NOW + 5,
      });
    });
  });

  describe('a migration from another database', () => {
    it('begins in an empty database, and can continue after a restart even though data was imported', async () => {
      expect(await tested.storage.beginMigration('elsewhere')).toBe(true);
      await storeMemory();
      await tested.reopen();
      expect(await tested.storage.beginMigration('elsewhere')).toBe(true);
      expect(await tested.storage.beginMigration('another')).toBe(false);
      expect(await tested.storage.beginMigration('elsewhere')).toBe(true);
    });

    it('a migration from another database does not begin again after it has ended', async () => {
      await tested.storage.beginMigration('elsewhere');
      await storeMemory();
      expect(await tested.storage.isMigrating()).toBe(true);
      await tested.storage.endMigration();
      expect(await tested.storage.isMigrating()).toBe(false);
      expect(await tested.storage.beginMigration('elsewhere')).toBe(false);
    });

    it.each<[string, () => Promise<unknown>]>([
      ['memories', () => storeMemory()],
      ['quotas', () => tested.storage.setQuota('a', { memories: 1, bytes: null })],
      ['hook settings', () => tested.storage.changeHookSettings('a', 'ada', { paused: true })],
      [
        'imports',
        () => tested.storage.beginImport('a', { id: 'i', userId: '', agentId: '', format: 'csv', startedAt: NOW }),
      ],
      [
        'keys',
        () =>
          tested.keys.add({
            id: 'k',
            userId: '',
            agentId: '',
            namespace: 'a',
            scope: 'read',
            name: '',
            digest: 'ab',
            createdAt: NOW,
            expiresAt: null,
            lastUsedAt: null,
            revokedAt: null,
          }),
      ],
    ])('a migration from another database does not begin in a database that already has %s', async (_what, addData) => {
      await addData();
      expect(await tested.storage.beginMigration('elsewhere')).toBe(false);
      expect(await tested.storage.beginMigration('elsewhere')).toBe(false);
    });

    it('a migration from another database does not begin in a database with data of another migration', async () => {
      await tested.storage.beginMigration('elsewhere');
      expect(await tested.storage.beginMigration('another')).toBe(true);
      await storeMemory();
      expect(await tested.storage.beginMigration('elsewhere')).toBe(false);
    });
  });

  describe('deleting a namespace', () => {
    async function fill(namespace: string): Promise<void> {
      for (const content of ['one', 'two', 'duplicate', 'duplicate'])
        await storeMemory({ namespace, id: `${content}-${++arrivals}`, content });
      await storeMemory({ namespace, id: 'same', content: 'before', tags: ['t'], metadata: { k: 1 } });
      await tested.storage.update({ namespace, id: 'same', at: NOW, content: 'after' });
      await storeMemory({ namespace, supersedes: 'same', idempotency: { key: 'k', digest: 'd' } });
      await tested.storage.setQuota(namespace, { memories: 1000, bytes: null });
      const key = {
        id: `key of ${namespace}`,
        namespace,
        userId: '',
        agentId: '',
        scope: 'write' as const,
        name: '',
        digest: 'ab',
      };
      await tested.keys.add({ ...key, createdAt: NOW, expiresAt: null, lastUsedAt: null, revokedAt: null });
      const run = await tested.beginRun({ namespace });
      await tested.storage.promote(run, { promotedUntil: NOW, now: NOW }, 100);
      await tested.storage.mergeDuplicates(run, NOW, 100);
      const { items } = await tested.storage.memories(namespace, {}, { limit: 100, maxBytes: 1e6 }, NOW);
      const sources = items.filter(({ content }) => ['one', 'two'].includes(content));
      expect(await tested.storage.distil(run, { id: 'distilled', content: 'both', sources, at: NOW })).toBeDefined();
      await tested.storage.endRun(run, NOW);
    }

    it('deletes all data of the namespace, and no data of other namespaces', async () => {
      await fill('a');
      await fill('b');
      const page = { limit: 100, maxBytes: 1e6 };
      const before = [await tested.storage.memories('b', {}, page, NOW), await tested.storage.runs('b', page)];
      const other = (await tested.storage.usage(NOW)).find(({ name }) => name === 'b');
      expect(await tested.storage.deleteNamespace('a')).toMatchObject({ count: 7 });
      expect(await tested.storage.usage(NOW)).toEqual([other]);
      expect((await tested.storage.memories('a', {}, page, NOW)).total).toBe(0);
      expect((await tested.storage.runs('a', page)).total).toBe(0);
      expect(await tested.storage.memory('a', 'same', NOW)).toBeUndefined();
      expect([await tested.storage.memories('b', {}, page, NOW), await tested.storage.runs('b', page)]).toEqual(before);
      expect((await tested.keys.read())?.keys.map(({ namespace }) => namespace)).toEqual(['b']);
      // A store request with an earlier idempotency key counts as a new one.
      await storeMemory({ idempotency: { key: 'k', digest: 'another' } });
    });

    it('deletes more memories than fit in one transaction', async () => {
      await tested.storage.storeMany(Array.from({ length: 250 }, () => nextMemory()));
      expect(await tested.storage.deleteNamespace('a')).toMatchObject({ count: 250 });
      expect(await tested.storage.usage(NOW)).toEqual([]);
    });

    it('keeps the number of key changes', async () => {
      await fill('a');
      await tested.storage.deleteNamespace('a');
      const { keys, changes } = (await tested.keys.read()) ?? { keys: undefined, changes: 0 };
      expect(keys).toEqual([]);
      expect(changes).toBeGreaterThan(0);
    });
  });
}
