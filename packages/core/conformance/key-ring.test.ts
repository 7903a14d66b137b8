import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Scope } from '@memoryd/contract';
import { openSqlite } from '@memoryd/sqlite';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { KeyRing } from '../src/keys/key-ring.ts';
import type { KeyStore } from '../src/ports/administration.ts';
import type { OpenDatabase } from '../src/ports/storage.ts';
import { systemClock } from '../src/system.ts';

let folder: string;
let opened: OpenDatabase[];
/** The keys of this process and of another process, on one database that all tests share. */
let keys: KeyStore;
let keysElsewhere: KeyStore;
let elapsedMs: number;
let ring: KeyRing;

async function open(name = 'memory.db'): Promise<KeyStore> {
  const one = await openSqlite({ path: join(folder, name), workingMax: 1000, recalls: false });
  opened.push(one);
  return one.keys;
}

const makeRing = (store: KeyStore) => new KeyRing(store, systemClock, { elapsedMs: () => elapsedMs });

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'memoryd-'));
  opened = [];
  keys = await open();
  keysElsewhere = await open();
});
beforeEach(() => {
  elapsedMs = 0;
  ring = makeRing(keys);
});
afterAll(async () => {
  for (const { storage } of opened) await storage.close();
  await rm(folder, { recursive: true });
});

const add = (namespace = 'default', scope: Scope = 'write') => ring.add({ namespace, scope });

