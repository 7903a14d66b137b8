import { styleText } from 'node:util';
import { getScoreWord, type Memory, type RecallResult, type SessionMemory } from '@memoryd/contract';
import { type TimeFlags, toShortTime } from './local-time.ts';
import { limitLines, wrap } from './table.ts';

/** A memory in the output of a command. Optional fields are absent if the response does not contain them. */
export type ListedMemory = Omit<SessionMemory, 'importance' | 'merged_into' | 'valid_to' | 'superseded_by'> &
  Partial<
    Pick<Memory, 'session_id' | 'tier' | 'valid_from' | 'valid_to' | 'superseded_by'> & Pick<RecallResult, 'score'>
  > & {
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
 * tags, id, validity), then the text and the note, wrapped and indented. Escapes control characters.
 */
export function formatMemories(memories: readonly ListedMemory[], options: MemoryListOptions): string {
  const { columns, ids } = options;
  const allIds = [
    ...new Set(memories.flatMap(({ id, superseded_by }) => [id, ...(superseded_by ? [superseded_by] : [])])),
  ];
  const shownIds = new Map((ids ? allIds : shortenIds(allIds)).map((shown, i) => [allIds[i], shown]));
  const width = Math.max(columns - INDENT.length, MIN_LINE_COLUMNS);
  const entries = memories.map((memory) => {
    const [first = '', ...more] = wrap(getHeadline(memory, shownIds, options), width);
    const content = memory.content.split('\n').flatMap((line) => wrap(line, width));
    const note = memory.note === undefined ? [] : wrap(memory.note, width);
    const text = [...limitLines(content, options), ...note];
    const headline = [first, ...more.map((line) => INDENT + line)].map((line) => styleText('bold', line.trimEnd()));
    return [...headline, ...text.map((line) => (INDENT + line).trimEnd())].map((line) => `${line}\n`).join('');
  });
  return entries.join('');
}

function getHeadline(
  memory: ListedMemory,
  shownIds: ReadonlyMap<string | undefined, string>,
  flags: TimeFlags,
): string {
  const { id, score, created_at, session_id, user_id, agent_id, tier, tags } = memory;
  const { valid_from, valid_to, superseded_by } = memory;
  return [
    ...(score === undefined ? [] : [`${score.toFixed(2)} ${getScoreWord(score)}`]),
    toShortTime(created_at, flags),
    ...(session_id ? [session_id] : []),
    ...(user_id ? [`user ${user_id}`] : []),
    ...(agent_id ? [`agent ${agent_id}`] : []),
    ...(tier ? [tier] : []),
    ...(tags.length === 0 ? [] : [tags.map((tag) => `#${tag}`).join(' ')]),
    shownIds.get(id),
    ...(valid_from ? [`from ${toShortTime(valid_from, flags)}`] : []),
    ...(valid_to ? [`until ${toShortTime(valid_to, flags)}`] : []),
    ...(superseded_by ? [`replaced by ${shownIds.get(superseded_by)}`] : []),
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
