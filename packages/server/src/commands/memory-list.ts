import { styleText } from 'node:util';
import { getScoreWord, type Memory, type RecallResult, type SessionMemory } from '@memoryd/contract';
import stringWidth from 'string-width';
import { toPrintable } from './printable.ts';
import { splitByWidth } from './table.ts';

/** A memory in the output of a command. Optional fields are absent if the response does not contain them. */
export type ListedMemory = Omit<SessionMemory, 'importance' | 'merged_into'> &
  Partial<Pick<Memory, 'session_id' | 'tier'> & Pick<RecallResult, 'score'>> & {
    /** Printed below the text. */
    note?: string;
  };

export interface MemoryListOptions {
  /** Width of the terminal, in columns. */
  columns: number;
  /** Whether ids are shown in full. */
  ids?: boolean | undefined;
}

const INDENT = '    ';
/** Lines are wrapped at this width, or wider, even if the terminal is narrower. */
const MIN_LINE_COLUMNS = 20;
const SHORT_ID_CHARS = 8;

/**
 * Formats memories as text for the terminal: for each memory, a headline (score, time, session, user, agent, tier,
 * tags, id), then the text and the note, wrapped and indented. Escapes control characters.
 */
export function formatMemories(memories: readonly ListedMemory[], { columns, ids }: MemoryListOptions): string {
  const allIds = memories.map(({ id }) => id);
  const shownIds = ids ? allIds : shortenIds(allIds);
  const width = Math.max(columns - INDENT.length, MIN_LINE_COLUMNS);
  const entries = memories.map((memory, i) => {
    const [first = '', ...more] = wrap(getHeadline(memory, shownIds[i] as string), width);
    const text = [...memory.content.split('\n'), ...(memory.note === undefined ? [] : [memory.note])].flatMap((line) =>
      wrap(line, width),
    );
    const headline = [first, ...more.map((line) => INDENT + line)].map((line) => styleText('bold', line.trimEnd()));
    return [...headline, ...text.map((line) => (INDENT + line).trimEnd())].map((line) => `${line}\n`).join('');
  });
  return entries.join('');
}

function getHeadline(memory: ListedMemory, id: string): string {
  const { score, created_at, session_id, user_id, agent_id, tier, tags } = memory;
  return [
    ...(score === undefined ? [] : [`${score.toFixed(2)} ${getScoreWord(score)}`]),
    toLocalTime(created_at),
    ...(session_id ? [session_id] : []),
    ...(user_id ? [`user ${user_id}`] : []),
    ...(agent_id ? [`agent ${agent_id}`] : []),
    ...(tier ? [tier] : []),
    ...(tags.length === 0 ? [] : [tags.map((tag) => `#${tag}`).join(' ')]),
    id,
  ].join('  ');
}

/** Returns a time in the time zone of the process, such as `2026-01-31 09:30`. */
function toLocalTime(iso: string): string {
  // The Swedish format is ISO 8601 with a space.
  return new Date(iso).toLocaleString('sv').replace(/:\d\d$/, '');
}

/**
 * Returns a short form of each id: its last 8 characters, or more if needed to distinguish the ids. The first
 * characters encode the time, so ids created at about the same time have equal first characters.
 */
export function shortenIds(ids: readonly string[]): string[] {
  const count = new Set(ids).size;
  for (let length = SHORT_ID_CHARS; ; length++) {
    const short = ids.map((id) => id.slice(-length));
    if (new Set(short).size === count) return short;
  }
}

/**
 * Wraps one line of text to at most `width` columns: breaks at spaces, and within words that are wider than a line.
 * Escapes control characters.
 */
export function wrap(text: string, width: number): string[] {
  const words = toPrintable(text)
    .split(/ (?! )/)
    .flatMap((word) => (stringWidth(word) <= width ? [word] : [...splitByWidth(word, width)]));
  const lines: string[] = [];
  let line: string | undefined;
  let lineWidth = 0;
  for (const word of words) {
    const wordWidth = stringWidth(word);
    if (line !== undefined && lineWidth + 1 + wordWidth <= width) {
      line += ` ${word}`;
      lineWidth += 1 + wordWidth;
    } else {
      if (line !== undefined) lines.push(line);
      [line, lineWidth] = [word, wordWidth];
    }
  }
  return [...lines, line ?? ''];
}
