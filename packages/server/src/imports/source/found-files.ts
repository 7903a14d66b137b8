import { MemoryError } from '@memoryd/contract';
import type { Source, SourceFile } from './source.ts';
import type { SourceLimits } from './source-limits.ts';
import { toPlace } from './source-paths.ts';

/** Collects the files of a source within its limits. */
export class FoundFiles {
  readonly refused: Source['refused'][number][] = [];
  readonly #byPath = new Map<string, SourceFile>();
  readonly #name: string;
  readonly #maxFiles: number;
  #count = 0;

  /** @param name the name of the source in messages */
  constructor(name: string, { maxFiles }: SourceLimits) {
    this.#name = name;
    this.#maxFiles = maxFiles;
  }

  /** The files in the order of their paths. */
  get files(): SourceFile[] {
    return [...this.#byPath.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
  }

  has(path: string): boolean {
    return this.#byPath.has(path);
  }

  add(file: SourceFile): void {
    this.#byPath.set(file.path, file);
  }

  refuse(path: string, reason: string): void {
    this.refused.push({ place: toPlace(path), reason });
  }

  /** Counts files, folders and entries, also those that are not read. Throws INVALID_REQUEST if there are too many. */
  count(added = 1): void {
    this.assertRoom(added);
    this.#count += added;
  }

  /** Throws INVALID_REQUEST if `added` more files would exceed the limit. */
  assertRoom(added: number): void {
    if (this.#count + added <= this.#maxFiles) return;
    throw new MemoryError(
      'INVALID_REQUEST',
      `${this.#name} has more than ${this.#maxFiles} files and folders, the maximum of an import; ` +
        'import its folders one after the other, or unpack the zip and keep only the files with texts',
    );
  }
}
