import {
  asksForBefore,
  assertValid,
  type ContextMemory,
  ContextRequest,
  type ContextResponse,
  createCheck,
  createTimeZone,
  DEFAULTS,
  type FilterCondition,
  invalidRequest,
  LIMITS,
} from '@memoryd/contract';
import {
  asksFor,
  type MemoryFilter,
  mayNeedQuestion,
  meetsCondition,
  type QueryContext,
  type RecalledMemory,
  type SearchResult,
  statesNothing,
} from '@memoryd/search';
import { toEventProject } from '../event-log.ts';
import { findResults, Stages } from '../find.ts';
import { type AskingSession, type Given, NOTHING } from '../given-memories.ts';
import { toCondition, toOwnerFilter } from '../request-filter.ts';
import { ContextSelection, MIN_MEMORY_TOKENS, type Taken } from './context-selection.ts';
import type { Core } from './core.ts';
import { createHighlighter } from './highlight.ts';
import { toAsked, toPlace, track } from './recall.ts';

const check = createCheck(ContextRequest, 'request');

/** Share of the budget that standing notes may use. */
const STANDING_SHARE = 1 / 3;
/**
 * Maximum standing notes and recent memories that are considered, besides those that the session was given; at most
 * `LIMITS.topK` with these.
 */
const MAX_STANDING = 100;
const MAX_RECENT = 200;
/** Maximum short replies whose question is looked up. */
const MAX_REPLIES = 20;

/** A context request whose fields have been checked and filled in. */
interface Ask {
  namespace: string;
  /** Undefined without a query. */
  query?: string;
  asked: QueryContext;
  /** The memories that may be given; with `holding`, only those that hold. */
  filter: MemoryFilter;
  budget: number;
  given: Given;
  /** Number of memories that may be found without being taken. */
  spare: number;
}

/** Conditions of a caller that may not receive or use the whole context. */
export interface ContextOptions {
  /** The public id of the caller's key, for the log of recalls. */
  keyId?: string | undefined;
  /** Maximum UTF-16 units of the text. */
  maxChars?: number;
  /** After its abort, the caller does not receive the response, so nothing counts as given. */
  signal?: AbortSignal;
}

/** See `MemoryApi.context`. */
export async function context(
  core: Core,
  namespace: string,
  request: ContextRequest,
  { keyId, maxChars = Number.POSITIVE_INFINITY, signal }: ContextOptions = {},
): Promise<ContextResponse> {
  assertValid(check, request);
  assertSession(request);
  const asked = toAsked(core, request);
  const session = toAskingSession(namespace, request);
  const scope = { ...toOwnerFilter(request), ...toCondition(request) };
  // A refused request resets nothing.
  if (session && request.reset) core.given.reset(session, core.clock.now());
  const once = request.once === false ? undefined : session;
  const ask = toAsk(core, request, { namespace, asked, scope, session, once });
  const [standing, relevant, recent] = await Promise.all([
    findStanding(core, ask),
    findRelevant(core, ask),
    (request.recent ?? ask.query === undefined) ? findRecent(core, ask) : [],
  ]);
  const selection = new ContextSelection({
    budget: ask.budget,
    maxChars,
    maxBytes: core.maxAnswerBytes,
    zone: createTimeZone(asked.zone),
    knownTexts: toKnownTexts(core, request),
    getExcerpt: createHighlighter(ask.query ?? '', core.thesaurus),
  });
  // Nothing is awaited until `add`, so that concurrent requests of a session are not given the same memory.
  const { ordinals: given, resetAt } = once ? core.given.get(once, core.clock.now()) : NOTHING;
  takeAll(
    selection,
    ask.budget,
    { standing, relevant: relevant.results, recent },
    ({ ordinal }) => !given.has(ordinal),
  );
  const { taken, ...response } = selection.finish();
  const ordinals = taken.map(({ memory }) => memory.ordinal);
  // An agent that lost its prompt in the meantime may not have read this response.
  // A response that is not received gives nothing, and so is no use of the memories either.
  if (!signal?.aborted) {
    if (once && resetAt === ask.given.resetAt) core.given.add(once, ordinals, core.clock.now());
    if (request.track !== false) trackContext(core, { ask, keyId, session, taken, relevant });
  }
  return { ...response, memories: taken.map(toContextMemory) };
}

/**
 * Publishes the memories of a context as an event, even if there are none for its query. Counts the relevant ones as
 * used, and logs the query.
 */
