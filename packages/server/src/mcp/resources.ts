import {
  formatCount,
  invalidRequest,
  LIMITS,
  Memory,
  type MemoryApi,
  MemoryError,
  SessionResponse,
  type SessionSummary,
  type TimeZone,
} from '@memoryd/contract';
import { formatTime, sessionPage, toLine, toLocalTimes } from '@memoryd/contract/tools';
import type { ListResourcesResult, ReadResourceResult, ResourceTemplateType } from '@modelcontextprotocol/server';
import { MEMORY_URI_TEMPLATE, parseTarget, SESSION_URI_TEMPLATE, sessionUri } from './uris.ts';

const JSON_TYPE = 'application/json';

export const RESOURCE_TEMPLATES: ResourceTemplateType[] = [
  {
    uriTemplate: MEMORY_URI_TEMPLATE,
    name: 'memory',
    title: 'A memory',
    description:
      'A complete memory: its content, tags, metadata and times, and the memories that it corrects or was distilled from.',
    mimeType: JSON_TYPE,
  },
  {
    uriTemplate: SESSION_URI_TEMPLATE,
    name: 'session',
    title: 'A session',
    description: 'The memories of a session, oldest first; a long session continues at its `next_cursor`.',
    mimeType: JSON_TYPE,
  },
];

/** Maximum number of listed sessions over all pages; low, because people choose from the list. */
const MAX_SESSIONS = 200;
/** Maximum number of sessions per page. */
const PAGE_SIZE = 50;

/**
 * If the namespace has more than `LIMITS.pageItems` sessions, only sessions with a memory from the last `RECENT_DAYS`
 * days are listed.
 */
const RECENT_DAYS = 30;
const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * Returns a page of the session list as resources, the session with the newest memory first. All pages together list at
 * most `MAX_SESSIONS` sessions.
 *
 * @param cursor the `nextCursor` of an earlier response; `undefined` for the first page
 * @throws MemoryError INVALID_REQUEST for an invalid cursor
 */
export async function listSessions(
  api: MemoryApi,
  cursor: string | undefined,
  zone: TimeZone,
): Promise<ListResourcesResult> {
  const position = cursor === undefined ? undefined : await readCursor(api, cursor);
  const newest = mergeById(await recentSessions(api))
    .sort(byNewest)
    .slice(0, MAX_SESSIONS);
  const rest = position ? newest.filter((session) => byNewest(position, session) < 0) : newest;
  const page = rest.slice(0, PAGE_SIZE);
  const last = page.at(-1);
  return {
    resources: page.map(({ session_id, total, first_at, last_at }) => ({
      uri: sessionUri(session_id),
      name: toLine(session_id),
      title: `Session ${toLine(session_id)}`,
      description:
        `${formatCount(total, 'memory', 'memories')}, ${formatTime(first_at, zone)} to ${formatTime(last_at, zone)} ` +
        zone.name,
      mimeType: JSON_TYPE,
      annotations: { lastModified: zone.toLocal(last_at) },
    })),
    ...(last && rest.length > page.length && { nextCursor: await toCursor(api, last) }),
  };
}

/**
 * Reads a resource by its URI: a memory, or a page of a session, with times in a zone.
 *
 * @throws MemoryError NOT_FOUND for a URI without a resource, INVALID_REQUEST for an invalid cursor
 */
export async function readResource(api: MemoryApi, uri: string, zone: TimeZone): Promise<ReadResourceResult> {
  const target = parseTarget(uri);
  if (!target) {
    const templates = `${MEMORY_URI_TEMPLATE} or ${SESSION_URI_TEMPLATE}`;
    throw new MemoryError('NOT_FOUND', `resource not found; the URI must match ${templates}`);
  }
  const value =
    'memoryId' in target
      ? toLocalTimes(Memory, await api.memory(target.memoryId), zone)
      : toLocalTimes(
          SessionResponse,
          await sessionPage(api, { session_id: target.sessionId, ...(target.cursor && { cursor: target.cursor }) }),
          zone,
        );
  return { contents: [{ uri, mimeType: JSON_TYPE, text: JSON.stringify(value) }] };
}

async function recentSessions(api: MemoryApi): Promise<SessionSummary[]> {
  const limit = LIMITS.pageItems;
  const { sessions, next_cursor } = await api.sessions({ limit });
  if (next_cursor === undefined) return sessions;
  const since = new Date(Date.now() - RECENT_DAYS * DAY_MS).toISOString();
  return (await api.sessions({ limit, since })).sessions;
}

/** Merges sessions of several users that have the same id, because the URI of a session contains no user. */
function mergeById(sessions: readonly SessionSummary[]): SessionSummary[] {
  const merged = new Map<string, SessionSummary>();
  for (const session of sessions) {
    const { session_id, total, first_at, last_at } = session;
    const previous = merged.get(session_id) ?? { ...session, total: 0 };
    const [isEarlier, isLater] = [first_at < previous.first_at, last_at > previous.last_at];
    merged.set(session_id, {
      session_id,
      total: previous.total + total,
      first_at: isEarlier ? first_at : previous.first_at,
      last_at: isLater ? last_at : previous.last_at,
    });
  }
  return [...merged.values()];
}

type Position = Pick<SessionSummary, 'last_at' | 'session_id'>;

function byNewest(a: Position, b: Position): number {
  if (a.last_at !== b.last_at) return a.last_at > b.last_at ? -1 : 1;
  if (a.session_id === b.session_id) return 0;
  return a.session_id < b.session_id ? -1 : 1;
}

/** Returns the cursor of the page after a session. Its seal binds it to the namespace and owner of the caller. */
async function toCursor(api: MemoryApi, { last_at, session_id }: Position): Promise<string> {
  const { next_cursor: seal } = await api.sessions({ limit: 1 });
  return Buffer.from(JSON.stringify([last_at, session_id, seal])).toString('base64url');
}

async function readCursor(api: MemoryApi, text: string): Promise<Position> {
  const { last_at, session_id, seal } = parseCursor(text);
  await api.sessions({ limit: 1, cursor: seal });
  return { last_at, session_id };
}

function parseCursor(text: string): Position & { seal: string } {
  try {
    const [last_at, session_id, seal, ...more]: unknown[] = JSON.parse(Buffer.from(text, 'base64url').toString());
    const texts = [last_at, session_id, seal].every((part) => typeof part === 'string');
    if (texts && more.length === 0) return { last_at, session_id, seal } as Position & { seal: string };
  } catch {
    // Refused below, like JSON of another shape.
  }
  throw invalidRequest([{ path: '/cursor', message: 'cursor must be the nextCursor of an earlier response' }]);
}
