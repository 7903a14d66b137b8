import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { prepareAccess, readKey, removeAccess } from '../src/connect/access.ts';
import { getOwnFiles } from '../src/connect/machine.ts';
import { readRecord } from '../src/connect/record.ts';
import type { Machine } from '../src/connect/types.ts';
import { createTemporaryFolder } from './folders.ts';
import { getAdministration } from './keys.ts';
import { freePort } from './process.ts';
import { type RunningServer, startServer } from './server.ts';
import { createMachine } from './service-managers.ts';
import { WORDS_ONLY } from './under-test.ts';

/** Runs `prepareAccess` for Ada, and returns its result and the notes for the person. */
async function prepare(machine: Machine, url: string, env: Record<string, string> = {}, user = 'ada') {
  let notes = '';
  const stderr = vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    notes += text;
    return true;
  });
  try {
    return { ...(await prepareAccess({ url, user, machine: { ...machine, env }, env })), notes };
  } finally {
    stderr.mockRestore();
  }
}

describe('the access of connected programs', () => {
  it('no key is made for a service on this machine that needs none', async () => {
    const server = await startServer({ env: WORDS_ONLY });
    onTestFinished(async () => void (await server.stop()));
    const machine = createMachine('linux');
    const access = await prepare(machine, `http://127.0.0.1:${server.port}`, { SERVICE_API_KEY: 'k'.repeat(32) });
    expect(access).toEqual({ hasKey: false, notes: '' });
    expect(existsSync(getOwnFiles(machine).key)).toBe(false);
  });

  it('no key is made for a service on this machine that does not run yet, and another service must respond', async () => {
    const machine = createMachine('linux');
    expect(await prepare(machine, `http://127.0.0.1:${await freePort()}`)).toEqual({ hasKey: false, notes: '' });
    await expect(prepare(machine, 'http://memoryd.invalid')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });

  describe('of a service with keys', () => {
    let server: RunningServer;
    let url: string;
    let dbPath: string;
    let machine: Machine;

    const addKey = async (key: { scope: 'read' | 'write' | 'operate'; user_id?: string }) =>
      (await (await getAdministration(dbPath)).keys.add({ namespace: 'default', ...key })).key;
    const listKeys = async () => (await getAdministration(dbPath)).keys.list();

    beforeEach(async () => {
      dbPath = join(createTemporaryFolder(), 'memory.db');
      await addKey({ scope: 'operate' });
      server = await startServer({ dbPath, env: WORDS_ONLY });
      url = `http://127.0.0.1:${server.port}`;
      machine = createMachine('linux');
      return () => server.stop();
    });

    it('a key of an operator makes a key of the user, in a file that only the user can read', async () => {
      const operator = await addKey({ scope: 'operate' });
      const access = await prepare(machine, url, { SERVICE_API_KEY: operator });
      expect(access.hasKey).toBe(true);
      expect(access.notes).toContain('for ada in the namespace default');
      const path = getOwnFiles(machine).key;
      expect(statSync(path).mode & 0o777).toBe(0o600);
      const key = readFileSync(path, 'utf8').trim();
      expect(access.notes + readFileSync(getOwnFiles(machine).record, 'utf8')).not.toContain(key);
      const get = (user: string) =>
        fetch(`${url}/memories?user_id=${user}`, { headers: { authorization: `Bearer ${key}` } });
      expect((await get('ada')).status).toBe(200);
      expect((await get('ben')).status).toBe(403);
      expect(await prepare(machine, url)).toEqual({ hasKey: true, notes: '' });
      expect(readFileSync(path, 'utf8').trim()).toBe(key);
    });

    it('removing the access revokes a key that was made, and deletes its file', async () => {
      const operator = await addKey({ scope: 'operate' });
      await prepare(machine, url, { SERVICE_API_KEY: operator });
      const id = readRecord(machine).key?.id;
      const lines = await removeAccess({ ...machine, env: { SERVICE_API_KEY: operator } });
      expect(lines.join('\n')).toContain(`The key ${id} of ${url} is revoked.`);
      expect((await listKeys()).find((key) => key.id === id)?.revoked_at).not.toBe(null);
      expect(existsSync(getOwnFiles(machine).key)).toBe(false);
      expect(readRecord(machine).key).toBe(undefined);
      expect(await removeAccess(machine)).toEqual([]);
    });

    it('removing the access without the key of an operator deletes the file, and names the key that still works', async () => {
      await prepare(machine, url, { SERVICE_API_KEY: await addKey({ scope: 'operate' }) });
      const id = readRecord(machine).key?.id;
      expect((await removeAccess(machine)).join('\n')).toContain(`memoryd keys revoke ${id}`);
      expect(existsSync(getOwnFiles(machine).key)).toBe(false);
    });

    it('a given key of the user is saved, and is not revoked later', async () => {
      const given = await addKey({ scope: 'write', user_id: 'ada' });
      expect((await prepare(machine, url, { MEMORYD_API_KEY: given })).hasKey).toBe(true);
      expect(readKey(machine, url)).toBe(given);
      expect(await listKeys()).toHaveLength(2);
      expect((await removeAccess(machine)).join()).not.toContain('revoke');
      expect((await listKeys()).filter(({ revoked_at }) => revoked_at !== null)).toEqual([]);
    });

    it.each([
      { name: 'no key', getEnv: async () => ({}), refusal: 'needs an API key' },
      {
        ...{ name: 'a key that may only read', refusal: 'does not let ada store' },
        getEnv: async () => ({ MEMORYD_API_KEY: await addKey({ scope: 'read' }) }),
      },
      {
        ...{ name: 'a key of another user', refusal: 'does not let ada store' },
        getEnv: async () => ({ MEMORYD_API_KEY: await addKey({ scope: 'write', user_id: 'ben' }) }),
      },
      {
        ...{ name: 'an unknown key', refusal: 'does not let ada store' },
        getEnv: async () => ({ MEMORYD_API_KEY: 'k'.repeat(40) }),
      },
    ])('$name is refused with the steps to a key, and nothing is written', async ({ getEnv, refusal }) => {
      const env = await getEnv();
      const { length } = await listKeys();
      const preparing = prepare(machine, url, env);
      await expect(preparing).rejects.toThrow(refusal);
      await expect(preparing).rejects.toThrow('memoryd keys add --scope write --user ada');
      await expect(preparing).rejects.toThrow('after the first key, the service serves nobody without a key');
      expect(existsSync(machine.folders.config)).toBe(false);
      expect(await listKeys()).toHaveLength(length);
    });

    it('the key of one service is never sent to another one, which may be used without a key', async () => {
      await prepare(machine, url, { MEMORYD_API_KEY: await addKey({ scope: 'write', user_id: 'ada' }) });
      const others = [WORDS_ONLY, { ...WORDS_ONLY, SERVICE_API_KEY: 'k'.repeat(32) }].map((env) =>
        startServer({ env }),
      );
      const [keyless, keyed] = (await Promise.all(others)) as [RunningServer, RunningServer];
      onTestFinished(async () => void (await Promise.all([keyless.stop(), keyed.stop()])));
      const [open, closed] = [`http://127.0.0.1:${keyless.port}`, `http://127.0.0.1:${keyed.port}`];
      expect(await prepare(machine, open)).toEqual({ hasKey: false, notes: '' });
      await expect(prepare(machine, closed)).rejects.toThrow(`has the key of ${url}`);
      expect(readKey({ ...machine, env: { MEMORYD_API_KEY: 'mk_1' } }, open)).toBe(undefined);
    });
  });
});
