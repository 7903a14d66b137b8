import { formatCount, type ImportFormat, MemoryError } from '@memoryd/contract';
import type { Format } from './format.ts';
import { FORMATS, GENERAL_FORMATS } from './formats/formats.ts';
import { toUtf8 } from './parsing/to-utf8.ts';
import { describeContent, hasUtf16Mark, isBinaryName } from './source/binary-files.ts';
import { type Source, type SourceFile, UnreadableFile } from './source/source.ts';
import { toPlace } from './source/source-paths.ts';

const HEAD_BYTES = 64 * 1024;
const MAX_NAMED_FILES = 3;

/** The fields of a format that `detectFormat` needs. */
type Detectable = Pick<Format, 'title' | 'files' | 'recognizes'> & { name: ImportFormat };

/** The files of a source that are of one format. */
export interface DetectedFormat {
  /** `memoryd` for exports of memoryd itself, which `importMemories` reads. */
  format: Format | 'memoryd';
  /** In the order of the source. Files in UTF-16 with a byte order mark give UTF-8. */
  files: SourceFile[];
  /** Number of files that are not of the format. */
  otherFiles: number;
  /** Files whose beginnings cannot be read, with the reasons. */
  unreadable: { place: string; reason: string }[];
}

/** The export of memoryd itself, which the service reads without a `Format`. */
const MEMORYD: Detectable = {
  name: 'memoryd',
  title: 'memoryd export',
  files: 'the file that memoryd export wrote',
  recognizes: ({ text }) => {
    const [line = ''] = text.split('\n', 1);
    return /^\s*\{/.test(line) && getJsonField(line, 'format') === 'memoryd';
  },
};

function getJsonField(json: string, field: string): unknown {
  try {
    return (JSON.parse(json) as Record<string, unknown>)[field];
  } catch {
    return undefined;
  }
}

/**
 * Finds the format of a source by the beginnings of its files, in at most 64 KiB of each. With `from`, selects the
 * files of this format. Without `from`, ignores Markdown, CSV and JSON lines if another format is found.
 *
 * Throws INVALID_REQUEST if no file is of a known format, or of the format `from`, and if several formats are found.
 */
export async function detectFormat(
  source: Source,
  from?: ImportFormat,
  formats: readonly Format[] = FORMATS,
): Promise<DetectedFormat> {
  const all: readonly Detectable[] = [MEMORYD, ...formats];
  const sorted = await sortFiles(source, from ? all.filter(({ name }) => name === from) : all);
  const [chosen, ...others] = chooseFormats(sorted);
  if (!chosen) throw from ? await notOfFormat(source, from, all, sorted) : unknownFormat(source, all, sorted);
  if (others.length > 0) throw severalFormats(source, sorted);
  const { unreadable } = sorted;
  const files = sorted.byFormat.get(chosen) ?? [];
  const format = formats.find(({ name }) => name === chosen.name) ?? 'memoryd';
  return { format, files, otherFiles: source.files.length - files.length - unreadable.length, unreadable };
}

interface SortedFiles {
  byFormat: Map<Detectable, SourceFile[]>;
  unreadable: DetectedFormat['unreadable'];
  /** The first files without a known format, each with its kind. */
  unknown: string[];
}

async function sortFiles(source: Source, formats: readonly Detectable[]): Promise<SortedFiles> {
  const sorted: SortedFiles = { byFormat: new Map(), unreadable: [], unknown: [] };
  for (const file of source.files) {
    const isSkipped = source.files.length > 1 && isBinaryName(file.path);
    if (isSkipped) noteUnknown(sorted, `${toPlace(file.path)} is skipped for its name`);
    else await sortFile(file, await readHead(file), formats, sorted);
  }
  return sorted;
}

interface Head {
  bytes: Buffer;
  isWhole: boolean;
  /** Why the file could not be read further. */
  fault?: string;
}

async function sortFile(
  file: SourceFile,
  head: Head,
  formats: readonly Detectable[],
  sorted: SortedFiles,
): Promise<void> {
  const kind = describeContent(head.bytes);
  const format = kind ? undefined : await findFormat(file, head, formats);
  if (format) {
    const files = sorted.byFormat.get(format);
    const readable = hasUtf16Mark(head.bytes) ? { ...file, open: () => toUtf8(file.open()) } : file;
    if (files) files.push(readable);
    else sorted.byFormat.set(format, [readable]);
  } else if (head.fault !== undefined) sorted.unreadable.push({ place: toPlace(file.path), reason: head.fault });
  else noteUnknown(sorted, `${toPlace(file.path)} is ${kind ?? 'text'}`);
}

function noteUnknown({ unknown }: SortedFiles, file: string): void {
  if (unknown.length < MAX_NAMED_FILES) unknown.push(file);
}

async function findFormat(
  { path }: SourceFile,
  { bytes, isWhole }: Head,
  formats: readonly Detectable[],
): Promise<Detectable | undefined> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of toUtf8(yieldOnce(bytes))) text += decoder.decode(chunk, { stream: true });
  // A character that the end of the head cuts is left out.
  if (isWhole) text += decoder.decode();
  return sortForText(text, formats).find((format) => format.recognizes({ path, text, isWhole }));
}

