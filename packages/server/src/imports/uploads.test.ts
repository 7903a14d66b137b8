import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { getUploadFolder, removeLeftUploads, withUpload } from './uploads.ts';

function createFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'memoryd-uploads-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

async function* toChunks(...chunks: (string | Error)[]): AsyncIterable<Uint8Array> {
  for (const chunk of chunks) {
    if (chunk instanceof Error) throw chunk;
    yield Buffer.from(chunk);
  }
}

describe('withUpload', () => {
  it('passes the path of the complete file, which others cannot read, and removes the file afterwards', async () => {
    const folder = join(createFolder(), 'new');
    const text = await withUpload(toChunks('a gar', 'den'), { folder, maxMb: 1 }, async (path) => {
      if (process.platform !== 'win32') expect(statSync(path).mode & 0o777).toBe(0o600);
      return readFileSync(path, 'utf8');
    });
    expect(text).toBe('a garden');
    expect(readdirSync(folder)).toEqual([]);
  });

  const MEGABYTE = 'x'.repeat(1024 * 1024);
  it.each([
    { name: 'the upload is too large', chunks: [MEGABYTE, 'x'], error: { code: 'PAYLOAD_TOO_LARGE' } },
    { name: 'the upload ends early', chunks: ['x', new Error('cut off')], error: { message: 'cut off' } },
  ])('removes the file and does not use it if $name', async ({ chunks, error }) => {
    const folder = createFolder();
    const use = () => Promise.reject(new Error('used'));
    await expect(withUpload(toChunks(...chunks), { folder, maxMb: 1 }, use)).rejects.toMatchObject(error);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('refuses a large upload as UNAVAILABLE before the disk is full, and accepts a small one', async () => {
    const options = { folder: createFolder(), maxMb: 100, minFreeBytes: Number.MAX_SAFE_INTEGER };
    const large = withUpload(toChunks(...Array.from({ length: 17 }, () => MEGABYTE)), options, async () => 'used');
    await expect(large).rejects.toMatchObject({ code: 'UNAVAILABLE', message: expect.stringContaining('nearly full') });
    expect(readdirSync(options.folder)).toEqual([]);
    expect(await withUpload(toChunks(MEGABYTE), options, async () => 'used')).toBe('used');
  });

  it('removes the file if its use fails', async () => {
    const folder = createFolder();
    const failing = withUpload(toChunks('x'), { folder, maxMb: 1 }, () => Promise.reject(new Error('used')));
    await expect(failing).rejects.toThrow('used');
    expect(readdirSync(folder)).toEqual([]);
  });

  it('refuses an upload as UNAVAILABLE if the folder cannot be written', async () => {
    const file = join(createFolder(), 'file');
    writeFileSync(file, '');
    const refused = withUpload(toChunks('x'), { folder: join(file, 'in'), maxMb: 1 }, async () => 'used');
    await expect(refused).rejects.toMatchObject({ code: 'UNAVAILABLE', message: expect.stringContaining('upload') });
  });
});

describe('removeLeftUploads', () => {
  const ID = 'c9d4a3c2-58f1-4a3e-9d0c-3f6f0b3d5c11';

  it('removes uploads of ended processes, and nothing else', async () => {
    const folder = createFolder();
    const ended = execFileSync(process.execPath, ['-p', 'process.pid'], { encoding: 'utf8' }).trim();
    const kept = [
      `memoryd-import-${process.ppid}-${ID}`,
      'memory.db',
      `memoryd-import-${ended}`,
      `memoryd-import-x-${ID}`,
    ];
    for (const name of [...kept, `memoryd-import-${ended}-${ID}`]) writeFileSync(join(folder, name), '');
    await removeLeftUploads(folder);
    expect(readdirSync(folder).sort()).toEqual(kept.sort());
  });

  it('keeps an upload of this process while it is used, and removes one of an earlier process with the same id', async () => {
    const folder = createFolder();
    writeFileSync(join(folder, `memoryd-import-${process.pid}-${ID}`), '');
    const names = await withUpload(toChunks('x'), { folder, maxMb: 1 }, async () => {
      await removeLeftUploads(folder);
      return readdirSync(folder);
    });
    expect(names).toEqual([expect.not.stringContaining(ID)]);
  });

  it('ignores a missing folder', async () => {
    await expect(removeLeftUploads(join(createFolder(), 'missing'))).resolves.toBeUndefined();
  });
});

describe('getUploadFolder', () => {
  it('returns the folder of the database file, else the temporary folder', () => {
    expect(getUploadFolder({ dbPath: join('data', 'memory.db') })).toBe('data');
    expect(getUploadFolder({ databaseUrl: 'postgres://127.0.0.1/memoryd' })).toBe(tmpdir());
  });
});