function trackContext(
  core: Core,
  {
    ask: { namespace, query, filter },
    keyId,
    session,
    taken,
    relevant,
  }: {
    ask: Ask;
    keyId: string | undefined;
    session: AskingSession | undefined;
    taken: readonly Taken[];
    relevant: FoundRelevant;
  },
): void {
  if (query === undefined && taken.length === 0) return;
  const project = toEventProject(filter.condition && findProject(filter.condition));
  core.events.publishRecalled(
    namespace,
    taken.map(({ memory }) => memory),
    filter,
    { ...(session && { session_id: session.sessionId }), ...(project !== undefined && { project }) },
  );
  if (query === undefined) return;
  const memories = taken.filter(({ why }) => why === 'relevant').map(({ memory }) => memory);
  track(core, { namespace, keyId }, query, { ...relevant, memories });
}

/** Returns the first single value that a filter compares `metadata.project` with, if any. */
function findProject(condition: FilterCondition): unknown {
  if ('not' in condition) return undefined;
  if ('field' in condition) {
    const isProject = condition.field === 'metadata.project' && condition.operator === '$in';
    return isProject && condition.values.length === 1 ? condition.values[0] : undefined;
  }
  const parts = 'all' in condition ? condition.all : condition.any;
  return parts.map(findProject).find((project) => project !== undefined);
}

/** Takes what fits: standing notes, then what answers the query, then recent memories. */
function takeAll(
  selection: ContextSelection,
  budget: number,
  found: { standing: RecalledMemory[]; relevant: Relevant[]; recent: RecalledMemory[] },
  isNew: (memory: RecalledMemory) => boolean,
): void {
  for (const memory of found.standing.filter(isNew)) {
    selection.take([{ memory, why: 'standing' }], budget * STANDING_SHARE);
  }
  for (const { memory, score, question } of found.relevant.filter((each) => isNew(each.memory))) {
    const reply: Taken = { memory, why: 'relevant', score };
    const before: Taken[] = question && isNew(question) ? [{ memory: question, why: 'relevant' }] : [];
    if (!selection.take([...before, reply])) selection.take([reply]);
  }
  for (const memory of found.recent.filter(isNew)) selection.take([{ memory, why: 'recent' }]);
}

/** Throws INVALID_REQUEST for fields that need a session. */
function assertSession({ session_id, once, reset }: ContextRequest): void {
  if (session_id !== undefined) return;
  const field = once ? 'once' : reset ? 'reset' : undefined;
  if (field === undefined) return;
  throw invalidRequest([{ path: `/${field}`, message: `${field} must come with session_id, or be false` }]);
}

function toAskingSession(namespace: string, request: ContextRequest): AskingSession | undefined {
  const { session_id: sessionId, user_id: userId = '', agent_id: agentId = '' } = request;
  return sessionId === undefined ? undefined : { namespace, userId, agentId, sessionId };
}

function toAsk(
  core: Core,
  request: ContextRequest,
  {
    namespace,
    asked,
    scope: { condition, ...owners },
    session,
    once,
  }: Pick<Ask, 'namespace' | 'asked'> & { scope: MemoryFilter } & Record<'session' | 'once', AskingSession | undefined>,
): Ask {
  const now = core.clock.now();
  const { budget = DEFAULTS.contextTokens, exclude_texts = [] } = request;
  const query = toQuery(core, request.query);
  const ofSession = session && { not: isOfSession(session, core.given.get(session, now)) };
  const conditions = [condition ?? [], ofSession ?? []].flat();
  const given = once ? core.given.get(once, now) : NOTHING;
  return {
    ...{ namespace, asked, budget, given },
    ...(query !== '' && { query }),
    filter: { ...owners, ...(conditions.length > 0 && { condition: { all: conditions } }) },
    spare: given.ordinals.size + exclude_texts.length,
  };
}

/** Returns the part of a query that recall searches for, redacted like the stored texts. */
function toQuery({ redactor }: Core, query = ''): string {
  const text = [...query.trim()].slice(0, LIMITS.queryChars).join('').trim();
  return redactor?.redact(text).text ?? text;
}

/** Returns the texts that the prompt contains, as they are and as they would be stored. */
function toKnownTexts({ redactor }: Core, { exclude_texts: texts = [] }: ContextRequest): string[] {
  return redactor ? texts.flatMap((text) => [...new Set([redactor.redact(text).text, text])]) : texts;
}

