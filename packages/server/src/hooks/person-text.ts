import { withoutListings } from '@memoryd/contract/tools';
import { getWordSegments } from '@memoryd/engine';
import stringWidth from 'string-width';

/** Names of the blocks that programs put into prompts. */
const BLOCKS = [
  'hook_context',
  'system-reminder',
  'system_reminder',
  'command-message',
  'command-name',
  'command-args',
  'command-contents',
  'task-notification',
  'teammate-message',
  'cross-session-message',
  'local-command-caveat',
  'local-command-stdout',
  'local-command-stderr',
  'bash-input',
  'bash-stdout',
  'bash-stderr',
  'user-prompt-submit-hook',
  'environment_context',
  'user_instructions',
  'ide_opened_file',
  'ide_selection',
  'ephemeral_message',
  'additional_metadata',
  'user_settings_change',
  'turn_aborted',
  'subagent_notification',
  'session_context',
  'scheduled-task',
];

const BLOCK_TAG = new RegExp(`<(?<end>/?)(?<name>${BLOCKS.join('|')})(?:\\s[^<>]*)?>`, 'gi');

/** The content of files that a prompt names with `@`, which Gemini CLI adds to it. */
const REFERENCED_FILES =
  /(?:^|\n)[^\S\n]*--- Content from referenced files ---(?:[\s\S]*?\n[^\S\n]*--- End of content ---[^\S\n]*(?=\n|$)|[\s\S]*$)/g;

/** The first characters of a prompt that a program sends itself: the result of a task, or the message of another agent. */
const AUTOMATIC_PROMPT =
  /^\s*<(?:task-notification|teammate-message|cross-session-message|subagent_notification|scheduled-task)[\s>]/i;

/** Maximum passes that remove blocks, each of which takes time in proportion to the length of the text. */
const MAX_PASSES = 8;
/** Maximum spaces before a tag that begins a line. */
const MAX_INDENT = 16;

/** Folders in the root folder of Linux and macOS, with which a sentence may begin. */
const ROOT_FOLDERS = new Set(
  'bin boot dev etc home lib media mnt opt proc root run sbin srv sys tmp usr var Applications Library System Users Volumes'.split(
    ' ',
  ),
);

/** Minimum columns of a prompt that is stored. A wide character has two. */
const MIN_STORED_COLUMNS = 12;
/** Minimum words, or wide characters, of a prompt that can be a query. */
const MIN_ASKED = { words: 3, wideChars: 6 };
/** Characters that are examined to see whether a text is long enough. */
const MAX_EXAMINED_CHARS = 1000;

const WIDE_CHAR = /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}]/gu;

/** Returns whether the program sent a prompt itself, without a person. */
export function isAutomaticPrompt(text: string): boolean {
  return AUTOMATIC_PROMPT.test(text);
}

/**
 * Returns what a person typed: a text without the blocks that a program or memoryd put into it, and without characters
 * that cannot be stored. A block without an end reaches to the end of the text if it begins a line; elsewhere, the person
 * mentions a tag.
 */
export function toPersonText(text: string): string {
  let rest = text;
  // The texts around a removed block may form another one.
  for (let pass = 0; pass < MAX_PASSES; pass++) {
    const before = rest;
    rest = withoutBlocks(withoutListings(before)).replace(REFERENCED_FILES, '');
    if (rest === before) break;
  }
  return rest.replaceAll('\0', '').toWellFormed().trim();
}

function withoutBlocks(text: string): string {
  const kept: string[] = [];
  let from = 0;
  for (const { start, end } of findBlocks(text)) {
    if (
      start < from ||
      (end === undefined && !/(?:^|\n)[^\S\n]*$/.test(text.slice(Math.max(0, start - MAX_INDENT), start)))
    )
      continue;
    kept.push(text.slice(from, start));
    from = end ?? text.length;
  }
  return [...kept, text.slice(from)].join('');
}

interface Block {
  start: number;
  /** Absent for a block without an end. */
  end?: number;
}

/** Returns the blocks in the order of their starts, and the blocks in blocks too. */
function findBlocks(text: string): Block[] {
  const blocks: Block[] = [];
  const open: { name: string; block: Block }[] = [];
  for (const { index, 0: tag, groups: { end = '', name: written = '' } = {} } of text.matchAll(BLOCK_TAG)) {
    // A tag that ends itself has no block.
    if (tag.endsWith('/>')) continue;
    const name = written.toLowerCase();
    if (end === '') {
      const block: Block = { start: index };
      blocks.push(block);
      open.push({ name, block });
    } else {
      const last = open.findLastIndex((each) => each.name === name);
      const [ended] = last < 0 ? [] : open.splice(last);
      if (ended) ended.block.end = index + tag.length;
    }
  }
  return blocks;
}

/** Returns whether a text is a command of the program, such as `/clear`; a path such as `/home/ada` or `/tmp` is none. */
export function isCommand(text: string): boolean {
  const name = /^\/([^\s/]+)(?:\s|$)/.exec(text)?.[1];
  return name !== undefined && !ROOT_FOLDERS.has(name);
}

/** Returns whether a text is wide enough to be stored. */
export function isWideEnough(text: string): boolean {
  return stringWidth(text.slice(0, MAX_EXAMINED_CHARS)) >= MIN_STORED_COLUMNS;
}

/** Returns whether a text has enough words to be a query. */
export function canBeQuery(text: string): boolean {
  const start = text.slice(0, MAX_EXAMINED_CHARS);
  if ((start.match(WIDE_CHAR)?.length ?? 0) >= MIN_ASKED.wideChars) return true;
  let words = 0;
  for (const { isWordLike } of getWordSegments(start)) if (isWordLike && ++words >= MIN_ASKED.words) return true;
  return false;
}