describe('an API key', () => {
  it('an API key is accepted, and the check returns its namespace and scope', async () => {
    const { key, id } = await add('kitchen', 'read');
    await add('garden', 'operate');
    expect(key).toMatch(/^mmd_[0-9a-f]{16}_[0-9a-f]{64}$/);
    expect(key).toContain(id);
    expect(await ring.check(key)).toEqual({ id, namespace: 'kitchen', scope: 'read' });
  });

  it('an API key is rejected if any character differs', async () => {
    const { key } = await add();
    const other = await add();
    const mixed = key.slice(0, 21) + other.key.slice(21);
    const wrong = [mixed, key.toUpperCase(), ` ${key}`, `${key} `, key.slice(0, -1), `${key}0`, '', 'mmd__', 'mmd_a_b'];
    for (const text of wrong) expect(await ring.check(text), text).toBeUndefined();
    await fc.assert(
      fc.asyncProperty(fc.nat(key.length - 1), fc.constantFrom(...'0123456789abcdef_g'), async (at, sign) => {
        const text = key.slice(0, at) + sign + key.slice(at + 1);
        expect((await ring.check(text)) !== undefined).toBe(text === key);
      }),
      { numRuns: 200 },
    );
  });

  it('an API key is rejected after it was revoked, and is still listed with the time of revocation', async () => {
    const first = await add();
    const second = await add('garden', 'read');
    await ring.revoke(first.id);
    expect(await ring.check(first.key)).toBeUndefined();
    expect(await ring.check(second.key)).toBeDefined();
    const listed = await ring.list();
    expect(listed.filter(({ id }) => id === first.id || id === second.id)).toMatchObject([
      {
        id: first.id,
        namespace: 'default',
        scope: 'write',
        created_at: first.created_at,
        revoked_at: expect.stringMatching(/Z$/),
      },
      { id: second.id, namespace: 'garden', scope: 'read', created_at: second.created_at, revoked_at: null },
    ]);
  });

  it('an API key cannot be revoked with an unknown id', async () => {
    await expect(ring.revoke('nobody')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('an API key is unique, and its secret is neither stored in a file nor listed', async () => {
    const made = await Promise.all(Array.from({ length: 20 }, () => add()));
    expect(new Set(made.map(({ id }) => id)).size).toBe(20);
    const secrets = made.map(({ key }) => key.split('_')[2] as string);
    expect(new Set(secrets).size).toBe(20);
    const listed = JSON.stringify(await ring.list());
    const bytes = Buffer.concat(await Promise.all((await readdir(folder)).map((name) => readFile(join(folder, name)))));
    for (const secret of secrets) {
      expect(listed).not.toContain(secret);
      expect(bytes.includes(secret)).toBe(false);
      expect(bytes.includes(Buffer.from(secret, 'hex'))).toBe(false);
    }
    expect(bytes.includes(made[0]?.id as string)).toBe(true);
  });

  it.each([
    { namespace: '', scope: 'read' },
    { namespace: 'a b', scope: 'read' },
    { namespace: 'a\u0000', scope: 'read' },
    { namespace: 'a\nb', scope: 'read' },
    { namespace: 'x'.repeat(129), scope: 'read' },
    { namespace: 'a', scope: 'all' },
    { namespace: 'a' },
  ])('an API key is not created for %j', async (wrong) => {
    const before = await ring.list();
    await expect(ring.add(wrong as never)).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
    expect(await ring.list()).toEqual(before);
  });

  it('an API key can be created for a namespace in any script', async () => {
    for (const namespace of ['Ünal', '文字', 'हिन्दी', 'team/a:b@c.d+e_f-g']) {
      const { key } = await add(namespace);
      expect(await ring.check(key)).toMatchObject({ namespace });
    }
  });
});

describe('an API key with an expiry', () => {
  it('an API key with an expiry is accepted until its expiry', async () => {
    const clock = { time: Date.parse('2026-01-01T00:00:00Z'), now: () => clock.time };
    const ring = new KeyRing(await open('expiring.db'), clock);
    const request = { namespace: 'default', scope: 'read', name: 'for a week', expires_at: '2026-01-08' } as const;
    const { key, ...made } = await ring.add(request);
    expect(made).toMatchObject({ name: 'for a week', expires_at: '2026-01-08T00:00:00.000Z' });
    clock.time = Date.parse('2026-01-07T23:59:59.999Z');
    expect(await ring.check(key)).toBeDefined();
    clock.time += 1;
    expect(await ring.check(key)).toBeUndefined();
  });
});

describe('callers on the same machine', () => {
  it('callers on the same machine need no API key after loopback access was opened, until another key is created', async () => {
    const ring = makeRing(await open('opened.db'));
    await ring.add({ namespace: 'default', scope: 'write' });
    await ring.openLoopback();
    expect(await ring.areRequired()).toBe(false);
    await ring.add({ namespace: 'default', scope: 'write' });
    expect(await ring.areRequired()).toBe(true);
  });
});

describe('the requirement for API keys', () => {
  it('begins with the first key, and remains after the last key is revoked', async () => {
    const [first, another] = [makeRing(await open('new.db')), makeRing(await open('new.db'))];
    expect(await first.areRequired()).toBe(false);
    const { id } = await first.add({ namespace: 'default', scope: 'write' });
    expect(await first.areRequired()).toBe(true);
    await first.revoke(id);
    expect(await first.areRequired()).toBe(true);
    expect(await another.areRequired()).toBe(true);
  });
});

describe('a change of API keys by another process', () => {
  it('a change of API keys by another process is visible immediately if a key was created', async () => {
    const other = makeRing(keysElsewhere);
    await ring.areRequired();
    for (const namespace of ['kitchen', 'garden']) {
      const { key } = await other.add({ namespace, scope: 'read' });
      expect(await ring.check(key)).toMatchObject({ namespace });
    }
  });

  it('a change of API keys by another process is visible if a key is created while the keys are being read', async () => {
    let resume: (() => void) | undefined;
    const slow = makeRing({
      ...keys,
      read: async (seen) => {
        const read = await keys.read(seen);
        if (!resume) await new Promise<void>((resolve) => (resume = resolve));
        return read;
      },
    });
    const before = slow.areRequired();
    await expect.poll(() => resume).toBeDefined();
    const { key } = await ring.add({ namespace: 'kitchen', scope: 'read' });
    const checked = slow.check(key);
    resume?.();
    await before;
    expect(await checked).toMatchObject({ namespace: 'kitchen' });
  });

  it('a change of API keys by another process is visible after a second if a key was created or revoked', async () => {
    const other = makeRing(keysElsewhere);
    await ring.areRequired();
    const { key, id } = await other.add({ namespace: 'default', scope: 'read' });
    elapsedMs += 1000;
    expect(await ring.check(key)).toBeDefined();
    await other.revoke(id);
    elapsedMs += 1000;
    expect(await ring.check(key)).toBeUndefined();
  });

  it('a change of API keys by another process is loaded in the background before one second has passed', async () => {
    const other = makeRing(keysElsewhere);
    const { key, id } = await other.add({ namespace: 'default', scope: 'read' });
    expect(await ring.check(key)).toBeDefined();
    await other.revoke(id);
    elapsedMs += 500;
    // Served from the cache while the store is read again.
    expect(await ring.check(key)).toBeDefined();
    await expect.poll(() => ring.check(key)).toBeUndefined();
  });
});

describe('many concurrent checks of an unknown API key', () => {
  it('many concurrent checks of an unknown API key cause one read of the key store', async () => {
    let reads = 0;
    const counted = makeRing({
      ...keys,
      read: (seen) => {
        reads += 1;
        return keys.read(seen);
      },
    });
    await counted.areRequired();
    const wrong = `mmd_${'0'.repeat(16)}_${'0'.repeat(64)}`;
    const checks = await Promise.all(Array.from({ length: 50 }, () => counted.check(wrong)));
    expect(checks).toEqual(checks.map(() => undefined));
    expect(reads).toBe(2);
  });
});

describe('a key ring with an unreadable key store', () => {
  it('rejects every check until the keys can be read', async () => {
    const { key } = await add();
    let broken = true;
    const failing: KeyStore = {
      ...keys,
      read: (seen) => (broken ? Promise.reject(new Error('no')) : keys.read(seen)),
    };
    const another = makeRing(failing);
    await expect(another.check(key)).rejects.toThrow('no');
    await expect(another.areRequired()).rejects.toThrow('no');
    broken = false;
    expect(await another.check(key)).toBeDefined();
    broken = true;
    elapsedMs += 1000;
    await expect(another.check(key)).rejects.toThrow('no');
  });
});
