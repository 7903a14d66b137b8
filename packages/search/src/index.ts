/** The search of memoryd. The folders import each other downwards: candidates, index, synonyms, ranking, text. */

export {
  type CandidateRows,
  collectCandidates,
  combineMatches,
  MAX_PER_TEXT,
  MAX_SUCCESSORS,
  type Matches,
  NEIGHBOR_DISTANCE,
  type RowRelations,
} from './candidates/candidate-rows.ts';
export {
  canonicalText,
  firstEqual,
  labelDigest,
  namespaceDigest,
  termDigest,
  textDigest,
} from './candidates/digests.ts';
export { getWords, type Recallable } from './candidates/memory-words.ts';
export { type SelectedWords, selectQueryWords, type WordCounter } from './candidates/query-words.ts';
export type {
  QueryVector,
  RankedSearchRequest,
  RecalledMemory,
  SearchRequest,
  SearchResult,
  SearchResults,
  SearchStorage,
} from './candidates/search.ts';
export { rankFound } from './candidates/search.ts';
export {
  AGENT_LABEL,
  type AttributeFields,
  belongsTo,
  type FilterFields,
  getAttributes,
  getMetadataPath,
  groupByOwner,
  haveSameOwner,
  isLimited,
  isOpen,
  type MemoryFilter,
  type Owner,
  type OwnerFilter,
  type RequiredAttribute,
  SESSION_LABEL,
  SOURCE_LABEL,
  SPEAKER_LABEL,
  splitFilter,
  USER_LABEL,
} from './filter.ts';
export { meetsCondition, pickFilterFields } from './filter-match.ts';
export {
  type Digest,
  entriesIn,
  getModel,
  getOrdinal,
  getTerms,
  getTrailingVectors,
  getVectors,
  hasVectors,
  haveEqualContents,
  isWhole,
  MODEL_OFFSET,
  numbered,
  packEntry,
  withVectors,
} from './index/entry.ts';
export { IndexFullError } from './index/exchange.ts';
export type { FieldReader } from './index/filter-columns.ts';
export { IndexQuery, IndexQueryWords } from './index/index-query.ts';
export { dotInt8, type Int8Vector, toFloats, toInt8 } from './index/int8.ts';
export { Nearness, type StatesCache } from './index/nearness.ts';
export {
  type Description,
  type IndexedModel,
  MAX_DIMENSIONS,
  type MemoryState,
  RecallIndex,
  type Scope,
} from './index/recall-index.ts';
export { areIntactStates, packStates } from './index/token-states.ts';
export { type QueryContext, readQueryIntent } from './ranking/asked-date.ts';
export { DAMPING, wordWeights } from './ranking/bm25.ts';
export {
  type CosineScale,
  type CosineScales,
  getCosineScale,
  type ScriptGroup,
  toUsualCosine,
} from './ranking/cosine-scale.ts';
export {
  type CreatedMatch,
  getSynonyms,
  getWordKinds,
  type Thesaurus,
  withoutAsides,
} from './ranking/query-terms.ts';
export { rankOrdinals } from './ranking/rank.ts';
export type { QueryIntent, QueryPeriod, Ranked } from './ranking/ranking.ts';
export { getRerankCandidates, type RerankCandidate, withReranks } from './ranking/rerank-candidates.ts';
export { getRetention, type Retainable, WHOLE_RETENTION } from './ranking/retention.ts';
export { NO_ROW, NO_SESSION, type Signals } from './ranking/signals.ts';
export { findTimeZone } from './ranking/time-zone.ts';
export { WEIGHTS } from './ranking/weights.ts';
export { english } from './synonyms/table.ts';
export {
  ANALYZER_VERSION,
  contentWords,
  isEnglish,
  queryWords,
  readQuery,
  visitMatches,
  wordMatcher,
  wordSequence,
} from './text/analyze.ts';
export { cutAround, type Part, SentenceStarts, toWholeGraphemes } from './text/excerpt.ts';
export { copyString, fold } from './text/fold.ts';
export { getListWords, type ListWords, readListWords } from './text/list-words.ts';
export { getParts } from './text/parts.ts';
export { asksFor, mayNeedQuestion, statesNothing } from './text/reply.ts';
export { getGraphemes, getSentences, getWords as getWordSegments } from './text/segments.ts';
export { getLabel, NO_SPEAKER, ROLE_TAG, readTraits } from './text/traits.ts';
