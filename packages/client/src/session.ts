import type {
  MemoryApi,
  RecallResult,
  SessionMemory,
  StoreOptions,
  StoreRequest,
  StoreResponse,
} from '@memoryd/contract';
import { MemoryError } from './memory-error.ts';
import { type OfUser, scopeToUser } from './of-user.ts';
import { answersTo, costOfText, type RecallingOptions } from './recalled.ts';
import { select } from './selection.ts';

export { type OfUser, scopeToUser } from './of-user.ts';
export { type RecalledOptions, type RecallingOptions, recalled } from './recalled.ts';
export { estimateTokens } from './token-estimate.ts';

/** What a message's tag begins with that says who spoke. */
const ROLE_TAG = 'role:';

/** Turns of a page: when the transcript is read for the first time, and from then on. */
const FIRST_PAGE_TURNS = 1000;
const PAGE_TURNS = 200;

/** A turn of a conversation; what else a store may say can be said with it. */
export interface Message extends Omit<StoreRequest, 'session_id'> {
  /** Who speaks, such as `user` or `assistant`; at most 123 characters. Kept as the memory's first tag, `role:user`. */
  role: string;
}

export interface SessionOptions extends RecallingOptions, OfUser {
  /** So many of the newest turns go before anything recalled; 8 where absent. */
  recentTurns?: number;
}

/** What a context may take. */
export interface ContextRequest {
  /** Most tokens of all items together. */
  tokens: number;
}

/** Something for an agent to know. */
export interface ContextItem {
  id: string;
  content: string;
  /** `turn`: one of the newest of the session. `recalled`: something that answers the query. */
  kind: 'turn' | 'recalled';
  /** Who said it; absent for what was not added as a message. */
  role?: string;
  /** ISO 8601. */
  created_at: string;
  /** Relevance to the query, from 0 to 1, of what was recalled. */
  score?: number;
}

/** What an agent should know for its next turn. */
export interface Context {
  /** In order of time; no memory comes twice, and nothing recalled says what another item says. */
  items: ContextItem[];
  /** Tokens of all items, as they were counted. */
  tokens: number;
}

/** One conversation. Keep it while the conversation lasts: it remembers where the newest turns are. */
export interface Session {
  readonly id: string;
  /**
   * Stores messages in order, and answers their ids. Rejects with the first refusal where some were not stored; its `results`
   * say of each whether it was, and by which id it can be forgotten again.
   */
  add(messages: readonly Message[], options?: StoreOptions): Promise<string[]>;
  /**
   * The newest turns, and what the query recalls, within a budget of tokens. The newest turns go first, then what was
   * recalled, best first, then earlier turns, some hundreds at most. What another recalled memory corrects is left out,
   * and so is what was distilled from nothing but what is told anyway.
   *
   * @param query such as the user's last message: its first 8,192 characters are asked for; nothing where it is blank
   */
  context(query: string, request: ContextRequest): Promise<Context>;
}

/**
 * A conversation of one user in a memory, whichever `MemoryApi` that is; it begins with its first message. Nothing of
 * another user comes into its context. Throws TypeError where no `userId` is given.
 */
export function session(all: MemoryApi, id: string, options: SessionOptions): Session {
  const memory = scopeToUser(all, options);
  const { recentTurns = 8, recall } = options;
  const transcript = new Transcript(memory, id);
  const getCost = costOfText(options);
  return {
    id,
    add: (messages, storeOptions) => add(memory, id, messages, storeOptions),
    async context(query, { tokens }) {
      const [turns, results] = await Promise.all([transcript.newest(), answersTo(memory, query, recall)]);
      const chosen = select(turns, results, { getCost: ({ content }) => getCost(content), tokens, recentTurns });
      const items = [...chosen.recalled.map(recalledItem), ...chosen.turns.map(turnItem)];
      return { items: items.sort(byTime), tokens: chosen.tokens };
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
    throw new MemoryError(code, `messages not stored: ${failed_count} of ${results.length}; ${message}`, {
      details,
      results,
    });
  }
  return (results as StoreResponse[]).map(({ id }) => id);
}

/** Reads the end of a session, from the page before the last one on: transcripts are told from their beginning. */
class Transcript {
  readonly #memory: MemoryApi;
  readonly #id: string;
  /** Where the page before the last begins, once the transcript was read. */
  #from: string | undefined;
  #limit = FIRST_PAGE_TURNS;

  constructor(memory: MemoryApi, id: string) {
    this.#memory = memory;
    this.#id = id;
  }

  /** The newest turns, oldest first: all, or more than a page of them. */
  async newest(): Promise<SessionMemory[]> {
    const limit = this.#limit;
    let before: SessionMemory[] = [];
    let beforeFrom = this.#from;
    for (let from = this.#from; ; ) {
      const cursor = from === undefined ? {} : { cursor: from };
      const page = await this.#memory.session({ session_id: this.#id, limit, ...cursor });
      if (page.next_cursor === undefined) {
        this.#from = beforeFrom;
        this.#limit = PAGE_TURNS;
        return [...before, ...page.memories];
      }
      before = page.memories;
      beforeFrom = from;
      from = page.next_cursor;
    }
  }
}

function turnItem({ id, content, tags, created_at }: SessionMemory): ContextItem {
  return { id, content, kind: 'turn', ...spoken(tags), created_at };
}

function recalledItem({ id, content, tags, created_at, score }: RecallResult): ContextItem {
  return { id, content, kind: 'recalled', ...spoken(tags), created_at, score };
}

function spoken(tags: readonly string[]): Pick<ContextItem, 'role'> {
  const role = getRole(tags);
  return role === undefined ? {} : { role };
}

/** Who said a message, by the tags of its memory; undefined for what was not added as a message. */
export function getRole(tags: readonly string[]): string | undefined {
  return tags.find((tag) => tag.startsWith(ROLE_TAG))?.slice(ROLE_TAG.length);
}

// Sorting keeps turns of one moment in the order of the transcript.
function byTime(one: ContextItem, other: ContextItem): number {
  return Date.parse(one.created_at) - Date.parse(other.created_at);
}
