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
import type { StoredMemory } from '../ports/storage-memories.ts';
import { toCondition, toOwnerFilter } from '../request-filter.ts';
import { ContextSelection, MIN_MEMORY_TOKENS, type Taken } from './context-selection.ts';
import type { Core } from './core.ts';
import { createHighlighter } from './highlight.ts';
import { toAsked, toPlace, track } from './recall.ts';
import { beginRecall } from './recalls.ts';

const check = createCheck(ContextRequest, 'request');

/** Share of the budget that standing notes may use. */
const STANDING_SHARE = 1 / 3;
/**
 * Maximum standing notes and recent memories that are considered, besides those that the session was given; at most
 * `LIMITS.topK` with these.
 */
const MAX_STANDING = 100;
const MAX_RECENT = 200;
/** Tokens of a short memory. The first search is for as many as have room, the second for all that can have room. */
const SHORT_MEMORY_TOKENS = 20;
/** Minimum results of a search, and maximum results of the first one that may be found without being taken. */
const MIN_RESULTS = 10;
const MAX_SPARE = 20;
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
  const remember = beginRecall(core, namespace);
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
  const found: Found = { standing, relevant, recent, questions: new Map() };
  const getGiven = () => (once ? core.given.get(once, core.clock.now()) : NOTHING);
  const options = { maxChars, knownTexts: toKnownTexts(core, request), getGiven };
  const { selection, resetAt } = await select(core, ask, found, options);
  const { taken, ...response } = selection.finish();
  const ordinals = taken.map(({ memory }) => memory.ordinal);
  // An agent that lost its prompt in the meantime may not have read this response.
  // A response that is not received gives nothing, and so is no use of the memories either.
  if (!signal?.aborted) {
    if (once && resetAt === ask.given.resetAt) core.given.add(once, ordinals, core.clock.now());
    if (request.track !== false) trackContext(core, { ask, keyId, session, taken, relevant: found.relevant, remember });
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
    remember,
  }: {
    ask: Ask;
    keyId: string | undefined;
    session: AskingSession | undefined;
    taken: readonly Taken[];
    relevant: FoundRelevant;
    remember: ReturnType<typeof beginRecall>;
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
  remember({
    ...{ kind: 'context', query: query ?? '', of: filter, sessionId: session?.sessionId },
    results: taken.map(({ memory, score }) => ({ id: memory.id, score })),
  });
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

/** The memories that may be taken for a context. */
interface Found {
  standing: RecalledMemory[];
  relevant: FoundRelevant;
  recent: RecalledMemory[];
  /** For each reply that has been looked up, by its id: the question that it is not understood without, if any. */
  questions: Map<string, RecalledMemory | undefined>;
}

/**
 * Selects what fits, and repeats this with more results while there is room for more, and with the questions of the
 * replies that were taken: most results are not taken. Adds what it reads to `found`.
 */
async function select(
  core: Core,
  ask: Ask,
  found: Found,
  { maxChars, knownTexts, getGiven }: { maxChars: number; knownTexts: readonly string[]; getGiven(): Given },
): Promise<{ selection: ContextSelection; resetAt: number | undefined }> {
  const first = new ContextSelection({
    budget: ask.budget,
    maxChars,
    maxBytes: core.maxAnswerBytes,
    zone: createTimeZone(ask.asked.zone),
    knownTexts,
    createExcerpts: () => createHighlighter(ask.query ?? '', core.thesaurus),
  });
  let isFirstLookup = true;
  for (let selection = first; ; selection = selection.restart()) {
    // Nothing is awaited from here until `add`, so that concurrent requests of a session are not given the same memory.
    const { ordinals: given, resetAt } = getGiven();
    const { hasRoom, replies } = takeAll(selection, ask.budget, found, ({ ordinal }) => !given.has(ordinal));
    if (hasRoom && found.relevant.hasMore) {
      found.relevant = await findRelevant(core, ask, found.relevant.stages);
      continue;
    }
    if (replies.length === 0) return { selection, resetAt };
    // With the questions, other replies may fit. The second time, all are looked up, so that there is no third time.
    await readQuestions(core, ask, isFirstLookup ? replies : getReplies(found), found.questions);
    isFirstLookup = false;
  }
}

/**
 * Takes what fits: standing notes, then what answers the query, then recent memories. Returns the replies that were
 * taken and have not been looked up, and whether there was room for more of what answers the query.
 */
function takeAll(
  selection: ContextSelection,
  budget: number,
  found: Found,
  isNew: (memory: RecalledMemory) => boolean,
): { hasRoom: boolean; replies: RecalledMemory[] } {
  const { standing, relevant, recent, questions } = found;
  for (const memory of standing.filter(isNew)) {
    selection.take([{ memory, why: 'standing' }], budget * STANDING_SHARE);
  }
  const unread = new Set(getReplies(found).filter(({ id }) => !questions.has(id)));
  const replies: RecalledMemory[] = [];
  for (const { memory, score } of relevant.results.filter((each) => isNew(each.memory))) {
    const question = questions.get(memory.id);
    const reply: Taken = { memory, why: 'relevant', score };
    const before: Taken[] = question && isNew(question) ? [{ memory: question, why: 'relevant' }] : [];
    const isTaken = selection.take([...before, reply]) || selection.take([reply]);
    if (isTaken && unread.has(memory)) replies.push(memory);
  }
  const hasRoom = selection.hasRoom();
  for (const memory of recent.filter(isNew)) selection.take([{ memory, why: 'recent' }]);
  return { hasRoom, replies };
}

/** Returns the replies whose question may be looked up, best first. */
function getReplies({ relevant }: Found): RecalledMemory[] {
  const memories = relevant.results.map(({ memory }) => memory);
  return memories
    .filter(mayNeedQuestion)
    .slice(0, MAX_REPLIES)
    .filter(({ sessionId }) => sessionId !== null);
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

interface FoundRelevant {
  results: SearchResult[];
  now: number;
  reranked?: boolean;
  stages: Stages;
  /** Whether a search for more results may find more. */
  hasMore: boolean;
}

/**
 * Returns what answers the query, best first: what holds, unless the query asks for what was before. At first returns as
 * many results as a text mostly has room for.
 *
 * @param before stages of the first search, for all that a text can have room for
 */
async function findRelevant(core: Core, ask: Ask, before?: Stages): Promise<FoundRelevant> {
  const { namespace, query, asked, budget, spare } = ask;
  const stages = before ?? new Stages();
  if (query === undefined) return { results: [], now: asked.now, stages, hasMore: false };
  const all = Math.min(LIMITS.topK, Math.ceil(budget / MIN_MEMORY_TOKENS) * 2 + spare);
  const few = Math.max(MIN_RESULTS, Math.ceil(budget / SHORT_MEMORY_TOKENS)) + Math.min(spare, MAX_SPARE);
  // A reranker would read the same texts again.
  const limit = before || core.reranking ? all : Math.min(few, all);
  const filter = asksForBefore(query) ? ask.filter : toHolding(ask);
  const request = { namespace, query, asked, filter, limit, onlyRelevant: true };
  const { results, now, reranked } = await findResults(core, request, core.maxAnswerBytes, stages);
  const hasMore = results.length === limit && limit < all;
  return { results, now, stages, hasMore, ...(reranked !== undefined && { reranked }) };
}

/** Looks up the questions of replies that have not been looked up. */
async function readQuestions(
  core: Core,
  { namespace, filter }: Ask,
  replies: readonly RecalledMemory[],
  questions: Found['questions'],
): Promise<void> {
  const unread = replies.filter(({ id }) => !questions.has(id));
  const places = unread.map(({ createdAt, ordinal, sessionId, userId, agentId }) => {
    return { createdAt, ordinal, sessionId: sessionId as string, userId, agentId };
  });
  const turns = await core.storage.turnsBefore(namespace, places, core.maxAnswerBytes, core.clock.now());
  for (const [index, reply] of unread.entries()) {
    const before = turns[index];
    questions.set(reply.id, before && isQuestion(before, reply, filter) ? before : undefined);
  }
}

/** Returns whether the turn before a reply is the question of another speaker, holds, and may be given. */
function isQuestion(before: StoredMemory, reply: RecalledMemory, { condition }: MemoryFilter): boolean {
  if (!asksFor(reply, before) || before.supersededBy !== null || before.validTo !== null) return false;
  return condition === undefined || meetsCondition(before, condition);
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
