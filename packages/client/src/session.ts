import type {
  ContextMemory,
  ContextRequest,
  ContextResponse,
  MemoryApi,
  SessionMemory,
  StoreOptions,
  StoreRequest,
} from '@memoryd/contract';
import { LIMITS } from '@memoryd/contract/limits';
import { estimateTokens } from '@memoryd/contract/token-estimate';
import {
  AgentMemory,
  type AgentMemoryOptions,
  createBatchStore,
  type FlushOptions,
  withoutStored,
  withTime,
} from './agent-memory.ts';
import { createIdempotencyKey } from './idempotency-key.ts';
import { getContext, type PromptContextOptions } from './prompt-context.ts';
import type { UserScope } from './user-scope.ts';

export { estimateTokens } from '@memoryd/contract/token-estimate';
export {
  AgentMemory,
  type AgentMemoryOptions,
  type AgentOperation,
  createBatchStore,
  type FlushOptions,
  flushStores,
  withoutStored,
  withTime,
} from './agent-memory.ts';
export { createIdempotencyKey } from './idempotency-key.ts';
export { getContext, type PromptContextOptions } from './prompt-context.ts';
export { getItem, toItemFields } from './stored-item.ts';
export { scopeToUser, type UserScope } from './user-scope.ts';

/** Prefix of the tag that contains the role of a message. */
const ROLE_TAG = 'role:';

/** Page size of the first read of the transcript. */
const FIRST_PAGE_TURNS = 1000;
/** Page size of later reads. */
const PAGE_TURNS = 200;

/** Maximum requests for memories that fit into the budget. */
const MAX_ATTEMPTS = 3;

/** A message of a conversation. Accepts all fields of a store request except `session_id`. */
export interface Message extends Omit<StoreRequest, 'session_id'> {
  /**
   * The speaker, such as `user` or `assistant`; at most 123 characters. Stored as the first tag, such as `role:user`.
   */
  role: string;
}

export interface SessionOptions extends PromptContextOptions, AgentMemoryOptions, UserScope {
  /** Number of newest turns that take precedence over memories. Defaults to 8. */
  recentTurns?: number;
  /**
   * Counts the tokens of a text, such as `countTokens` of the package gpt-tokenizer. Defaults to `estimateTokens`,
   * which errs upwards.
   */
  countTokens?: (text: string) => number;
  /** Tokens that each turn needs in a prompt in addition to its text. Defaults to 4, the overhead of a chat message. */
  tokensPerTurn?: number;
}

export interface SessionContextRequest {
  /** Maximum tokens of the memories and the turns together. */
  tokens: number;
}

/** A turn of a conversation. */
export interface Turn {
  /** Absent for a message that waits to be stored. */
  id?: string;
  content: string;
  /** The speaker. Absent for memories that were not added as messages. */
  role?: string;
  /** Time at which the memory was created, in ISO 8601. */
  created_at: string;
}

/** The context of an agent for its next turn. */
export interface SessionContext {
  /** The memories, as a fenced text for the prompt; see `ContextResponse`. Empty if there is nothing to tell. */
  text: string;
  /** The memories in the text. */
  memories: ContextMemory[];
  /** The newest turns of the conversation without gaps, oldest first. */
  turns: Turn[];
  /** Tokens of the text and the turns. */
  tokens: number;
}

