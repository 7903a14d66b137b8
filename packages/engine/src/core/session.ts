import {
  assertValid,
  checkOf,
  type SessionMemory,
  SessionRequest,
  type SessionResponse,
  SessionsRequest,
  type SessionsResponse,
} from '@memoryd/contract';
import type { StoredMemory } from '../ports/storage-memories.ts';
import type { Core } from './core.ts';
import { positionCursors, textCursors } from './cursor.ts';
import { toMemoryFilter } from './memory-filter.ts';
import { pageRequest } from './page-request.ts';
import { toTimestamp } from './timestamp.ts';

const checkSession = checkOf(SessionRequest, 'request');
const checkSessions = checkOf(SessionsRequest, 'request');
const cursors = positionCursors('session');
/** A place among the sessions is the id of the last one. */
const sessionsCursors = textCursors('sessions');

/** See `MemoryApi.session`. */
export async function session(core: Core, namespace: string, request: SessionRequest): Promise<SessionResponse> {
  assertValid(checkSession, request);
  const page = await core.storage.session(
    namespace,
    request.session_id,
    pageRequest(core, request, cursors),
    core.clock.now(),
  );
  return {
    session_id: request.session_id,
    memories: page.items.map(toSessionMemory),
    total: page.total,
    ...(page.next && { next_cursor: cursors.write(core.seal, page.next) }),
  };
}

function toSessionMemory(memory: StoredMemory): SessionMemory {
  return {
    id: memory.id,
    content: memory.content,
    tags: memory.tags,
    importance: memory.importance,
    created_at: toTimestamp(memory.createdAt),
  };
}

/** See `MemoryApi.sessions`. */
export async function sessions(core: Core, namespace: string, request: SessionsRequest): Promise<SessionsResponse> {
  assertValid(checkSessions, request);
  const page = await core.storage.sessions(
    namespace,
    toMemoryFilter(request),
    pageRequest(core, request, sessionsCursors),
    core.clock.now(),
  );
  return {
    sessions: page.items.map((row) => ({
      session_id: row.sessionId,
      total: row.total,
      first_at: toTimestamp(row.firstAt),
      last_at: toTimestamp(row.lastAt),
    })),
    total: page.total,
    ...(page.next !== undefined && { next_cursor: sessionsCursors.write(core.seal, page.next) }),
  };
}
