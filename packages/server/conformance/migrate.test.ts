import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { fillFile } from './migrated-file.ts';
import { runServer, temporaryFolder } from './process.ts';

describe('memoryd migrate', () => {
  const folder = temporaryFolder();
  const file = join(folder, 'memory.db');
  beforeAll(() => fillFile(file));

  it('says why it cannot be done, by its exit code too, and without a password', async () => {
    for (const [from, to, code, why] of [
      [join(folder, 'missing.db'), join(folder, 'back.db'), 3, 'there is no database'],
      [file, 'postgres://someone:secret@127.0.0.1:1/none', 6, 'ECONNREFUSED'],
    ] as const) {
      const ended = await runServer(['migrate', '--from', from, '--to', to]);
      expect(ended).toMatchObject({ code, stdout: '', stderr: expect.stringContaining(why) });
      expect(ended.stderr).not.toContain('secret');
    }
  });

  it('refuses a target that holds memories already', async () => {
    const other = join(folder, 'other.db');
    await fillFile(other);
    expect(await runServer(['migrate', '--from', file, '--to', other])).toMatchObject({
      code: 4,
      stdout: '',
      stderr: expect.stringContaining('keeps something else'),
    });
  });

  it('ends with 2 where it is not told from where to where', async () => {
    expect(await runServer(['migrate', '--from', file])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--to'),
    });
  });
});