/** A conversation. Reuse the object during the conversation: it caches the position of the newest turns. */
export interface Session {
  readonly id: string;
  /**
   * Stores messages in order, in the background. Messages without `created_at` get the current time, unless there is an
   * idempotency key, with which a repeated call must have the same messages. If the service is unavailable, at most
   * 1,000 messages or 8 MiB of all sessions wait in memory, and the oldest are refused. Errors are passed to `onError`.
   * For an error of single messages, its `results` contain the stored id or the error of each message.
   *
   * @throws MemoryError INVALID_REQUEST for more than 1,000 messages or 8 MiB, and for values that are not JSON
   */
  add(messages: readonly Message[], options?: Pick<StoreOptions, 'idempotencyKey'>): void;
  /**
   * Returns the newest turns of the conversation and what else the agent should know, within a token budget. Priority:
   * the `recentTurns` newest turns, then the memories that `MemoryApi.context` selects, also from earlier turns, then
   * earlier turns. Considers at least the newest 200 turns of the session, and messages that wait to be stored.
   *
   * Further calls with the same query use the same memories, if they fit, until `add` gets a message with the role
   * `user`, or for five minutes. The text may repeat turns if the request with them is larger than the service accepts.
   * If the service is unavailable, the context has only the messages that wait to be stored. Rejects for an invalid
   * `context` option.
   *
   * @param query such as the user's last message; a blank query gets the newest statements of other sessions
   */
  context(query: string, request: SessionContextRequest): Promise<SessionContext>;
  /**
   * Waits until the messages of the session are stored. For programs that end. Rejects with UNAVAILABLE if some are not
   * stored in time; they still wait then.
   */
  flush(options?: FlushOptions): Promise<void>;
}

/**
 * Opens a conversation of one user on any `MemoryApi`. A new session starts with its first message. The context
 * contains no memories of other users.
 *
 * @throws TypeError if `userId` is missing, and RangeError for an invalid `timeoutMs` or `timezone`
 */
export function session(api: MemoryApi, id: string, options: SessionOptions): Session {
  const agent = new AgentMemory(api, options);
  const { recentTurns = 8, countTokens = estimateTokens, tokensPerTurn = 4 } = options;
  const transcript = new Transcript(id);
  const getCost = ({ content }: Turn) => countTokens(content) + tokensPerTurn;
  const countText = (text: string) => (text === '' ? 0 : countTokens(text));
  // Identifies the last message of the user.
  let message = createIdempotencyKey();
  /** Returns the memories, in a text of at most `budget` tokens, without the recent turns. */
  const getMemories = async (query: string, budget: number, recent: readonly Turn[]) => {
    const key = JSON.stringify([message, query]);
    const knownTexts = withoutMessage(recent, query).map(({ content }) => content);
    const context = { ...options.context, ...withoutTurnsSince(recent[0], id, options.context?.filter) };
    // The newest statements are those of other sessions. To a query, an early turn of this one may be the answer.
    const asking = query.trim() === '' ? { session_id: id } : {};
    const request = { context, knownTexts, asking };
    let limit = budget;
    for (let attempt = 0; attempt < MAX_ATTEMPTS && limit >= LIMITS.minContextTokens; attempt++) {
      const fitting = { ...request, budget: limit };
      const getNow = () => agent.read('recall', (memory) => getContext(memory, query, fitting));
      const response = await agent.recallOnce(key, getNow);
      const used = countText(response?.text ?? '');
      if (response && used <= budget) return response;
      agent.endTurn(key);
      if (!response) return NOTHING;
      // The text is that of a call with a larger budget, or `countTokens` counts more tokens than the service.
      limit = Math.min(budget, (response.tokens * budget) / used);
    }
    return NOTHING;
  };
  const getTurns = async () => {
    const unstored = agent.getUnstored(id);
    const stored = await agent.read('read', (memory) => transcript.getNewest(memory));
    const turns = [...(stored ?? []), ...withoutStored(unstored, stored ?? [])].map(toTurn);
    return { turns, isAvailable: stored !== undefined };
  };
  return {
    id,
    add(messages, storeOptions) {
      const requests = messages.map((each) => toStoreRequest(each, id));
      const timed = storeOptions?.idempotencyKey === undefined ? withTime(requests) : requests;
      agent.store(id, timed, createBatchStore(timed, storeOptions));
      if (messages.some(({ role }) => role === 'user')) message = createIdempotencyKey();
    },
    async context(query, { tokens }) {
      const { turns: all, isAvailable } = await getTurns();
      const recent = takeNewest(all.slice(Math.max(0, all.length - recentTurns)), tokens, getCost);
      // A service that did not return the turns is not waited for again.
      const budget = isAvailable ? tokens - recent.tokens : 0;
      const { text, memories } = await getMemories(query, budget, recent.turns);
      const used = countText(text);
      const given = new Set<string | undefined>(memories.map((memory) => memory.id));
      for (const turn of recent.turns) given.delete(turn.id);
      const newest = takeNewest(all, tokens - used, getCost, (turn) => given.has(turn.id));
      return { text, memories, turns: newest.turns, tokens: used + newest.tokens };
    },
    flush: (flushOptions) => agent.flush(id, flushOptions),
  };
}

