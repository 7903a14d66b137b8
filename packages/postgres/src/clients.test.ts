import { newMemory } from '@memoryd/engine/storage-testing';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type DatabaseServer, getServerAddress, usePostgres } from './database.fixture.ts';
import { openPostgres } from './open.ts';

describe('the address of a database', () => {
  let server: DatabaseServer;
  let url: string;
  beforeAll(async () => {
    server = await usePostgres();
    url = await server.create();
  });
  afterAll(async () => {
    await server.drop(url);
    await server.close();
  });

  const replicaHost = new URL(getServerAddress('TEST_DATABASE_READ_URL')).host;
  const open = async (address: string) => {
    const { storage } = await openPostgres({ url: address, connections: 2, workingMax: 1000 });
    onTestFinished(() => storage.close());
    return storage;
  };
  /** The address with these hosts, and what is asked of them. */
  const withHosts = (hosts: string[], target: string) => {
    const { host } = new URL(url);
    return `${url.replace(host, hosts.join())}&target_session_attrs=${target}`;
  };

  it.each(['read-write', 'primary'])('of several hosts leads to the one that is %s', async (target) => {
    const { host } = new URL(url);
    const storage = await open(withHosts(['127.0.0.1:1', replicaHost, host], target));
    expect((await storage.store(newMemory({ id: target }))).outcome).toBe('stored');
  });

  it('whose hosts all are what is not asked for names them', async () => {
    await expect(open(withHosts([replicaHost], 'read-write'))).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: `the database cannot be used now: the server at ${replicaHost} is not what target_session_attrs=read-write accepts`,
    });
  });

  it('with another target is refused by those there are', async () => {
    await expect(open(withHosts([replicaHost], 'prefer-standby'))).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringContaining('must be one of any, read-write, read-only, primary, standby'),
    });
  });

  it('of a standby is refused, with the fix', async () => {
    await expect(open(url.replace(new URL(url).host, replicaHost))).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: 'the server is a standby, which takes no writes; point memoryd at the primary, or promote this one',
    });
  });

  it('of a role without rights, of a wrong password and of a database that is not there are refused, with the fix', async () => {
    const admin = new Client({ connectionString: url });
    await admin.connect();
    await admin.query(`CREATE ROLE without_rights LOGIN PASSWORD 'secret'`);
    onTestFinished(async () => {
      await admin.query('DROP ROLE without_rights');
      await admin.end();
    });
    const as = (change: (address: URL) => void) => {
      const address = new URL(url);
      change(address);
      return expect(open(address.href)).rejects;
    };
    await as((address) => Object.assign(address, { username: 'without_rights', password: 'secret' })).toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringMatching(/lacks a right; GRANT it, or .* \((42501|3F000): .*\)$/),
    });
    await as((address) => Object.assign(address, { password: 'wrong' })).toMatchObject({
      message: expect.stringContaining('check the user and the password of the address'),
    });
    await as((address) => Object.assign(address, { pathname: '/nowhere' })).toMatchObject({
      message: expect.stringContaining('there is no database of that name'),
    });
  });
});
