import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { strToU8, zipSync } from 'fflate';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openSource } from './open-source.ts';
import { readTexts, writeFiles } from './source.fixture.ts';

const IS_WINDOWS = process.platform === 'win32';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'memoryd-source-'));
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

describe('openSource', () => {
  it('opens a single file under its name, several times', async () => {
    writeFiles(folder, { 'notes.md': '# Garden' });
    const source = await openSource(join(folder, 'notes.md'));
    expect(source).toMatchObject({ name: 'notes.md', files: [{ path: 'notes.md', sizeBytes: 8 }], refused: [] });
    expect(await readTexts(source)).toEqual({ 'notes.md': '# Garden' });
    expect(await readTexts(source)).toEqual({ 'notes.md': '# Garden' });
  });

  it('lists the files of a folder and its folders in the order of their paths', async () => {
    writeFiles(folder, { 'b.md': 'b', 'a/z.md': 'z', 'a/a/y.md': 'y', 'a.md': 'a' });
    const source = await openSource(folder);
    expect(source.files.map(({ path }) => path)).toEqual(['a.md', 'a/a/y.md', 'a/z.md', 'b.md']);
    expect(source.files[0]?.modifiedAt).toBeGreaterThan(0);
  });

  it('skips folders of programs and hidden files, but reads the conversations of agent programs', async () => {
    writeFiles(folder, {
      '.git/config': 'x',
      '.obsidian/app.json': '{}',
      '.DS_Store': 'x',
      'node_modules/a/readme.md': 'x',
      '.claude/projects/garden/a.jsonl': 'read',
      '.claude/commands/b.md': 'x',
      'home/.codex/sessions/2026/c.jsonl': 'read',
      'notes.md': 'read',
    });
    const source = await openSource(folder);
    expect(await readTexts(source)).toEqual({
      '.claude/projects/garden/a.jsonl': 'read',
      'home/.codex/sessions/2026/c.jsonl': 'read',
      'notes.md': 'read',
    });
    expect(source.refused).toEqual([]);
  });

  it.skipIf(IS_WINDOWS)(
    'refuses symbolic links, so that links out of the folder and loops are not followed',
    async () => {
      writeFiles(folder, { 'vault/a.md': 'a', 'secret/b.md': 'b' });
      symlinkSync(join(folder, 'secret'), join(folder, 'vault', 'outside'));
      symlinkSync('.', join(folder, 'vault', 'loop'));
      symlinkSync('missing', join(folder, 'vault', 'broken.md'));
      const source = await openSource(join(folder, 'vault'));
      expect(await readTexts(source)).toEqual({ 'a.md': 'a' });
      expect(source.refused).toEqual(
        ['broken.md', 'loop', 'outside'].map((place) => ({ place, reason: 'it is a symbolic link' })),
      );
    },
  );

  it.skipIf(IS_WINDOWS)('follows a symbolic link that is the path itself', async () => {
    writeFiles(folder, { 'vault/a.md': 'a' });
    symlinkSync('vault', join(folder, 'link'));
    expect(await readTexts(await openSource(join(folder, 'link')))).toEqual({ 'a.md': 'a' });
  });

  it.skipIf(IS_WINDOWS)('refuses a FIFO without waiting for its writer', async () => {
    writeFiles(folder, { 'a.md': 'a' });
    execFileSync('mkfifo', [join(folder, 'pipe.md')]);
    const source = await openSource(folder);
    expect(source.refused).toEqual([{ place: 'pipe.md', reason: 'it is no regular file' }]);
    await expect(openSource(join(folder, 'pipe.md'))).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
      message: expect.stringContaining('is neither a file nor a folder'),
    });
  });

  it.skipIf(IS_WINDOWS)('returns at once from a FIFO that replaces a file after the listing', async () => {
    writeFiles(folder, { 'a.md': 'a' });
    const source = await openSource(folder);
    rmSync(join(folder, 'a.md'));
    execFileSync('mkfifo', [join(folder, 'a.md')]);
    expect(await readTexts(source)).toEqual({ 'a.md': '[it is no regular file]' });
  });

  it.skipIf(IS_WINDOWS || process.getuid?.() === 0)('reads what it may read of a folder', async () => {
    writeFiles(folder, { 'a.md': 'a', 'locked/b.md': 'b', 'c.md': 'c' });
    chmodSync(join(folder, 'locked'), 0);
    chmodSync(join(folder, 'c.md'), 0);
    const source = await openSource(folder);
    expect(await readTexts(source)).toEqual({ 'a.md': 'a', 'c.md': '[memoryd has no permission to read it]' });
    expect(source.refused).toEqual([{ place: 'locked/', reason: expect.stringContaining('no permission') }]);
    chmodSync(join(folder, 'locked'), 0o700);
  });

  it('names the path and the fix if the path does not exist', async () => {
    const path = join(folder, 'missing.zip');
    await expect(openSource(path)).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
      message: `${path} does not exist; check the path of the file or folder`,
    });
  });

  it.each([
    ['a folder', {}],
    ['a folder with hidden files only', { '.git/config': 'x' }],
    ['an empty zip', { 'empty.zip': zipSync({}) }],
  ])('refuses %s without a file to read', async (_, files) => {
    writeFiles(folder, files);
    await expect(openSource(folder)).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
      message: expect.stringContaining('without a file that memoryd can read'),
    });
  });

  it('refuses a folder with too many files', async () => {
    writeFiles(folder, { 'a.md': 'a', 'b/c.md': 'c', 'b/d.md': 'd' });
    await expect(openSource(folder, { maxFiles: 3 })).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
      message: expect.stringContaining('has more than 3 files and folders'),
    });
    expect((await openSource(folder, { maxFiles: 4 })).files).toHaveLength(3);
  });

  it('refuses folders that lie too deep, and reads the others', async () => {
    writeFiles(folder, { 'a/a.md': 'a', 'a/b/c/d.md': 'd' });
    const source = await openSource(folder, { maxDepth: 2 });
    expect(await readTexts(source)).toEqual({ 'a/a.md': 'a' });
    expect(source.refused).toEqual([{ place: 'a/b', reason: 'it lies deeper than 2 folders, the maximum' }]);
  });

  it('opens zips in a folder as if their entries lay there, whatever their names', async () => {
    writeFiles(folder, {
      'part/one.zip': zipSync({ 'conversations.json': strToU8('[1]'), 'notes/a.md': strToU8('a') }),
      'part/two.download': zipSync({ 'conversations.json': strToU8('[2]') }),
      'part/users.json': '[]',
      'part/broken.zip': 'no zip',
    });
    expect(await readTexts(await openSource(folder))).toEqual({
      'part/broken.zip': 'no zip',
      'part/conversations.json': '[1]',
      'part/notes/a.md': 'a',
      'part/two.download/conversations.json': '[2]',
      'part/users.json': '[]',
    });
  });

  it('keeps the paths of files beside a zip that has files of the same names', async () => {
    writeFiles(folder, { 'a.zip': zipSync({ 'b.md': strToU8('zipped') }), 'b.md': 'plain' });
    expect(await readTexts(await openSource(folder))).toEqual({ 'a.zip/b.md': 'zipped', 'b.md': 'plain' });
  });

  it('unpacks a gzip file', async () => {
    const text = `${JSON.stringify({ content: 'Ada grows beans' })}\n`.repeat(10_000);
    writeFiles(folder, { 'a.jsonl.gz': gzipSync(text), 'b.jsonl': 'b' });
    const source = await openSource(folder);
    expect(await readTexts(source)).toEqual({ 'a.jsonl': text, 'b.jsonl': 'b' });
    const limited = await openSource(join(folder, 'a.jsonl.gz'), { maxEntryBytes: 100_000 });
    expect(await readTexts(limited)).toEqual({ 'a.jsonl': expect.stringContaining('exceeds 100000 bytes') });
  });

  it('yields the readable bytes of a truncated gzip file', async () => {
    const text = Array.from({ length: 5000 }, (_, number) => `line ${number}`).join('\n');
    const whole = gzipSync(text);
    writeFiles(folder, { 'a.gz': whole.subarray(0, whole.length - 100) });
    const read = (await readTexts(await openSource(join(folder, 'a.gz')))).a ?? '';
    expect(read).toMatch(/\[its compressed data ends too early\]$/);
    expect(text.startsWith(read.slice(0, read.lastIndexOf('[')))).toBe(true);
    expect(read.length).toBeGreaterThan(text.length * 0.9);
  });

  describe('the content key', () => {
    it('stays the same for the same bytes under another name', async () => {
      const zip = zipSync({ 'a.md': strToU8('a') });
      writeFiles(folder, { 'a.zip': zip, 'b.zip': zip, 'c.zip': zipSync({ 'a.md': strToU8('c') }) });
      const [a, b, c] = await Promise.all(['a', 'b', 'c'].map((name) => openSource(join(folder, `${name}.zip`))));
      expect(b?.contentKey).toBe(a?.contentKey);
      expect(c?.contentKey).not.toBe(a?.contentKey);
      expect(a?.contentKey).toMatch(/^[0-9a-f]{64}$/);
    });

    it.each<[string, () => void]>([
      ['the time of a file changes', () => utimesSync(join(folder, 'a.md'), 1_700_000_000, 1_700_000_000)],
      ['a file grows', () => writeFileSync(join(folder, 'a.md'), 'longer')],
      ['a file is added', () => writeFileSync(join(folder, 'c.md'), '')],
      ['a file is removed', () => rmSync(join(folder, 'b.md'))],
    ])('changes for a folder if %s', async (_, change) => {
      writeFiles(folder, { 'a.md': 'a', 'b.md': 'b' });
      const { contentKey } = await openSource(folder);
      mkdirSync(join(folder, 'empty'));
      expect((await openSource(folder)).contentKey).toBe(contentKey);
      change();
      expect((await openSource(folder)).contentKey).not.toBe(contentKey);
    });
  });
});
