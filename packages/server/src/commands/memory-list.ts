import { styleText } from 'node:util';
import { getScoreWord, type Memory, type RecallResult, type SessionMemory } from '@memoryd/contract';
import { type TimeFlags, toShortTime } from './local-time.ts';
import { limitLines, wrap } from './table.ts';

/** When a memory ends, and what replaces it. */
type Outdated = Pick<Memory, 'valid_to' | 'superseded_by'>;

/** A memory in the output of a command. Optional fields are absent if the response does not contain them. */
export type ListedMemory = Omit<SessionMemory, 'importance' | 'merged_into' | keyof Outdated> &
  Partial<Outdated & Pick<Memory, 'session_id' | 'tier'> & Pick<RecallResult, 'score'>> & {
    /** Printed below the text. */
    note?: string;
  };

export interface MemoryListOptions extends TimeFlags {
  /** Width of the terminal, in columns. */
  columns: number;
  /** Whether ids are shown in full. */
  ids?: boolean | undefined;
  /** Whether texts are shown in full; otherwise, three lines. */
  full?: boolean | undefined;
}

const INDENT = '    ';
/** Lines are wrapped at this width, or wider, even if the terminal is narrower. */
const MIN_LINE_COLUMNS = 20;
const SHORT_ID_CHARS = 8;

/**
 * Formats memories as text for the terminal: for each memory, a headline (score, time, session, user, agent, tier,
 * tags, id), then the text and the note, wrapped and indented. Escapes control characters.
 */
export function formatMemories(memories: readonly ListedMemory[], options: MemoryListOptions): string {
  const { columns, ids } = options;
  const allIds = memories.map(({ id }) => id);
  const shownIds = ids ? allIds : shortenIds(allIds);
  const width = Math.max(columns - INDENT.length, MIN_LINE_COLUMNS);
  const entries = memories.map((memory, i) => {
    const [first = '', ...more] = wrap(getHeadline(memory, shownIds[i] as string, options), width);
    const content = memory.content.split('\n').flatMap((line) => wrap(line, width));
    const note = memory.note === undefined ? [] : wrap(memory.note, width);
    const text = [...limitLines(content, options), ...note];
    const headline = [first, ...more.map((line) => INDENT + line)].map((line) => styleText('bold', line.trimEnd()));
    return [...headline, ...text.map((line) => (INDENT + line).trimEnd())].map((line) => `${line}\n`).join('');
  });
  return entries.join('');
}

function getHeadline(memory: ListedMemory, id: string, flags: TimeFlags): string {
  const { score, created_at, session_id, user_id, agent_id, tier, tags } = memory;
  return [
    ...(score === undefined ? [] : [`${score.toFixed(2)} ${getScoreWord(score)}`]),
    toShortTime(created_at, flags),
    ...(session_id ? [session_id] : []),
    ...(user_id ? [`user ${user_id}`] : []),
    ...(agent_id ? [`agent ${agent_id}`] : []),
    ...(tier ? [tier] : []),
    ...(tags.length === 0 ? [] : [tags.map((tag) => `#${tag}`).join(' ')]),
    id,
  ].join('  ');
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
