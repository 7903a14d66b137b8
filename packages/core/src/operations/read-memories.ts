import {
  assertValid,
  createCheck,
  HistoryRequest,
  type HistoryResponse,
  invalidRequest,
  isStorable,
  MemoriesRequest,
  type MemoriesResponse,
  type Memory,
  MemoryError,
  ScopeRequest,
  SessionRequest,
  type SessionResponse,
  SessionsRequest,
  type SessionsResponse,
  UsersRequest,
  type UsersResponse,
} from '@memoryd/contract';
import { getRetention } from '@memoryd/search';
import { numberCursors, pageEnd, pageRequest, positionCursors, sessionPlaceCursors, textCursors } from '../cursor.ts';
import type { ListOrder, MemoryText, StoredMemory } from '../ports/storage-memories.ts';
import {
  toCondition,
  toExternalId,
  toListFilter,
  toMemoryFilter,
  toOutdated,
  toOwner,
  toOwnerFilter,
  toRevision,
  toValidityFilter,
} from '../request-filter.ts';
import { toMs, toTimestamp, toTimestampOrNull } from '../time.ts';
import type { Core } from './core.ts';

const checkMemories = createCheck(MemoriesRequest, 'request');
const checkHistory = createCheck(HistoryRequest, 'request');
const checkSession = createCheck(SessionRequest, 'request');
const checkSessions = createCheck(SessionsRequest, 'request');
const checkUsers = createCheck(UsersRequest, 'request');
const checkScope = createCheck(ScopeRequest, 'request');

const memoryCursors = positionCursors('memories');
const historyCursors = numberCursors('history');
const sessionCursors = positionCursors('session');
const sessionsCursors = sessionPlaceCursors('sessions');
/** The page position is the id of the last user. */
const usersCursors = textCursors('users');

/** See `MemoryApi.memory`. */
export async function memory(
  core: Core,
  namespace: string,
  memoryId: string,
  scope: ScopeRequest = {},
): Promise<Memory> {
  assertValid(checkScope, scope);
  assertMemoryId(memoryId);
  const now = core.clock.now();
  const found = await core.storage.memory(namespace, memoryId, now, toOwnerFilter(scope));
  if (!found) throw memoryNotFound();
  return toMemory(found, now);
}

/** See `MemoryApi.memories`. */
export async function memories(core: Core, namespace: string, request: MemoriesRequest): Promise<MemoriesResponse> {
  assertValid(checkMemories, request);
  const now = core.clock.now();
  const filter = {
    ...toListFilter(request),
    ...(request.id !== undefined && { idPart: request.id }),
  };
  const order = toListOrder(request);
  const isAscending = order.direction === 'asc';
  const selection = { namespace, filters: { ...filter, ...(isAscending && { direction: order.direction }) } };
  const paging = pageRequest(core, request, memoryCursors, selection);
  const moments = request.growth_at?.map((time) => toMs(time, 'growth_at', 'last'));
  const { next, ...page } = await core.storage.memories(namespace, filter, paging, now, order);
  const growth = moments && (await core.storage.growth(namespace, filter, moments, now));
  return {
    memories: page.items.map((item) => toMemory(item, now)),
    ...(growth && { growth: growth.map((counts, i) => ({ at: toTimestamp(moments[i] as number), ...counts })) }),
    ...(page.countedCount !== undefined && { counted_count: page.countedCount }),
    ...(page.orderedCount !== undefined && { ordered_count: page.orderedCount }),
    ...pageEnd(core, { ...page, ...(order.by === 'created' && next && { next }) }, memoryCursors, selection),
  };
}

/**
 * Returns the order of a list. Throws INVALID_REQUEST for a cursor with an offset, or in an order other than by
 * `created`, since values of the other orders change between pages.
 */
function toListOrder({ order = 'created', dir = 'desc', offset = 0, cursor }: MemoriesRequest): ListOrder {
  if (cursor !== undefined && offset > 0) {
    throw invalidRequest([{ path: '/offset', message: 'offset must not come with cursor; leave out one of them' }]);
  }
  if (cursor !== undefined && order !== 'created') {
    throw invalidRequest([{ path: '/cursor', message: `cursor must not come with the order ${order}; use offset` }]);
  }
  return { by: order, direction: dir, offset };
}

