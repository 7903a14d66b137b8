import type { FileHandle } from 'node:fs/promises';
import { MemoryError } from '@memoryd/contract';
import { openRegularFile } from './file-bytes.ts';
import type { FoundFiles } from './found-files.ts';
import { type SourceFile, UnreadableFile } from './source.ts';
import type { SourceLimits, UncompressedBytes } from './source-limits.ts';
import { checkEntryName, isSkipped } from './source-paths.ts';
import { readZipDirectory } from './zip-directory.ts';
import { DEFLATED, IS_ENCRYPTED, LOCAL_HEADER_BYTES, readZipEntry, STORED, type ZipEntry } from './zip-entry.ts';
import { scanZip } from './zip-scan.ts';

/** An entry, the end of an empty zip, or the mark of a zip that was meant to have parts. */
const ZIP_STARTS = ['PK\x03\x04', 'PK\x05\x06', 'PK\x07\x08'];

/** A zip on the disk, and the paths of the zip and of its entries in the source. */
export interface ZipPlace {
  path: string;
  /** The path in the source, such as `exports/batch-1.zip`. Names the zip in messages. */
  name: string;
  /** The path in the source that its entries follow: empty, or ending with `/`. */
  prefix: string;
}

/** Returns whether a file starts as a zip does. */
export function isZip(head: Uint8Array): boolean {
  return ZIP_STARTS.includes(Buffer.from(head.subarray(0, 4)).toString('latin1'));
}

/**
 * Adds the entries of a zip to the files of a source. Nothing is written to the disk. Without a readable directory, the
 * entries that the file still has are found by their headers. Throws `UnreadableFile` if the zip cannot be read, and
 * INVALID_REQUEST if it has too many entries.
 */
export async function addZip(
  zip: ZipPlace,
  found: FoundFiles,
  limits: SourceLimits,
  uncompressed: UncompressedBytes,
): Promise<void> {
  const handle = await openRegularFile(zip.path);
  try {
    const { size } = await handle.stat();
    if (size > limits.maxZipBytes) {
      throw new UnreadableFile(
        `it exceeds ${limits.maxZipBytes} bytes, the maximum for a zip; unpack it and import the folder`,
      );
    }
    addEntries(await listEntries(handle, size, zip, found, uncompressed), zip, found, uncompressed);
  } finally {
    await handle.close();
  }
}

async function listEntries(
  handle: FileHandle,
  zipBytes: number,
  zip: ZipPlace,
  found: FoundFiles,
  uncompressed: UncompressedBytes,
): Promise<ZipEntry[]> {
  try {
    const listed: ZipEntry[] = [];
    const directory = readZipDirectory(handle, zipBytes, (count) => found.assertRoom(count));
    for await (const entry of directory) listed.push(entry);
    if (!hasOverlap(listed)) {
      found.count(listed.length);
      return listed;
    }
  } catch (error) {
    if (error instanceof MemoryError) throw error;
  }
  found.refuse(
    zip.name,
    'the list of files at the end of the zip is missing or damaged, so files may be missing; export or copy it again to have all',
  );
  const entries: ZipEntry[] = [];
  for await (const entry of scanZip(handle, zipBytes, uncompressed)) {
    found.count();
    entries.push(entry);
  }
  return entries;
}

function addEntries(
  entries: readonly ZipEntry[],
  zip: ZipPlace,
  found: FoundFiles,
  uncompressed: UncompressedBytes,
): void {
  const ownPaths = new Set<string>();
  for (const entry of entries) {
    const checked = checkEntryName(entry.name);
    if ('path' in checked && (isSkipped(checked.path) || /[\\/]$/.test(entry.name))) continue;
    const reason = 'reason' in checked ? checked.reason : getRefusal(entry, checked.path, ownPaths);
    if (reason !== undefined || !('path' in checked)) {
      found.refuse(`${zip.name}/${entry.name}`, reason ?? '');
      continue;
    }
    ownPaths.add(checked.path);
    found.add(toSourceFile(entry, placeEntry(checked.path, zip, found), zip.path, uncompressed));
  }
}

/** Another zip of the same folder may have a file of this name. */
function placeEntry(path: string, { prefix, name }: ZipPlace, found: FoundFiles): string {
  const placed = `${prefix}${path}`;
  return found.has(placed) ? `${name}/${path}` : placed;
}

function toSourceFile(entry: ZipEntry, path: string, zipPath: string, uncompressed: UncompressedBytes): SourceFile {
  return {
    path,
    sizeBytes: entry.sizeBytes,
    ...(entry.modifiedAt !== undefined && { modifiedAt: entry.modifiedAt }),
    open: () => readZipEntry(zipPath, entry, uncompressed),
  };
}

function getRefusal(entry: ZipEntry, path: string, ownPaths: ReadonlySet<string>): string | undefined {
  if (entry.isSymbolicLink) return 'it is a symbolic link';
  if (entry.flags & IS_ENCRYPTED) return 'it is encrypted; unpack the zip with its password and import the folder';
  if (entry.method !== STORED && entry.method !== DEFLATED) {
    return `memoryd does not read its compression method (${entry.method}); unpack the zip and import the folder`;
  }
  if (ownPaths.has(path)) return 'the zip has another file of this name';
  if (/\.zip$/i.test(path)) return 'it is a zip inside the zip; unpack it and import it';
  return undefined;
}

/**
 * Returns whether entries share bytes of the zip. A directory with such entries is damaged, or made to do harm: with
 * shared bytes, a small zip can claim any size. The headers of the entries then tell what the zip has, each byte once.
 */
function hasOverlap(entries: readonly ZipEntry[]): boolean {
  let end = 0;
  for (const { offset, compressedBytes } of entries.toSorted((a, b) => a.offset - b.offset)) {
    if (offset < end) return true;
    end = offset + LOCAL_HEADER_BYTES + compressedBytes;
  }
  return false;
}
