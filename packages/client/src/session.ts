import type {
  MemoryApi,
  RecallResult,
  SessionMemory,
  StoreOptions,
  StoreRequest,
  StoreResponse,
} from '@memoryd/contract';
import { MemoryError } from './memory-error.ts';
import { createTextCost, type PromptRecallOptions, recallCurrent } from './recall-for-prompt.ts';
import { select } from './selection.ts';
import { scopeToUser, type UserScope } from './user-scope.ts';

export { type PromptRecallOptions, type RecallForPromptOptions, recallForPrompt } from './recall-for-prompt.ts';
export { estimateTokens } from './token-estimate.ts';
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

export interface SessionOptions extends PromptRecallOptions, UserScope {
  /** Number of newest turns that take precedence over recalled memories. Defaults to 8. */
  recentTurns?: number;
}

export interface ContextRequest {
  /** Maximum tokens of all items together. */
  tokens: number;
}

/** An item of a context. */
export interface ContextItem {
  id: string;
  content: string;
  /** `turn`: a recent turn of the session. `recalled`: a memory that matches the query. */
  kind: 'turn' | 'recalled';
  /** The speaker. Absent for memories that were not added as messages. */
  role?: string;
  /** Time at which the memory was created, in ISO 8601. */
  created_at: string;
  /** Relevance to the query, from 0 to 1. Present for recalled memories. */
  score?: number;
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
   * Stores messages in order, and returns their ids. If some messages could not be stored, rejects with the first
   * error. Its `results` contain, for each message, the stored id or the error.
   */
  add(messages: readonly Message[], options?: StoreOptions): Promise<string[]>;
  /**
   * Returns the newest turns and the memories that the query recalls, within a token budget. Priority: the
   * `recentTurns` newest turns, then recalled memories, best first, then earlier turns. Considers at least the newest
   * 200 turns of the session. Leaves out memories that another recalled memory supersedes, and distilled memories that
   * only quote other items.
   *
   * @param query such as the user's last message; only its first 8,192 characters are used, and a blank query recalls
   *   nothing
   */
  context(query: string, request: ContextRequest): Promise<Context>;
}

/**
 * Opens a conversation of one user on any `MemoryApi`. A new session starts with its first message. The context
 * contains no memories of other users.
 *
 * @throws TypeError if `userId` is missing
 */
export function session(api: MemoryApi, id: string, options: SessionOptions): Session {
  const memory = scopeToUser(api, options);
  const { recentTurns = 8, recall } = options;
  const transcript = new Transcript(memory, id);
  const getTextCost = createTextCost(options);
  return {
    id,
    add: (messages, storeOptions) => add(memory, id, messages, storeOptions),
    async context(query, { tokens }) {
      const [turns, results] = await Promise.all([transcript.getNewest(), recallCurrent(memory, query, recall)]);
      const selection = select(turns, results, { getCost: ({ content }) => getTextCost(content), tokens, recentTurns });
      const items = [...selection.recalled.map(toRecalledItem), ...selection.turns.map(toTurnItem)];
      return { items: items.sort(compareByTime), tokens: selection.tokens };
    },
  };
}

async function add(
  memory: MemoryApi,
  session_id: string,
  messages: readonly Message[],
  options?: StoreOptions,
): Promise<string[]> {
  const requests = messages.map(({ role, tags, ...rest }) => ({
    ...rest,
    tags: [ROLE_TAG + role, ...(tags ?? [])],
    session_id,
  }));
  const { results, failed_count } = await memory.storeBatch(requests, options);
  for (const result of results) {
    if (!('error' in result)) continue;
    const { code, message, details } = result.error;
    throw new MemoryError(code, `${failed_count} of ${results.length} messages were not stored: ${message}`, {
      details,
      results,
    });
  }
  return (results as StoreResponse[]).map(({ id }) => id);
}

/**
 * Reads the end of a session. The service lists transcripts from the beginning, so the cursor of the second to last
 * page is cached.
 */
class Transcript {
  readonly #memory: MemoryApi;
  readonly #id: string;
  /** Cursor of the second to last page. Undefined before the first read, and if that page is the first page. */
  #cursor: string | undefined;
  #limit = FIRST_PAGE_TURNS;

  constructor(memory: MemoryApi, id: string) {
    this.#memory = memory;
    this.#id = id;
  }

  /**
   * Returns the newest turns, oldest first: the last two pages of the transcript, or all turns if it has fewer pages.
   */
  async getNewest(): Promise<SessionMemory[]> {
    const limit = this.#limit;
    let previous: SessionMemory[] = [];
    let previousCursor = this.#cursor;
    for (let cursor = this.#cursor; ; ) {
      const position = cursor === undefined ? {} : { cursor };
      const page = await this.#memory.session({ session_id: this.#id, limit, ...position });
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

function toTurnItem({ id, content, tags, created_at }: SessionMemory): ContextItem {
  return { id, content, kind: 'turn', ...getRoleField(tags), created_at };
}

function toRecalledItem({ id, content, tags, created_at, score }: RecallResult): ContextItem {
  return { id, content, kind: 'recalled', ...getRoleField(tags), created_at, score };
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
