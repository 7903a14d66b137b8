import { counted, invalidRequest, LIMITS, type MemoryApi, MemoryError, type SessionSummary } from '@memoryd/contract';
import { sessionPage } from '@memoryd/contract/tools';
import type { ListResourcesResult, ReadResourceResult, ResourceTemplate } from '@modelcontextprotocol/sdk/types.js';
import { MEMORY_URI_TEMPLATE, parseTarget, SESSION_URI_TEMPLATE, sessionUri } from './uris.ts';

const JSON_TYPE = 'application/json';

export const RESOURCE_TEMPLATES: ResourceTemplate[] = [
  {
    uriTemplate: MEMORY_URI_TEMPLATE,
    name: 'memory',
    title: 'A memory',
    description: 'One memory whole: its content, tags, metadata, times, and what it corrects or was distilled from.',
    mimeType: JSON_TYPE,
  },
  {
    uriTemplate: SESSION_URI_TEMPLATE,
    name: 'session',
    title: 'A session',
    description: 'The memories of a session, oldest first; a long one goes on at its `next_cursor`.',
    mimeType: JSON_TYPE,
  },
];

/** Sessions that are listed, and those of one page: people choose from the list. */
const LISTED_SESSIONS = 200;
const PAGE_SESSIONS = 50;

/** Where there are more sessions than one answer names, those are looked at that have a memory of the last so many days. */
const RECENT_DAYS = 30;
const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * The sessions as resources, the one with the newest memory first: at most 200.
 *
 * @throws MemoryError INVALID_REQUEST for a cursor that no answer gave
 */
export async function listSessions(api: MemoryApi, cursor: string | undefined): Promise<ListResourcesResult> {
  const newest = byId(await recentSessions(api))
    .sort(byNewest)
    .slice(0, LISTED_SESSIONS);
  const place = cursor === undefined ? undefined : getPlace(cursor);
  const rest = place ? newest.filter((session) => byNewest(place, session) < 0) : newest;
  const page = rest.slice(0, PAGE_SESSIONS);
  const last = page.at(-1);
  return {
    resources: page.map((session) => ({
      uri: sessionUri(session.session_id),
      name: session.session_id,
      title: `Session ${session.session_id}`,
      description: `${counted(session.total, 'memory', 'memories')}, ${session.first_at} to ${session.last_at}`,
      mimeType: JSON_TYPE,
      annotations: { lastModified: session.last_at },
    })),
    ...(last && rest.length > page.length && { nextCursor: cursorTo(last) }),
  };
}

/**
 * What an address names: a memory, or a page of a session.
 *
 * @throws MemoryError NOT_FOUND for an address that names nothing
 */
export async function readResource(api: MemoryApi, uri: string): Promise<ReadResourceResult> {
  const target = parseTarget(uri);
  if (!target) {
    const templates = `${MEMORY_URI_TEMPLATE} and ${SESSION_URI_TEMPLATE}`;
    throw new MemoryError('NOT_FOUND', `no such resource; there are ${templates}`);
  }
  const value =
    'memoryId' in target
      ? await api.memory(target.memoryId)
      : await sessionPage(api, { session_id: target.sessionId, ...(target.cursor && { cursor: target.cursor }) });
  return { contents: [{ uri, mimeType: JSON_TYPE, text: JSON.stringify(value) }] };
}

async function recentSessions(api: MemoryApi): Promise<SessionSummary[]> {
  const limit = LIMITS.pageItems;
  const { sessions, next_cursor } = await api.sessions({ limit });
  if (next_cursor === undefined) return sessions;
  const since = new Date(Date.now() - RECENT_DAYS * DAY_MS).toISOString();
  return (await api.sessions({ limit, since })).sessions;
}

/** Returns sessions of several users as one where they have one id: the address of a session names no user. */
function byId(sessions: readonly SessionSummary[]): SessionSummary[] {
  const merged = new Map<string, SessionSummary>();
  for (const session of sessions) {
    const { session_id, total, first_at, last_at } = session;
    const known = merged.get(session_id) ?? { ...session, total: 0 };
    const [isEarlier, isLater] = [first_at < known.first_at, last_at > known.last_at];
    merged.set(session_id, {
      session_id,
      total: known.total + total,
      first_at: isEarlier ? first_at : known.first_at,
      last_at: isLater ? last_at : known.last_at,
    });
  }
  return [...merged.values()];
}

type Place = Pick<SessionSummary, 'last_at' | 'session_id'>;

function byNewest(a: Place, b: Place): number {
  if (a.last_at !== b.last_at) return a.last_at > b.last_at ? -1 : 1;
  if (a.session_id === b.session_id) return 0;
  return a.session_id < b.session_id ? -1 : 1;
}

function cursorTo({ last_at, session_id }: Place): string {
  return Buffer.from(JSON.stringify([last_at, session_id])).toString('base64url');
}

function getPlace(cursor: string): Place {
  try {
    const [last_at, session_id, ...more]: unknown[] = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    if (typeof last_at === 'string' && typeof session_id === 'string' && more.length === 0) {
      return { last_at, session_id };
    }
  } catch {
    // Refused below, as what is JSON of another shape.
  }
  throw invalidRequest([{ path: '/cursor', message: 'cursor must be the nextCursor of an earlier answer' }]);
}
