import { basename } from 'node:path/posix';
import { formatCount, type ImportFormat, MemoryError } from '@memoryd/contract';
import type { Format } from './format.ts';
import { FORMATS, GENERAL_FORMATS } from './formats/formats.ts';
import { decodeHead, type Head, LONG_HEAD_BYTES, readHead, readLongHead } from './heads.ts';
import { readHeadItems } from './parsing/json-head.ts';
import { toUtf8 } from './parsing/to-utf8.ts';
import { describeContent, hasUtf16Mark, isBinaryName } from './source/binary-files.ts';
import type { Source, SourceFile } from './source/source.ts';
import { toPlace } from './source/source-paths.ts';

/** Bytes that are read as long heads in one source. */
const ALL_LONG_HEADS_BYTES = 256 * 1024 * 1024;
const MAX_NAMED_FILES = 3;
const TEXT = 'text';
/** Formats whose files may begin with any text. */
const TEXT_FORMATS: ReadonlySet<ImportFormat> = new Set(['markdown', 'csv']);
const JSON_START = /^\s*[[{]/;

/** The fields of a format that `detectFormat` needs. */
type Detectable = Pick<Format, 'title' | 'files' | 'recognizes' | 'accepts'> & { name: ImportFormat };

/** The files of a source that are of one format. */
export interface DetectedFormat {
  /** `memoryd` for exports of memoryd itself, which `importMemories` reads. */
  format: Format | 'memoryd';
  /** In the order of the source. Files in UTF-16 with a byte order mark give UTF-8. */
  files: SourceFile[];
  /** Number of files that are not of the format. */
  otherFiles: number;
  /** Files that cannot be read, or are broken to judge by the names of the others, with the reasons. */
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
 * Finds the format of a source by the beginnings of its files: by 64 KiB of each, and by up to 16 MiB of JSON files
 * that these do not show, together at most 256 MiB. With `from`, selects the files of this format. Without `from`, ignores Markdown, CSV and JSON lines if another format is found.
 *
 * Throws INVALID_REQUEST if no file is of a known format, or of the format `from`, and if several formats are found.
 */
export async function detectFormat(
  source: Source,
  from?: ImportFormat,
  formats: readonly Format[] = FORMATS,
): Promise<DetectedFormat> {
  const all: readonly Detectable[] = [MEMORYD, ...formats];
  const sorted = from ? await sortByRequest(source, from, all) : await sortFiles(source, all);
  const [chosen, ...others] = chooseFormats(sorted);
  if (!chosen) throw from ? await notOfFormat(source, from, all, sorted) : unknownFormat(source, all, sorted);
  if (others.length > 0) throw severalFormats(source, sorted);
  const files = sorted.byFormat.get(chosen) ?? [];
  const unreadable = [...sorted.unreadable, ...listBroken(chosen, files, sorted)];
  const format = formats.find(({ name }) => name === chosen.name) ?? 'memoryd';
  return { format, files, otherFiles: source.files.length - files.length - unreadable.length, unreadable };
}

interface SortedFiles {
  byFormat: Map<Detectable, SourceFile[]>;
  unreadable: DetectedFormat['unreadable'];
  /** The first files without a known format, each with its kind. */
  unknown: string[];
  /** Files without a known format that are neither empty nor JSON, each with its kind. */
  suspects: { path: string; kind: string }[];
  /** Bytes that may still be read as long heads. */
  longHeadBytes: number;
}

/** Selects the files of the requested format. If it recognizes none, selects the files that may be of it. */
async function sortByRequest(source: Source, from: ImportFormat, all: readonly Detectable[]): Promise<SortedFiles> {
  const requested = all.filter(({ name }) => name === from);
  const sorted = await sortFiles(source, requested);
  if (sorted.byFormat.size > 0) return sorted;
  const accepting = requested.flatMap(({ accepts, ...format }) => (accepts ? { ...format, recognizes: accepts } : []));
  return accepting.length > 0 ? await sortFiles(source, accepting) : sorted;
}

async function sortFiles(source: Source, formats: readonly Detectable[]): Promise<SortedFiles> {
  const sorted: SortedFiles = {
    ...{ byFormat: new Map(), unreadable: [], unknown: [], suspects: [] },
    longHeadBytes: ALL_LONG_HEADS_BYTES,
  };
  for (const file of source.files) {
    const isSkipped = source.files.length > 1 && isBinaryName(file.path);
    if (isSkipped) noteUnknown(sorted, `${toPlace(file.path)} is skipped for its name`);
    else await sortFile(file, await readHead(file), formats, sorted);
  }
  return sorted;
}

async function sortFile(
  file: SourceFile,
  head: Head,
  formats: readonly Detectable[],
  sorted: SortedFiles,
): Promise<void> {
  const kind = describeContent(head.bytes);
  const { format, fault, isJson } = kind
    ? { fault: head.fault, isJson: false }
    : await findFormat(file, head, formats, sorted);
  if (format) {
    const files = sorted.byFormat.get(format);
    const readable = hasUtf16Mark(head.bytes) ? { ...file, open: () => toUtf8(file.open()) } : file;
    if (files) files.push(readable);
    else sorted.byFormat.set(format, [readable]);
  } else if (fault !== undefined) sorted.unreadable.push({ place: toPlace(file.path), reason: fault });
  else {
    noteUnknown(sorted, `${toPlace(file.path)} is ${kind ?? TEXT}`);
    if (!isJson && head.bytes.length > 0) sorted.suspects.push({ path: file.path, kind: kind ?? TEXT });
  }
}

function noteUnknown({ unknown }: SortedFiles, file: string): void {
  if (unknown.length < MAX_NAMED_FILES) unknown.push(file);
}

interface FoundFormat {
  format?: Detectable | undefined;
  /** Why the file cannot be read further. */
  fault?: string | undefined;
  /** True if the file begins with complete JSON. */
  isJson: boolean;
}

/** Finds the format that recognizes the head of a file, or the long head. */
async function findFormat(
  file: SourceFile,
  head: Head,
  formats: readonly Detectable[],
  sorted: SortedFiles,
): Promise<FoundFormat> {
  const { path } = file;
  const { isWhole } = head;
  const text = await decodeHead(head);
  const format = sortForText(text, formats).find(({ recognizes }) => recognizes({ path, text, isWhole }));
  const isLong = !isWhole && head.fault === undefined && JSON_START.test(text);
  if (format || !isLong) return { format, fault: head.fault, isJson: isJson(text) };
  if (sorted.longHeadBytes <= 0) {
    const fault = 'its first item is too long, as are those of files before it; import the file alone';
    return { fault, isJson: true };
  }
  const { readBytes, ...long } = await readLongHead(file, Math.min(sorted.longHeadBytes, LONG_HEAD_BYTES));
  sorted.longHeadBytes -= readBytes;
  const longHead = { path, text: await decodeHead(long), isWhole: long.isWhole };
  const found = formats.find(({ recognizes }) => recognizes(longHead));
  return { format: found, fault: long.fault, isJson: isJson(longHead.text) };
}

/** Returns whether a text begins with a complete object or empty list of JSON, or is such a document. */
function isJson(text: string): boolean {
  return /^\s*\[\s*\]/.test(text) || readHeadItems(text).length > 0;
}

/**
 * Lists the files that are no other kind but broken: their names differ from names of recognized files only in digits.
 */
function listBroken(
  { name }: Detectable,
  files: readonly SourceFile[],
  { suspects }: SortedFiles,
): DetectedFormat['unreadable'] {
  const shapes = new Set(files.map(({ path }) => toNameShape(path)));
  // Texts without a sign of Markdown or CSV are not broken.
  const broken = suspects.filter(
    ({ path, kind }) => shapes.has(toNameShape(path)) && (kind !== TEXT || !TEXT_FORMATS.has(name)),
  );
  return broken.map(({ path, kind }) => ({
    place: toPlace(path),
    reason: `the file must be of the format ${name}, as others with such a name, but is ${kind}; get it again from its source`,
  }));
}

/** Returns the name of a file with one mark for each UUID and number, also a hexadecimal one. */
function toNameShape(path: string): string {
  return basename(path)
    .toLowerCase()
    .replace(/[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/g, '0')
    .replace(/[\da-f]*\d[\da-f]*/g, '0');
}

/** Notes and tables may quote JSON. For a text that does not begin as JSON, Markdown and CSV are tried first. */
function sortForText(text: string, formats: readonly Detectable[]): readonly Detectable[] {
  if (JSON_START.test(text)) return formats;
  return formats.toSorted((a, b) => Number(GENERAL_FORMATS.has(b.name)) - Number(GENERAL_FORMATS.has(a.name)));
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
