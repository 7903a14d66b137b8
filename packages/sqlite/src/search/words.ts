import type {
  Digest,
  IndexQuery,
  IndexQueryWords,
  MemoryFilter,
  OwnerFilter,
  QueryWordKinds,
  RecallIndex,
  Scope,
  SearchRequest,
} from '@memoryd/search';
import {
  AGENT_LABEL,
  areTooMany,
  dateMatch,
  filteredAttributes,
  getQuerySynonyms,
  getQueryWordKinds,
  getRarestWords,
  getSpeakerTerms,
  getWordShares,
  labelDigest,
  MAX_PER_TEXT,
  namespaceDigest,
  parseQueryWords,
  SESSION_LABEL,
  SOURCE_LABEL,
  SPEAKER_LABEL,
  termDigest,
  USER_LABEL,
  weighed,
} from '@memoryd/search';

/** The results of the word search, and the data of the query that is independent of vectors. */
export interface FoundByWords {
  /** The best rows, best first. */
  rows: readonly number[];
  indexQuery: IndexQuery;
  words: IndexQueryWords;
  /** Synonyms, each with the index of its query word. */
  synonyms: { word: number; weight: number }[];
  /** Indexed words of the synonyms, in the order of `synonyms`. */
  synonymWords: IndexQueryWords;
  /** For each query word, the label of memories whose speaker has that name. */
  speakers: IndexQueryWords;
  kinds: QueryWordKinds;
  tookMs: number;
}

/**
 * Searches the words of the query. The index supports one query at a time, so the caller must read the results of a
 * query before the next search.
 */
export function searchWords(index: RecallIndex, request: SearchRequest): FoundByWords {
  const startedAt = performance.now();
  const { namespace, filter, now } = request;
  const indexQuery = index.beginQuery({
    namespace: namespaceDigest(namespace),
    now,
    ...ownerLabels(namespace, filter),
    labels: getLabels(namespace, filter),
    filter,
  });
  const { memoryCount } = indexQuery;
  const digest = (term: string) => termDigest(namespace, term);
  const query = parseQueryWords(request.text);
  const searched = selectWords(indexQuery, query.words, digest);
  const synonyms = getQuerySynonyms(searched, query);
  const synonymFrequencies = indexQuery.countDocuments(synonyms.map(({ term }) => [digest(term)]));
  const words = indexQuery.words(getDigests(searched, digest));
  const { documentFrequencies } = words;
  const kinds = getQueryWordKinds(request, searched, query);
  const queryWords = { memoryCount, documentFrequencies, everyday: kinds.everyday };
  const weighedSynonyms = weighed(synonyms, synonymFrequencies, queryWords);
  const shares = getWordShares(queryWords);
  const byDate = request.date && {
    from: request.date.earliest,
    until: request.date.latest,
    match: dateMatch(shares, kinds.dated),
  };
  return {
    rows: words.best(shares, {
      count: request.poolSize + request.tailSize,
      maxOfText: MAX_PER_TEXT,
      dated: byDate,
    }),
    indexQuery,
    words,
    synonyms: weighedSynonyms,
    synonymWords: indexQuery.words(weighedSynonyms.map(({ term }) => [digest(term)])),
    speakers: indexQuery.words(
      getDigests(getSpeakerTerms(request.text, searched), (term) => labelDigest(namespace, SPEAKER_LABEL, term)),
    ),
    kinds,
    tookMs: performance.now() - startedAt,
  };
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

/** Returns the words to search: all words, or the rarest words if there are too many. */
function selectWords(indexQuery: IndexQuery, words: string[][], digest: (term: string) => Digest): string[][] {
  return areTooMany(words) ? getRarestWords(words, indexQuery.countDocuments(getDigests(words, digest))) : words;
}

function getDigests(words: readonly string[][], digest: (term: string) => Digest): Digest[][] {
  return words.map((terms) => terms.map(digest));
}
