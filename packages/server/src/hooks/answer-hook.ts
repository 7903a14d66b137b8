import {
  type ContextRequest,
  type ContextResponse,
  type FilterExpression,
  type HookSettings,
  PROJECT_TAG,
  type StoreRequest,
  type StoreResponse,
} from '@memoryd/contract';
import type { Engine } from '@memoryd/engine';
import { createAnswerKey } from './keys.ts';
import type { HookOwner } from './owner-map.ts';
import { canBeQuery, isAutomaticPrompt, isCommand, isWideEnough, toPersonText } from './person-text.ts';
import type { HookEvent, Program, PromptEvent, StartEvent, TurnEndEvent } from './programs/program.ts';
import { PROGRAMS, type ProgramName } from './programs/programs.ts';
import { isAbsolute, isInFolder, type Project, toFolderProject, toProjectTag } from './project.ts';
import type { HookSession, HookSessions } from './sessions.ts';
import { toAnswerText, toTurnRequest } from './turn-text.ts';

/** Default tokens of a context. */
const DEFAULT_TOKENS = { start: 800, prompt: 600 };

type HookMemories = ReturnType<Engine['hookMemories']>;

/** A call of a hook. */
export interface HookCall {
  program: ProgramName;
  /** The parsed body, of any form. */
  body: unknown;
  owner: HookOwner;
  capture: 'prompts' | 'turns' | 'off';
  recall: 'on' | 'off';
  /** Maximum tokens of a context. */
  budget?: number | undefined;
  /** The project that the headers name. */
  project?: Project | undefined;
  /** When the call arrived, in ms since 1970. */
  at: number;
  /** After its abort, the program does not receive the response. */
  signal: AbortSignal;
  /** Resolves when the response is ready. Nobody waits for the vectors of a stored text, so it is embedded after that. */
  answered: Promise<void>;
}

/** The parts of the service that answer a hook. */
export interface HookService {
  /** The memories of the owner. */
  memories: HookMemories;
  sessions: HookSessions;
  getSettings(): Promise<HookSettings>;
  /** Runs a search when the service has a slot for it. */
  whenFree<Result>(search: () => Promise<Result>): Promise<Result>;
}

/** The operations that a call begins, and the form of its response. */
export interface HookAnswer {
  /** The write of the text; absent if the call stores nothing. */
  storing?: Promise<Outcome<StoreResponse>>;
  /** The search for the context; absent if the call gives nothing. */
  giving?: Promise<Outcome<ContextResponse>>;
  /** Returns the response to the program, without a text if nothing is given. */
  respond(text?: string): object;
}

/** The result of an operation whose failure does not prevent a response. */
export type Outcome<Value> = { value: Value } | { error: unknown };

const NOTHING: HookAnswer = { respond: () => ({}) };

/** A call, the event that it reports, and the session of the event. */
interface Turn {
  service: HookService;
  call: HookCall;
  program: Program;
  event: HookEvent;
  session: HookSession;
}

/**
 * Begins to store what a person typed, and to search for what the program should know. Rejects if the settings cannot be
 * read, since nothing may be stored or given then.
 */
export async function answerHook(service: HookService, call: HookCall): Promise<HookAnswer> {
  const program: Program = PROGRAMS[call.program];
  const event = isObject(call.body) ? program.read(call.body) : undefined;
  if (!event || event.isByAgent) return NOTHING;
  const session = service.sessions.open(call.owner, call.program, event.session);
  session.noteFolder(event.folder);
  if (event.kind === 'compact' || (event.kind === 'start' && event.reset)) session.needsReset = true;
  const folders = [event.folder, session.folder, ...(event.otherFolders ?? [])].filter(
    (folder) => folder !== undefined,
  );
  if (!isAllowed(await service.getSettings(), folders)) {
    if (event.kind === 'prompt') session.skipsAnswer = true;
    return NOTHING;
  }
  const turn = { service, call, program, event, session };
  noteHeaders(turn);
  return { ...begin(turn), respond: (text) => program.respond(event, text || undefined) };
}

/** Returns whether hooks may store and give. An unknown folder may be an ignored one. */
function isAllowed({ paused, ignored_folders: ignored }: HookSettings, folders: readonly string[]): boolean {
  if (paused) return false;
  if (ignored.length === 0) return true;
  const isOutside = (folder: string) => isAbsolute(folder) && !ignored.some((each) => isInFolder(folder, each));
  return folders.length > 0 && folders.every(isOutside);
}

type Begun = Pick<HookAnswer, 'storing' | 'giving'>;

function begin(turn: Turn): Begun {
  const { event } = turn;
  switch (event.kind) {
    case 'start':
      return beginStart(turn, event);
    case 'prompt':
      return beginPrompt(turn, event);
    case 'turn-end':
      return beginTurnEnd(turn, event);
    default:
      return {};
  }
}

function beginStart(turn: Turn, { isRepeated = false }: StartEvent): Begun {
  const { session, call } = turn;
  const isKnown = session.isStarted;
  session.isStarted = true;
  if (call.recall === 'off' || (isRepeated && isKnown)) return {};
  return { giving: settle(give(turn, DEFAULT_TOKENS.start)) };
}

