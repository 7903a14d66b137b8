import {
  AGENT_LABEL,
  type Digest,
  filteredAttributes,
  type IndexQuery,
  labelDigest,
  type MemoryFilter,
  namespaceDigest,
  type OwnerFilter,
  type RecallIndex,
  type Scope,
  SESSION_LABEL,
  type SearchRequest,
  type SelectedWords,
  SOURCE_LABEL,
  selectQueryWords,
  USER_LABEL,
} from '@memoryd/search';

/** A query on the index, and the words that it searches. */
export interface WordQuery {
  indexQuery: IndexQuery;
  selected: SelectedWords;
}

/** Begins a query. The index supports one query at a time, so the caller must read its results before the next query. */
export async function beginQuery(index: RecallIndex, request: SearchRequest): Promise<WordQuery> {
  const { namespace, filter, now } = request;
  const indexQuery = index.beginQuery({
    namespace: namespaceDigest(namespace),
    now,
    ...ownerLabels(namespace, filter),
    labels: getLabels(namespace, filter),
    filter,
  });
  const counter = {
    memoryCount: indexQuery.memoryCount,
    count: ({ words, synonyms }: { words: Digest[][]; synonyms: Digest[][] }) => ({
      words: indexQuery.countDocuments(words),
      synonyms: indexQuery.countDocuments(synonyms),
    }),
  };
  return { indexQuery, selected: await selectQueryWords(counter, request) };
}

/** Returns the labels of the users and agents of an owner filter. */
export function ownerLabels(namespace: string, { userIds, agentIds }: OwnerFilter): Pick<Scope, 'users' | 'agents'> {
  return {
    users: userIds?.map((id) => labelDigest(namespace, USER_LABEL, id)),
    agents: agentIds?.map((id) => labelDigest(namespace, AGENT_LABEL, id)),
  };
}

function getLabels(namespace: string, filter: MemoryFilter): Digest[] {
  const labels: [string, string][] = filteredAttributes(filter);
  if (filter.sessionId !== undefined) labels.push([SESSION_LABEL, filter.sessionId]);
  if (filter.source !== undefined) labels.push([SOURCE_LABEL, filter.source]);
  return labels.map(([name, value]) => labelDigest(namespace, name, value));
}
