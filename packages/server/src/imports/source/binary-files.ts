import { extname } from 'node:path/posix';

/** Extensions of files without texts that a format reads. Exports have thousands of them, which are not even opened. */
const BINARY_EXTENSIONS = new Set(
  (
    '7z aac ai apk avi avif bin bmp class css dat db dll dmg doc docx dylib eot epub exe flac gif heic heif htm html ico ' +
    'iso jar jpeg jpg js key m4a m4v map mkv mov mp3 mp4 mpeg mpg numbers odp ods odt oga ogg opus otf pages pdf png ppt ' +
    'pptx psd pyc rar so sqlite sqlite3 svg tar tgz tif tiff ttf wasm wav webm webp wma wmv woff woff2 xls xlsx xz zst'
  ).split(' '),
);

const TEXT_EXTENSIONS = new Set('af csv json jsonl markdown md ndjson tsv txt'.split(' '));

export function isBinaryName(path: string): boolean {
  return BINARY_EXTENSIONS.has(getExtension(path));
}

export function isTextName(path: string): boolean {
  return TEXT_EXTENSIONS.has(getExtension(path));
}

function getExtension(path: string): string {
  return extname(path).slice(1).toLowerCase();
}

/** The first bytes of kinds of files, as Latin-1, with words that complete "it is …". */
const KINDS: readonly [start: string, kind: string][] = [
  ['PK\x03\x04', 'a zip'],
  ['PK\x05\x06', 'an empty zip'],
  ['\x1f\x8b', 'a gzip file'],
  ['7z\xbc\xaf', 'a 7z archive; unpack it'],
  ['Rar!', 'a RAR archive; unpack it'],
  ['\xfd7zXZ', 'an xz file; unpack it'],
  ['\x28\xb5\x2f\xfd', 'a zstd file; unpack it'],
  ['%PDF-', 'a PDF document'],
  ['SQLite format 3', 'an SQLite database'],
  ['\x89PNG', 'an image'],
  ['\xff\xd8\xff', 'an image'],
  ['GIF8', 'an image'],
];

const TAR_MARK_AT = 257;

/** Text files have zeros further on if a machine lost power while it wrote them. */
const BINARY_BYTES = 512;

/** Returns what a file without a known format is, such as `a PDF document`; undefined for text. */
export function describeContent(head: Uint8Array): string | undefined {
  if (head.length === 0) return 'empty';
  if (hasUtf16Mark(head)) return undefined;
  const start = Buffer.from(head.subarray(0, BINARY_BYTES)).toString('latin1');
  const known = KINDS.find(([signature]) => start.startsWith(signature));
  if (known) return known[1];
  if (start.startsWith('ustar', TAR_MARK_AT)) return 'a tar archive; unpack it';
  if (!start.includes('\0')) return undefined;
  return isLikeUtf16(head) ? 'text in UTF-16 without a byte order mark; save it as UTF-8' : 'binary';
}

/** Returns whether the file begins with a byte order mark of UTF-16. */
export function hasUtf16Mark([a, b]: Uint8Array): boolean {
  return (a === 0xff && b === 0xfe) || (a === 0xfe && b === 0xff);
}

/** Returns whether each second byte of two characters is zero, as in Latin text without a byte order mark. */
function isLikeUtf16([a, b, c, d]: Uint8Array): boolean {
  return a && c ? b === 0 && d === 0 : a === 0 && c === 0 && Boolean(b && d);
}
