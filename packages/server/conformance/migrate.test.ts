import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type DatabaseServer, startPglite } from '../../engine/src/storage/postgres/database.fixture.ts';
import { runServer, temporaryFolder } from './process.ts';
import { expectCleanEnd, startClient, WORDS_ONLY } from './under-test.ts';

describe('memoryd migrate', () => {
  let server: DatabaseServer;
  let url: string;
  const folder = temporaryFolder();
  const file = join(folder, 'memory.db');
  const back = join(folder, 'back.db');

  beforeAll(async () => {
    server = await startPglite();
    url = await server.create();
    const client = await startClient({ dbPath: file, env: WORDS_ONLY });
    const id = await client.store({ content: 'Mimi sleeps on the sofa.', tags: ['cat'] });
    await client.update(id, { content: 'Mimi sleeps on the bed.' });
    await client.consolidate();
    await expectCleanEnd(client.server);
  });
  afterAll(() => server.close());

  async function memoryd(...args: string[]) {
    await server.reopening(url);
    return runServer(args);
  }

  it('brings a file to PostgreSQL and back, and tells the checksum that both have', async () => {
    const there = await memoryd('migrate', '--from', file, '--to', url);
    expect(there).toMatchObject({ code: 0, stderr: '' });
    expect(there.stdout).toMatch(
      /^default: 1 lines, SHA-256 [0-9a-f]{64}\n1 namespaces and 0 keys are the same in both\n$/,
    );
    const again = await memoryd('migrate', '--from', url, '--to', back, '--json');
    const [, sha256] = /SHA-256 ([0-9a-f]+)/.exec(there.stdout) ?? [];
    expect(JSON.parse(again.stdout)).toEqual({ namespaces: [{ name: 'default', lines: 1, sha256 }], keys: 0 });
    const exports = await Promise.all([file, back].map((path) => runServer(['export', '--db-path', path])));
    expect(exports[1]?.stdout).toContain('Mimi sleeps on the bed.');
    expect(exports[1]?.stdout).toBe(exports[0]?.stdout);
  });

  it('says why it cannot be done, by its exit code too, and without a password', async () => {
    for (const [from, to, code, why] of [
      [join(folder, 'missing.db'), back, 3, 'there is no database'],
      [file, back, 4, 'keeps something else'],
      [file, 'postgres://someone:secret@127.0.0.1:1/none', 6, 'ECONNREFUSED'],
    ] as const) {
      const ended = await memoryd('migrate', '--from', from, '--to', to);
      expect(ended).toMatchObject({ code, stdout: '', stderr: expect.stringContaining(why) });
      expect(ended.stderr).not.toContain('secret');
    }
  });

  it('ends with 2 where it is not told from where to where', async () => {
    expect(await runServer(['migrate', '--from', file])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--to'),
    });
  });
});
