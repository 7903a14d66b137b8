import { type FileEdit, OWNED_MARK } from '../types.ts';
import { ForeignEntry, UnchangeableFile } from './failures.ts';
import { addJsonEntry, type JsonUndo, removeJsonEntry } from './json.ts';
import { addLine, type LineUndo, removeLine } from './line.ts';
import { addTomlTable, removeTomlTable, type TomlUndo } from './toml.ts';

/** How one entry of a file is undone. A file that memoryd owns is deleted. */
export type UndoRecord = JsonUndo | TomlUndo | LineUndo | { kind: 'whole' };

export interface EditedText {
  /** Undefined if the file does not exist. */
  text: string | undefined;
  undo: UndoRecord[];
  /** Sentences about entries that were left out. */
  notes: string[];
}

/**
 * Applies an edit to the text of a file.
 *
 * @param text undefined if the file does not exist
 * @throws UnchangeableFile if the text cannot be changed
 */
export function applyEdit(text: string | undefined, edit: FileEdit): EditedText {
  switch (edit.kind) {
    case 'json':
      return addAll(text, edit.entries, addJsonEntry);
    case 'toml':
      return addAll(text, [edit], (before, { table, values }) => addTomlTable(before, table, values));
    case 'line':
      return addAll(text, [edit], (before, { line }) => addLine(before, line));
    case 'whole':
      if (text !== undefined && !text.includes(OWNED_MARK)) {
        throw new UnchangeableFile('memoryd did not write it; rename or remove it');
      }
      // The program may have added text, such as memories in rules.
      if (text?.startsWith(edit.content)) return { text, undo: [], notes: [] };
      return { text: edit.content, undo: [{ kind: 'whole' }], notes: [] };
  }
}

type Add<Entry> = (text: string, entry: Entry) => { text: string; undo: UndoRecord } | undefined;

function addAll<Entry>(text: string | undefined, entries: readonly Entry[], add: Add<Entry>): EditedText {
  const result: EditedText = { text, undo: [], notes: [] };
  for (const entry of entries) {
    try {
      const added = add(result.text ?? '', entry);
      if (added === undefined) continue;
      result.text = added.text;
      result.undo.push(added.undo);
    } catch (error) {
      if (!(error instanceof ForeignEntry)) throw error;
      result.notes.push(error.message);
    }
  }
  return result;
}

/**
 * Undoes entries, the last one first.
 *
 * @returns the text; undefined if the file is to be deleted
 * @throws UnchangeableFile if the text cannot be changed
 */
export function undoEntries(text: string, undo: readonly UndoRecord[]): string | undefined {
  return undo.reduceRight<string | undefined>(
    (result, entry) => (result === undefined ? undefined : undoEntry(result, entry)),
    text,
  );
}

function undoEntry(text: string, undo: UndoRecord): string | undefined {
  switch (undo.kind) {
    case 'json':
      return removeJsonEntry(text, undo);
    case 'toml':
      return removeTomlTable(text, undo);
    case 'line':
      return removeLine(text, undo);
    case 'whole':
      // The person may have replaced the file by one of their own.
      return text.includes(OWNED_MARK) ? undefined : text;
  }
}
