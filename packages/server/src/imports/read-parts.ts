import { createCheck, ImportedText } from '@memoryd/contract';
import { MemoryError } from '@memoryd/contract/errors';
import type { DetectedFormat } from './detect.ts';
import type { Format, FormatOptions, Part } from './format.ts';
import { toTimestamp } from './parsing/times.ts';
import { SeenTexts } from './seen-texts.ts';
import { type Source, type SourceFile, UnreadableFile } from './source/source.ts';

/** A recognized source of another program. */
export type Detection = DetectedFormat & { format: Format };

export interface ReadPartsOptions {
  format: FormatOptions;
  signal?: AbortSignal | undefined;
  /** Called with an error that the format did not expect, and the path of the file that caused it. */
  onDefect?: ((error: unknown, path: string) => void) | undefined;
}

/** The external id is part of the place, so the message names the field only. */
const check = createCheck(ImportedText, 'text');

/**
 * Reads all files of a source in order. Refuses texts that the contract does not permit. Leaves out repetitions and
 * copies, and refuses another text with the same external id. If a file cannot be read to its end, yields its first
 * texts and a refused part, and reads the other files.
 *
 * @throws MemoryError if the format cannot be read with these options, such as a map to a missing column
 * @throws the signal's reason if the signal is aborted
 */
export async function* readParts(
  { refused }: Pick<Source, 'refused'>,
  detection: Detection,
  options: ReadPartsOptions,
): AsyncIterable<Part> {
  const { otherFiles, unreadable, files } = detection;
  for (const { place, reason } of [...refused, ...unreadable]) yield { kind: 'refused', place, reason };
  if (otherFiles > 0) yield { kind: 'left-out', reason: 'file', count: otherFiles };
  const seen = new SeenTexts();
  for await (const { part, file } of readFiles(detection, options)) {
    yield toChecked(withFileTime(part, file), files.length > 1 ? file.path : undefined, seen);
  }
}

interface PartOfFile {
  part: Part;
  file: SourceFile;
}

/** Reads all files in order, and then the copies in them, so that an original in any file precedes its copies. */
async function* readFiles({ format, files }: Detection, options: ReadPartsOptions): AsyncIterable<PartOfFile> {
  const withCopies = new Set<SourceFile>();
  for (const file of files) {
    for await (const part of readFile(format, file, options)) {
      if (isCopy(part)) withCopies.add(file);
      else yield { part, file };
    }
  }
  for (const file of withCopies) {
    for await (const part of readFile(format, file, options)) {
      if (isCopy(part)) yield { part, file };
    }
  }
}

/** Returns a text without a time with the time of its file, since an old file is not about today. */
function withFileTime(part: Part, { modifiedAt }: SourceFile): Part {
  if (part.kind !== 'text' || part.text.created_at || modifiedAt === undefined) return part;
  const time = toTimestamp(modifiedAt);
  return time === undefined ? part : { ...part, text: { ...part.text, assumed_created_at: time } };
}

function isCopy(part: Part): boolean {
  return part.kind === 'text' && part.isCopy === true;
}

/**
 * Returns the part with its whole place, and with another kind for a repetition or a text that the contract does not
 * permit.
 *
 * @param path the path of the file, if the source has several files
 */
function toChecked(part: Part, path: string | undefined, seen: SeenTexts): Part {
  if (part.kind === 'left-out') return part;
  const place = path === undefined || part.place === path ? part.place : `${path}: ${part.place}`;
  return part.kind === 'text' ? checkText({ ...part, place }, seen) : { ...part, place };
}

/** Reads one file. An error ends the file, not the import. */
async function* readFile(
  format: Format,
  file: SourceFile,
  { format: formatOptions, signal, onDefect }: ReadPartsOptions,
): AsyncIterable<Part> {
  try {
    signal?.throwIfAborted();
    for await (const part of format.read(file, formatOptions)) {
      signal?.throwIfAborted();
      yield part;
    }
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof MemoryError) throw error;
    const isKnown = error instanceof UnreadableFile;
    if (!isKnown) onDefect?.(error, file.path);
    const reason = isKnown ? error.message : 'the rest of the file cannot be read: an unexpected error, see the log';
    yield { kind: 'refused', place: file.path, reason };
  }
}

function checkText(part: Part & { kind: 'text' }, seen: SeenTexts): Part {
  const [problem] = check(part.text);
  if (problem) return { kind: 'refused', place: part.place, reason: problem.message };
  const { external_id, user_id = null, agent_id = null, content } = part.text;
  const isRepeated = part.copyKey !== undefined && seen.see(['copy', part.copyKey], '') !== 'new';
  const known = seen.see(['id', external_id, user_id, agent_id], content);
  switch (known === 'new' && isRepeated ? 'same' : known) {
    case 'new':
      return part;
    case 'same':
      return { kind: 'left-out', reason: 'duplicate', count: 1 };
    case 'other':
      return {
        kind: 'refused',
        place: part.place,
        reason: `an item before it has the same id, ${JSON.stringify(external_id)}, and another text; give each its own id`,
      };
  }
}