/** Notes and tables may quote JSON. For a text that does not begin as JSON, Markdown and CSV are tried first. */
function sortForText(text: string, formats: readonly Detectable[]): readonly Detectable[] {
  if (/^\s*[[{]/.test(text)) return formats;
  return formats.toSorted((a, b) => Number(GENERAL_FORMATS.has(b.name)) - Number(GENERAL_FORMATS.has(a.name)));
}

async function* yieldOnce(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

async function readHead(file: SourceFile): Promise<Head> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  let fault: string | undefined;
  try {
    for await (const chunk of file.open()) {
      chunks.push(chunk);
      length += chunk.length;
      if (length > HEAD_BYTES) break;
    }
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error;
    fault = error.message;
  }
  const bytes = Buffer.concat(chunks).subarray(0, HEAD_BYTES);
  if (fault !== undefined) return { bytes, isWhole: false, fault };
  return { bytes, isWhole: length <= HEAD_BYTES };
}

/** Returns the formats found, without general formats if there are others. */
function chooseFormats({ byFormat }: SortedFiles): Detectable[] {
  const found = [...byFormat.keys()];
  const specific = found.filter(({ name }) => !GENERAL_FORMATS.has(name));
  return specific.length > 0 ? specific : found;
}

function severalFormats(source: Source, { byFormat }: SortedFiles): MemoryError {
  const found = [...byFormat].map(([{ name }, files]) => `${name} (${formatCount(files.length, 'file')})`);
  return new MemoryError(
    'INVALID_REQUEST',
    `from must name one format, because ${source.name} has files of several: ${found.join(', ')}; import the others after it`,
  );
}

async function notOfFormat(
  source: Source,
  from: ImportFormat,
  all: readonly Detectable[],
  { unreadable }: SortedFiles,
): Promise<MemoryError> {
  const requested = all.find(({ name }) => name === from);
  const sorted = await sortFiles(source, all);
  const [seems] = chooseFormats(sorted);
  const kind = seems ? `its format seems to be ${seems.name}` : describeUnknown(source, { ...sorted, unreadable });
  return new MemoryError(
    'INVALID_REQUEST',
    `${source.name} has no file of the format ${from}, which needs ${requested?.files ?? 'another file'}; ${kind}`,
  );
}

function unknownFormat(source: Source, all: readonly Detectable[], sorted: SortedFiles): MemoryError {
  const known = all.map(({ name, files }) => `${name} (${files})`);
  return new MemoryError(
    'INVALID_REQUEST',
    `${source.name} has no file of a known format: ${describeUnknown(source, sorted)}. The formats are: ${known.join('; ')}`,
  );
}

function describeUnknown({ files }: Source, { unknown, unreadable }: SortedFiles): string {
  const named = [...unreadable.map(({ place, reason }) => `${place}: ${reason}`), ...unknown].slice(0, MAX_NAMED_FILES);
  const more = files.length - named.length;
  return `${named.join(', ')}${more > 0 ? `, and ${formatCount(more, 'other file')}` : ''}`;
}
