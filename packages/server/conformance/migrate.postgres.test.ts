import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { usePostgres } from '../../postgres/src/database.fixture.ts';
import { fillFile } from './migration-fixture.ts';
import { createTemporaryFolder, runServer } from './process.ts';

it('memoryd migrate copies a file to PostgreSQL and back, and prints the same checksum for both', async () => {
  const server = await usePostgres();
  onTestFinished(() => server.close());
  const url = await server.create();
  onTestFinished(() => server.drop(url));
  const [file, back] = ['memory.db', 'back.db'].map((name) => join(createTemporaryFolder(), name)) as [string, string];
  await fillFile(file);
  const there = await runServer(['migrate', '--from', file, '--to', url]);
  expect(there).toMatchObject({ code: 0, stderr: '' });
  expect(there.stdout).toMatch(/^default: 1 line, SHA-256 [0-9a-f]{64}\nidentical in both: 1 namespace and 0 keys\n$/);
  const again = await runServer(['migrate', '--from', url, '--to', back, '--json']);
  const [, sha256] = /SHA-256 ([0-9a-f]+)/.exec(there.stdout) ?? [];
  expect(JSON.parse(again.stdout)).toEqual({ namespaces: [{ name: 'default', lines: 1, sha256 }], keys: 0 });
  const exports = await Promise.all([file, back].map((path) => runServer(['export', '--db-path', path])));
  expect(exports[1]?.stdout).toContain('Mimi sleeps on the bed.');
  expect(exports[1]?.stdout).toBe(exports[0]?.stdout);
});
