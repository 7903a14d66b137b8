import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newMemory } from '@memoryd/suites';
import { Client } from 'pg';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { getServerAddress } from './database.fixture.ts';
import { openPostgres } from './open.ts';

/** Skipped if pgbouncer is not installed, except in CI. */
const isInstalled = !spawnSync('pgbouncer', ['--version']).error || process.env.CI !== undefined;

describe.runIf(isInstalled)('pgbouncer with default settings', () => {
  const { hostname, port, username, password } = new URL(getServerAddress('TEST_DATABASE_URL'));
  const name = `pooled_${randomUUID().replaceAll('-', '')}`;
  let pooler: ChildProcess | undefined;
  // A separate database instead of a schema, because pgbouncer resets session settings between clients.
  beforeEach(() => manage(`CREATE DATABASE ${name}`));
  afterEach(async () => {
    pooler?.kill();
    await manage(`DROP DATABASE ${name} WITH (FORCE)`);
  });

  /** Starts pgbouncer in front of the database, and returns its address. */
  async function start(mode: string): Promise<string> {
    const folder = mkdtempSync(join(tmpdir(), 'pgbouncer-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const listenPort = await freePort();
    const config = join(folder, 'pgbouncer.ini');
    writeFileSync(
      config,
      `[databases]
       pooled = host=${hostname} port=${port} dbname=${name} user=${username} password=${password}
       [pgbouncer]
       listen_addr = 127.0.0.1
       listen_port = ${listenPort}
       unix_socket_dir =
       auth_type = any
       pool_mode = ${mode}`,
    );
    // pgbouncer does not run as root.
    chmodSync(folder, 0o755);
    pooler = spawn('pgbouncer', ['--quiet', ...(process.getuid?.() === 0 ? ['--user=nobody'] : []), config], {
      stdio: 'ignore',
    });
    const address = `postgres://${username}@127.0.0.1:${listenPort}/pooled`;
    await expect.poll(() => isReachable(address), { timeout: 10_000 }).toBe(true);
    return address;
  }

  const open = async (address: string) =>
    (await openPostgres({ url: address, connections: 4, workingMax: 1000 })).storage;

  it('pgbouncer with default settings is rejected at startup in transaction mode with an error that names the fix', async () => {
    const address = await start('transaction');
    await expect(open(address)).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringContaining('set pool_mode=session'),
    });
  });

  it('pgbouncer with default settings is supported in session mode', async () => {
    const storage = await open(await start('session'));
    const ids = Array.from({ length: 50 }, (_, n) => `memory ${n}`);
    const stored = await Promise.all(ids.map((id) => storage.store(newMemory({ id, content: 'axolotl' }))));
    expect(new Set(stored.map(({ outcome }) => outcome))).toEqual(new Set(['stored']));
    const request = { namespace: 'default', text: 'axolotl', filter: {}, now: 2, poolSize: 100, tailSize: 0 };
    for (let n = 0; n < 3; n++) expect((await storage.search(request)).ordinals).toHaveLength(50);
    await storage.close();
  });
});

async function manage(statement: string): Promise<void> {
  const client = new Client({ connectionString: getServerAddress('TEST_DATABASE_URL') });
  await client.connect();
  await client.query(statement);
  await client.end();
}

async function isReachable(address: string): Promise<boolean> {
  const client = new Client({ connectionString: address });
  client.on('error', () => {});
  try {
    await client.connect();
    await client.query('SELECT 1');
    return true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => {});
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}
