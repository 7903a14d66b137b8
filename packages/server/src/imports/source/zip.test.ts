import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MemoryError } from '@memoryd/contract';
import { strToU8, zipSync } from 'fflate';
import { afterAll, describe, expect, it } from 'vitest';
import { openSource } from './open-source.ts';
import { readSourceFile, readTexts, writeFiles } from './source.fixture.ts';
import type { SourceLimits } from './source-limits.ts';
import { type BuiltEntry, type BuiltZip, buildEnd, buildZip, buildZip64End } from './zip.fixture.ts';

const folder = mkdtempSync(join(tmpdir(), 'memoryd-zip-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const NO_DIRECTORY = expect.stringContaining('the list of files at the end of the zip is missing or damaged');

let written = 0;

function writeZip(bytes: Uint8Array): string {
  written += 1;
  const path = join(folder, `${written}.zip`);
  writeFileSync(path, bytes);
  return path;
}

function openZip(bytes: Uint8Array, limits?: Partial<SourceLimits>) {
  return openSource(writeZip(bytes), limits);
}

/** Reads the entries of a zip, and the reasons for the refused ones by their names. */
async function readZip(bytes: Uint8Array, limits?: Partial<SourceLimits>) {
  const source = await openZip(bytes, limits);
  const prefix = `${source.name}/`;
  const refused = Object.fromEntries(source.refused.map(({ place, reason }) => [place.replace(prefix, ''), reason]));
  return { texts: await readTexts(source), refused };
}

const GOOD: BuiltEntry = { name: 'good.md', content: 'beans' };

describe('a zip', () => {
  it('returns its files with path, size and time, and reads them several times and concurrently', async () => {
    const { bytes } = buildZip([
      { name: 'b/long.jsonl', content: 'Ada grows beans\n'.repeat(20_000) },
      { name: 'a.md', content: 'stored', method: 0 },
      { name: 'b/', content: '', method: 0 },
      { name: 'empty.md', content: '' },
    ]);
    const source = await openZip(bytes);
    const modifiedAt = Date.UTC(2026, 2, 5, 12);
    expect(source.files).toMatchObject([
      { path: 'a.md', sizeBytes: 6, modifiedAt },
      { path: 'b/long.jsonl', sizeBytes: 320_000, modifiedAt },
      { path: 'empty.md', sizeBytes: 0, modifiedAt },
    ]);
    const expected = { 'a.md': 'stored', 'b/long.jsonl': 'Ada grows beans\n'.repeat(20_000), 'empty.md': '' };
    expect(await Promise.all([readTexts(source), readTexts(source)])).toEqual([expected, expected]);
    expect(source.refused).toEqual([]);
  });

  it('needs no name that ends with .zip', async () => {
    writeFiles(folder, { 'download.txt': buildZip([GOOD]).bytes, 'no.zip': 'text' });
    expect(await readTexts(await openSource(join(folder, 'download.txt')))).toEqual({ 'good.md': 'beans' });
    expect(await readTexts(await openSource(join(folder, 'no.zip')))).toEqual({ 'no.zip': 'text' });
  });

  it('returns its files if another program wrote it', async () => {
    const { texts } = await readZip(zipSync({ 'd/a.md': strToU8('a'), 'b.md': [strToU8('b'), { level: 0 }] }));
    expect(texts).toEqual({ 'd/a.md': 'a', 'b.md': 'b' });
  });

  it.skipIf(!hasZipProgram())(
    'gives its files if the program zip wrote it to a stream, also without its directory',
    async () => {
      writeFiles(folder, { 'in/a.md': 'Ada '.repeat(1000), 'in/b.md': 'Ben' });
      const bytes = execFileSync('zip', ['-q', '-r', '-', '.'], { cwd: join(folder, 'in') });
      const expected = { 'a.md': 'Ada '.repeat(1000), 'b.md': 'Ben' };
      expect((await readZip(bytes)).texts).toEqual(expected);
      const directory = bytes.indexOf('PK\x01\x02', 0, 'latin1');
      expect((await readZip(bytes.subarray(0, directory))).texts).toEqual(expected);
    },
  );

  it('returns its files with and without its directory, with sizes in zip64 fields and in descriptors of any form', async () => {
    const { bytes, directoryStart } = buildZip([
      { name: 'a.md', content: 'a'.repeat(100), isZip64: true },
      { name: 'b.md', content: 'b'.repeat(100), hasDescriptor: true },
      { name: 'c.md', content: 'c'.repeat(100), hasDescriptor: true, hasDescriptorSignature: false },
      { name: 'd.md', content: '', hasDescriptor: true },
      { name: 'e.md', content: 'e', method: 0, isZip64: true },
    ]);
    const expected = {
      'a.md': 'a'.repeat(100),
      'b.md': 'b'.repeat(100),
      'c.md': 'c'.repeat(100),
      'd.md': '',
      'e.md': 'e',
    };
    expect(await readZip(bytes)).toEqual({ texts: expected, refused: {} });
    expect((await readZip(bytes.subarray(0, directoryStart))).texts).toEqual(expected);
  });

  it('returns its files if its directory is described in the zip64 form', async () => {
    const { bytes, directoryStart } = buildZip([GOOD]);
    const data = bytes.subarray(0, -22);
    const end = buildZip64End(1, data.length - directoryStart, directoryStart);
    const zip = Buffer.concat([data, end]);
    expect(await readZip(zip)).toEqual({ texts: { 'good.md': 'beans' }, refused: {} });
  });

  it('decodes names in UTF-8 without the flag for it, and other names as code page 437', async () => {
    const { bytes } = buildZip([
      { name: 'Gärten/日記.md', content: 'a', flags: 0 },
      { name: Buffer.from([0x47, 0x84, 0x72, 0x2e, 0x6d, 0x64]), content: 'b' },
    ]);
    expect((await readZip(bytes)).texts).toEqual({ 'Gärten/日記.md': 'a', 'Gär.md': 'b' });
  });

  it('skips folders of systems and programs, and does not report them', async () => {
    const { bytes } = buildZip([GOOD, { name: '__MACOSX/._good.md', content: 'x' }, { name: '.git/a', content: 'x' }]);
    expect(await readZip(bytes)).toEqual({ texts: { 'good.md': 'beans' }, refused: {} });
  });

  it.each<[string, BuiltEntry, string]>([
    ['an absolute path', { name: '/etc/passwd', content: 'x' }, 'its name is an absolute path'],
    ['a drive letter', { name: 'C:\\notes\\a.md', content: 'x' }, 'its name is an absolute path'],
    ['a path out of the zip', { name: 'a/../../b.md', content: 'x' }, 'its name leads out of the zip'],
    ['backslashes out of the zip', { name: '..\\b.md', content: 'x' }, 'its name leads out of the zip'],
    ['control characters', { name: 'a\x1b[2J.md', content: 'x' }, 'its name has control characters'],
    ['no name', { name: '', content: 'x' }, 'it has no name'],
    ['a name that is too long', { name: '日'.repeat(400), content: 'x' }, 'its name is longer than 1024 bytes'],
    ['a name that stands before', { name: './good.md', content: 'x' }, 'the zip has another file of this name'],
    ['a symbolic link', { name: 'link.md', content: '/etc/passwd', mode: 0o120_777 }, 'it is a symbolic link'],
    ['encryption', { name: 'a.md', content: 'x', flags: 1 }, 'it is encrypted'],
    ['the method zstd', { name: 'a.md', content: 'x', method: 93 }, 'does not read its compression method (93)'],
    ['a zip', { name: 'more/a.ZIP', content: 'x' }, 'it is a zip inside the zip'],
  ])('refuses an entry with %s and reads the others', async (_, entry, reason) => {
    const { texts, refused } = await readZip(buildZip([GOOD, entry]).bytes);
    expect(texts).toEqual({ 'good.md': 'beans' });
    expect(Object.values(refused)).toEqual([expect.stringContaining(reason)]);
    expect(Object.keys(refused).join()).not.toMatch(/\p{Cc}/u);
  });

  it('reads paths with backslashes as folders', async () => {
    expect((await readZip(buildZip([{ name: 'notes\\a.md', content: 'a' }]).bytes)).texts).toEqual({
      'notes/a.md': 'a',
    });
  });

  it.each<[string, Partial<BuiltEntry>, RegExp]>([
    ['a wrong checksum', { crc: 1 }, /^x{100}\[its content does not match its checksum\]$/],
    ['a size that is too large', { statedBytes: 101 }, /^x{100}\[it is shorter than the zip says\]$/],
    ['a size that is too small', { statedBytes: 99 }, /^\[it is larger than the zip says\]$/],
    ['no deflate data', { method: 0, content: 'x' }, /^x$/],
  ])('yields the readable bytes of an entry and then its fault: %s', async (_, fields, expected) => {
    const { bytes } = buildZip([{ name: 'a.md', content: 'x'.repeat(100), ...fields }, GOOD]);
    const { texts } = await readZip(bytes);
    expect(texts['a.md']).toMatch(expected);
    expect(texts['good.md']).toBe('beans');
  });

  it('yields the beginning of an entry whose compressed data is damaged, and all other entries', async () => {
    const content = Array.from({ length: 60_000 }, (_, number) => `line ${number * 7919}`).join('\n');
    const { bytes, ends } = buildZip([GOOD, { name: 'long.txt', content }, { name: 'z.md', content: 'z' }]);
    bytes.fill(0xff, (ends[1] ?? 0) - 30_000, (ends[1] ?? 0) - 20_000);
    const { texts } = await readZip(bytes);
    const read = texts['long.txt'] ?? '';
    expect(read.slice(-100)).toMatch(/\[it.+\]$/);
    expect(content.startsWith(read.slice(0, 100_000))).toBe(true);
    expect(texts).toMatchObject({ 'good.md': 'beans', 'z.md': 'z' });
  });
});

describe('the limits of a zip', () => {
  let largeZip: BuiltZip | undefined;
  const zeros = Buffer.alloc(8 * 1024 * 1024);

  it('stop an entry that expands too much, and do not stop the others', async () => {
    const { bytes } = buildZip([{ name: 'bomb.txt', content: zeros }, GOOD]);
    const source = await openZip(bytes);
    const [bomb, good] = await Promise.all(source.files.map(readSourceFile));
    expect(bomb?.fault).toBe('it expands to more than 250 times its compressed size, the maximum ratio');
    expect(bomb?.bytes.length).toBeLessThan(zeros.length);
    expect(good).toEqual({ bytes: Buffer.from('beans') });
  });

  it('stop an entry that is larger than its stated size', async () => {
    const { bytes } = buildZip([{ name: 'bomb.txt', content: zeros, statedBytes: 1000 }]);
    const [bomb] = await Promise.all((await openZip(bytes)).files.map(readSourceFile));
    expect(bomb).toEqual({ bytes: Buffer.alloc(0), fault: 'it is larger than the zip says' });
  });

  it('stop an entry without stated sizes in a zip without a directory', async () => {
    const { bytes, directoryStart } = buildZip([{ name: 'bomb.txt', content: zeros, hasDescriptor: true }, GOOD]);
    const source = await openZip(bytes.subarray(0, directoryStart));
    expect((await readTexts(source))['bomb.txt']).toMatch(/\[it expands to more than 250 times/);
  });

  it.each<[string, Partial<SourceLimits>, RegExp]>([
    ['one entry', { maxEntryBytes: 1000 }, /^x{1000}$|^\[its uncompressed size exceeds 1000 bytes/],
    ['all entries', { maxTotalBytes: 2500 }, /^x{1000}$|^\[the compressed files have more than 2500 bytes/],
  ])('hold for the size of %s', async (_, limits, expected) => {
    const entries = ['a', 'b', 'c'].map((name) => ({ name, content: 'x'.repeat(name === 'c' ? 1001 : 1000) }));
    const { texts } = await readZip(buildZip(entries).bytes, limits);
    expect(texts.c).toMatch(expected);
    expect(texts.c).toMatch(/^\[/);
    expect([texts.a, texts.b]).toEqual(['x'.repeat(1000), 'x'.repeat(1000)]);
  });

  it('count an entry once that is read twice', async () => {
    const source = await openZip(buildZip([{ name: 'a', content: 'x'.repeat(1000) }]).bytes, { maxTotalBytes: 1500 });
    await readTexts(source);
    expect(await readTexts(source)).toEqual({ a: 'x'.repeat(1000) });
  });

  it('refuse a zip that is too large', async () => {
    await expect(openZip(buildZip([GOOD]).bytes, { maxZipBytes: 50 })).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
      message: expect.stringMatching(/it exceeds 50 bytes, the maximum for a zip; unpack it and import the folder/),
    });
  });

  it.each<[string, (bytes: Buffer, directoryStart: number) => Buffer]>([
    ['with its directory', (bytes) => bytes],
    ['without its directory', (bytes, directoryStart) => bytes.subarray(0, directoryStart)],
  ])('refuse 200,000 entries %s', async (_, cut) => {
    const { bytes, directoryStart } = (largeZip ??= buildZip(
      Array.from({ length: 200_000 }, (_, number) => ({ name: `${number}`, content: '', method: 0 })),
    ));
    await expect(openZip(cut(bytes, directoryStart))).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
      message: expect.stringContaining('has more than 100000 files and folders'),
    });
  });

  it('read the data once that several entries of the directory share', async () => {
    const { bytes, directoryStart } = buildZip([{ name: 'a', content: 'x'.repeat(500) }, GOOD]);
    const directory = bytes.subarray(directoryStart, -22);
    const copies = Array.from({ length: 1000 }, (_, number) => {
      const copy = Buffer.from(directory.subarray(0, 47));
      copy.writeUInt8(97 + (number % 26), 46);
      return copy;
    });
    expect(await readZip(withDirectory(bytes.subarray(0, directoryStart), [directory, ...copies]))).toEqual({
      texts: { a: 'x'.repeat(500), 'good.md': 'beans' },
      refused: { [`${written}.zip`]: NO_DIRECTORY },
    });
  });

  it('end the search for entries without a directory after 1,000 damaged ones', async () => {
    const header = Buffer.alloc(31, 0xff);
    header.write('PK\x03\x04', 'latin1');
    header.writeUInt32LE(8 | (8 << 16), 6);
    header.fill(0, 10, 30);
    const headers = Array.from({ length: 1500 }, (_, index) => {
      const name = Buffer.from(String(index));
      const named = Buffer.from(header);
      named.writeUInt16LE(name.length, 26);
      return Buffer.concat([named.subarray(0, 30), name, named.subarray(30)]);
    });
    const { bytes, directoryStart } = buildZip([GOOD]);
    const { files, refused } = await openZip(Buffer.concat([bytes.subarray(0, directoryStart), ...headers]));
    expect(files).toHaveLength(1001);
    expect(refused).toEqual([{ place: expect.any(String), reason: NO_DIRECTORY }]);
  });

  it('read no entry that lies in the data of another one', async () => {
    const inner = buildZip([{ name: 'inner', content: 'x'.repeat(500) }]);
    const stored = inner.bytes.subarray(0, inner.directoryStart);
    const { bytes, directoryStart } = buildZip([{ name: 'outer', content: stored, method: 0 }, GOOD]);
    const central = Buffer.from(inner.bytes.subarray(inner.directoryStart, -22));
    central.writeUInt32LE(30 + 'outer'.length, 42);
    const zip = withDirectory(bytes.subarray(0, directoryStart), [bytes.subarray(directoryStart, -22), central]);
    expect(Object.keys((await readZip(zip)).texts)).toEqual(['good.md', 'outer']);
  });

  it('keep memory bounded: 100 MB of zeros come in small chunks while the reader waits', async () => {
    const source = await openZip(buildZip([{ name: 'zeros', content: Buffer.alloc(100 * 1024 * 1024) }]).bytes, {
      maxRatio: 2000,
    });
    let sizeBytes = 0;
    let maxChunkBytes = 0;
    for await (const chunk of source.files[0]?.open() ?? []) {
      sizeBytes += chunk.length;
      maxChunkBytes = Math.max(maxChunkBytes, chunk.length);
      if (sizeBytes % (64 * 1024 * 1024) === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    }
    expect(sizeBytes).toBe(100 * 1024 * 1024);
    expect(maxChunkBytes).toBeLessThanOrEqual(64 * 1024);
  });
});

describe('a damaged zip', () => {
  const contents: Record<string, string> = {
    'a.md': 'Ada grows beans. '.repeat(20),
    'b/b.jsonl': Array.from({ length: 40 }, (_, number) => `{"n":${number * 7919}}`).join('\n'),
    'c.md': 'stored text',
    'd.md': 'Mara reads. '.repeat(15),
  };
  const built = buildZip([
    { name: 'a.md', content: contents['a.md'] ?? '' },
    { name: 'b/b.jsonl', content: contents['b/b.jsonl'] ?? '', hasDescriptor: true },
    { name: 'c.md', content: contents['c.md'] ?? '', method: 0 },
    { name: 'd.md', content: contents['d.md'] ?? '', hasDescriptor: true, hasDescriptorSignature: false },
  ]);

  it('returns each complete entry, and the beginning and a fault of the last one, wherever it is cut', async () => {
    const names = Object.keys(contents);
    for (let length = 4; length < built.bytes.length; length += 10) {
      const texts = await readOrRefuse(built.bytes.subarray(0, length));
      const wholeNames = names.filter((_, index) => (built.ends[index] ?? 0) <= length);
      for (const name of wholeNames) expect([length, texts[name]]).toEqual([length, contents[name]]);
      for (const name of Object.keys(texts).filter((name) => !wholeNames.includes(name))) {
        const [, beginning = '?', fault] = /^([\s\S]*)\[(.*)\]$/.exec(texts[name] ?? '') ?? [];
        expect(fault, `${name} at ${length}`).toMatch(/^it|^the zip ends/);
        expect(contents[name]?.startsWith(beginning), `${name} at ${length}`).toBe(true);
      }
    }
  });

  it('returns its other entries, wherever one byte is damaged', async () => {
    for (let position = 4; position < built.bytes.length; position += 7) {
      const bytes = Buffer.from(built.bytes);
      bytes.writeUInt8((bytes.readUInt8(position) + 129) % 256, position);
      const texts = Object.values(await readOrRefuse(bytes));
      const intact = Object.values(contents).filter((content) => texts.includes(content));
      expect(intact.length, `at ${position}`).toBeGreaterThanOrEqual(3);
    }
  });

  it('throws nothing but a refusal if its bytes are random', async () => {
    let seed = 7;
    const random = () => (seed = (seed * 48_271) % 0x7fff_ffff);
    for (let run = 0; run < 200; run += 1) {
      const bytes = Buffer.from(Array.from({ length: 50 + (random() % 400) }, () => random() % 256));
      bytes.write(['PK\x03\x04', 'PK\x05\x06'][run % 2] ?? '', 'latin1');
      if (run % 3 === 0) bytes.set(buildEnd(random() % 9, random() % 300, random() % 300), bytes.length - 22);
      await readOrRefuse(bytes);
    }
  });

  it('lists itself as refused, with the reason and the fix', async () => {
    const { refused, texts } = await readZip(built.bytes.subarray(0, built.directoryStart - 20));
    expect(refused).toEqual({ [`${written}.zip`]: NO_DIRECTORY });
    expect(texts['d.md']).toMatch(/\[.+\]$/);
  });

  it('returns all files if its directory names fewer', async () => {
    const bytes = Buffer.from(built.bytes);
    bytes.writeUInt16LE(2, bytes.length - 12);
    expect((await readZip(bytes)).texts).toEqual(contents);
  });

  it('returns its files if bytes follow its end', async () => {
    expect((await readZip(Buffer.concat([built.bytes, Buffer.alloc(100)]))).texts).toEqual(contents);
  });
});

/** Reads the files of a zip. Returns no texts if the whole zip is refused, and throws any other error. */
async function readOrRefuse(bytes: Uint8Array): Promise<Record<string, string>> {
  try {
    return (await readZip(bytes)).texts;
  } catch (error) {
    if (error instanceof MemoryError && error.code === 'INVALID_REQUEST') return {};
    throw error;
  }
}

/** A zip with these headers of the directory, the first of which may be several. */
function withDirectory(data: Buffer, headers: readonly Buffer[]): Buffer {
  const directory = Buffer.concat(headers);
  const count = directory.toString('latin1').split('PK\x01\x02').length - 1;
  return Buffer.concat([data, directory, buildEnd(count, directory.length, data.length)]);
}

function hasZipProgram(): boolean {
  try {
    execFileSync('zip', ['-v'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
