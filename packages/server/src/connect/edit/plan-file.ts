import { createHash } from 'node:crypto';
import type { FileOwner, FileRecord } from '../record.ts';
import type { FileEdit, ProgramName } from '../types.ts';
import { applyEdit, undoEntries } from './edit.ts';
import { UnchangeableFile } from './failures.ts';

/** The entries that a connection is to have in a file. */
export interface WantedEntries {
  program: ProgramName;
  project?: string;
  edits: readonly FileEdit[];
}

export interface FilePlan {
  /** The bytes of the file now; undefined if it does not exist. */
  before: Buffer | undefined;
  /** The bytes to write; undefined to delete the file. */
  after: Buffer | undefined;
  /** The bytes without any entries, which the last `--remove` leaves. */
  original: Buffer | undefined;
  /** The owners to record; empty if nothing of memoryd is left in the file. */
  owners: FileOwner[];
  /** Sentences about entries that were left out. */
  notes: string[];
}

const BYTE_ORDER_MARK = '\uFEFF';
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Plans the change of a file, so that it has exactly the wanted entries of memoryd. If nobody has changed the file since
 * the last connect, its original bytes are the base, else the file without the recorded entries.
 *
 * @param before the bytes of the file; undefined if it does not exist
 * @param record of the last connect; undefined if the file has no entries
 * @param backup the original bytes of the record; undefined if the file did not exist
 * @throws UnchangeableFile if the file cannot be changed
 */
export function planFile(
  before: Buffer | undefined,
  record: FileRecord | undefined,
  backup: Buffer | undefined,
  wanted: readonly WantedEntries[],
): FilePlan {
  if (record && before && isPresent(before, record, wanted)) {
    return { before, after: before, original: backup, owners: record.owners, notes: [] };
  }
  const original = getOriginal(before, record, backup);
  const owners: FileOwner[] = [];
  const notes: string[] = [];
  let text = original && decode(original);
  for (const { program, project, edits } of wanted) {
    const owner: FileOwner = { program, ...(project !== undefined && { project }), entries: toDigest(edits), undo: [] };
    for (const edit of edits) {
      const applied = applyEdit(text, edit);
      text = applied.text;
      owner.undo.push(...applied.undo);
      notes.push(...applied.notes);
    }
    owners.push(owner);
  }
  if (owners.every(({ undo }) => undo.length === 0)) return { before, after: original, original, owners: [], notes };
  return { before, after: encode(text, original), original, owners, notes };
}

/** Returns the digest of bytes, as records have it. */
export function getDigest(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** Returns whether the file has all wanted entries and no others, wherever a program or the person has moved them. */
function isPresent(before: Buffer, { owners }: FileRecord, wanted: readonly WantedEntries[]): boolean {
  const isRecorded = (entries: WantedEntries) =>
    owners.some((owner) => {
      return (
        owner.program === entries.program &&
        owner.project === entries.project &&
        owner.entries === toDigest(entries.edits)
      );
    });
  if (owners.length !== wanted.length || !wanted.every(isRecorded)) return false;
  const text = decode(before);
  return wanted.every(({ edits }) => {
    return edits.every((edit) => {
      const { undo, notes } = applyEdit(text, edit);
      return undo.length === 0 && notes.length === 0;
    });
  });
}

/** Returns the bytes of the file without recorded entries; undefined if connect has made the file. */
function getOriginal(
  before: Buffer | undefined,
  record: FileRecord | undefined,
  backup: Buffer | undefined,
): Buffer | undefined {
  if (before === undefined || record === undefined) return before;
  const hasOriginal = record.backup === undefined || backup !== undefined;
  if (hasOriginal && getDigest(before) === record.written) return backup;
  const undo = record.owners.flatMap((owner) => owner.undo);
  const text = undoEntries(decode(before), undo);
  const isOwn = record.backup === undefined && text?.trim() === '';
  return text === undefined || isOwn ? undefined : encode(text, before);
}

function toDigest(edits: readonly FileEdit[]): string {
  return getDigest(Buffer.from(JSON.stringify(edits)));
}

function decode(bytes: Buffer): string {
  try {
    const text = decoder.decode(bytes);
    return text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text;
  } catch {
    throw new UnchangeableFile('it is not UTF-8');
  }
}

/** Encodes a text, with a byte order mark if the earlier bytes have one. */
function encode(text: string | undefined, earlier: Buffer | undefined): Buffer | undefined {
  if (text === undefined) return undefined;
  const hasMark = earlier?.subarray(0, 3).toString() === BYTE_ORDER_MARK;
  return Buffer.from(hasMark ? BYTE_ORDER_MARK + text : text);
}
