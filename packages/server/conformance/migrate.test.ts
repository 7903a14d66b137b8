import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { fillFile } from './migration-fixture.ts';
import { createTemporaryFolder, runServer } from './process.ts';

describe('memoryd migrate', () => {
  const folder = createTemporaryFolder();
  const file = join(folder, 'memory.db');
  beforeAll(() => fillFile(file));

  it('reports why a migration fails, with an exit code and without the password', async () => {
    for (const [from, to, code, reason] of [
      [join(folder, 'missing.db'), join(folder, 'back.db'), 3, 'there is no database'],
      [file, 'postgres://someone:secret@127.0.0.1:1/none', 6, 'ECONNREFUSED'],
    ] as const) {
      const exit = await runServer(['migrate', '--from', from, '--to', to]);
      expect(exit).toMatchObject({ code, stdout: '', stderr: expect.stringContaining(reason) });
      expect(exit.stderr).not.toContain('secret');
    }
  });

  it('rejects a target that already contains memories', async () => {
    const other = join(folder, 'other.db');
    await fillFile(other);
    expect(await runServer(['migrate', '--from', file, '--to', other])).toMatchObject({
      code: 4,
      stdout: '',
      stderr: expect.stringContaining('must be empty'),
    });
  });

  it('exits with code 2 if --from or --to is missing', async () => {
    expect(await runServer(['migrate', '--from', file])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--to'),
    });
  });
});
