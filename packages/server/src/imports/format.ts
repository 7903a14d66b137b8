import type { ImportedText, ImportFormat } from '@memoryd/contract';
import type { SourceFile } from './source/source.ts';

/** The formats of other programs. The service reads its own exports elsewhere. */
export type ForeignFormat = Exclude<ImportFormat, 'memoryd'>;

/** Why an item is no memory. The texts complete "N left out: …". */
export const LEFT_OUT = {
  branch: 'messages of other branches of a conversation',
  hidden: 'messages that the program hides',
  system: 'instructions and messages of the program',
  tool: 'calls of tools and their results',
  thought: 'thoughts of the model',
  agent: 'messages of sub-agents and scheduled tasks',
  command: 'commands of the program',
  short: 'prompts that are too short to be stored',
  answer: 'answers of the agent, which --capture turns stores',
  attachment: 'files and images without text',
  empty: 'items without text',
  duplicate: 'items that the source has twice',
  deleted: 'items that the source has deleted',
  embedded: 'texts that memoryd gave to the program',
  role: 'messages of other roles',
  user: 'memories of other users',
  file: 'files of other kinds',
} as const;

export type LeftOutReason = keyof typeof LEFT_OUT;

/**
 * A part of a file, as a format reads it. `place` says where it stands, such as `conversation 3, message 7`. Some
 * programs write one message into several files: `copyKey` is the same for all of them, and `isCopy` is true for a text
 * that counts only if no other file of the source has it.
 */
export type Part =
  | { kind: 'text'; text: ImportedText; place: string; copyKey?: string; isCopy?: boolean }
  | { kind: 'left-out'; reason: LeftOutReason; count: number }
  | { kind: 'refused'; place: string; reason: string };

/** The choices of the person. */
export interface FormatOptions {
  /** The texts of agent programs to import: the prompts of the person, or also the last answer to each. */
  capture: 'prompts' | 'turns';
  /** The column or field for each field of a memory, for CSV and JSON lines: `{content: 'text'}`. */
  map: Readonly<Record<string, string>>;
  /** Whether columns and fields without a place in a memory become metadata, for CSV and JSON lines. */
  restToMetadata: boolean;
  /** The time zone of times without one, as an IANA name. */
  timeZone: string;
  /**
   * Whether the folders that transcripts name are on this machine, so that the files of git in them may be read for the
   * project. Never true for a file that was uploaded.
   */
  readsRepositories: boolean;
}

/** The beginning of a file, by which its format is recognized. */
export interface FileHead {
  /** As in `SourceFile`. */
  path: string;
  /**
   * The first 64 KiB, decoded as UTF-8 without a byte order mark. For JSON that no format recognizes by these: at most
   * 1 MiB of a longer beginning whose strings are cut to 256 bytes.
   */
  text: string;
  /** True if `text` is the whole file. */
  isWhole: boolean;
}

/** A format of files, such as the export of a program. One file, one object per format. */
export interface Format {
  name: ForeignFormat;
  /** The name in messages, such as `ChatGPT export`. */
  title: string;
  /** The files that a person has to look for, such as `conversations.json, or the zip with it`. */
  files: string;
  /** Returns whether a file is of this format, from its content. */
  recognizes(head: FileHead): boolean;
  /** Returns whether a file may be of this format, if the person says so and no format recognizes it. */
  accepts?(head: FileHead): boolean;
  /**
   * Reads the parts of a file in order. Never throws for bad content: what cannot be read becomes a refused part, and
   * what follows is read if it can be found. Each text has an external id that is the same in each export of the source.
   */
  read(file: SourceFile, options: FormatOptions): AsyncIterable<Part>;
}
