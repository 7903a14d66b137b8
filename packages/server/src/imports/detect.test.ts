import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { ImportFormat } from '@memoryd/contract';
import { strToU8, zipSync } from 'fflate';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { detectFormat } from './detect.ts';
import { FORMATS } from './formats/formats.ts';
import { openSource } from './source/open-source.ts';
import { readTexts, writeFiles } from './source/source.fixture.ts';
import { type Source, type SourceFile, UnreadableFile } from './source/source.ts';

const CHATS = JSON.stringify([
  { conversation_id: 'c1', title: 'Beans', create_time: 1, current_node: 'm', mapping: {} },
]);
const TRANSCRIPT = `${JSON.stringify({ type: 'summary', summary: 'Beans', leafUuid: 'm1' })}\n`;
const NOTE = '# Garden\n\nAda grows beans.\n';
const EXPORT = `{"format":"memoryd","version":1,"lines":0}\n`;

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'memoryd-detect-'));
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

async function detect(files: Readonly<Record<string, string | Uint8Array>>, from?: Parameters<typeof detectFormat>[1]) {
  writeFiles(folder, files);
  const detected = await detectFormat(await openSource(folder), from);
  const { format, otherFiles, unreadable } = detected;
  const paths = detected.files.map(({ path }) => path);
  return { format: format === 'memoryd' ? format : format.name, paths, otherFiles, unreadable };
}

const NOTHING_ELSE = { otherFiles: 0, unreadable: [] };