/** See `MemoryApi.session`. */
export async function session(core: Core, namespace: string, request: SessionRequest): Promise<SessionResponse> {
  assertValid(checkSession, request);
  const { session_id, attachments = false } = request;
  const of = toOwnerFilter(request);
  const selected = { ...toCondition(request), ...toValidityFilter(request) };
  const selection = { namespace, filters: { ...of, sessionId: session_id, ...selected } };
  const paging = pageRequest(core, request, sessionCursors, selection);
  const page = await core.storage.session(namespace, session_id, paging, core.clock.now(), of, {
    attachments,
    ...selected,
  });
  const memories = page.items.map(({ id, content, tags, importance, createdAt, attachment, mergedInto, ...rest }) => {
    const optional = {
      ...toOutdated(rest),
      ...(attachment !== undefined && { attachment }),
      ...(mergedInto !== null && { merged_into: mergedInto }),
    };
    return {
      id,
      content,
      ...toRevision(rest),
      tags,
      importance,
      ...toOwner(rest),
      ...toExternalId(rest),
      created_at: toTimestamp(createdAt),
      ...optional,
    };
  });
  return { session_id, memories, ...pageEnd(core, page, sessionCursors, selection) };
}

/** See `MemoryApi.sessions`. */
export async function sessions(core: Core, namespace: string, request: SessionsRequest): Promise<SessionsResponse> {
  assertValid(checkSessions, request);
  const filter = { ...toMemoryFilter(request), ...toValidityFilter(request) };
  const selection = { namespace, filters: filter };
  const paging = pageRequest(core, request, sessionsCursors, selection);
  const page = await core.storage.sessions(namespace, filter, paging, core.clock.now());
  const sessions = page.items.map(({ sessionId, userId, total, firstAt, lastAt }) => {
    return {
      session_id: sessionId,
      ...(userId && { user_id: userId }),
      total,
      first_at: toTimestamp(firstAt),
      last_at: toTimestamp(lastAt),
    };
  });
  return { sessions, ...pageEnd(core, page, sessionsCursors, selection) };
}

/** See `MemoryApi.users`. */
export async function users(core: Core, namespace: string, request: UsersRequest = {}): Promise<UsersResponse> {
  assertValid(checkUsers, request);
  const paging = pageRequest(core, request, usersCursors, { namespace });
  const page = await core.storage.users(namespace, paging, core.clock.now());
  const users = page.items.map(({ userId, counts, used, quota, lastStoredAt }) => {
    return { user_id: userId, ...counts, ...used, quota, last_stored_at: toTimestamp(lastStoredAt) };
  });
  return { users, ...pageEnd(core, page, usersCursors, { namespace }) };
}

/** See `MemoryApi.history`. */
export async function history(
  core: Core,
  namespace: string,
  memoryId: string,
  request: HistoryRequest = {},
): Promise<HistoryResponse> {
  assertValid(checkHistory, request);
  const now = core.clock.now();
  const of = toOwnerFilter(request);
  const selection = { namespace, filters: { ...of, memoryId, at: request.known_at } };
  const paging = pageRequest(core, request, historyCursors, selection);
  assertMemoryId(memoryId);
  if (request.known_at !== undefined) {
    const text = await core.storage.textAt(namespace, memoryId, toMs(request.known_at, 'known_at'), now, of);
    if (!text) throw memoryNotFound();
    return { id: memoryId, texts: [toText(text)], total: 1 };
  }
  const page = await core.storage.history(namespace, memoryId, paging, now, of);
  if (!page) throw memoryNotFound();
  return { id: memoryId, texts: page.items.map(toText), ...pageEnd(core, page, historyCursors, selection) };
}

function toText({ revision, content, heldFrom, heldUntil }: MemoryText) {
  return { revision, content, held_from: toTimestamp(heldFrom), held_until: toTimestampOrNull(heldUntil) };
}

/**
 * Throws NOT_FOUND for an id with U+0000 or a lone surrogate, since SQLite and PostgreSQL treat such an id differently.
 */
export function assertMemoryId(memoryId: string): void {
  if (!isStorable(memoryId)) throw memoryNotFound();
}

/** Creates the error for an unknown id. The message does not repeat the id, which the caller knows. */
export function memoryNotFound(): MemoryError {
  return new MemoryError('NOT_FOUND', 'memory not found');
}

/** Returns a memory as a response has it. */
export function toMemory(stored: StoredMemory, now: number): Memory {
  return {
    id: stored.id,
    content: stored.content,
    ...toRevision(stored),
    tags: stored.tags,
    importance: stored.importance,
    source: stored.source,
    session_id: stored.sessionId,
    ...toOwner(stored),
    ...toExternalId(stored),
    tier: stored.tier,
    metadata: stored.metadata,
    created_at: toTimestamp(stored.createdAt),
    updated_at: toTimestamp(stored.updatedAt),
    expires_at: toTimestampOrNull(stored.expiresAt),
    valid_from: toTimestampOrNull(stored.validFrom),
    valid_to: toTimestampOrNull(stored.validTo),
    supersedes: stored.supersedes,
    superseded_by: stored.supersededBy,
    merged_into: stored.mergedInto,
    derived_from: stored.derivedFrom,
    access_count: stored.accessCount,
    accessed_at: toTimestampOrNull(stored.accessedAt),
    retention: getRetention(stored, now),
    version: stored.version,
  };
}
