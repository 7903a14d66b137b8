import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { KeyStore, StoredKey } from './key-store.ts';

/** Keys to test, none at first; `reopen` closes what keeps them and opens the same again. */
export interface KeysUnderTest {
  keys: KeyStore;
  reopen(): Promise<KeysUnderTest>;
  close(): Promise<void>;
}

function key(fields: Partial<StoredKey> = {}): StoredKey {
  return { id: 'one', namespace: 'default', scope: 'read', digest: 'ab12', createdAt: 1, revokedAt: null, ...fields };
}

/** What every adapter of the `KeyStore` port does; `open` gives each test keys of its own. */
export function keyStoreContract(open: () => Promise<KeysUnderTest>): void {
  let opened: KeysUnderTest;
  let store: KeyStore;

  beforeEach(async () => {
    opened = await open();
    store = opened.keys;
  });
  afterEach(() => opened.close());

  const kept = async () => (await store.read())?.keys;

  describe('a store of keys', () => {
    it('has none at first, and none was ever made', async () => {
      expect(await store.read()).toEqual({ keys: [], changes: 0 });
    });

    it('gives back every field of each key, in the order in which they were made', async () => {
      const keys = [
        key({ id: 'z', namespace: 'b', scope: 'operate', digest: 'ff', createdAt: 9 }),
        key({ id: 'a', namespace: 'ünï 文', scope: 'write', createdAt: 3 }),
        key({ id: 'm' }),
      ];
      for (const one of keys) expect(await store.add(one)).toBe(true);
      expect(await kept()).toEqual(keys);
    });

    it('still has them when it is opened again', async () => {
      await store.add(key());
      await store.revoke('one', 5);
      const before = await store.read();
      opened = await opened.reopen();
      expect(await opened.keys.read()).toEqual(before);
    });

    it('keeps a key that was revoked in the list, with the time of the first revoking', async () => {
      await store.add(key());
      await store.add(key({ id: 'two' }));
      expect(await store.revoke('one', 5)).toBe(true);
      expect(await store.revoke('one', 7)).toBe(true);
      expect(await kept()).toEqual([key({ revokedAt: 5 }), key({ id: 'two' })]);
    });

    it('knows no key of another id', async () => {
      await store.add(key());
      expect(await store.revoke('ONE', 5)).toBe(false);
      expect(await kept()).toEqual([key()]);
    });

    it('refuses an id that it has', async () => {
      await store.add(key());
      await expect(store.add(key({ namespace: 'other' }))).rejects.toThrow();
      expect(await kept()).toEqual([key()]);
    });

    it('takes the keys of another store in their order, once, and leaves those that it has', async () => {
      await store.add(key({ id: 'two', namespace: 'here' }));
      const { changes: before = 0 } = (await store.read()) ?? {};
      const keys = [key({ id: 'z', revokedAt: 9 }), key({ id: 'two' }), key({ id: 'a', scope: 'operate' })];
      await store.importAll({ keys, changes: 1 });
      const all = await store.read();
      expect(all?.keys).toEqual([key({ id: 'two', namespace: 'here' }), keys[0], keys[2]]);
      expect(all?.changes).toBeGreaterThan(before);
      await store.importAll({ keys, changes: 1 });
      expect(await store.read()).toEqual(all);
    });

    it('knows from another that keys were made, though none is left', async () => {
      await store.importAll({ keys: [], changes: 0 });
      expect(await store.read()).toEqual({ keys: [], changes: 0 });
      await store.importAll({ keys: [], changes: 7 });
      expect(await store.read()).toEqual({ keys: [], changes: 7 });
      await store.importAll({ keys: [], changes: 3 });
      expect(await store.read()).toEqual({ keys: [], changes: 7 });
    });

    it('answers nothing to whoever has seen the last change, and all after another', async () => {
      await store.add(key());
      const { changes = 0 } = (await store.read()) ?? {};
      expect(changes).toBeGreaterThan(0);
      expect(await store.read(changes)).toBeUndefined();
      await store.revoke('one', 5);
      expect((await store.read(changes))?.keys).toEqual([key({ revokedAt: 5 })]);
    });
  });
}
