import {
  assertValid,
  createCheck,
  DEFAULTS,
  invalidRequest,
  LIMITS,
  RecallRequest,
  type RecallResponse,
  type RecallResult,
  TIME_ZONE_MUST,
} from '@memoryd/contract';
import type { QueryContext, Ranked, RecalledMemory, SearchResult } from '@memoryd/search';
import { findTimeZone, WEIGHTS, wordMatcher } from '@memoryd/search';
import { findResults, Stages } from '../find.ts';
import { toExternalId, toMemoryFilter, toOutdated, toOwner, toRevision, toValidityFilter } from '../request-filter.ts';
import { toMs, toTimestamp } from '../time.ts';
import type { Core } from './core.ts';
import { createHighlighter } from './highlight.ts';
import { beginRecall } from './recalls.ts';

const check = createCheck(RecallRequest, 'query');

/** Returns the explanation of a result's score. */
type Explain = (content: string, ranked: Ranked) => NonNullable<RecallResult['explanation']>;

/** See `MemoryApi.recall`. */
export async function recall(
  core: Core,
  namespace: string,
  request: RecallRequest,
  keyId?: string,
): Promise<RecallResponse> {
  assertValid(check, request);
  const remember = beginRecall(core, namespace);
  const trimmed = trimmedQuery(request.query);
  // The query is redacted like the stored texts, because the query is logged and may be sent to a remote model.
  const query = core.redactor?.redact(trimmed).text ?? trimmed;
  const stages = new Stages();
  const asked = toAsked(core, request);
  const findRequest = {
    namespace,
    query,
    filter: {
      ...toMemoryFilter(request),
      ...(request.superseded === false && { superseded: false as const, at: asked.now }),
      ...toValidityFilter(request, asked.now),
    },
    limit: request.top_k ?? DEFAULTS.topK,
    minScore: request.min_score ?? 0,
    onlyRelevant: request.only_relevant,
    explain: request.explain,
    asked,
  };
  const recalled = { ...(await findResults(core, findRequest, core.maxAnswerBytes, stages)), stages };
  const { results: found, truncated, reranked } = recalled;
  if (request.track !== false) {
    const memories = found.map(({ memory }) => memory);
    core.events.publishRecalled(namespace, memories, findRequest.filter);
    track(core, { namespace, keyId }, query, { ...recalled, memories });
    remember({
      ...{ kind: 'recall', query, of: findRequest.filter },
      results: found.map(({ memory, score }) => ({ id: memory.id, score })),
    });
  }
  const getExplanation = request.explain ? createExplainer(query) : undefined;
  const results = found.map((result) => toResult(result, getExplanation));
  return {
    results: request.highlight ? await addHighlights(results, createHighlighter(query, core.thesaurus)) : results,
    total: found.length,
    ...(truncated && { truncated }),
    ...(reranked !== undefined && { reranked }),
  };
}

/** Returns the time and the time zone of a request. Throws INVALID_REQUEST for an unknown zone. */
export function toAsked(
  { clock, timezone }: Core,
  request: Pick<RecallRequest, 'asked_at' | 'timezone'>,
): QueryContext {
  const now = request.asked_at === undefined ? clock.now() : toMs(request.asked_at, 'asked_at');
  const zone = request.timezone === undefined ? timezone : findTimeZone(request.timezone);
  if (zone !== undefined) return { now, zone };
  throw invalidRequest([{ path: '/timezone', message: `timezone must ${TIME_ZONE_MUST}` }]);
}

function trimmedQuery(query: string): string {
  const trimmed = query.trim();
  const chars = [...trimmed].length;
  if (chars >= 1 && chars <= LIMITS.queryChars) return trimmed;
  const message = `query must be a string of 1 to ${LIMITS.queryChars} characters after trimming`;
  throw invalidRequest([{ path: '/query', message }]);
}

/** Returns `placeFields` of a memory. */
export function toPlace(memory: RecalledMemory) {
  return {
    tags: memory.tags,
    session_id: memory.sessionId,
    ...toOwner(memory),
    ...toExternalId(memory),
    created_at: toTimestamp(memory.createdAt),
    ...toOutdated(memory),
  };
}

function toResult({ memory, score, ranked }: SearchResult, getExplanation: Explain | undefined): RecallResult {
  return {
    id: memory.id,
    content: memory.content,
    score,
    ...toPlace(memory),
    ...toRevision(memory),
    ...(ranked && getExplanation && { explanation: getExplanation(memory.content, ranked) }),
  };
}

/** Adds a highlight to each result. Yields to other work between results, since highlighting a long text takes time. */
async function addHighlights(
  results: readonly RecallResult[],
  getHighlight: (content: string) => string,
): Promise<RecallResult[]> {
  const highlighted: RecallResult[] = [];
  for (const result of results) {
    highlighted.push({ ...result, highlight: getHighlight(result.content) });
    await new Promise((resolve) => setImmediate(resolve));
  }
  return highlighted;
}

function createExplainer(query: string): Explain {
  const getMatched = wordMatcher(query, LIMITS.matchedUnits);
  return (content, { evidence, isInherited }) => ({
    evidence,
    ...(isInherited && { evidence_of_another: true }),
    weights: WEIGHTS.evidence,
    ...WEIGHTS.calibration,
    matched: getMatched(content),
  });
}

interface Recalled {
  memories: readonly RecalledMemory[];
  now: number;
  reranked?: boolean;
  stages: Stages;
}

/** Queues one use of each returned memory for the access log, and logs the query. */
export function track(
  core: Core,
  { namespace, keyId }: { namespace: string; keyId: string | undefined },
  query: string,
  { memories, now, reranked, stages }: Recalled,
): void {
  core.accesses.note(
    namespace,
    memories.map(({ ordinal }) => ordinal),
    now,
  );
  core.telemetry.report({
    level: 'info',
    component: 'retrieval',
    event: 'query_completed',
    facts: {
      ...stages.facts(),
      results_count: memories.length,
      ...(reranked !== undefined && { reranked }),
      namespace,
      key_id: keyId ?? null,
      query,
    },
  });
}
