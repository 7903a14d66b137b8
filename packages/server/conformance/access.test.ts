import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { StatsResponse } from '@memoryd/contract';
import { describe, expect, it } from 'vitest';
import { EventReader } from './event-reader.ts';
import type { Request } from './http.ts';
import { eventually, type Exit, runServer, temporaryFolder } from './process.ts';
import { expectRefusal } from './refusal.ts';
import { type Client, expectCleanEnd, startClient, useServer, WORDS_ONLY } from './under-test.ts';

/** Runs a command on a database and expects it to succeed. */
async function command(dbPath: string, ...args: string[]): Promise<Exit> {
  const ended = await runServer([...args, '--db-path', dbPath]);
  expect(ended.code, ended.stderr).toBe(0);
  return ended;
}

async function addKey(dbPath: string, namespace: string, scope: string): Promise<string> {
  const { stdout } = await command(dbPath, 'keys', 'add', '--namespace', namespace, '--scope', scope);
  return stdout.trim();
}

const idOf = (key: string) => key.split('_')[1] as string;
const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

/** Asks until the answer has a status: a server learns of another process's keys within a second. */
async function untilStatus(client: Client, request: Request, status: number): Promise<void> {
  await eventually(`status ${status}`, 5000, async () => ((await client.send(request)).status === status ? true : undefined));
}

describe('making keys', () => {
  it('can be done before the first start, and prints the key alone', async () => {
    const dbPath = join(temporaryFolder(), 'deep', 'memory.db');
    const { stdout, stderr } = await command(dbPath, 'keys', 'add', '--namespace', 'kitchen', '--scope', 'read');
    expect(stdout).toMatch(/^mmd_[0-9a-f]{16}_[0-9a-f]{64}\n$/);
    expect(stderr).toMatch(/read.*kitchen/);
    expect(stderr).not.toContain(stdout.trim());
    expect(existsSync(dbPath)).toBe(true);
    expect(statSync(dbPath).mode & 0o777).toBe(0o600);
    expect((await command(dbPath, 'keys', 'list')).stdout).toContain('kitchen');
  });

  it('answers JSON where that is asked for', async () => {
    const dbPath = join(temporaryFolder(), 'memory.db');
    const made = JSON.parse((await command(dbPath, 'keys', 'add', '--json')).stdout);
    expect(made).toEqual({
      id: idOf(made.key),
      namespace: 'default',
      scope: 'write',
      created_at: expect.stringMatching(/Z$/),
      revoked_at: null,
      key: expect.stringMatching(/^mmd_/),
    });
    await command(dbPath, 'keys', 'add', '--namespace', 'other', '--json');
    await command(dbPath, 'keys', 'revoke', made.id);
    const listed = JSON.parse((await command(dbPath, 'keys', 'list', '--namespace', 'default', '--json')).stdout);
    const { key: _key, ...known } = made;
    expect(listed).toEqual([{ ...known, revoked_at: expect.stringMatching(/Z$/) }]);
  });

  const refused: [string[], RegExp][] = [
    [['keys'], /needs one of add, list, revoke/],
    [['keys', 'make'], /too many|unknown command/],
    [['keys', 'add', '--scope', 'all'], /read, write, operate/],
    [['keys', 'add', '--namespace', 'a b'], /namespace must be/],
    [['keys', 'revoke', 'nobody'], /no key with this id/],
    [['keys', 'revoke'], /missing/],
    [['namespaces'], /needs one of list, delete, quota/],
    [['namespaces', 'delete', 'nobody', '--yes'], /no such namespace/],
    [['namespaces', 'quota', 'a', '--memories', '-1'], /whole number/],
    [['namespaces', 'quota', 'a', '--bytes', '1.5'], /whole number/],
  ];
  it('refuses what it cannot do in one line', async () => {
    const dbPath = join(temporaryFolder(), 'memory.db');
    await command(dbPath, 'keys', 'add');
    for (const [args, says] of refused) {
      const { code, stdout, stderr } = await runServer([...args, '--db-path', dbPath]);
      expect(code, args.join(' ')).toBeGreaterThan(0);
      expect(stdout).toBe('');
      expect(stderr).toMatch(says);
      expect(stderr.trim()).not.toContain('\n');
    }
  });

  it('makes no database where one should be', async () => {
    const dbPath = join(temporaryFolder(), 'nothing.db');
    for (const args of [['keys', 'list'], ['keys', 'revoke', 'x'], ['namespaces', 'list']]) {
      const { code, stderr } = await runServer([...args, '--db-path', dbPath]);
      expect(code).toBe(2);
      expect(stderr).toContain(dbPath);
      expect(existsSync(dbPath)).toBe(false);
    }
  });

  it.each(['short', 'x'.repeat(31), 'with a blank'.repeat(4), ''])('takes no SERVICE_API_KEY like "%s"', async (key) => {
    const { code, stdout, stderr } = await runServer(['--port', '0'], { ...WORDS_ONLY, SERVICE_API_KEY: key });
    expect(code).toBe(2);
    expect(stderr).toMatch(/SERVICE_API_KEY must be 32 to 512 .*guesses/);
    if (key !== '') expect(stdout + stderr).not.toContain(key);
  });
});

describe('a server whose database gets its first key while it runs', () => {
  it('asks everybody for one from then on, whoever makes it, and no more takes one that is revoked', async () => {
    const client = await startClient({ env: WORDS_ONLY });
    const { dbPath } = client.server;
    await client.store({ content: 'before there were keys' });
    const reader = new EventReader(client.server.port);
    const key = await addKey(dbPath, 'default', 'read');
    await untilStatus(client, { path: '/stats' }, 401);
    await eventually('the end of the stream', 5000, () => (reader.ended ? true : undefined));
    expect((await client.send({ path: '/stats', headers: bearer(key) })).status).toBe(200);
    expect((await client.send({ path: '/health' })).status).toBe(200);
    await command(dbPath, 'keys', 'revoke', idOf(key));
    await untilStatus(client, { path: '/stats', headers: bearer(key) }, 401);
    // Revoking the last key opens nothing.
    expectRefusal(await client.send({ path: '/stats' }), { code: 'UNAUTHORIZED' });
    await expectCleanEnd(client.server);
  });

  it('ends the stream of a reader whose key is revoked', async () => {
    const client = await startClient({ env: WORDS_ONLY });
    const { dbPath } = client.server;
    const key = await addKey(dbPath, 'default', 'read');
    await untilStatus(client, { path: '/stats', headers: bearer(key) }, 200);
    const reader = new EventReader(client.server.port, { headers: bearer(key) });
    await reader.opened;
    await command(dbPath, 'keys', 'revoke', idOf(key));
    await eventually('the end of the stream', 5000, () => (reader.ended ? true : undefined));
    await expectCleanEnd(client.server);
  });
});
