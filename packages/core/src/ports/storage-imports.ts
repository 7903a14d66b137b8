import type { ImportFormat } from '@memoryd/contract';
import { MemoryError } from '@memoryd/contract/errors';
import type { Owner, OwnerFilter } from '@memoryd/search';
import type { Forgetting, ImportMark, OnForgotten, Page, PageRequest } from './storage-memories.ts';

/** An import that begins. `contentKey` names its content; an import of the same owner, format and key is continued. */
export interface NewImport extends Owner {
  id: string;
  format: ImportFormat;
  name?: string;
  contentKey?: string;
  startedAt: number;
}

/**
 * `begun`: `id` is the id of the new or the continued import. `undoing`: the undo of the import with this content has
 * begun and not ended, so it cannot be continued.
 */
export type BegunImport = { outcome: 'begun' | 'undoing'; id: string };

/** An import. `endedAt` is null while the import is in progress, and if it was interrupted. */
export interface ImportRun extends Owner {
  no: number;
  id: string;
  format: ImportFormat;
  name: string | null;
  startedAt: number;
  endedAt: number | null;
  /** Number of memories that the import created. */
  importedCount: number;
  /**
   * Number of stored memories that belong to the import: it created them, or changed them before the import that created
   * them was undone.
   */
  memoryCount: number;
}

/**
 * The name of a text: its owner and external id, and the digest of the text with its fields. `aliases`: other external
 * ids under which the text may be stored in another way than by an import.
 */
export interface TextName extends Owner, Pick<ImportMark, 'digest'> {
  externalId: string;
  aliases: readonly string[];
}

/** The row of an import, for a migration. */
export interface ImportCopy extends Omit<ImportRun, 'memoryCount'> {
  /** The digest by which the import is continued; null if it has none. */
  contentDigest: string | null;
  /** 1 once an undo has begun, otherwise 0. */
  undoing: number;
}

/** A memory that belongs to an import, for a migration. `version`: the version that the imports left. */
export interface ImportedCopy extends ImportMark {
  ordinal: number;
  memoryId: string;
  /** The id of the other import that changed the memory last; null if none did. */
  changedBy: string | null;
  version: number;
}

/**
 * The end of an undo. `kept`: memories of the import that stay, because someone, or a later import, changed them, and
 * memories of other imports that the import was the last to change.
 */
interface UndoneImport extends Forgetting {
  forgotten: number;
  kept: number;
}

/**
 * Stores imports and the memories that belong to them. `MemoryStorage.storeMany` stores the texts of an import, and
 * `ExportStorage.importRecords` the records of an export. Forgetting all memories of a user or agent deletes its
 * imports.
 */
export interface ImportStorage {
  /** Begins an import, or continues the one with the same owner, format and content key. */
  beginImport(namespace: string, begin: NewImport): Promise<BegunImport>;
  /** Records the end of an import. No effect if the import does not exist. */
  endImport(namespace: string, id: string, endedAt: number): Promise<void>;
  /**
   * Returns for each text whether a store of this text would leave the stored memory as it is. One query. False for a
   * text without a memory. An alias of a memory that an import stored does not count, because two equal texts of one
   * source may be aliases of each other.
   */
  unchangedTexts(namespace: string, texts: readonly TextName[]): Promise<boolean[]>;
  /** Returns an import; undefined if it does not exist or its owner does not match `of`. */
  importRun(namespace: string, id: string, of: OwnerFilter): Promise<ImportRun | undefined>;
  /** Returns the imports whose owner matches `of`, newest first. Page positions are numbers of imports. */
  imports(namespace: string, page: PageRequest<number>, of: OwnerFilter): Promise<Page<ImportRun, number>>;
  /**
   * Forgets in batches the memories that belong to an import and that nobody has changed since, then deletes the
   * import. A memory that another import changed last belongs to that import from then on, unless its undo has begun.
   * Memories of other imports that the import changed stay with their text, and stay with those imports. Duplicates of other origin that were merged into a forgotten memory become memories of their own, and
   * semantic memories whose text a client wrote stay. Returns undefined and changes nothing if `importRun` would return
   * undefined. If the call rejects, the memories of committed batches stay forgotten, and a repeated call continues.
   *
   * @param undo the owner that the import must match, and the time of the undo in ms
   * @param onForgotten called after each committed batch
   */
  undoImport(
    namespace: string,
    id: string,
    undo: { of: OwnerFilter; at: number },
    onForgotten?: OnForgotten,
  ): Promise<UndoneImport | undefined>;
  /** Returns the rows of at most `limit` imports after the number `after`, by number. */
  importCopies(namespace: string, after: number, limit: number): Promise<ImportCopy[]>;
  /** Returns at most `limit` memories of imports after the ordinal `after`, by ordinal. */
  importedCopies(namespace: string, after: number, limit: number): Promise<ImportedCopy[]>;
  /**
   * Stores imports and their memories of another database, by the ids of imports and memories, which must exist. No
   * effect for those that are stored already.
   */
  restoreImports(namespace: string, imports: readonly ImportCopy[], memories: readonly ImportedCopy[]): Promise<void>;
}

/** Creates the CONFLICT error for texts of an import that does not exist any more, or whose undo has begun. */
export function importUndone(): MemoryError {
  return new MemoryError('CONFLICT', 'the import was undone while it ran; repeat the whole import to store its texts');
}
