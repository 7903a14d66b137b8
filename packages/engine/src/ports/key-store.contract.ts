import { describe, expect, it } from 'vitest';
import type { StoredKey } from './administration.ts';
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

/** The behaviour of every adapter of the `KeyStore` port. */
export function keyStoreContract(tested: TestedStorage): void {
  const kept = async () => (await tested.keys.read())?.keys;

  describe('a store of keys', () => {
    it('has no keys at first, and learns from another store that keys were made, though none is left', async () => {
      await tested.openNew();
      expect(await tested.keys.read()).toEqual({ keys: [], changes: 0, isLoopbackOpen: true });
      await tested.keys.importAll({ keys: [], changes: 0, isLoopbackOpen: true });
      expect(await tested.keys.read()).toEqual({ keys: [], changes: 0, isLoopbackOpen: true });
      await tested.keys.importAll({ keys: [], changes: 7, isLoopbackOpen: false });
      expect(await tested.keys.read()).toEqual({ keys: [], changes: 7, isLoopbackOpen: false });
      await tested.keys.importAll({ keys: [], changes: 3, isLoopbackOpen: false });
      expect(await tested.keys.read()).toEqual({ keys: [], changes: 7, isLoopbackOpen: false });
    });

    it('gives back every field of each key, in the order in which they were made', async () => {
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
      expect(await kept()).toEqual(keys);
    });

    it('still has them when it is opened again', async () => {
      await tested.keys.add(key());
      await tested.keys.revoke('one', 5);
      const before = await tested.keys.read();
      await tested.reopen();
      expect(await tested.keys.read()).toEqual(before);
    });

    it('keeps a key that was revoked in the list, with the time of the first revoking', async () => {
      await tested.keys.add(key());
      await tested.keys.add(key({ id: 'two' }));
      expect(await tested.keys.revoke('one', 5)).toBe(true);
      expect(await tested.keys.revoke('one', 7)).toBe(true);
      expect(await kept()).toEqual([key({ revokedAt: 5 }), key({ id: 'two' })]);
    });

    it('knows no key of another id', async () => {
      await tested.keys.add(key());
      expect(await tested.keys.revoke('ONE', 5)).toBe(false);
      expect(await kept()).toEqual([key()]);
    });

    it('refuses an id that it has', async () => {
      await tested.keys.add(key());
      await expect(tested.keys.add(key({ namespace: 'other' }))).rejects.toThrow();
      expect(await kept()).toEqual([key()]);
    });

    it('takes the keys of another store in their order, once, and leaves those that it has', async () => {
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

    it('keeps the last use of a key, which is no change of keys', async () => {
      await tested.keys.add(key());
      const { changes } = (await tested.keys.read()) ?? {};
      await tested.keys.noteUse('one', 70);
      await tested.keys.noteUse('one', 60);
      await tested.keys.noteUse('nobody', 80);
      expect(await kept()).toEqual([key({ lastUsedAt: 70 })]);
      expect(await tested.keys.read(changes)).toBeUndefined();
    });

    it('is closed to callers on the machine itself by the first key, and open again until another is made', async () => {
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

    it('returns nothing to a reader that has seen the last change, and all keys after another change', async () => {
      await tested.keys.add(key());
      const { changes = 0 } = (await tested.keys.read()) ?? {};
      expect(changes).toBeGreaterThan(0);
      expect(await tested.keys.read(changes)).toBeUndefined();
      await tested.keys.revoke('one', 5);
      expect((await tested.keys.read(changes))?.keys).toEqual([key({ revokedAt: 5 })]);
    });
  });
}