describe('detectFormat', () => {
  it('takes the files of the one format, and counts the others', async () => {
    const files = { 'chats.json': CHATS, 'user.json': '{"id":"ada"}', 'image.png': '\x89PNG', 'chat.html': '<html>' };
    expect(await detect(files)).toEqual({ format: 'chatgpt', paths: ['chats.json'], otherFiles: 3, unreadable: [] });
  });

  it('takes files in a zip', async () => {
    const zip = zipSync({ 'conversations-000.json': strToU8(CHATS), 'conversations-001.json': strToU8(CHATS) });
    const paths = ['conversations-000.json', 'conversations-001.json'];
    expect(await detect({ 'export.zip': zip })).toEqual({ format: 'chatgpt', paths, ...NOTHING_ELSE });
  });

  it('prefers a format with fields of its own over Markdown, CSV and JSON lines', async () => {
    const files = { 'a.jsonl': TRANSCRIPT, 'memory/notes.md': NOTE, 'table.csv': 'content,date\na,b\n' };
    expect(await detect(files)).toEqual({ format: 'claude-code', paths: ['a.jsonl'], otherFiles: 2, unreadable: [] });
  });

  it('takes the files of the requested format only', async () => {
    const files = { 'a.jsonl': TRANSCRIPT, 'memory/notes.md': NOTE };
    const expected = { format: 'markdown', paths: ['memory/notes.md'], otherFiles: 1, unreadable: [] };
    expect(await detect(files, 'markdown')).toEqual(expected);
  });

  it.each([
    ['as written', EXPORT],
    ['by a later version', '{"version": 2, "format": "memoryd", "new": true}\r\n'],
    ['with a byte order mark', `\uFEFF${EXPORT}`],
    ['as gzip', gzipSync(EXPORT)],
  ])('recognizes an export of memoryd %s', async (_, content) => {
    const expected = { format: 'memoryd', paths: ['backup'], ...NOTHING_ELSE };
    expect(await detect({ backup: content })).toEqual(expected);
    expect(await detect({ backup: content }, 'memoryd')).toEqual(expected);
  });

  it('converts texts in UTF-16 to UTF-8', async () => {
    writeFiles(folder, { 'chats.json': Buffer.from(`\uFEFF${CHATS}`, 'utf16le') });
    const detected = await detectFormat(await openSource(folder));
    expect(await readTexts(detected)).toEqual({ 'chats.json': CHATS });
  });

  it('recognizes a head that ends inside a character', async () => {
    const text = `${TRANSCRIPT}${'ä'.repeat(70_000)}`;
    expect(await detect({ a: text, b: ` ${text}` })).toMatchObject({ format: 'claude-code', paths: ['a', 'b'] });
  });

  const LONG = 'Ada grows beans. '.repeat(10_000);
  it.each<[string, unknown[]]>([
    [
      'claude-code',
      [{ message: { role: 'user', content: LONG }, type: 'user', sessionId: 's1', timestamp: '2026-03-05T10:00:00Z' }],
    ],
    ['codex', [{ payload: { instructions: LONG, id: 's1' }, type: 'session_meta', timestamp: '2026-03-05T10:00:00Z' }]],
    ['gemini-cli', [{ messages: [{ content: LONG }], sessionId: 's1', projectHash: 'h1' }]],
    ['chatgpt', [[{ title: LONG, mapping: {}, create_time: 1 }]]],
    ['claude', [[{ uuid: 'c1', summary: LONG, chat_messages: [] }]]],
    ['letta', [{ agents: [{ system: `"${LONG}\n`, tools: [{ source_code: LONG }], agent_type: 'memgpt_v2_agent' }] }]],
    ['mcp-memory', [{ observations: [LONG], name: 'Ada', entityType: 'person', type: 'entity' }]],
    ['mem0', [{ results: [{ memory: LONG, id: 'm1', hash: 'h1' }] }]],
    ['zep', [{ episodes: [{ content: LONG, uuid: 'e1', source: 'text' }] }]],
    ['jsonl', [{ content: LONG }, { content: 'Ben reads' }]],
  ])('recognizes a file whose first item is longer than 64 KiB: %s', async (format, items) => {
    const text = items.map((item) => `${JSON.stringify(item)}\n`).join('');
    const files = { a: text, b: Buffer.from(`\uFEFF${text}`, 'utf16le') };
    expect(await detect(files)).toEqual({ format, paths: ['a', 'b'], ...NOTHING_ELSE });
  });

  it('reads at most 16 MiB of a long item and 256 MiB of all, and lists the files that it does not read', async () => {
    const readBytes = new Map<string, number>();
    const createFile = (path: string, text: string): SourceFile => ({
      path,
      sizeBytes: 1e9,
      async *open() {
        yield Buffer.from(text);
        for (const chunk = Buffer.alloc(1024 * 1024, 'x'); ; yield chunk) {
          readBytes.set(path, (readBytes.get(path) ?? 0) + chunk.length);
        }
      },
    });
    const long = Array.from({ length: 18 }, (_, number) => createFile(`long ${number}`, '{"x":"'));
    const files = [createFile('a', `${TRANSCRIPT}`), ...long];
    const source: Source = { name: 'folder', contentKey: '', files, refused: [], close: async () => {} };
    const { unreadable, otherFiles } = await detectFormat(source);
    expect(unreadable.map(({ place }) => place)).toEqual(['long 16', 'long 17']);
    expect(unreadable[0]?.reason).toBe(
      'its first item is too long, as are those of files before it; import the file alone',
    );
    expect(otherFiles).toBe(16);
    expect(Math.max(...readBytes.values())).toBeLessThan(19 * 1024 * 1024);
  });

  const BROKEN_REASON = 'the file must be of the format chatgpt, as others with such a name, but is';
  it.each<[string, string | Uint8Array, string]>([
    ['binary', Buffer.from([1, 2, 3, 0, 0, 7]), 'binary'],
    ['zeros', Buffer.alloc(100_000), 'binary'],
    ['a web page', '<!doctype html><title>Sign in</title>', 'text'],
    ['JSON without its start', CHATS.slice(5), 'text'],
    ['JSON cut in its first item', CHATS.slice(0, 5), 'text'],
    ['a bracket and blanks', `[${' '.repeat(2_000_000)}`, 'text'],
  ])(
    'lists a file that has the name of a recognized one with another number and is broken: %s',
    async (_, content, kind) => {
      const files = { 'a/conversations-000.json': CHATS, 'b/Conversations-0a1.json': content, 'user.json': '"ada"' };
      const unreadable = [
        { place: 'b/Conversations-0a1.json', reason: `${BROKEN_REASON} ${kind}; get it again from its source` },
      ];
      expect(await detect(files)).toEqual({
        ...{ format: 'chatgpt', paths: ['a/conversations-000.json'], otherFiles: 1, unreadable },
      });
      expect(await detect(files, 'chatgpt')).toMatchObject({ otherFiles: 1, unreadable });
    },
  );

  it('lists a broken transcript beside another one with a UUID as its name', async () => {
    const [a, b] = ['0b1c2d3e-aaaa-4bbb-8ccc-0123456789ab', 'deadbeef-aaaa-4bbb-8ccc-abcdefabcdef'];
    const files = { [`${a}.jsonl`]: TRANSCRIPT, [`${b}.jsonl`]: Buffer.alloc(500) };
    expect((await detect(files)).unreadable).toMatchObject([{ place: `${b}.jsonl` }]);
  });

  it.each<[string, Readonly<Record<string, string>>]>([
    ['an empty file', { '1.json': CHATS, '2.json': '' }],
    ['an empty list', { '1.json': CHATS, '2.json': ' [ ]\n' }],
    ['JSON of another kind', { '1.json': CHATS, '2.json': '{"id":"ada"}' }],
    ['a name of another shape', { '1.json': CHATS, 'a.json': 'no JSON' }],
    ['a text beside notes', { README: NOTE, 'b/README': 'all rights reserved' }],
  ])('counts a file among the others, and lists no fault: %s', async (_, files) => {
    expect(await detect(files)).toMatchObject({ otherFiles: 1, unreadable: [] });
  });

  it.each<[ImportFormat, string, string]>([
    ['csv', 'a table of one column', 'content\nAda grows beans\nBen reads\n'],
    ['csv', 'a table of one column with an unusual name', 'entry\r\nAda grows beans\r\n'],
    ['markdown', 'a note without a heading', 'Ada grows beans.\nBen reads.\n'],
    ['markdown', 'a note that looks like a table', 'Milk, eggs\nBread, butter\n'],
    ['markdown', 'a note with its heading alone above the text', '# Garden\nbeans and peas\n'],
  ])('takes a file as the requested format that the content does not show: %s, %s', async (format, _, content) => {
    expect(await detect({ upload: content }, format)).toEqual({ format, paths: ['upload'], ...NOTHING_ELSE });
  });

  it.each<[ImportFormat, string, string]>([
    ['csv', 'a note', NOTE],
    ['csv', 'one line', 'Ada grows beans'],
    ['csv', 'JSON', CHATS],
    ['markdown', 'JSON', CHATS],
    ['markdown', 'a web page', '<!doctype html>\n<title>Garden</title>\n'],
    ['markdown', 'blanks', ' \n'],
    ['jsonl', 'text', 'Ada grows beans'],
  ])('refuses a file that cannot be of the requested format: %s, %s', async (format, _, content) => {
    await expect(detect({ upload: content }, format)).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
  });

  it('takes only files with a sign of the requested format if there are some', async () => {
    const files = { 'a.md': NOTE, LICENSE: 'all rights reserved' };
    expect(await detect(files, 'markdown')).toMatchObject({ paths: ['a.md'], otherFiles: 1 });
  });

  it('refuses files of several formats, and lists the formats with their numbers of files', async () => {
    await expect(detect({ 'a.json': CHATS, 'b.jsonl': TRANSCRIPT, 'c.md': NOTE })).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
      message: expect.stringMatching(
        /^from must name one format.+ chatgpt \(1 file\), claude-code \(1 file\), markdown \(1 file\); import the others/,
      ),
    });
  });

  it('refuses files of several general formats', async () => {
    await expect(detect({ 'a.csv': 'content,date\na,b\n', 'b.md': NOTE })).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
      message: expect.stringContaining('csv (1 file), markdown (1 file)'),
    });
  });

  it('says what the requested format needs and which format the files seem to have', async () => {
    await expect(detect({ 'a.json': CHATS }, 'codex')).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
      message: expect.stringMatching(
        /no file of the format codex, which needs the folder .+; its format seems to be chatgpt$/,
      ),
    });
    await expect(detect({ 'a.json': CHATS }, 'memoryd')).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
  });

  it('names all formats with their files if the content is unknown', async () => {
    const { message } = await detect({ 'a.txt': 'hello' }).catch((error) => error);
    expect(message).toContain('has no file of a known format: a.txt is text. The formats are: ');
    for (const { name, files } of FORMATS) {
      expect(message).toContain(`${name} (`);
      expect(message).toContain(`(${files})`);
    }
  });

  it.each<[string, string | Uint8Array]>([
    ['empty', ''],
    ['a PDF document', '%PDF-1.7'],
    ['an image', Buffer.from('\x89PNG\r\n', 'latin1')],
    ['an SQLite database', 'SQLite format 3\0'],
    ['a RAR archive; unpack it', 'Rar!\x1a'],
    ['a tar archive; unpack it', Buffer.from(`notes.md${'\0'.repeat(249)}ustar`)],
    ['binary', Buffer.from([1, 2, 3, 0, 0, 7])],
    ['text in UTF-16 without a byte order mark; save it as UTF-8', Buffer.from('[{"a":1}]', 'utf16le')],
  ])('says that an unknown file is %s', async (kind, content) => {
    await expect(detect({ file: content })).rejects.toMatchObject({
      message: expect.stringContaining(`file is ${kind}. The formats are:`),
    });
  });

  it('recognizes a single file whatever its name', async () => {
    expect(await detect({ 'chats.bin': CHATS })).toMatchObject({ format: 'chatgpt' });
  });

  it('reads at most 64 KiB of each file, and opens no image', async () => {
    let readBytes = 0;
    const createFile = (path: string): SourceFile => ({
      path,
      sizeBytes: 1e9,
      async *open() {
        for (const text of [TRANSCRIPT, ...Array<string>(1000).fill(' '.repeat(16_384))]) {
          readBytes += text.length;
          yield Buffer.from(text);
        }
      },
    });
    const files = [createFile('a'), ...Array.from({ length: 50 }, (_, number) => createFile(`${number}.PNG`))];
    const source: Source = { name: 'folder', contentKey: '', files, refused: [], close: async () => {} };
    expect(await detectFormat(source)).toMatchObject({ otherFiles: 50, files: [{ path: 'a' }] });
    expect(readBytes).toBeLessThan(100_000);
  });

  it('takes a file that cannot be read to its end, and lists files that cannot be recognized for that', async () => {
    const createFile = (path: string, text: string): SourceFile => ({
      path,
      sizeBytes: 100,
      async *open() {
        yield Buffer.from(text);
        throw new UnreadableFile('its compressed data ends too early');
      },
    });
    const files = [createFile('a', TRANSCRIPT), createFile('b', '')];
    const source: Source = { name: 'folder', contentKey: '', files, refused: [], close: async () => {} };
    expect(await detectFormat(source)).toMatchObject({
      files: [{ path: 'a' }],
      otherFiles: 0,
      unreadable: [{ place: 'b', reason: 'its compressed data ends too early' }],
    });
    await expect(detectFormat({ ...source, files: files.slice(1) })).rejects.toMatchObject({
      message: expect.stringContaining('b: its compressed data ends too early'),
    });
  });
});
