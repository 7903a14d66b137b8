import { DEFAULTS, PROJECT_TAG, type TimeZone } from '@memoryd/contract';
import {
  formatDay,
  formatEntry,
  formatLabel,
  formatListing,
  formatPart,
  getOutdatedFacts,
  toLine,
} from '@memoryd/contract/tools';
import { type RecalledMemory, ROLE_TAG } from '@memoryd/search';
import { toOutdated } from '../request-filter.ts';
import { toTimestamp } from '../time.ts';

/** Maximum characters of the name of a session or a project. Ids of many digits tell a model nothing and cost tokens. */
const MAX_NAME_CHARS = 24;

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
    `- ${formatDay(toTimestamp(createdAt), zone)}`,
    ...(isStanding ? ['standing note'] : []),
    ...getPlace(memory),
    ...getRole(memory),
    ...getOutdatedFacts(toOutdated(memory), { zone }),
    ...(text.length < content.length ? [formatPart(text, content)] : []),
  ];
  return formatEntry(facts, text);
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
  const chars = [...toLine(name)];
  return formatLabel(
    chars.length > MAX_NAME_CHARS ? `${chars.slice(0, MAX_NAME_CHARS - 1).join('')}…` : chars.join(''),
  );
}
