import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Part } from '../format.ts';
import { OPTIONS } from '../test-format.fixture.ts';
import { Reader } from './reader.ts';
import type { ReaderData } from './reader-messages.ts';

function startReader(content: string, data: Partial<ReaderData> = {}, memoryMb?: number): Reader {
  const folder = mkdtempSync(join(tmpdir(), 'memoryd-reader-'));
  const path = join(folder, 'memoryd-import-1');
  writeFileSync(path, content);
  const reader = new Reader({ path, name: 'export', format: OPTIONS, maxZipBytes: 1e9, ...data }, () => {}, memoryMb);
  onTestFinished(() => {
    reader.stop();
    rmSync(folder, { recursive: true });
  });
  return reader;
}

async function readAll(reader: Reader): Promise<Part[]> {
  const parts: Part[] = [];
  for await (const part of reader.read()) parts.push(part);
  return parts;
}

const getPlaces = (parts: Part[]) => parts.map((part) => ('place' in part ? part.place : part.reason));

/** JSON lines, each with a text of its number. */
const createLines = (count: number) =>
  Array.from({ length: count }, (_, i) => `${JSON.stringify({ id: `${i}`, content: `text ${i}` })}\n`).join('');

describe('Reader', () => {
  it('recognizes a file, and reads more parts than a batch has in each of two passes', async () => {
    const reader = startReader(createLines(1000));
    expect(await reader.open()).toMatchObject({ from: 'jsonl', contentKey: expect.any(String) });
    const parts = await readAll(reader);
    expect(parts.map((part) => part.kind === 'text' && part.text.content)).toEqual(
      Array.from({ length: 1000 }, (_, i) => `text ${i}`),
    );
    expect(getPlaces(await readAll(reader))).toEqual(getPlaces(parts));
  });

  it('names the file as it was given, in places and in errors', async () => {
    const reader = startReader('{"content":"x"}\n{"content":\n');
    await reader.open();
    expect(JSON.stringify(await readAll(reader))).not.toContain('memoryd-import');
    const unknown = startReader('\x00\x01', { name: 'photo.bin' });
    await expect(unknown.open()).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
      message: expect.stringMatching(/^photo\.bin(?!.*memoryd-import)/s),
    });
  });

  it('refuses a file whose reading takes more than its memory', async () => {
    const value = `{"id":"1","content":"x","deep":[${'[],'.repeat(4_000_000)}[]]}\n`;
    const reader = startReader(`${createLines(1)}${value}`, {}, 32);
    const reading = (async () => {
      await reader.open();
      return readAll(reader);
    })();
    await expect(reading).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
      message: expect.stringContaining('32 MB of memory'),
    });
    await expect(reader.open()).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
  });

  it('fails a running pass with the reason of the stop', async () => {
    const reader = startReader(createLines(5000));
    await reader.open();
    const parts = reader.read()[Symbol.asyncIterator]();
    expect((await parts.next()).value).toMatchObject({ kind: 'text' });
    const reason = new Error('the client disconnected');
    reader.stop(reason);
    await expect(
      (async () => {
        while (!(await parts.next()).done);
      })(),
    ).rejects.toBe(reason);
  });
});
