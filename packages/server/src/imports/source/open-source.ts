import { createHash } from 'node:crypto';
import type { Stats } from 'node:fs';
import { lstat, opendir, stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { MemoryError } from '@memoryd/contract';
import { isBinaryName, isTextName } from './binary-files.ts';
import { openRegularFile, readFileBytes, readRange } from './file-bytes.ts';
import { FoundFiles } from './found-files.ts';
import { isGzip, readGzip } from './gzip.ts';
import { type Source, type SourceFile, UnreadableFile } from './source.ts';
import { DEFAULT_SOURCE_LIMITS, type SourceLimits, UncompressedBytes } from './source-limits.ts';
import { isSkipped } from './source-paths.ts';
import { addZip, isZip, type ZipPlace } from './zip.ts';

const START_BYTES = 4;

/**
 * Opens a file, a folder with the folders in it, a zip, or a folder with zips. A zip is recognized by its content.
 * Hidden folders are skipped, symbolic links are not followed, and special files such as a FIFO are refused.
 *
 * Throws INVALID_REQUEST if the path is missing, forbidden or special, if nothing in it can be read, or if it has too
 * many files; UNAVAILABLE if the disk fails.
 */
export async function openSource(path: string, limits: Partial<SourceLimits> = {}): Promise<Source> {
  const absolute = resolve(path);
  const opening = new Opening(path, { ...DEFAULT_SOURCE_LIMITS, ...limits });
  const stats = await getStats(path, absolute);
  const contentKey = stats.isDirectory() ? await opening.addRoot(absolute) : await opening.addOnlyFile(absolute, stats);
  const { files, refused } = opening.found;
  if (files.length === 0) throw nothingToRead(path, stats, refused);
  return { name: basename(absolute) || absolute, contentKey, files, refused, close: async () => {} };
}

async function getStats(path: string, absolute: string): Promise<Stats> {
  let stats: Stats;
  try {
    stats = await stat(absolute);
  } catch (error) {
    throw toMemoryError(path, error);
  }
  if (stats.isFile() || stats.isDirectory()) return stats;
  throw new MemoryError('INVALID_REQUEST', `${path} is neither a file nor a folder; save its content as a file first`);
}

function toMemoryError(path: string, error: unknown): MemoryError {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT' || code === 'ENOTDIR') {
    return new MemoryError('INVALID_REQUEST', `${path} does not exist; check the path of the file or folder`);
  }
  if (code === 'EACCES' || code === 'EPERM') {
    return new MemoryError('INVALID_REQUEST', `memoryd has no permission to read ${path}; allow it to read the path`);
  }
  return new MemoryError('UNAVAILABLE', `${path} cannot be read now: ${message}; try again`, { cause: error });
}

function nothingToRead(path: string, stats: Stats, refused: Source['refused']): MemoryError {
  const [first] = refused;
  const kind = stats.isDirectory() ? 'folder' : 'zip';
  const why = first ? ` (${first.place}: ${first.reason})` : '';
  return new MemoryError(
    'INVALID_REQUEST',
    `${path} is a ${kind} without a file that memoryd can read${why}; give the file or folder that the other program exported`,
  );
}

/** One call of `openSource`. */
class Opening {
  readonly found: FoundFiles;
  readonly #path: string;
  readonly #limits: SourceLimits;
  readonly #uncompressed: UncompressedBytes;
  /** Zips are read last, so that the files beside them keep their paths. */
  readonly #zips: ZipPlace[] = [];
  /** Digest of the paths, sizes and times of a folder's files. */
  readonly #folderKey = createHash('sha256');

  constructor(path: string, limits: SourceLimits) {
    this.#path = path;
    this.#limits = limits;
    this.#uncompressed = new UncompressedBytes(limits);
    this.found = new FoundFiles(path, limits);
  }

