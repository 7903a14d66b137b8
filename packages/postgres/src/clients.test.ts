import type { TelemetryEvent } from '@memoryd/core/ports';
import { newMemory } from '@memoryd/suites';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type DatabaseServer, getServerAddress, usePostgres } from './database.fixture.ts';
import { openPostgres } from './open.ts';

describe('a database address', () => {
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
  /** Returns the address with these hosts and target_session_attrs. */
  const withHosts = (hosts: string[], target: string) => {
    const { host } = new URL(url);
    return `${url.replace(host, hosts.join())}&target_session_attrs=${target}`;
  };

  it.each(['read-write', 'primary'])(
    'a database address with several hosts selects the host that is %s',
    async (target) => {
      const { host } = new URL(url);
      const storage = await open(withHosts(['127.0.0.1:1', replicaHost, host], target));
      expect((await storage.store(newMemory({ id: target }))).outcome).toBe('stored');
    },
  );

  it('a database address without a matching host is rejected with an error that names the host', async () => {
    await expect(open(withHosts([replicaHost], 'read-write'))).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: `the database cannot be used now: the server at ${replicaHost} is a standby, which target_session_attrs=read-write excludes; correct target_session_attrs, or the hosts`,
    });
  });

  it('a database address of which no host can be used logs what each host said, and hides the hosts from callers', async () => {
    const reported: TelemetryEvent[] = [];
    const telemetry = { report: (event: TelemetryEvent) => void reported.push(event) };
    const address = withHosts(['127.0.0.1:1', replicaHost, 'nowhere.invalid:5432'], 'read-write');
    await expect(openPostgres({ url: address, connections: 2, workingMax: 1000, telemetry })).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message:
        'the database cannot be used now: none of the 3 hosts of the address can be used; retry later, and see the log for each host',
      isDatabaseDown: true,
    });
    const said =
      '127.0.0.1:1: no server listens at the address; start the server, or correct the address (ECONNREFUSED); ' +
      `${replicaHost}: the server is a standby; ` +
      'nowhere.invalid:5432: the host name cannot be resolved; correct the address';
    expect(reported).toMatchObject([
      { level: 'warn', event: 'database_hosts_failed', facts: { message: expect.stringContaining(said) } },
    ]);
  });

  it('a database address with an unknown target_session_attrs is rejected with an error that lists the known values', async () => {
    await expect(open(withHosts([replicaHost], 'prefer-standby'))).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringContaining('must be one of any, read-write, read-only, primary, standby'),
    });
  });

  it('a database address of a standby is rejected with an error that names the fix', async () => {
    await expect(open(url.replace(new URL(url).host, replicaHost))).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message:
        'the server is a standby, which accepts no writes; connect memoryd to the primary, or promote the standby',
    });
  });

  it('a database address with insufficient privileges, a wrong password or a missing database is rejected with an error that names the fix', async () => {
    const admin = new Client({ connectionString: url });
    await admin.connect();
    await admin.query(`CREATE ROLE without_privileges LOGIN PASSWORD 'secret'`);
    onTestFinished(async () => {
      await admin.query('DROP ROLE without_privileges');
      await admin.end();
    });
    const as = (change: (address: URL) => void) => {
      const address = new URL(url);
      change(address);
      return expect(open(address.href)).rejects;
    };
    await as((address) => Object.assign(address, { username: 'without_privileges', password: 'secret' })).toMatchObject(
      {
        code: 'UNAVAILABLE',
        message: expect.stringMatching(/lacks a privilege; GRANT it, or .* \((42501|3F000): .*\)$/),
      },
    );
    await as((address) => Object.assign(address, { password: 'wrong' })).toMatchObject({
      message: expect.stringContaining('check user and password in the address'),
    });
    await as((address) => Object.assign(address, { pathname: '/nowhere' })).toMatchObject({
      message: expect.stringContaining('the database does not exist'),
    });
  });
});
