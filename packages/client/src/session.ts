import type { MemoryApi, RecallResult, SessionMemory, StoreOptions, StoreRequest } from '@memoryd/contract';
import {
  AgentMemory,
  type AgentMemoryOptions,
  createBatchStore,
  type FlushOptions,
  withoutStored,
  withTime,
} from './agent-memory.ts';
import { createIdempotencyKey } from './idempotency-key.ts';
import { createTextCost, type PromptRecallOptions, recallCurrent } from './recall-for-prompt.ts';
import { select } from './selection.ts';
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
export { type PromptRecallOptions, type RecallForPromptOptions, recallForPrompt } from './recall-for-prompt.ts';
export { getItem, toItemFields } from './stored-item.ts';
export { scopeToUser, type UserScope } from './user-scope.ts';

/** Prefix of the tag that contains the role of a message. */
const ROLE_TAG = 'role:';

/** Page size of the first read of the transcript. */
const FIRST_PAGE_TURNS = 1000;
/** Page size of later reads. */
const PAGE_TURNS = 200;

/** A message of a conversation. Accepts all fields of a store request except `session_id`. */
export interface Message extends Omit<StoreRequest, 'session_id'> {
  /**
   * The speaker, such as `user` or `assistant`; at most 123 characters. Stored as the first tag, such as `role:user`.
   */
  role: string;
}

export interface SessionOptions extends PromptRecallOptions, AgentMemoryOptions, UserScope {
  /** Number of newest turns that take precedence over recalled memories. Defaults to 8. */
  recentTurns?: number;
}

export interface ContextRequest {
  /** Maximum tokens of all items together. */
  tokens: number;
}

/** An item of a context. */
export interface ContextItem {
  /** Absent for a message that waits to be stored. */
  id?: string;
  content: string;
  /** `turn`: a recent turn of the session. `recalled`: a memory that matches the query. */
  kind: 'turn' | 'recalled';
  /** The speaker. Absent for memories that were not added as messages. */
  role?: string;
  /** Time at which the memory was created, in ISO 8601. */
  created_at: string;
  /** Relevance to the query, from 0 to 1. Present for recalled memories. */
  score?: number;
  /** Time from which the memory does not hold, in ISO 8601. Absent without an end. */
  valid_to?: string;
  /** The memory that replaces this one. Present only if the query asks for what was before. */
  superseded_by?: string;
}

/** The context of an agent for its next turn. */
export interface Context {
  /** In chronological order, without duplicates. */
  items: ContextItem[];
  /** Tokens of all items. */
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
   * Returns the newest turns and the memories that the query recalls, within a token budget. Priority: the
   * `recentTurns` newest turns, then recalled memories, best first, then earlier turns. Considers at least the newest
   * 200 turns of the session, and messages that wait to be stored. Leaves out turns and memories that do not hold, unless
   * the query asks for what was before, and distilled memories that only quote other items.
   *
   * Further calls with the same query use the same recall until `add` gets a message with the role `user`, or for five
   * minutes. If the service is unavailable, the context has only the messages that wait to be stored. Rejects for an
   * invalid `recall` option.
   *
   * @param query such as the user's last message; only its first 8,192 characters are used, and a blank query recalls
   *   nothing
   */
  context(query: string, request: ContextRequest): Promise<Context>;
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
  const { recentTurns = 8, recall } = options;
  const transcript = new Transcript(id);
  const getTextCost = createTextCost(options);
  // Identifies the last message of the user.
  let message = createIdempotencyKey();
  const getResults = async (query: string) => {
    const key = JSON.stringify([message, query]);
    const recallNow = () => agent.read('recall', (memory) => recallCurrent(memory, query, recall));
    const results = await agent.recallOnce(key, recallNow);
    if (!results) agent.endTurn(key);
    return results;
  };
  const getTurns = async () => {
    const unstored = agent.getUnstored(id);
    const stored = (await agent.read('read', (memory) => transcript.getNewest(memory))) ?? [];
    return [...stored, ...withoutStored(unstored, stored).map(toWaitingTurn)];
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
      const [turns, results = []] = await Promise.all([getTurns(), getResults(query)]);
      const selection = select(turns, results, { getCost: ({ content }) => getTextCost(content), tokens, recentTurns });
      const items = [...selection.recalled.map(toRecalledItem), ...selection.turns.map(toTurnItem)];
      return { items: items.sort(compareByTime), tokens: selection.tokens };
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

/** A turn of the session. Without an id if it waits to be stored. */
type Turn = Pick<SessionMemory, 'content' | 'created_at' | 'tags'> & { id?: string };

type Outdated = Pick<RecallResult, 'valid_to' | 'superseded_by'>;

function toWaitingTurn({ content, tags, created_at }: StoreRequest): Turn {
  return { content, tags: tags ?? [], created_at: created_at ?? new Date().toISOString() };
}

function toTurnItem({ id, content, tags, created_at }: Turn): ContextItem {
  return { ...(id !== undefined && { id }), content, kind: 'turn', ...getRoleField(tags), created_at };
}

function toRecalledItem({ id, content, tags, created_at, score, ...rest }: RecallResult): ContextItem {
  return { id, content, kind: 'recalled', ...getRoleField(tags), created_at, score, ...getOutdatedFields(rest) };
}

function getOutdatedFields({ valid_to, superseded_by }: Outdated): Outdated {
  return { ...(valid_to !== undefined && { valid_to }), ...(superseded_by !== undefined && { superseded_by }) };
}

function getRoleField(tags: readonly string[]): Pick<ContextItem, 'role'> {
  const role = getRole(tags);
  return role === undefined ? {} : { role };
}

/**
 * Returns the role of a message from the tags of its memory; undefined for a memory that was not added as a message.
 */
export function getRole(tags: readonly string[]): string | undefined {
  return tags.find((tag) => tag.startsWith(ROLE_TAG))?.slice(ROLE_TAG.length);
}

// The sort is stable, so turns with the same time stay in transcript order.
function compareByTime(one: ContextItem, other: ContextItem): number {
  return Date.parse(one.created_at) - Date.parse(other.created_at);
}