  /** Adds a single file. Returns the digest of its bytes. */
  async addOnlyFile(path: string, stats: Stats): Promise<string> {
    const hash = createHash('sha256');
    try {
      this.#addFile(path, '', basename(path), stats, await readStart(path));
      for (const zip of this.#zips) await this.#addZip(zip);
      for await (const chunk of readFileBytes(path)) hash.update(chunk);
    } catch (error) {
      if (!(error instanceof UnreadableFile)) throw error;
      throw new MemoryError('INVALID_REQUEST', `${this.#path} cannot be imported: ${error.message}`, { cause: error });
    }
    return hash.digest('hex');
  }

  /** Adds a folder and the folders in it. Returns the digest of the paths, sizes and times of its files. */
  async addRoot(path: string): Promise<string> {
    await this.#addFolder(path, '', 1);
    for (const zip of this.#zips) {
      try {
        await this.#addZip(zip);
      } catch (error) {
        this.#refuseUnreadable(zip.name, error);
      }
    }
    return this.#folderKey.digest('hex');
  }

  /** @param prefix the path in the source: empty, or ending with `/` */
  async #addFolder(folder: string, prefix: string, depth: number): Promise<void> {
    for (const name of await this.#listNames(folder, prefix)) {
      const path = join(folder, name);
      const place = `${prefix}${name}`;
      try {
        const stats = await lstat(path);
        if (stats.isDirectory()) await this.#addSubfolder(path, place, depth);
        else if (stats.isFile()) await this.#addFileOfFolder(path, prefix, name, stats);
        else this.found.refuse(place, stats.isSymbolicLink() ? 'it is a symbolic link' : 'it is no regular file');
      } catch (error) {
        this.#refuseUnreadable(place, error);
      }
    }
  }

  async #addSubfolder(path: string, place: string, depth: number): Promise<void> {
    if (depth < this.#limits.maxDepth) return this.#addFolder(path, `${place}/`, depth + 1);
    this.found.refuse(place, `it lies deeper than ${this.#limits.maxDepth} folders, the maximum`);
  }

  /** Lists a folder name by name, because the limit has to hold before all names are in memory. */
  async #listNames(folder: string, prefix: string): Promise<string[]> {
    const names: string[] = [];
    try {
      for await (const { name } of await opendir(folder)) {
        if (isSkipped(`${prefix}${name}`)) continue;
        this.found.count();
        names.push(name);
      }
    } catch (error) {
      this.#refuseUnreadable(prefix || this.#path, error);
    }
    return names.sort();
  }

  async #addFileOfFolder(path: string, prefix: string, name: string, stats: Stats): Promise<void> {
    this.#folderKey.update(`${JSON.stringify([prefix + name, stats.size, stats.mtimeMs])}\n`);
    this.#addFile(path, prefix, name, stats, mayBeCompressed(name) ? await readStart(path) : new Uint8Array());
  }

  /** @param start the first bytes, if the file may be compressed */
  #addFile(path: string, prefix: string, name: string, stats: Stats, start: Uint8Array): void {
    const place = `${prefix}${name}`;
    if (isZip(start)) {
      this.#zips.push({ path, name: place, prefix });
      return;
    }
    const file = { path: place, sizeBytes: stats.size, modifiedAt: stats.mtimeMs };
    this.found.add(isGzip(start) ? this.#unpack(path, file) : { ...file, open: () => readFileBytes(path) });
  }

  /** The size of a gzip file's content is unknown. `sizeBytes` is the compressed size. */
  #unpack(path: string, file: Omit<SourceFile, 'open'>): SourceFile {
    const unpacked = file.path.replace(/\.gz$/i, '');
    return {
      ...file,
      path: this.found.has(unpacked) ? file.path : unpacked,
      open: () => readGzip(path, file, this.#uncompressed),
    };
  }

  #addZip(zip: ZipPlace): Promise<void> {
    return addZip(zip, this.found, this.#limits, this.#uncompressed);
  }

  #refuseUnreadable(place: string, error: unknown): void {
    if (error instanceof UnreadableFile) this.found.refuse(place, error.message);
    else if (error instanceof MemoryError) throw error;
    else if ((error as NodeJS.ErrnoException).code === undefined) throw error;
    else this.found.refuse(place, toMemoryError('it', error).message);
  }
}

/** Judges files of a folder by their names, because opening each one would take long. */
function mayBeCompressed(name: string): boolean {
  return !isTextName(name) && !isBinaryName(name);
}

async function readStart(path: string): Promise<Uint8Array> {
  const handle = await openRegularFile(path);
  try {
    for await (const chunk of readRange(handle, 0, START_BYTES)) return chunk;
    return new Uint8Array();
  } finally {
    await handle.close();
  }
}
