/** A file of a source: of the disk, of a folder, or an entry of a zip. */
export interface SourceFile {
  /** The path inside the source with `/`, such as `projects/garden/a.jsonl`; the name for a single file. */
  path: string;
  /** Size in bytes, uncompressed. */
  sizeBytes: number;
  /** Time of the last change in ms since 1970, if known. */
  modifiedAt?: number;
  /** Opens the file. May be called several times, one after the other. Throws `UnreadableFile` while reading. */
  open(): AsyncIterable<Uint8Array>;
}

/** A file that cannot be read to its end, such as a truncated entry of a zip. The bytes before it were yielded. */
export class UnreadableFile extends Error {
  override readonly name = 'UnreadableFile';
}

/** A file or folder to import. */
export interface Source {
  /** The name of the file or folder, without its path. */
  name: string;
  /** A digest of the content: the same for the same bytes, or for a folder with unchanged files. */
  contentKey: string;
  /** In the order of their paths. */
  files: readonly SourceFile[];
  /** Files and entries that are not read, with the reasons. */
  refused: readonly { place: string; reason: string }[];
  close(): Promise<void>;
}
