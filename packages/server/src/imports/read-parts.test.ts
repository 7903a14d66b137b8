import { Readable } from 'node:stream';
import { invalidRequest } from '@memoryd/contract';
import { describe, expect, it } from 'vitest';
import type { Part } from './format.ts';
import { type ReadPartsOptions, readParts } from './read-parts.ts';
import { SeenTexts } from './seen-texts.ts';
import { UnreadableFile } from './source/source.ts';
import { createFile, createFormat, createText, OPTIONS } from './test-format.fixture.ts';

const toArray = (parts: AsyncIterable<Part>): Promise<Part[]> => Readable.from(parts).toArray();

function read(
  files: Record<string, readonly (Part | Error)[]>,
  options: Partial<ReadPartsOptions> = {},
  source: Parameters<typeof readParts>[0] = { refused: [] },
) {
  const detection = {
    format: createFormat(files),
    files: Object.keys(files).map(createFile),
    otherFiles: 0,
    unreadable: [],
  };
  return toArray(readParts(source, detection, { format: OPTIONS, ...options }));
}

const getPlaces = (parts: Part[]) => parts.map((part) => ('place' in part ? part.place : part.reason));

describe('readParts', () => {
  it('names the file in places only if the source has several files', async () => {
    const part = createText({ external_id: 'a' }, 'row 1');
    expect(getPlaces(await read({ 'one.csv': [part] }))).toEqual(['row 1']);
    const other = { kind: 'refused', place: 'row 7', reason: 'broken' } as const;
    const parts = await read({ 'one.csv': [part], 'two.csv': [other] });
    expect(getPlaces(parts)).toEqual(['one.csv: row 1', 'two.csv: row 7']);
  });

  it('reports files that the source refuses and files of other kinds', async () => {
    const source = { refused: [{ place: '../out.json', reason: 'its path leads out of the folder' }] };
    const unreadable = [{ place: 'b.json', reason: 'the entry is encrypted' }];
    const detection = { format: createFormat({}), files: [], otherFiles: 3, unreadable };
    expect(await toArray(readParts(source, detection, { format: OPTIONS }))).toEqual([
      { kind: 'refused', ...source.refused[0] },
      { kind: 'refused', ...unreadable[0] },
      { kind: 'left-out', reason: 'file', count: 3 },
    ]);
  });

  it.each([
    { name: 'the same text again is a duplicate', content: 'text of a', expected: { kind: 'left-out', count: 1 } },
    { name: 'another text with the same id is refused', content: 'another', expected: { kind: 'refused' } },
    { name: 'the id of another user is another id', content: 'text of a', user_id: 'ben', expected: { kind: 'text' } },
  ])('recognizes repetitions across files: $name', async ({ expected, name: _name, ...fields }) => {
    const again = createText({ external_id: 'a', ...fields });
    const parts = await read({ 'one.json': [createText({ external_id: 'a' })], 'two.json': [again] });
    expect(parts).toMatchObject([{ kind: 'text' }, expected]);
  });

  it('assumes the time of the file for texts without a time', async () => {
    const timed = createText({ external_id: 'b', created_at: '2025-02-03T00:00:00.000Z' });
    const detection = {
      format: createFormat({ notes: [createText({ external_id: 'a' }), timed] }),
      files: [{ ...createFile('notes'), modifiedAt: Date.UTC(2024, 4, 2) }],
      otherFiles: 0,
      unreadable: [],
    };
    const [without, withTime] = await toArray(readParts({ refused: [] }, detection, { format: OPTIONS }));
    expect(without).toMatchObject({ text: { assumed_created_at: '2024-05-02T00:00:00.000Z' } });
    expect(withTime).toEqual(timed);
  });

  it('leaves out a copy of a message under another id', async () => {
    const copies = ['a', 'b', 'c'].map((id, i) => ({ ...createText({ external_id: id }), copyKey: i < 2 ? 'k' : 'l' }));
    expect(await read({ a: copies.slice(0, 1), b: copies.slice(1) })).toMatchObject([
      { text: { external_id: 'a' } },
      { kind: 'left-out', reason: 'duplicate', count: 1 },
      { text: { external_id: 'c' } },
    ]);
  });

  it('stores a copy only if no file before or after it has the original', async () => {
    const copies = ['copy of a', 'copy of b'].map((id, i) => ({
      ...createText({ external_id: id }),
      ...{ copyKey: `k${i}`, isCopy: true },
    }));
    const original = { ...createText({ external_id: 'a' }), copyKey: 'k0' };
    const parts = await read({ '1.jsonl': copies, '2.jsonl': [original] });
    expect(parts).toMatchObject([
      { text: { external_id: 'a' } },
      { kind: 'left-out', reason: 'duplicate', count: 1 },
      { text: { external_id: 'copy of b' }, place: '1.jsonl: copy of b' },
    ]);
  });

  it.each([
    { name: 'a truncated file', error: new UnreadableFile('the entry ends early'), reason: 'the entry ends early' },
    { name: 'a defect of the format', error: new TypeError('x is undefined'), reason: /unexpected error/ },
  ])('refuses the rest of a file and reads the others after $name', async ({ error, reason }) => {
    const defects: unknown[] = [];
    const files = { 'a.json': [createText({ external_id: 'a' }), error], 'b.json': [createText({ external_id: 'b' })] };
    const parts = await read(files, { onDefect: (...defect) => defects.push(defect) });
    expect(getPlaces(parts)).toEqual(['a.json: a', 'a.json', 'b.json: b']);
    expect(parts[1]).toMatchObject({ kind: 'refused', reason: expect.stringMatching(reason) });
    expect(defects).toEqual(error instanceof UnreadableFile ? [] : [[error, 'a.json']]);
  });

  it('throws an error about the options', async () => {
    const error = invalidRequest([{ path: '/map', message: 'map must name a column' }]);
    await expect(read({ 'a.csv': [error], 'b.csv': [] })).rejects.toBe(error);
  });

  it.each([
    { name: 'a content that is not well formed', fields: { content: '\ud800' }, field: 'content' },
    { name: 'too long an id', fields: { external_id: 'x'.repeat(513) }, field: 'external_id' },
    { name: 'a time that is none', fields: { created_at: 'yesterday' }, field: 'created_at' },
    { name: 'too many tags', fields: { tags: Array.from({ length: 65 }, (_, i) => `${i}`) }, field: 'tags' },
    { name: 'an unknown field', fields: { colour: 'red' }, field: 'colour' },
  ])('refuses $name and names the field', async ({ fields, field }) => {
    const parts = await read({ a: [createText({ external_id: 'a', ...fields }), createText({ external_id: 'b' })] });
    expect(parts).toMatchObject([{ kind: 'refused', reason: expect.stringContaining(field) }, { kind: 'text' }]);
  });

  it('stops with the reason of an aborted signal', async () => {
    const controller = new AbortController();
    const reason = new Error('gone');
    const parts = readParts(
      { refused: [] },
      {
        format: createFormat({ a: ['a', 'b'].map((id) => createText({ external_id: id })) }),
        files: [createFile('a')],
        otherFiles: 0,
        unreadable: [],
      },
      { format: OPTIONS, signal: controller.signal },
    )[Symbol.asyncIterator]();
    expect((await parts.next()).value).toMatchObject({ place: 'a' });
    controller.abort(reason);
    await expect(parts.next()).rejects.toBe(reason);
  });
});

describe('SeenTexts', () => {
  it('recognizes each of many ids again, and remembers at most its maximum', () => {
    const seen = new SeenTexts(5000);
    const texts = Array.from({ length: 6000 }, (_, i) => [[`id ${i}`], `text ${i}`] as const);
    expect(new Set(texts.map((text) => seen.see(...text)))).toEqual(new Set(['new']));
    expect(new Set(texts.slice(0, 5000).map((text) => seen.see(...text)))).toEqual(new Set(['same']));
    expect(new Set(texts.slice(5000).map((text) => seen.see(...text)))).toEqual(new Set(['new']));
    expect(seen.see(['id 7'], 'changed')).toBe('other');
  });
});