function beginPrompt(turn: Turn, event: PromptEvent): Begun {
  const { session, call, program } = turn;
  session.skipsAnswer = event.isAutomatic || isAutomaticPrompt(event.text) || session.isScheduled(event.text);
  if (session.skipsAnswer) return {};
  const text = toPersonText(event.text);
  const { promptId, at = call.at } = event;
  const report = { session: event.session, promptId, text, at };
  const { key, isKnown } = session.report(call.program, report, { now: call.at, isRepeated: event.isRepeated });
  if (text === '' || isCommand(text)) return {};
  const isStored = call.capture !== 'off' && isWideEnough(text);
  const isGiven = call.recall === 'on' && program.takesContextOnPrompt && !isKnown && canBeQuery(text);
  return {
    ...(isStored && { storing: settle(storeText(turn, { text, role: 'user', key })) }),
    ...(isGiven && { giving: settle(give(turn, DEFAULT_TOKENS.prompt, text)) }),
  };
}

function beginTurnEnd(turn: Turn, event: TurnEndEvent): Begun {
  const { session, call } = turn;
  session.schedule(event.scheduled ?? []);
  const text = toAnswerText(event.answer);
  if (call.capture !== 'turns' || text === '') return {};
  const { promptId } = event;
  const promptKey = session.findKey(promptId);
  // The prompt may have been sent while paused, before a restart.
  if (promptKey === undefined || (session.skipsAnswer && promptId === undefined)) return {};
  return { storing: settle(storeText(turn, { text, role: 'assistant', key: createAnswerKey(promptKey) })) };
}

/** Stores a text once. A prompt that is reported again stays unchanged; a later answer to it replaces the earlier one. */
async function storeText(
  turn: Turn,
  { text, role, key }: { text: string; role: 'user' | 'assistant'; key: string },
): Promise<StoreResponse> {
  const { service, call, session } = turn;
  const project = await getProject(turn);
  const request: StoreRequest = {
    ...toTurnRequest({ program: call.program, role, text, key, sessionId: session.id, project }),
    ...toUser(call.owner),
  };
  const changeable = role === 'assistant' ? (['content'] as const) : [];
  return service.memories.store(request, { changeable, embedAfter: call.answered });
}

/**
 * Returns the context for the start of a session, or for a prompt: memories of the project or of none, except those of
 * the session and the prompt itself.
 */
async function give(turn: Turn, tokens: number, prompt?: string): Promise<ContextResponse> {
  const { service, call, program, session } = turn;
  const project = await getProject(turn);
  const { needsReset } = session;
  session.needsReset = false;
  const request: ContextRequest = {
    session_id: session.id,
    budget: Math.min(call.budget ?? tokens, program.maxTokens ?? Number.POSITIVE_INFINITY),
    filter: toFilter(project),
    ...(prompt !== undefined && { query: prompt, exclude_texts: [prompt] }),
    ...(needsReset && { reset: true }),
    ...toUser(call.owner),
  };
  const options = { signal: call.signal, ...(program.maxChars !== undefined && { maxChars: program.maxChars }) };
  try {
    return await service.whenFree(() => service.memories.context(request, options));
  } catch (error) {
    session.needsReset ||= needsReset;
    throw error;
  }
}

/** Returns the filter for memories of a project, or of none. Agents may name a project by its tag alone. */
function toFilter(project: Project | undefined): FilterExpression {
  const isUnnamed: FilterExpression = { 'metadata.project': { $exists: false } };
  const isUntagged: FilterExpression = { $not: { tag: { $prefix: PROJECT_TAG } } };
  if (!project) return { ...isUnnamed, ...isUntagged };
  return {
    $or: [{ 'metadata.project': project.id }, { ...isUnnamed, $or: [{ tag: toProjectTag(project) }, isUntagged] }],
  };
}

/** Remembers the project that the headers name: at the start of the session, or if they have not named it before. */
function noteHeaders({ call: { project }, event, session }: Turn): void {
  if (!project || (event.kind !== 'start' && session.project?.isNamed)) return;
  session.project = { value: project, isNamed: true };
}

/**
 * Returns the project of a session: as the headers named it at the start of the session; else as the session's newest
 * memory has it, since the service may have been restarted; else the folder.
 */
async function getProject({ service, call, event, session }: Turn): Promise<Project | undefined> {
  if (session.project) return session.project.value;
  const { memories } = await service.memories.memories({ session_id: session.id, limit: 1, ...toUser(call.owner) });
  const { project, branch } = memories[0]?.metadata ?? {};
  const stored = typeof project === 'string' && { id: project, ...(typeof branch === 'string' && { branch }) };
  const folder = session.folder ?? event.folder;
  const ofFolder = folder === undefined ? undefined : toFolderProject(folder);
  session.project ??= { value: stored || ofFolder, isNamed: false };
  return session.project.value;
}

function toUser({ userId }: HookOwner): { user_id?: string } {
  return userId === '' ? {} : { user_id: userId };
}

/** Returns the result of an operation, or its failure. */
export async function settle<Value>(operation: Promise<Value>): Promise<Outcome<Value>> {
  try {
    return { value: await operation };
  } catch (error) {
    return { error };
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
