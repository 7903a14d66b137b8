import {
  type Filter,
  type FilterExpression,
  invalidRequest,
  type ListFields,
  type ScopeRequest,
  toFilterCondition,
  type ValidityRequest,
} from '@memoryd/contract';
import { type MemoryFilter, type Owner, type OwnerFilter, readListWords } from '@memoryd/search';
import { toMs, toTimestamp } from './time.ts';

/**
 * Returns the users and agents that a request is limited to. Throws INVALID_REQUEST for `shared` without a user or
 * agent, since such a request would apply to all memories. See also `assertOwnerGiven`.
 */
export function toOwnerFilter(request: ScopeRequest): OwnerFilter {
  assertOwnerGiven(request);
  const { user_id, agent_id, shared } = request;
  if (shared && user_id === undefined && agent_id === undefined) {
    throw invalidRequest([{ path: '/shared', message: 'shared must come with user_id or agent_id' }]);
  }
  const withShared = (id: string) => (shared ? [id, ''] : [id]);
  return {
    ...(user_id !== undefined && { userIds: withShared(user_id) }),
    ...(agent_id !== undefined && { agentIds: withShared(agent_id) }),
  };
}

/**
 * Throws INVALID_REQUEST for a `user_id` or `agent_id` that is present but undefined, for example after a failed user
 * lookup in the application. Without this check, the request would apply to all users.
 */
export function assertOwnerGiven(request: { user_id?: string; agent_id?: string }): void {
  for (const field of ['user_id', 'agent_id'] as const) {
    if (!(field in request) || request[field] !== undefined) continue;
    throw invalidRequest([
      { path: `/${field}`, message: `${field} must not be undefined; omit the field for no limit` },
    ]);
  }
}

/** Returns the user and agent of a memory as fields of a response. */
export function toOwner({ userId, agentId }: Owner): { user_id?: string; agent_id?: string } {
  return { ...(userId && { user_id: userId }), ...(agentId && { agent_id: agentId }) };
}

/** Returns the external id of a memory as a field of a response. */
export function toExternalId({ externalId }: { externalId: string | null }): { external_id?: string } {
  return externalId === null ? {} : { external_id: externalId };
}

/** Returns when a memory ends, and what replaces it, as fields of a response. */
export function toOutdated({ validTo, supersededBy }: { validTo: number | null; supersededBy: string | null }) {
  return {
    ...(validTo !== null && { valid_to: toTimestamp(validTo) }),
    ...(supersededBy !== null && { superseded_by: supersededBy }),
  };
}

/** Returns the parsed `filter` of a request. Absent without conditions. */
export function toCondition({ filter }: { filter?: FilterExpression }): Pick<MemoryFilter, 'condition'> {
  const condition = filter && toFilterCondition(filter);
  return condition ? { condition } : {};
}

/**
 * Returns the filter for memories that hold at the moment of a request, and for what was known at a time. Throws
 * INVALID_REQUEST for `current` with `as_of`.
 *
 * @param asked the moment of `current`, in ms; the present if absent, so that pages of a list have one filter
 */
export function toValidityFilter({ current, as_of, known_at }: ValidityRequest, asked?: number): ValidityFilter {
  if (current && as_of !== undefined) {
    throw invalidRequest([{ path: '/current', message: 'current must not come with as_of' }]);
  }
  const known = known_at === undefined ? {} : { known: toMs(known_at, 'known_at') };
  if (as_of !== undefined) return { ...known, at: toMs(as_of, 'as_of'), holding: true };
  return { ...known, ...(current && { holding: true, ...(asked !== undefined && { at: asked }) }) };
}

type ValidityFilter = Pick<MemoryFilter, 'at' | 'holding' | 'known'>;

/** Returns the revision of an earlier text as a field of a response. */
export function toRevision({ earlierRevision }: { earlierRevision: number | null }): { revision?: number } {
  return earlierRevision === null ? {} : { revision: earlierRevision };
}

/** Converts the filter of a request into the filter of storage. */
export function toMemoryFilter(filter: Filter): MemoryFilter {
  return {
    ...toOwnerFilter(filter),
    ...(filter.tag && { tags: filter.tag }),
    ...(filter.tier && { tier: filter.tier }),
    ...(filter.session_id !== undefined && { sessionId: filter.session_id }),
    ...(filter.source !== undefined && { source: filter.source }),
    ...(filter.external_id !== undefined && { externalId: filter.external_id }),
    ...(filter.since !== undefined && { since: toMs(filter.since, 'since') }),
    ...(filter.until !== undefined && { until: toMs(filter.until, 'until', 'last') }),
    ...(filter.metadata && { metadata: filter.metadata }),
    ...toCondition(filter),
  };
}

/**
 * Converts the selection of a list into the filter of storage. Throws INVALID_REQUEST for a `q` without a word, and for
 * `q` with `known_at`, because only the words of present texts are stored.
 */
export function toListFilter(request: ListFields): MemoryFilter {
  const filter = { ...toMemoryFilter(request), ...toValidityFilter(request) };
  if (request.q === undefined) return filter;
  if (request.known_at !== undefined) {
    throw invalidRequest([
      { path: '/q', message: 'q must not come with known_at, since it finds words of present texts' },
    ]);
  }
  const words = readListWords(request.q);
  if (!words) {
    throw invalidRequest([{ path: '/q', message: 'q must have a letter, a number or a sign such as €; add a word' }]);
  }
  return { ...filter, words };
}