/** Converts a message to a memory of the session. */
export function toStoreRequest({ role, tags, ...rest }: Message, session_id: string): StoreRequest {
  return { ...rest, tags: [ROLE_TAG + role, ...(tags ?? [])], session_id };
}

/**
 * Reads the end of a session. The service lists transcripts from the beginning, so the cursor of the second to last
 * page is cached.
 */
class Transcript {
  readonly #id: string;
  /** Cursor of the second to last page. Undefined before the first read, and if that page is the first page. */
  #cursor: string | undefined;
  #limit = FIRST_PAGE_TURNS;

  constructor(id: string) {
    this.#id = id;
  }

  /**
   * Returns the newest turns that hold, oldest first: those of the last two pages of the transcript, or all turns if it
   * has fewer pages.
   */
  async getNewest(memory: MemoryApi): Promise<SessionMemory[]> {
    const limit = this.#limit;
    let previous: SessionMemory[] = [];
    let previousCursor = this.#cursor;
    for (let cursor = this.#cursor; ; ) {
      const position = cursor === undefined ? {} : { cursor };
      const page = await memory.session({ session_id: this.#id, current: true, limit, ...position });
      if (page.next_cursor === undefined) {
        this.#cursor = previousCursor;
        this.#limit = PAGE_TURNS;
        return [...previous, ...page.memories];
      }
      previous = page.memories;
      previousCursor = cursor;
      cursor = page.next_cursor;
    }
  }
}

const NOTHING: Pick<ContextResponse, 'text' | 'memories'> = { text: '', memories: [] };

/** Returns the turns without the last turn whose text is the query: the message that is being answered. */
function withoutMessage(turns: readonly Turn[], query: string): Turn[] {
  const index = turns.findLastIndex(({ content }) => content.trim() === query.trim());
  return turns.filter((_turn, position) => position !== index);
}

/** Returns a filter that also leaves out the turns of the session since a turn. */
function withoutTurnsSince(
  first: Turn | undefined,
  session_id: string,
  filter: ContextRequest['filter'],
): Pick<ContextRequest, 'filter'> {
  if (!first) return {};
  const $not = { session_id, created_at: { $gte: first.created_at } };
  return { filter: filter === undefined ? { $not } : { $and: [filter, { $not }] } };
}

/** Returns a memory of the session, or a message that waits to be stored and so has no id. */
function toTurn({ content, tags, created_at, ...rest }: StoreRequest | SessionMemory): Turn {
  const role = getRole(tags ?? []);
  return {
    ...('id' in rest && { id: rest.id }),
    content,
    ...(role !== undefined && { role }),
    created_at: created_at ?? new Date().toISOString(),
  };
}

/** Returns the newest turns up to the first that exceeds the budget or `isGiven`, so that there are no gaps. */
function takeNewest(
  turns: readonly Turn[],
  maxTokens: number,
  getCost: (turn: Turn) => number,
  isGiven: (turn: Turn) => boolean = () => false,
): { turns: Turn[]; tokens: number } {
  let tokens = 0;
  let first = turns.length;
  for (let turn = turns[first - 1]; turn && !isGiven(turn); turn = turns[first - 1]) {
    const cost = getCost(turn);
    if (tokens + cost > maxTokens) break;
    tokens += cost;
    first--;
  }
  return { turns: turns.slice(first), tokens };
}

/**
 * Returns the role of a message from the tags of its memory; undefined for a memory that was not added as a message.
 */
export function getRole(tags: readonly string[]): string | undefined {
  return tags.find((tag) => tag.startsWith(ROLE_TAG))?.slice(ROLE_TAG.length);
}