/** Returns a condition for the memories of a session that its agent still has in its prompt. */
function isOfSession({ sessionId }: AskingSession, { resetAt }: Given): FilterCondition {
  const isStoredThere: FilterCondition = { field: 'session_id', operator: '$in', values: [sessionId] };
  if (resetAt === undefined) return isStoredThere;
  return { all: [isStoredThere, { field: 'created_at', operator: '$gt', value: resetAt }] };
}

/** Returns the filter for memories that hold at the time of the request. */
function toHolding({ filter, asked }: Ask): MemoryFilter {
  return { ...filter, holding: true, at: asked.now };
}

/** Returns the page that has `count` memories besides those that the session was given. */
function toPage({ maxAnswerBytes }: Core, { given }: Ask, count: number) {
  return { limit: Math.min(LIMITS.topK, count + given.ordinals.size), maxBytes: maxAnswerBytes };
}

/** Returns the standing notes, newest first. */
function findStanding(core: Core, ask: Ask): Promise<RecalledMemory[]> {
  return core.storage.newest(ask.namespace, toHolding(ask), toPage(core, ask, MAX_STANDING), core.clock.now(), true);
}

/** A memory that a recall has found, and the question that it replies to, if it is not understood without. */
interface Relevant extends SearchResult {
  question?: RecalledMemory;
}

interface FoundRelevant {
  results: Relevant[];
  now: number;
  reranked?: boolean;
  stages: Stages;
}

/** Returns what answers the query, best first: what holds, unless the query asks for what was before. */
async function findRelevant(core: Core, ask: Ask): Promise<FoundRelevant> {
  const { namespace, query, asked, budget, spare } = ask;
  const stages = new Stages();
  if (query === undefined) return { results: [], now: asked.now, stages };
  const request = {
    ...{ namespace, query, asked },
    filter: asksForBefore(query) ? ask.filter : toHolding(ask),
    limit: Math.min(LIMITS.topK, Math.ceil(budget / MIN_MEMORY_TOKENS) * 2 + spare),
    onlyRelevant: true,
  };
  const found = await findResults(core, request, core.maxAnswerBytes, stages);
  const { results, now, reranked } = found;
  const replies = results.filter(({ memory }) => mayNeedQuestion(memory)).slice(0, MAX_REPLIES);
  const questions = new Map(
    await Promise.all(replies.map(async ({ memory }) => [memory.id, await findQuestion(core, ask, memory)] as const)),
  );
  const withQuestions = results.map((result) => {
    const question = questions.get(result.memory.id);
    return question ? { ...result, question } : result;
  });
  return { results: withQuestions, now, stages, ...(reranked !== undefined && { reranked }) };
}

/** Returns the turn before a reply, if it is the question of another speaker, holds, and may be given. */
async function findQuestion(core: Core, { namespace, filter }: Ask, reply: RecalledMemory) {
  const { sessionId, userId, agentId, createdAt, ordinal } = reply;
  if (sessionId === null) return undefined;
  const page = { limit: 1, maxBytes: core.maxAnswerBytes, after: { createdAt, ordinal } };
  const inSession = { sessionId, userIds: [userId], agentIds: [agentId] };
  const [before] = await core.storage.newest(namespace, inSession, page, core.clock.now());
  if (!before || !asksFor(reply, before) || before.supersededBy !== null || before.validTo !== null) return undefined;
  return filter.condition === undefined || meetsCondition(before, filter.condition) ? before : undefined;
}

/**
 * Returns the newest statements, of the sessions in turn, so that a long session leaves room for the sessions before.
 */
async function findRecent(core: Core, ask: Ask): Promise<RecalledMemory[]> {
  const page = toPage(core, ask, MAX_RECENT);
  const newest = await core.storage.newest(ask.namespace, toHolding(ask), page, core.clock.now());
  const bySession = new Map<string | null, RecalledMemory[]>();
  for (const memory of newest) {
    if (ask.given.ordinals.has(memory.ordinal) || statesNothing(memory)) continue;
    bySession.set(memory.sessionId, [...(bySession.get(memory.sessionId) ?? []), memory]);
  }
  const sessions = [...bySession.values()];
  const longest = Math.max(0, ...sessions.map(({ length }) => length));
  return Array.from({ length: longest }, (_, turn) => sessions.flatMap((session) => session[turn] ?? [])).flat();
}

function toContextMemory({ memory, why, score, highlight }: Taken): ContextMemory {
  return {
    id: memory.id,
    content: memory.content,
    why,
    ...(score !== undefined && { score }),
    ...(highlight !== undefined && { highlight }),
    ...toPlace(memory),
  };
}
