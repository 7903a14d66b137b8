import { DEFAULTS, type TimeZone } from '@memoryd/contract';
import { formatEntry, formatLabel, formatListing, getOutdatedFacts, toLine } from '@memoryd/contract/tools';
import type { RecalledMemory } from '@memoryd/search';
import { toOutdated } from '../request-filter.ts';
import { toTimestamp } from '../time.ts';

/** Prefix of the tag that names the project of a memory. */
const PROJECT_TAG = 'project:';
const ROLE_TAG = 'role:';

/** Maximum characters of the name of a session or a project. Ids of many digits tell a model nothing and cost tokens. */
const MAX_NAME_CHARS = 24;

/**
 * Control characters, directions of text, and invisible characters that spell ASCII: none of them belongs to what a
 * person reads, and each of them can hide from a person what a model reads. Line feeds and tabs stay.
 */
const HIDDEN = /(?![\t\n])[\p{Cc}\p{Bidi_Control}\u{e0000}-\u{e007f}]/gu;

/** Formats the entries of a context between fence lines. Returns an empty text without entries. */
export function formatContext(entries: readonly string[], zone: TimeZone): string {
  return entries.length === 0 ? '' : formatListing('From memory', entries, zone);
}

/**
 * Formats a memory of a context: its date with the weekday, why it stands there if it is always there, its project or
 * session, the role of the speaker, and until when it holds; then the text.
 *
 * @param text the content or a part of it
 */
export function formatContextEntry(memory: RecalledMemory, text: string, isStanding: boolean, zone: TimeZone): string {
  const { content, createdAt } = memory;
  const facts = [
    `- ${formatDay(createdAt, zone)}`,
    ...(isStanding ? ['standing note'] : []),
    ...getPlace(memory),
    ...getRole(memory),
    ...getOutdatedFacts(toOutdated(memory), { zone }),
    ...(text.length < content.length ? [`only ${text.length} of ${content.length} characters`] : []),
  ];
  // The entry has no line break other than a line feed.
  return formatEntry(facts, text).replace(HIDDEN, '');
}

function getPlace({ tags, sessionId }: RecalledMemory): string[] {
  const project = findTag(tags, PROJECT_TAG);
  if (project !== undefined) return [`project ${formatName(project)}`];
  return sessionId === null || sessionId === DEFAULTS.sessionId ? [] : [`session ${formatName(sessionId)}`];
}

function getRole({ tags }: RecalledMemory): string[] {
  const role = findTag(tags, ROLE_TAG);
  return role === undefined ? [] : [`role ${formatName(role)}`];
}

function findTag(tags: readonly string[], prefix: string): string | undefined {
  return tags.find((tag) => tag.startsWith(prefix))?.slice(prefix.length);
}

function formatName(name: string): string {
  const chars = [...toLine(name).replace(HIDDEN, '')];
  return formatLabel(
    chars.length > MAX_NAME_CHARS ? `${chars.slice(0, MAX_NAME_CHARS - 1).join('')}…` : chars.join(''),
  );
}

const WEEKDAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];

/** Formats the day of a time in a zone, such as "Thu 2026-05-07". */
function formatDay(time: number, zone: TimeZone): string {
  const date = zone.toLocal(toTimestamp(time)).slice(0, 10);
  return `${WEEKDAYS[new Date(`${date}T00:00:00Z`).getUTCDay()]} ${date}`;
}
