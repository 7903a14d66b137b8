import type { NewMemory } from '@memoryd/core';
import type { Position } from '@memoryd/core/ports';
import type { MemoryFilter } from '@memoryd/search';
import { describe, expect, it } from 'vitest';
import { ALL, LATER, MODEL, NOW, nextMemory, type TestedStorage, vector, WORKING_MAX } from './storage.fixture.ts';

/** Contract tests of the `MemoryStorage` port. */
export function memoryStorageContract(tested: TestedStorage): void {
  const { storeMemory, findOrdinals, search, getAdmitted, putVector, countTiers, beginRun, evictExpired } = tested;

  describe('storing memories', () => {
    it('preserves every field of a memory byte for byte', async () => {
      const stored = await storeMemory({
        content: '  Zoë’s “naïve” 文字 😀\r\n\ttrailing  ',
        tags: ['b', 'a'],
        importance: 0.25,
        source: 'chat',
        sessionId: 'a/b?c',
        metadata: { nested: { list: [1, null, 'x'] }, flag: true },
        createdAt: 5,
        expiresAt: NOW * 2,
      });
      const memory = await tested.storage.memory('default', stored.id, LATER);
      expect(memory).toMatchObject({
        ordinal: stored.ordinal,
        content: stored.content,
        tags: ['b', 'a'],
        importance: 0.25,
        source: 'chat',
        sessionId: 'a/b?c',
        tier: 'working',
        metadata: stored.metadata,
        createdAt: 5,
        expiresAt: NOW * 2,
        supersedes: null,
        supersededBy: null,
        mergedInto: null,
        accessCount: 0,
        accessedAt: null,
        version: 1,
      });
    });

    it('keeps the order of arrival of many concurrently stored memories', async () => {
      const memories = Array.from({ length: 200 }, () => nextMemory({ sessionId: 'crowd', createdAt: NOW }));
      await Promise.all(memories.map((memory) => tested.storage.store(memory)));
      const { items } = await tested.storage.session('default', 'crowd', ALL, NOW);
      expect(items.map((item) => item.id)).toEqual(memories.map((memory) => memory.id));
    });

    it('stores one memory per idempotency key, and refuses the key for another request', async () => {
      const idempotency = { key: 'k', digest: 'd' };
      const first = await storeMemory({ idempotency, storedAt: NOW });
      expect(await tested.storage.store(nextMemory({ idempotency, storedAt: NOW + 1 }))).toEqual({
        outcome: 'repeated',
        id: first.id,
        created: true,
        at: NOW,
      });
      expect(await tested.storage.store(nextMemory({ idempotency: { key: 'k', digest: 'other' } }))).toEqual({
        outcome: 'conflict',
      });
      expect(await countTiers()).toEqual([1, 0, 0]);
    });

    it('stores one memory for many concurrent requests with the same idempotency key', async () => {
      const idempotency = { key: 'k', digest: 'd' };
      const outcomes = await Promise.all(
        Array.from({ length: 20 }, () => tested.storage.store(nextMemory({ idempotency }))),
      );
      expect(outcomes.filter(({ outcome }) => outcome === 'stored')).toHaveLength(1);
      expect(outcomes.filter(({ outcome }) => outcome === 'repeated')).toHaveLength(19);
    });

    it('accepts an idempotency key for a new request after 24 hours', async () => {
      const idempotency = { key: 'k', digest: 'd' };
      const first = await storeMemory({ idempotency });
      const day = 24 * 60 * 60 * 1000;
      const later = await tested.storage.store(nextMemory({ idempotency, storedAt: first.storedAt + day }));
      expect(later).toMatchObject({ outcome: 'stored' });
    });

    it('rejects a memory that supersedes an unknown memory', async () => {
      expect(await tested.storage.store(nextMemory({ supersedes: 'nobody' }))).toEqual({
        outcome: 'superseded-unknown',
      });
      expect(await countTiers()).toEqual([0, 0, 0]);
    });

    it('stores a batch in order, and rejects single memories of the batch', async () => {
      const idempotency = { key: 'k', digest: 'd' };
      const before = await storeMemory({ idempotency });
      const many = [
        nextMemory({ sessionId: 'many' }),
        nextMemory({ sessionId: 'many', supersedes: 'nobody' }),
        nextMemory({ sessionId: 'many', idempotency }),
        nextMemory({ sessionId: 'many', idempotency: { key: 'k', digest: 'other' } }),
        nextMemory({ sessionId: 'many', supersedes: before.id, idempotency: { key: 'another', digest: 'd' } }),
        nextMemory({ sessionId: 'many', idempotency: { key: 'another', digest: 'd' } }),
      ];
      const { ordinal } = before;
      expect(await tested.storage.storeMany(many)).toEqual([
        { outcome: 'stored', ordinal: ordinal + 1 },
        { outcome: 'superseded-unknown' },
        { outcome: 'repeated', id: before.id, created: true, at: expect.any(Number) },
        { outcome: 'conflict' },
        { outcome: 'stored', ordinal: ordinal + 2 },
        { outcome: 'repeated', id: many[4]?.id, created: true, at: expect.any(Number) },
      ]);
      const { items } = await tested.storage.session('default', 'many', ALL, NOW);
      expect(items.map((item) => item.id)).toEqual([many[0]?.id, many[4]?.id]);
      expect((await tested.storage.memory('default', before.id, LATER))?.supersededBy).toBe(many[4]?.id);
      expect(await tested.storage.storeMany([])).toEqual([]);
    });

    it('stores no memory of a batch if one memory of the batch cannot be written', async () => {
      const twice = nextMemory();
      await expect(tested.storage.storeMany([nextMemory(), twice, twice])).rejects.toThrow();
      expect(await countTiers()).toEqual([0, 0, 0]);
      await storeMemory();
      expect(await countTiers()).toEqual([1, 0, 0]);
    });

    it('stores concurrent batches even if one of them cannot be written', async () => {
      const [twice, ...others] = Array.from({ length: 5 }, () => nextMemory());
      const stores = [[twice, twice], ...others.map((memory) => [memory])] as NewMemory[][];
      // While the first is being written, the rest arrive and are then written together.
      const [first, broken, ...beside] = await Promise.allSettled(
        [[nextMemory()], ...stores].map((memories) => tested.storage.storeMany(memories)),
      );
      expect([first, ...beside].map((promoted) => promoted?.status)).toEqual(Array(5).fill('fulfilled'));
      expect(broken?.status).toBe('rejected');
      expect(await countTiers()).toEqual([5, 0, 0]);
    });

    it('promotes the oldest memories of a batch if a namespace exceeds three quarters of its working maximum', async () => {
      const many = Array.from({ length: WORKING_MAX }, () => [nextMemory(), nextMemory({ namespace: 'other' })]);
      await tested.storage.storeMany(many.flat());
      expect(await countTiers()).toEqual([30, 10, 0]);
      const { working_count, episodic_count } = await tested.storage.stats('other', NOW);
      expect([working_count, episodic_count]).toEqual([30, 10]);
    });

    it('promotes the oldest working memories if the tier exceeds three quarters of its maximum', async () => {
      const stored: number[] = [];
      for (let i = 0; i < WORKING_MAX; i++) stored.push((await storeMemory()).ordinal);
      expect(await countTiers()).toEqual([30, 10, 0]);
      expect(
        (await tested.storage.memories('default', { tier: 'episodic' }, ALL, NOW + 1e6)).items.map((m) => m.ordinal),
      ).toEqual(stored.slice(0, 10).reverse());
    });
  });

  describe('a restart', () => {
    it('preserves memories, vectors and the database secret', async () => {
      const secret = await tested.storage.secret();
      expect(secret).toMatch(/^[0-9a-f]{32}$/);
      await tested.storage.useModel(MODEL);
      const stored = await storeMemory({ content: 'survives the night' });
      await putVector(stored, 1);
      await tested.reopen();
      expect(await tested.storage.secret()).toBe(secret);
      expect(getAdmitted(await search('', {}, NOW + 1e6, vector(1)))).toEqual([stored.ordinal]);
      expect(await tested.storage.memory('default', stored.id, LATER)).toMatchObject({ content: 'survives the night' });
      expect(await findOrdinals('night')).toEqual([stored.ordinal]);
      expect(await countTiers()).toEqual([1, 0, 0]);
    });
  });

  describe('updating a memory', () => {
    it('changes the fields of the update, keeps the other fields and increments the version', async () => {
      const stored = await storeMemory({ content: 'old words', tags: ['a'], importance: 0.1, metadata: { k: 'v' } });
      const at = stored.storedAt + 500;
      await tested.storage.update({ namespace: 'default', id: stored.id, at, importance: 0.9 });
      expect(await tested.storage.memory('default', stored.id, LATER)).toMatchObject({
        content: 'old words',
        tags: ['a'],
        importance: 0.9,
        metadata: { k: 'v' },
        updatedAt: at,
        version: 2,
      });
    });

    it('makes the new words and tags searchable, and the old words and tags unsearchable', async () => {
      const stored = await storeMemory({ content: 'apples', tags: ['fruit'], metadata: { colour: 'red' } });
      await tested.storage.update({
        namespace: 'default',
        id: stored.id,
        at: NOW,
        content: 'pears',
        tags: ['snack'],
        metadata: { colour: 'green' },
      });
      expect(await findOrdinals('apples')).toEqual([]);
      expect(await findOrdinals('pears', { tags: ['snack'], metadata: { colour: 'green' } })).toEqual([stored.ordinal]);
      expect(await findOrdinals('pears', { tags: ['fruit'] })).toEqual([]);
      expect(await findOrdinals('pears', { metadata: { colour: 'red' } })).toEqual([]);
    });

    it('sets and clears the expiry', async () => {
      const stored = await storeMemory();
      await tested.storage.update({ namespace: 'default', id: stored.id, at: NOW, expiresAt: NOW + 10 });
      expect((await tested.storage.memory('default', stored.id, NOW))?.expiresAt).toBe(NOW + 10);
      await tested.storage.update({ namespace: 'default', id: stored.id, at: NOW, expiresAt: null });
      expect((await tested.storage.memory('default', stored.id, LATER))?.expiresAt).toBeNull();
    });

    it('changes nothing if another client has changed the memory first, and a forget with the outdated version deletes nothing', async () => {
      const stored = await storeMemory({ content: 'mine' });
      const change = { namespace: 'default', id: stored.id, at: NOW, ifVersions: [1] };
      expect(await tested.storage.update({ ...change, content: 'first' })).toMatchObject({ outcome: 'updated' });
      expect(await tested.storage.update({ ...change, content: 'second' })).toEqual({ outcome: 'stale' });
      expect(await tested.storage.forget('default', stored.id, { ifVersions: [1] })).toEqual({ outcome: 'stale' });
      expect((await tested.storage.memory('default', stored.id, LATER))?.content).toBe('first');
    });

    it('returns unknown for a memory of another namespace and for an expired memory', async () => {
      const elsewhere = await storeMemory({ namespace: 'other' });
      const expired = await storeMemory({ expiresAt: NOW - 1 });
      for (const { id } of [elsewhere, expired]) {
        expect(await tested.storage.update({ namespace: 'default', id, at: NOW, importance: 1 })).toEqual({
          outcome: 'unknown',
        });
      }
    });
  });

  describe('text history', () => {
    const every = { limit: 100, maxBytes: 1_000_000 };
    const change = (id: string, at: number, content: string) =>
      tested.storage.update({ namespace: 'default', id, at, content });

    it('contains every text of a memory with its period of validity', async () => {
      const { id, storedAt } = await storeMemory({ content: 'first' });
      await change(id, storedAt + 10, 'second');
      await tested.storage.update({ namespace: 'default', id, at: storedAt + 15, importance: 1 });
      await change(id, storedAt + 20, 'third');
      const history = await tested.storage.history('default', id, every, NOW + 1e6);
      expect(history?.items).toMatchObject([
        { content: 'first', heldFrom: storedAt, heldUntil: storedAt + 10 },
        { content: 'second', heldFrom: storedAt + 10, heldUntil: storedAt + 20 },
        { content: 'third', heldFrom: storedAt + 20, heldUntil: null },
      ]);
      expect([history?.total, history?.next]).toEqual([3, undefined]);
      const revisions = history?.items.map(({ revision }) => revision) ?? [];
      expect(revisions).toEqual([...new Set(revisions)].sort((a, b) => a - b));
    });

    it('text history is returned page by page, with each text once and no empty page', async () => {
      const { id, storedAt } = await storeMemory({ content: 'text 0' });
      for (const n of [1, 2, 3, 4]) await change(id, storedAt + n, `text ${n}`);
      const whole = (await tested.storage.history('default', id, every, NOW + 1e6))?.items;
      for (const size of [
        { limit: 2, maxBytes: 1_000_000 },
        { limit: 100, maxBytes: 1 },
      ]) {
        const pages: unknown[] = [];
        for (let after: number | undefined = 0; after !== undefined; ) {
          const page = await tested.storage.history('default', id, { ...size, after }, NOW + 1e6);
          expect(page?.total).toBe(5);
          pages.push(...(page?.items ?? []));
          after = page?.next;
        }
        expect(pages).toEqual(whole);
      }
    });

    it('never has a text that ends before its start, even if the clock is set back', async () => {
      const { id, storedAt } = await storeMemory({ content: 'first' });
      for (const [at, content] of [
        [storedAt - 5, 'second'],
        [storedAt + 5, 'third'],
        [storedAt + 3, 'fourth'],
      ] as const) {
        await change(id, at, content);
      }
      const held = (await tested.storage.history('default', id, every, NOW + 1e6))?.items.map((text) => [
        text.heldFrom - storedAt,
        text.heldUntil && text.heldUntil - storedAt,
      ]);
      expect(held).toEqual([
        [0, 0],
        [0, 5],
        [5, 5],
        [5, null],
      ]);
      expect((await tested.storage.memory('default', id, NOW + 1e6))?.updatedAt).toBe(storedAt + 5);
    });

    it('returns the text that was valid at a given time', async () => {
      const { id, storedAt } = await storeMemory({ content: 'first' });
      await change(id, storedAt + 10, 'second');
      const textAt = async (at: number) => (await tested.storage.textAt('default', id, at, NOW + 1e6))?.content;
      expect(await textAt(storedAt - 1)).toBeUndefined();
      expect(await textAt(storedAt)).toBe('first');
      expect(await textAt(storedAt + 9)).toBe('first');
      expect(await textAt(storedAt + 10)).toBe('second');
      expect(await textAt(NOW * 2)).toBe('second');
      expect(await tested.storage.textAt('default', id, storedAt + 10, NOW + 1e6)).toMatchObject({
        heldFrom: storedAt + 10,
      });
    });

    it('text history is undefined for an unknown, expired, evicted or forgotten memory and for a memory of another namespace', async () => {
      const expired = await storeMemory({ expiresAt: NOW + 5 });
      const evicted = await storeMemory();
      await tested.storage.evictExcess(await beginRun(), 'working', [evicted.ordinal], NOW);
      const forgotten = await storeMemory();
      await change(forgotten.id, NOW, 'other');
      await tested.storage.forget('default', forgotten.id);
      const elsewhere = await storeMemory({ namespace: 'other' });
      for (const id of ['unknown', expired.id, evicted.id, forgotten.id, elsewhere.id]) {
        expect(await tested.storage.history('default', id, every, NOW + 1e6), id).toBeUndefined();
        expect(await tested.storage.textAt('default', id, NOW * 2, NOW + 1e6), id).toBeUndefined();
      }
    });

    it('text history of the visible memory does not contain the texts of a merged duplicate', async () => {
      const survivor = await storeMemory({ content: 'same' });
      const duplicate = await storeMemory({ content: 'other' });
      await change(duplicate.id, duplicate.storedAt + 1, 'same');
      await tested.storage.mergeDuplicates(await beginRun(), NOW, 10);
      const texts = async (id: string) =>
        (await tested.storage.history('default', id, every, NOW + 1e6))?.items.map(({ content }) => content);
      expect(await texts(survivor.id)).toEqual(['same']);
      expect(await texts(duplicate.id)).toEqual(['other', 'same']);
    });
  });

  describe('forgetting memories', () => {
    it('purges a forgotten text before the response', async () => {
      const { id } = await storeMemory({ content: 'unmistakable' });
      expect(await tested.storage.forget('default', id)).toMatchObject({ outcome: 'forgotten', purged: true });
      expect(await tested.storage.forgetMany('default', { tag: 'none' })).toMatchObject({ count: 0, purged: true });
    });

    it('makes a forgotten memory inaccessible', async () => {
      const stored = await storeMemory({ content: 'unmistakable', tags: ['t'], sessionId: 's' });
      await tested.storage.useModel(MODEL);
      await putVector(stored, 3);
      expect(await tested.storage.forget('default', stored.id)).toEqual({
        outcome: 'forgotten',
        ordinals: [stored.ordinal],
        deleted: [expect.objectContaining({ id: stored.id, userId: '', tags: ['t'], sessionId: 's', tier: 'working' })],
        alsoForgotten: [],
        remainingDuplicates: [],
        purged: expect.any(Boolean),
      });
      expect(await tested.storage.memory('default', stored.id, LATER)).toBeUndefined();
      expect(getAdmitted(await search('unmistakable', {}, NOW, vector(3)))).toEqual([]);
      expect((await tested.storage.session('default', 's', ALL, NOW)).total).toBe(0);
      expect(await tested.storage.read('default', [stored.ordinal], { now: NOW }, 1e6)).toEqual({
        memories: [],
        truncated: false,
      });
      expect(await countTiers()).toEqual([0, 0, 0]);
      expect(await tested.storage.forget('default', stored.id)).toEqual({ outcome: 'unknown' });
    });

    it('deletes an expired memory', async () => {
      const stored = await storeMemory({ expiresAt: NOW - 1 });
      await evictExpired(NOW, 10);
      expect(await tested.storage.forget('default', stored.id)).toMatchObject({ outcome: 'forgotten' });
    });

    it('forgetting memories does not free the ordinal of a forgotten memory for a later memory', async () => {
      const last = await storeMemory();
      await tested.storage.forget('default', last.id);
      expect((await storeMemory()).ordinal).toBeGreaterThan(last.ordinal);
    });

    it('deletes exactly the memories that match all conditions of a bulk forget', async () => {
      const fields = { sessionId: 's', tags: ['t'], source: 'import', createdAt: NOW };
      await storeMemory(fields);
      await storeMemory({ ...fields, tags: ['t', 'u'] });
      const spared = [
        await storeMemory({ ...fields, sessionId: 'other' }),
        await storeMemory({ ...fields, tags: [] }),
        await storeMemory({ ...fields, source: 'api' }),
        await storeMemory({ ...fields, createdAt: NOW + 1 }),
        await storeMemory({ ...fields, namespace: 'other' }),
      ];
      const selection = { sessionId: 's', tag: 't', source: 'import', createdBefore: NOW + 1 };
      expect(await tested.storage.forgetMany('default', selection)).toEqual({
        count: 2,
        purged: expect.any(Boolean),
      });
      for (const { namespace, id } of spared) expect(await tested.storage.memory(namespace, id, NOW)).toBeDefined();
      expect(await tested.storage.forgetMany('default', selection)).toEqual({
        count: 0,
        purged: expect.any(Boolean),
      });
    });

    it('reports each batch of a bulk forget, and no empty batch', async () => {
      for (let i = 0; i < 3; i++) await storeMemory({ id: `gone ${i}`, sessionId: 'gone', tags: ['a'] });
      const batches: unknown[] = [];
      for (let twice = 0; twice < 2; twice++) {
        await tested.storage.forgetMany('default', { sessionId: 'gone' }, (batch) => batches.push(batch));
      }
      const deleted = [0, 1, 2].map((i) => ({ id: `gone ${i}`, userId: '', sessionId: 'gone', tags: ['a'] }));
      expect(batches).toMatchObject([deleted]);
    });

    it('forgets long texts in smaller batches, so that other writers are not blocked for long', async () => {
      const text = 'many words '.repeat(60_000);
      for (let i = 0; i < 3; i++) await storeMemory({ id: `long ${i}`, sessionId: 'long', content: `${text} ${i}` });
      for (let i = 0; i < 3; i++) await storeMemory({ id: `short ${i}`, sessionId: 'long', content: `short ${i}` });
      const sizes: number[] = [];
      const forgotten = await tested.storage.forgetMany('default', { sessionId: 'long' }, (batch) =>
        sizes.push(batch.length),
      );
      expect(forgotten).toMatchObject({ count: 6 });
      expect(sizes.reduce((sum, size) => sum + size)).toBe(6);
      expect(sizes).toHaveLength(3);
    });

    it('removes the link from a superseded memory to its forgotten successor', async () => {
      const old = await storeMemory();
      const newer = await storeMemory({ supersedes: old.id });
      expect((await tested.storage.memory('default', old.id, LATER))?.supersededBy).toBe(newer.id);
      await tested.storage.forget('default', newer.id);
      expect((await tested.storage.memory('default', old.id, LATER))?.supersededBy).toBeNull();
    });

    it('links the successor of a forgotten memory to the memory that the forgotten memory superseded', async () => {
      const oldest = await storeMemory();
      const middle = await storeMemory({ supersedes: oldest.id });
      const newest = await storeMemory({ supersedes: middle.id });
      await tested.storage.forget('default', middle.id);
      expect(await tested.storage.memory('default', oldest.id, LATER)).toMatchObject({ supersededBy: newest.id });
      expect(await tested.storage.memory('default', newest.id, LATER)).toMatchObject({ supersedes: oldest.id });
    });

    it('links the successor of a chain of forgotten memories to the memory that the chain superseded', async () => {
      const oldest = await storeMemory();
      const first = await storeMemory({ sessionId: 'gone', supersedes: oldest.id });
      const second = await storeMemory({ sessionId: 'gone', supersedes: first.id });
      const newest = await storeMemory({ supersedes: second.id });
      await tested.storage.forgetMany('default', { sessionId: 'gone' });
      expect(await tested.storage.memory('default', oldest.id, LATER)).toMatchObject({ supersededBy: newest.id });
      expect(await tested.storage.memory('default', newest.id, LATER)).toMatchObject({ supersedes: oldest.id });
    });

    it('removes the id of a forgotten memory from its successor', async () => {
      const old = await storeMemory();
      const newer = await storeMemory({ supersedes: old.id });
      await tested.storage.forget('default', old.id);
      expect((await tested.storage.memory('default', newer.id, LATER))?.supersedes).toBeNull();
    });
  });

  describe('reading memories and sessions', () => {
    it('returns memories newest first, page by page, each once', async () => {
      const stored = [];
      for (let i = 0; i < 7; i++) stored.push(await storeMemory({ createdAt: NOW + Math.floor(i / 2) }));
      const seen: number[] = [];
      let after: Position | undefined;
      do {
        const page = await tested.storage.memories(
          'default',
          {},
          { ...ALL, limit: 3, ...(after && { after }) },
          NOW + 1e6,
        );
        expect(page.total).toBe(7);
        seen.push(...page.items.map((item) => item.ordinal));
        after = page.next;
      } while (after);
      expect(seen).toEqual(stored.map((memory) => memory.ordinal).reverse());
    });

    it('returns the newest matching memories after a position, and of these only standing notes if asked', async () => {
      const stored = [];
      for (const importance of [0.9, 0.5, 0.89, 1, 0.9]) stored.push(await storeMemory({ importance, sessionId: 's' }));
      await storeMemory({ importance: 1, sessionId: 'other', expiresAt: NOW - 1 });
      await storeMemory({ importance: 1, namespace: 'other', sessionId: 's' });
      const [first, , third, fourth, last] = stored.map(({ ordinal }) => ordinal);
      const read = async (...[page, isStanding]: [page: object, isStanding?: boolean]) => {
        const found = await tested.storage.newest('default', { sessionId: 's' }, { ...ALL, ...page }, NOW, isStanding);
        return found.map(({ ordinal }) => ordinal);
      };
      const sorted = stored.toSorted((one, other) => other.createdAt - one.createdAt || other.ordinal - one.ordinal);
      expect(await read({})).toEqual(sorted.map(({ ordinal }) => ordinal));
      expect((await read({}, true)).toSorted()).toEqual([first, fourth, last].toSorted());
      expect(await read({ limit: 1 }, true)).toHaveLength(1);
      const { createdAt, ordinal } = stored[3] as Position;
      expect(await read({ limit: 1, after: { createdAt, ordinal } })).toEqual([third]);
    });

    it('returns for each turn the live one before it in its session, of the same user and agent', async () => {
      const inSession = { sessionId: 's', userId: 'ada', createdAt: NOW };
      const first = await storeMemory(inSession);
      await storeMemory({ ...inSession, userId: 'ben' });
      await storeMemory({ ...inSession, agentId: 'helper' });
      await storeMemory({ ...inSession, sessionId: 'other' });
      await storeMemory({ ...inSession, expiresAt: NOW - 1 });
      const second = await storeMemory(inSession);
      const turns = [second, first, second];
      const places = turns.map(({ createdAt, ordinal }) => {
        return { createdAt, ordinal, sessionId: 's', userId: 'ada', agentId: '' };
      });
      const found = await tested.storage.turnsBefore('default', places, 1_000_000, NOW);
      expect(found.map((turn) => turn?.ordinal)).toEqual([first.ordinal, undefined, first.ordinal]);
      expect(await tested.storage.turnsBefore('other', places, 1_000_000, NOW)).toEqual(turns.map(() => undefined));
      expect(await tested.storage.turnsBefore('default', [], 1_000_000, NOW)).toEqual([]);
    });

    it('returns the number of matching memories per tier up to and including each given time', async () => {
      await storeMemory({ createdAt: NOW - 5, storedAt: NOW - 1000, source: 'mail' });
      await storeMemory({ createdAt: NOW - 5, storedAt: NOW - 1000 });
      await tested.storage.promote(await beginRun(), { promotedUntil: NOW - 1000, now: NOW }, 10);
      await storeMemory({ createdAt: NOW, source: 'mail' });
      await storeMemory({ createdAt: NOW - 9, source: 'mail', expiresAt: NOW + 1 });
      await storeMemory({ createdAt: NOW - 5, source: 'mail', namespace: 'other' });
      const held = (working_count: number, episodic_count: number) => {
        return { working_count, episodic_count, semantic_count: 0 };
      };
      const moments = [NOW, NOW - 6, NOW - 5, NOW - 10];
      expect(await tested.storage.growth('default', {}, moments, NOW)).toEqual([
        held(2, 2),
        held(1, 0),
        held(1, 2),
        held(0, 0),
      ]);
      expect(await tested.storage.growth('default', { source: 'mail' }, moments, NOW + 1)).toEqual([
        held(1, 1),
        held(0, 0),
        held(0, 1),
        held(0, 0),
      ]);
    });

    it('returns the memories of a session by creation time and then by arrival, oldest first', async () => {
      const third = await storeMemory({ sessionId: 's', createdAt: NOW + 2 });
      const first = await storeMemory({ sessionId: 's', createdAt: NOW });
      const second = await storeMemory({ sessionId: 's', createdAt: NOW });
      const page = await tested.storage.session('default', 's', { ...ALL, limit: 2 }, NOW);
      expect(page.items.map((item) => item.id)).toEqual([first.id, second.id]);
      const rest = await tested.storage.session('default', 's', { ...ALL, after: page.next as Position }, NOW);
      expect(rest.items.map((item) => item.id)).toEqual([third.id]);
      expect(rest.total).toBe(3);
    });

    it('ends a page early if its JSON would be too large, but returns at least one item', async () => {
      for (let i = 0; i < 3; i++) await storeMemory({ sessionId: 's', content: '\u0001'.repeat(2000) });
      const small = await tested.storage.session('default', 's', { limit: 10, maxBytes: 30_000 }, NOW);
      expect(small.items).toHaveLength(2);
      const tiny = await tested.storage.session('default', 's', { limit: 10, maxBytes: 1 }, NOW);
      expect(tiny.items).toHaveLength(1);
      expect(tiny.next).toBeDefined();
    });

    it('excludes unreturned metadata from the size limit of transcripts and recall', async () => {
      const metadata = { note: 'x'.repeat(10_000) };
      for (let i = 0; i < 3; i++) await storeMemory({ sessionId: 's', content: `fact ${i}`, metadata });
      expect((await tested.storage.session('default', 's', { limit: 10, maxBytes: 10_000 }, NOW)).items).toHaveLength(
        3,
      );
      expect(
        (await tested.storage.memories('default', {}, { limit: 10, maxBytes: 10_000 }, NOW + 1e6)).items,
      ).toHaveLength(1);
      const ordinals = (await tested.storage.memories('default', {}, ALL, NOW + 1e6)).items.map(
        ({ ordinal }) => ordinal,
      );
      expect((await tested.storage.read('default', ordinals, { now: NOW }, 10_000)).truncated).toBe(false);
    });

    it('returns an attachment byte for byte, only in transcripts with attachments, and deletes it with its memory', async () => {
      const attachment = '{"image":"\\ud800 文字 😀\r\n"}'.repeat(1000);
      const stored = await storeMemory({ sessionId: 's', content: 'same', attachment });
      const duplicate = await storeMemory({ sessionId: 's', content: 'same', attachment });
      await storeMemory({ sessionId: 's', content: 'plain' });
      await tested.storage.mergeDuplicates(await beginRun(), NOW, 10);
      const readAll = async () =>
        (await tested.storage.session('default', 's', ALL, NOW, {}, { attachments: true })).items;
      expect((await readAll()).map((memory) => memory.attachment)).toEqual([attachment, attachment, undefined]);
      const others = [
        ...(await tested.storage.session('default', 's', ALL, NOW)).items,
        ...(await tested.storage.memories('default', {}, ALL, NOW)).items,
        await tested.storage.memory('default', stored.id, LATER),
      ];
      for (const memory of others) expect(memory).not.toHaveProperty('attachment');
      await tested.storage.forget('default', duplicate.id);
      expect((await readAll()).map((memory) => memory.attachment)).toEqual([attachment, undefined]);
      await tested.storage.forget('default', stored.id);
      expect(await tested.storage.integrity()).toEqual([]);
    });

    it('limits the size of a page of a transcript with attachments', async () => {
      const attachment = '"'.repeat(10_000);
      for (let i = 0; i < 3; i++) await storeMemory({ sessionId: 's', attachment });
      const page = await tested.storage.session(
        'default',
        's',
        { limit: 10, maxBytes: 50_000 },
        NOW,
        {},
        { attachments: true },
      );
      expect(page.items).toHaveLength(2);
      expect(page.next).toBeDefined();
    });

    it('includes evicted memories in a transcript until they are deleted', async () => {
      const stored = await storeMemory({ sessionId: 's' });
      const run = await beginRun();
      await tested.storage.evictExcess(run, 'working', [stored.ordinal], NOW);
      expect((await tested.storage.session('default', 's', ALL, NOW)).items.map(({ id }) => id)).toEqual([stored.id]);
      await tested.storage.clearArchive(run, NOW, 10);
      expect((await tested.storage.session('default', 's', ALL, NOW)).total).toBe(0);
    });

    it('returns sessions in the order of their ids, with the number and times of their memories', async () => {
      await storeMemory({ sessionId: 'b', createdAt: NOW });
      await storeMemory({ sessionId: 'b', createdAt: NOW + 9 });
      await storeMemory({ sessionId: 'a', createdAt: NOW + 5, tags: ['t'] });
      const first = await tested.storage.sessions('default', {}, { ...ALL, limit: 1 }, NOW);
      expect(first).toEqual({
        items: [{ sessionId: 'a', userId: '', total: 1, firstAt: NOW + 5, lastAt: NOW + 5 }],
        total: 2,
        next: { sessionId: 'a', userId: '' },
      });
      const second = await tested.storage.sessions(
        'default',
        {},
        { ...ALL, limit: 1, after: { sessionId: 'a', userId: '' } },
        NOW,
      );
      expect(second.items).toEqual([{ sessionId: 'b', userId: '', total: 2, firstAt: NOW, lastAt: NOW + 9 }]);
      expect(second.next).toBeUndefined();
      const tagged = await tested.storage.sessions('default', { tags: ['t'] }, ALL, NOW);
      expect(tagged.items.map((item) => item.sessionId)).toEqual(['a']);
    });

    it.each<[string, MemoryFilter]>([
      ['a tag', { tags: ['x'] }],
      ['several tags', { tags: ['x', 'y'] }],
      ['a session', { sessionId: 'mine' }],
      ['a user', { userIds: ['ann'] }],
      ['an agent', { agentIds: ['cook'] }],
      ['an agent of a user', { userIds: ['ann'], agentIds: ['cook'] }],
      ['a source', { source: 'mail' }],
      ['a first time', { since: NOW + 100 }],
      ['a last time', { until: NOW - 100 }],
      ['a text in the metadata', { metadata: { project: 'apollo' } }],
      ['a number in the metadata', { metadata: { year: '1969' } }],
      ['a truth value in the metadata', { metadata: { done: 'true' } }],
    ])('filters memories and search results by %s', async (_name, filter) => {
      const passes = await storeMemory({
        content: 'moon landing',
        tags: ['x', 'y'],
        sessionId: 'mine',
        userId: 'ann',
        agentId: 'cook',
        source: 'mail',
        createdAt: filter.until === undefined ? NOW + 100 : NOW - 100,
        metadata: { project: 'apollo', year: 1969, done: true },
      });
      await storeMemory({
        content: 'moon landing',
        createdAt: NOW,
        metadata: { project: 'soyuz', year: 19, done: false },
      });
      const { items, total } = await tested.storage.memories('default', filter, ALL, NOW + 1e6);
      expect(items.map((item) => item.ordinal)).toEqual([passes.ordinal]);
      expect(total).toBe(1);
      expect(await findOrdinals('moon landing', filter)).toEqual([passes.ordinal]);
    });

    it('accepts a filter with the maximum number of tags and metadata fields', async () => {
      const tags = Array.from({ length: 64 }, (_, i) => `tag ${i}`);
      const metadata = Object.fromEntries(Array.from({ length: 16 }, (_, i) => [`field ${i}`, `${i}`]));
      const passes = await storeMemory({ content: 'owl', tags, metadata });
      await storeMemory({ content: 'owl', tags: tags.slice(1), metadata });
      await storeMemory({ content: 'owl', tags, metadata: { ...metadata, 'field 15': 'other' } });
      const filter = { tags, metadata };
      expect((await tested.storage.memories('default', filter, ALL, NOW + 1e6)).items.map(({ id }) => id)).toEqual([
        passes.id,
      ]);
      expect((await tested.storage.sessions('default', filter, ALL, NOW + 1e6)).items).toMatchObject([{ total: 1 }]);
      expect(await findOrdinals('owl', filter)).toEqual([passes.ordinal]);
    });

    it('reading memories and sessions isolates namespaces', async () => {
      await storeMemory({ namespace: 'other', content: 'secret', sessionId: 's' });
      expect(await findOrdinals('secret')).toEqual([]);
      expect((await tested.storage.memories('default', {}, ALL, NOW)).total).toBe(0);
      expect((await tested.storage.sessions('default', {}, ALL, NOW)).total).toBe(0);
      expect((await tested.storage.session('default', 's', ALL, NOW)).total).toBe(0);
      expect(await tested.storage.namespaces()).toEqual(['other']);
    });

    it('excludes a memory everywhere from the time of its expiry', async () => {
      const stored = await storeMemory({ content: 'fleeting', sessionId: 's', expiresAt: NOW + 1000 });
      const before = NOW + 999;
      const from = NOW + 1000;
      expect(await findOrdinals('fleeting', {}, before)).toEqual([stored.ordinal]);
      expect(await findOrdinals('fleeting', {}, from)).toEqual([]);
      expect(await tested.storage.memory('default', stored.id, from)).toBeUndefined();
      expect((await tested.storage.memories('default', {}, ALL, from)).total).toBe(0);
      expect((await tested.storage.session('default', 's', ALL, from)).total).toBe(0);
      expect(await countTiers(before)).toEqual([1, 0, 0]);
      expect(await countTiers(from)).toEqual([0, 0, 0]);
    });
  });
}
