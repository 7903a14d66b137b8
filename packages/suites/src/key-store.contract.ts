import type { StoredKey } from '@memoryd/core/ports';
import { describe, expect, it } from 'vitest';
import type { TestedStorage } from './storage.fixture.ts';

function key(fields: Partial<StoredKey> = {}): StoredKey {
  const times = { createdAt: 1, expiresAt: null, lastUsedAt: null, revokedAt: null };
  return {
    id: 'one',
    namespace: 'default',
    userId: '',
    agentId: '',
    scope: 'read',
    name: '',
    digest: 'ab12',
    ...times,
    ...fields,
  };
}

/** Contract tests of the `KeyStore` port. */
export function keyStoreContract(tested: TestedStorage): void {
  const getKeys = async () => (await tested.keys.read())?.keys;

  describe('a key store', () => {
    it('a key store has no keys at first, and imports the number of changes of a store without keys', async () => {
      await tested.openNew();
      expect(await tested.keys.read()).toEqual({ keys: [], changes: 0, isLoopbackOpen: true });
      await tested.keys.importAll({ keys: [], changes: 0, isLoopbackOpen: true });
      expect(await tested.keys.read()).toEqual({ keys: [], changes: 0, isLoopbackOpen: true });
      await tested.keys.importAll({ keys: [], changes: 7, isLoopbackOpen: false });
      expect(await tested.keys.read()).toEqual({ keys: [], changes: 7, isLoopbackOpen: false });
      await tested.keys.importAll({ keys: [], changes: 3, isLoopbackOpen: false });
      expect(await tested.keys.read()).toEqual({ keys: [], changes: 7, isLoopbackOpen: false });
    });

    it('returns every field of each key, in the order in which the keys were added', async () => {
      const keys = [
        key({
          id: 'z',
          namespace: 'b',
          scope: 'operate',
          digest: 'ff',
          createdAt: 9,
          name: 'the ünï key',
          expiresAt: 99,
        }),
        key({ id: 'p', scope: 'metrics', lastUsedAt: 12 }),
        key({ id: 'a', namespace: 'ünï 文', scope: 'write', createdAt: 3 }),
        key({ id: 'm' }),
      ];
      for (const one of keys) expect(await tested.keys.add(one)).toBe(true);
      expect(await getKeys()).toEqual(keys);
    });

    it('keeps its keys when it is closed and opened again', async () => {
      await tested.keys.add(key());
      await tested.keys.revoke('one', 5);
      const before = await tested.keys.read();
      await tested.reopen();
      expect(await tested.keys.read()).toEqual(before);
    });

    it('returns a revoked key with the time of its first revocation', async () => {
      await tested.keys.add(key());
      await tested.keys.add(key({ id: 'two' }));
      expect(await tested.keys.revoke('one', 5)).toBe(true);
      expect(await tested.keys.revoke('one', 7)).toBe(true);
      expect(await getKeys()).toEqual([key({ revokedAt: 5 }), key({ id: 'two' })]);
    });

    it('a key store does not revoke a key for an unknown id', async () => {
      await tested.keys.add(key());
      expect(await tested.keys.revoke('ONE', 5)).toBe(false);
      expect(await getKeys()).toEqual([key()]);
    });

    it('rejects a second key with the same id', async () => {
      await tested.keys.add(key());
      await expect(tested.keys.add(key({ namespace: 'other' }))).rejects.toThrow();
      expect(await getKeys()).toEqual([key()]);
    });

    it('imports the keys of another store in their order, and neither changes nor repeats existing keys', async () => {
      await tested.keys.add(key({ id: 'two', namespace: 'here' }));
      const { changes: before = 0 } = (await tested.keys.read()) ?? {};
      const keys = [key({ id: 'z', revokedAt: 9 }), key({ id: 'two' }), key({ id: 'a', scope: 'operate' })];
      await tested.keys.importAll({ keys, changes: 1, isLoopbackOpen: false });
      const all = await tested.keys.read();
      expect(all?.keys).toEqual([key({ id: 'two', namespace: 'here' }), keys[0], keys[2]]);
      expect(all?.changes).toBeGreaterThan(before);
      await tested.keys.importAll({ keys, changes: 1, isLoopbackOpen: false });
      expect(await tested.keys.read()).toEqual(all);
    });

    it('records the last use of a key, which is not counted as a change', async () => {
      await tested.keys.add(key());
      const { changes } = (await tested.keys.read()) ?? {};
      await tested.keys.recordUse('one', 70);
      await tested.keys.recordUse('one', 60);
      await tested.keys.recordUse('nobody', 80);
      expect(await getKeys()).toEqual([key({ lastUsedAt: 70 })]);
      expect(await tested.keys.read(changes)).toBeUndefined();
    });

    it('closes keyless loopback access when a key is created, and reopens it on request until the next key is created', async () => {
      await tested.openNew();
      const isOpen = async () => (await tested.keys.read())?.isLoopbackOpen;
      expect(await isOpen()).toBe(true);
      await tested.keys.add(key());
      expect(await isOpen()).toBe(false);
      const { changes } = (await tested.keys.read()) ?? {};
      await tested.keys.openLoopback();
      expect(await tested.keys.read(changes)).toMatchObject({ keys: [key()], isLoopbackOpen: true });
      await tested.keys.revoke('one', 5);
      expect(await isOpen()).toBe(true);
      await tested.keys.add(key({ id: 'two' }));
      expect(await isOpen()).toBe(false);
    });

    it('returns undefined if the reader knows the last change, and all keys after a further change', async () => {
      await tested.keys.add(key());
      const { changes = 0 } = (await tested.keys.read()) ?? {};
      expect(changes).toBeGreaterThan(0);
      expect(await tested.keys.read(changes)).toBeUndefined();
      await tested.keys.revoke('one', 5);
      expect((await tested.keys.read(changes))?.keys).toEqual([key({ revokedAt: 5 })]);
    });
  });
}
