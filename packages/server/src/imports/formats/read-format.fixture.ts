import { createCheck, ImportedText } from '@memoryd/contract';
import { expect } from 'vitest';
import type { Format, FormatOptions } from '../format.ts';
import { type SourceFile, UnreadableFile } from '../source/source.ts';

/** The parts of a file, by kind. */
export interface ReadFile {
  texts: ImportedText[];
  contents: string[];
  ids: string[];
  refused: { place: string; reason: string }[];
  leftOut: Record<string, number>;
}

export interface TestFile extends Partial<FormatOptions> {
  path?: string;
  /** The file cannot be read after its last byte, as a truncated entry of a zip. */
  isTruncated?: boolean;
}

const checkText = createCheck(ImportedText, 'a text');

/** Reads a file with a format, in chunks that split lines and characters. Each text must be valid for the contract. */
export async function readFile(
  format: Format,
  content: string | Buffer,
  { path = 'notes', isTruncated = false, ...options }: TestFile = {},
): Promise<ReadFile> {
  const bytes = Buffer.from(content);
  const file: SourceFile = {
    path,
    sizeBytes: bytes.length,
    open: () => toChunks(bytes, isTruncated),
  };
  const read: ReadFile = { texts: [], contents: [], ids: [], refused: [], leftOut: {} };
  const allOptions: FormatOptions = {
    capture: 'prompts',
    map: {},
    restToMetadata: false,
    timeZone: 'UTC',
    readsRepositories: false,
    ...options,
  };
  for await (const part of format.read(file, allOptions)) {
    if (part.kind === 'refused') read.refused.push({ place: part.place, reason: part.reason });
    else if (part.kind === 'left-out') read.leftOut[part.reason] = (read.leftOut[part.reason] ?? 0) + part.count;
    else read.texts.push(part.text);
  }
  // One call for all, since each takes 0.1 ms.
  expect(read.texts.flatMap((text) => checkText(text))).toEqual([]);
  read.contents = read.texts.map((text) => text.content);
  read.ids = read.texts.map((text) => text.external_id);
  return read;
}

async function* toChunks(bytes: Buffer, isTruncated: boolean): AsyncGenerator<Uint8Array> {
  // Prime, so that no structure of a file repeats with the chunks.
  const chunkBytes = bytes.length > 100_000 ? 65_521 : 7;
  for (let start = 0; start < bytes.length; start += chunkBytes) yield bytes.subarray(start, start + chunkBytes);
  if (isTruncated) throw new UnreadableFile('the entry is truncated');
}
